"""The problem of an environment, however it is wrapped."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gpbandit_envs import problem_of
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem


def test_the_problem_of_an_environment() -> None:
    env = gym.make("GPBandit/Branin-v0", disable_env_checker=True)
    problem = problem_of(env)
    assert isinstance(problem, Problem)
    assert problem is env.unwrapped.problem  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"env: expected an environment with a Problem"):
        problem_of(gym.make("CartPole-v1"))


def test_means_are_of_arms_and_points_that_there_are() -> None:
    for id in ("GPBandit/RKHS-v0", "GPBandit/TVGPSample-v0"):
        env: Any = gym.make(id, n_arms=5).unwrapped
        env.reset(seed=0)
        assert env.mean(range(5)).shape == env.regret(np.arange(5, dtype=np.uint8)).shape == (5,)
        assert env.mean([]).shape == (0,)
        for scored in (env.mean, env.regret):
            others: tuple[Any, ...] = ([-1], [5], [[0, 9]])
            for arms in others:
                with pytest.raises(ValueError, match=r"action: expected integers in \[0, 5\), got"):
                    scored(arms)
            no_arms: tuple[Any, ...] = ([0.7], [True], ["a"])
            for arms in no_arms:
                with pytest.raises(TypeError, match=r"action: expected integers in \[0, 5\), got"):
                    scored(arms)
    box: Any = gym.make("GPBandit/Branin-v0").unwrapped
    box.reset(seed=0)
    for points in ([[2.0, 3.0]], [[0.1, np.nan]]):
        with pytest.raises(ValueError, match=r"action: expected coordinates in \[0, 1\], got"):
            box.mean(points)
    with pytest.raises(ValueError, match=r"action: expected shape \(1, 2\), got \(1, 3\)"):
        box.regret([[0.1, 0.2, 0.3]])


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"kernel": {"name": "se"}}, TypeError, "kernel: expected a Kernel or None, got .'name': 'se'.; as_kernel"),
        ({"kernel": SE((0.1, 0.2, 0.3))}, ValueError, "lengthscale: expected 2 entries, one per feature, got 3"),
        ({"arms": None, "dim": -1}, ValueError, "dim: expected an integer >= 1, got -1"),
        ({"neighbours": np.full((5, 1), 7)}, ValueError, "neighbours: expected a row of indices below 5, or of -1"),
        ({"neighbours": np.zeros((4, 1), int)}, ValueError, "neighbours: .* for each of 5 arms, got int64"),
        ({"arms": None, "neighbours": np.zeros((4, 1), int)}, ValueError, "neighbours: .* for each of 0 arms"),
        ({"misspecification": {"sup": -1.0}}, ValueError, "'sup'.: expected a finite number >= 0, got -1.0"),
        ({"contexts": "no"}, TypeError, "contexts: expected True or False, got 'no'"),
    ],
)
def test_what_is_stated_is_checked(fields: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Problem(**{"name": "p", "dim": 2, "arms": np.eye(5)[:, :2], **fields})
