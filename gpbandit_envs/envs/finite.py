"""The finite-arm bandit."""

from __future__ import annotations

from operator import index
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.base import BanditEnv, reset_needed
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import ArmFamily, ArmFunction
from gpbandit_envs.problem import Certificate

__all__ = ["FiniteArmEnv"]


class FiniteArmEnv(BanditEnv):
    """A bandit whose action is the index of an arm; see `BanditEnv` for arguments and information."""

    def __init__(self, setting: Setting, **kwargs: Any) -> None:
        if not isinstance(setting.family, ArmFamily):
            raise TypeError(f"setting: expected a family over finite arms, got {type(setting.family).__name__}")
        super().__init__(setting, **kwargs)
        self._family = setting.family
        self._n_arms = len(setting.family.arms)
        self.action_space = gym.spaces.Discrete(self._n_arms)
        self._costs = setting.costs
        self._reward_of = setting.noise.feedback
        self._function: ArmFunction | None = None
        self._mean_of: Any = None
        self._best = 0.0

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Evaluate one arm.

        Args:
            action: Index of the arm, an integer in `[0, A)`.

        Raises:
            TypeError: if the action is no integer.
            ValueError: if it is out of range.
            gymnasium.error.ResetNeeded: before the first `reset`.
        """
        try:
            arm = index(action)
        except TypeError:
            raise TypeError(f"action: expected an integer in [0, {self._n_arms}), got {action!r}") from None
        if not 0 <= arm < self._n_arms:
            raise ValueError(f"action: expected an integer in [0, {self._n_arms}), got {action!r}")
        # The noise first: it is what knows whether there was a reset.
        variate = self._next_variate()
        mean = self._mean_of(arm)
        reward = self._reward_of(mean, arm, variate)
        info: dict[str, Any] = {"cost": 1.0 if self._costs is None else float(self._costs[arm])}
        if self._reveal_oracle:
            info["oracle"] = {"mean": mean, "regret": self._best - mean}
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        return self._instance.mean[np.asarray(actions, dtype=np.int64)]

    @property
    def certificate(self) -> Certificate:
        return self._instance.certificate

    @property
    def _instance(self) -> ArmFunction:
        if self._function is None:
            raise reset_needed()
        return self._function

    def _draw(self, rng: np.random.Generator) -> None:
        self._function = self._family.draw(rng)
        self._mean_of = self._function.mean.item  # a Python float, in half the time of indexing
        self._best = self._function.certificate.optimum
