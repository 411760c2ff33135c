"""`Problem.approximations`: its order, and what it says beside the norm bound."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.problem import Approximation, Problem

A = Approximation
STATED: dict[str, Any] = {"name": "test", "dim": 1, "arms": np.zeros((2, 1)), "noise_std": 0.1}


def test_pairs_are_those_given_or_that_of_the_norm_bound() -> None:
    given = Problem(**STATED, approximations=(A(1.0, 0.3), A(2.0, 0.1)))
    assert given.pairs == given.approximations == (A(1.0, 0.3), A(2.0, 0.1))
    assert given.norm_bound is None
    assert Problem(**STATED, norm_bound=2.0).pairs == ((2.0, 0.0),)
    assert Problem(**STATED, norm_bound=2.0, misspecification={"sup": 0.1}).pairs == ((2.0, 0.1),)
    assert Problem(**STATED).pairs == ()


def test_a_pair_without_distance_is_a_norm_bound() -> None:
    problem = Problem(**STATED, approximations=(A(1.0, 0.3), A(2.0, 0.0)))
    assert problem.norm_bound == 2.0
    assert "sup" not in problem.misspecification


def test_it_is_shown_and_pickled() -> None:
    problem = Problem(**STATED, approximations=(A(1.0, 0.3),))
    assert pickle.loads(pickle.dumps(problem)).pairs == problem.pairs
    assert "approximations=[(1.0, 0.3)]" in repr(problem)
    assert "prior_mean" not in repr(problem)
    assert "prior_mean=0.5" in repr(replace(problem, prior_mean=0.5))
    exact = Problem(**STATED, approximations=(A(1.0, 0.3), A(2.0, 0.0)))
    assert replace(exact, horizon=9).norm_bound == 2.0


def test_one_pair_implies_what_is_weaker() -> None:
    assert Approximation(1.0, 0.2).implies(Approximation(2.0, 0.2))
    assert not Approximation(1.0, 0.2).implies(Approximation(2.0, 0.1))
    assert not Approximation(2.0, 0.2).implies(Approximation(1.0, 0.2))


def test_an_rkhs_problem_off_by_a_distance_carries_it() -> None:
    env = gym.make("GPBandit/RKHS-v0", misspecification={"sup": 0.05}, norm=2.0)
    problem = env.unwrapped.problem  # type: ignore[attr-defined]
    assert problem.pairs == ((2.0, 0.05),)
    assert problem.approximations == ()
    assert dict(problem.misspecification) == {"sup": 0.05}
    assert gym.make("GPBandit/RKHS-v0", norm=2.0).unwrapped.problem.approximations == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"approximations": ((1.0, 0.1), (2.0, 0.1))}, ValueError, r"distances that decrease, got \(1.0, 0.1\) before"),
        ({"approximations": ((2.0, 0.2), (1.0, 0.1))}, ValueError, "expected norms that increase"),
        ({"approximations": ((0.0, 0.2),)}, ValueError, "approximations: expected"),
        ({"approximations": ((1.0, -0.2),)}, ValueError, "approximations: expected pairs of a norm > 0"),
        ({"approximations": ((1.0, float("nan")),)}, ValueError, "approximations: expected pairs"),
        ({"approximations": (1.0,)}, TypeError, "approximations: expected pairs of a norm"),
        ({"approximations": "1, 2"}, TypeError, "approximations: expected pairs"),
        ({"approximations": ((1.0, 0.1),), "norm_bound": 2.0}, ValueError, "norm_bound: expected None beside .* 2.0"),
        ({"approximations": ((1.0, 0.1),), "norm_bound": 1.0}, ValueError, "norm_bound: expected None beside .* 1.0"),
        ({"approximations": ((1.0, 0.0),), "norm_bound": 2.0}, ValueError, "norm_bound: expected None beside .* 2.0"),
        ({"prior_mean": float("inf")}, ValueError, "prior_mean: expected a finite number"),
    ],
)
@pytest.mark.wrong_arguments
def test_what_is_refused(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Problem(**STATED, **changes)
