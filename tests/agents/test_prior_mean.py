"""A constant prior mean: no choice changes with it, and predictions do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from agents.core.gp_settings import centred, uncentred
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import InitialData, NoiseTails, Problem
from tests.contracts.test_agents import CASES, LEARNERS, REQUIRES, make

C = 4.0
T = 24
_RNG = np.random.default_rng(0)
_X = _RNG.random((25, 2))
# Rewards are multiples of 2^-20, so that a reward plus 4 less 4 is the same number.
_MEAN = np.round(np.sin(4 * _X[:, 0]) * 2**20) / 2**20
_NOISE = np.round(0.1 * _RNG.standard_normal(10 * T) * 2**20) / 2**20
# Those of an extra, and those that learn the kernel, take long and read neither.
PLAYED = [(id, kwargs) for id, kwargs in CASES if id not in REQUIRES and id not in LEARNERS]


def problem_of(**changes: Any) -> Problem:
    stated: dict[str, Any] = {"arms": _X, "kernel": SE(0.3), "noise_std": 0.1, "norm_bound": 1.5, "horizon": T}
    stated |= {"name": "test", "dim": 2, "noise_tails": NoiseTails(0.1, gaussian=True)}
    return Problem(**stated | changes)


def played(agent: Any, problem: Problem, shift: float) -> tuple[list[int], tuple[np.ndarray, np.ndarray] | None]:
    """The arms that an agent plays where all rewards are moved by `shift`, and its band in the end."""
    agent.reset(problem, np.random.default_rng(1))
    many = agent.capabilities.batch == "adaptive"
    arms: list[int] = []
    while len(arms) < T:
        picks = agent.select(T - len(arms) if many else 1, Pending.empty(problem))
        first = len(arms)
        arms += picks.tolist()
        rewards = _MEAN[picks] + _NOISE[first : len(arms)] + shift
        agent.observe(Feedback.of(np.arange(first, len(arms)), picks, rewards))
    return arms, agent.predict(_X)


@pytest.mark.parametrize(("id", "kwargs"), PLAYED, ids=str)
def test_no_choice_changes_and_predictions_do(id: str, kwargs: dict[str, Any]) -> None:
    """A policy with a given kernel sees the same feedback; one without does not read the prior mean."""
    agent = make(id, kwargs)
    if "finite" not in agent.capabilities.domains:
        pytest.skip(f"{id} plays on boxes alone")
    neighbours = np.argsort(np.linalg.norm(_X[:, None] - _X, axis=2), axis=1)[:, 1:4]
    shift = C if "kernel" in agent.capabilities.needs else 0.0
    arms, band = played(agent, problem_of(neighbours=neighbours), 0.0)
    moved_arms, moved = played(make(id, kwargs), problem_of(neighbours=neighbours, prior_mean=C), shift)
    assert moved_arms == arms
    assert (band is None) == (moved is None)
    if band is not None and moved is not None:
        np.testing.assert_allclose(moved[0], band[0] + shift, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(moved[1], band[1])


def test_existing_data_are_centred_too() -> None:
    data = InitialData(arms=np.array([3, 3, 7]), rewards=np.array([0.5, 0.25, -0.5]))
    moved = InitialData(arms=data.arms, rewards=data.rewards + C)
    for id in ("GP-UCB", "BKB"):
        arms, _ = played(agents.make(id), problem_of(initial=data), 0.0)
        assert played(agents.make(id), problem_of(initial=moved, prior_mean=C), C)[0] == arms
        given = agents.make(id, initial={"arms": [3, 3, 7], "rewards": moved.rewards})
        assert played(given, problem_of(prior_mean=C), C)[0] == arms


def test_without_one_nothing_is_copied() -> None:
    problem = problem_of()
    feedback = Feedback.of([0], np.array([1]), [0.3])
    assert centred(feedback, problem) is feedback
    mean = np.zeros(3)
    assert uncentred(mean, problem) is mean
