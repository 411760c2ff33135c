"""The problem of an environment, however it is wrapped."""

from __future__ import annotations

import gymnasium as gym
import pytest

from gpbandit_envs import problem_of
from gpbandit_envs.problem import Problem


def test_the_problem_of_an_environment() -> None:
    env = gym.make("GPBandit/Branin-v0", disable_env_checker=True)
    problem = problem_of(env)
    assert isinstance(problem, Problem)
    assert problem is env.unwrapped.problem  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"env: expected an environment with a Problem"):
        problem_of(gym.make("CartPole-v1"))
