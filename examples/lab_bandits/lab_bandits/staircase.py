"""Staircase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from gpbandit_envs import Problem


class Staircase(gym.Env[int, Any]):
    """Arms on a line whose means are steps of random height; noise is Gaussian.

    Args:
        n_arms: Number of arms.
        noise_std: Standard deviation of the noise.
    """

    max_episode_steps = 500

    def __init__(self, n_arms: int = 50, noise_std: float = 0.1) -> None:
        if n_arms < 1:
            raise ValueError(f"n_arms: expected at least 1, got {n_arms}")
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space = gym.spaces.Discrete(n_arms)
        self.noise_std = noise_std
        # The problem description: all that a policy may know.
        self.problem = Problem(
            name="Lab/Staircase-v0",
            dim=1,
            arms=np.linspace(0.0, 1.0, n_arms)[:, None],
            noise_std=noise_std,
            horizon=self.max_episode_steps,
            knowledge="learned",
        )

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._means = np.cumsum(self.np_random.normal(size=self.problem.n_arms)) / np.sqrt(self.problem.n_arms)
        self.optimum = float(self._means.max())
        return 0, {}

    def mean(self, actions: Any) -> np.ndarray:
        """Noise-free means; the harness scores recommendations with them, no policy sees them."""
        return self._means[np.asarray(actions)]

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        mean = float(self._means[action])
        reward = mean + self.noise_std * float(self.np_random.standard_normal())
        info = {"cost": 1.0, "oracle": {"mean": mean, "regret": self.optimum - mean}}
        return 0, reward, False, False, info
