"""Regrets that contradict the optimum or the means that an environment states."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import leaderboards
from gpbandit_envs import from_function
from gpbandit_envs.problem import Problem


class Stated(gym.Env[Any, Any]):
    """Five arms; `optimum` and the regret of a step are what a test says, a function of step and arm."""

    def __init__(self, optimum: float = 4.0, drift: float = 0.0, changes: bool = False, single: bool = False) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(1), gym.spaces.Discrete(5)
        self.problem = Problem(name="stated", dim=1, arms=np.linspace(0, 1, 5)[:, None], knowledge="learned")
        self.optimum, self.drift, self.regret_changes, self.single = optimum, drift, changes, single

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return 0, {}

    def mean(self, actions: Any) -> Any:
        return np.asarray(actions) - self.drift * self.t * (np.asarray(actions) == 4)

    def regret(self, actions: Any) -> Any:
        return self.mean(np.arange(5)).max() - self.mean(actions)

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        mean, best = float(self.mean(action)), float(self.mean(np.arange(5)).max()) if self.drift else self.optimum
        self.t += 1
        regret = float(np.float32(best - mean)) if self.single else best - mean
        return 0, mean, False, False, {"cost": 1.0, "oracle": {"mean": mean, "regret": regret}}


def played(**settings: Any) -> Any:
    return leaderboards.run(Stated(**settings), "Uniform", horizon=20)


def crashed(**settings: Any) -> str:
    with pytest.warns(UserWarning, match="run crashed after"):
        found = played(**settings)
    assert found.status == "crashed"
    return str(found.reason)


def test_an_optimum_below_a_mean_is_the_environments_fault() -> None:
    assert played().status == "done"
    assert played(optimum=4.5).status == "done"  # nothing contradicts it
    reason = crashed(optimum=2.0)
    assert "environment: step: expected a regret of at least 0, got -" in reason
    assert "its mean is larger than the optimum that is stated, 2" in reason


def test_means_that_change_are_said_to_change() -> None:
    assert played(drift=0.5, changes=True).status == "done"
    reason = crashed(drift=0.5)
    assert "by optimum and mean after reset, got" in reason
    assert "regret_changes = True" in reason


def test_single_precision_is_no_contradiction() -> None:
    assert played(optimum=4 + 1 / 3, single=True).status == "done"


def test_a_function_that_exceeds_its_optimum() -> None:
    def own(optimum: float) -> Any:
        env = from_function(lambda x: -((x[0] - 3) ** 2), [(0, 10)], noise_std=0.1, name="g3", optimum=optimum)
        return leaderboards.run(env, "Random", horizon=60)

    assert own(0.0).status == "done"
    with pytest.warns(UserWarning, match="environment: step: expected a regret of at least 0, got"):
        own(-3.0)
