"""The finite-arm bandit."""

from __future__ import annotations

from operator import index
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.base import BanditEnv
from gpbandit_envs.envs.render import History, Picture
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import ArmFamily, ArmFunction
from gpbandit_envs.functions.spectrum import spectrum

__all__ = ["FiniteArmEnv"]


class FiniteArmEnv(BanditEnv):
    """A bandit whose action is the index of an arm; see `BanditEnv` for arguments and information."""

    def __init__(self, setting: Setting, **kwargs: Any) -> None:
        if not isinstance(setting.family, ArmFamily):
            raise TypeError(f"setting: expected a family over finite arms, got {type(setting.family).__name__}")
        super().__init__(setting, **kwargs)
        self._arms = setting.family.arms
        self._n_arms = len(self._arms)
        self.action_space = gym.spaces.Discrete(self._n_arms)
        self._costs = setting.costs
        self._reward_of = setting.noise.feedback
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
        if self._history is not None:
            self._history.add(arm, reward, mean)
        return 0, reward, False, False, info

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        means: np.ndarray = self._episodes.function.mean[np.asarray(actions, dtype=np.int64)]
        return means

    def spectrum(self, n: int = 64) -> Float[np.ndarray, " n"]:
        """Largest eigenvalues of the card's kernel matrix over the arms, divided by `A`; see `functions.spectrum`.

        Raises:
            ValueError: if the card states no kernel.
        """
        kernel = self.problem.kernel
        if kernel is None:
            raise ValueError("kernel: the card states none, so that there is no spectrum")
        return spectrum(kernel, self._arms, n)

    def _use(self, function: ArmFunction) -> None:
        self._mean_of = function.mean.item  # a Python float, in half the time of indexing
        self._best = function.certificate.optimum

    def _picture(self, history: History) -> Picture:
        arms, function = self._arms, self._episodes.function
        indices = np.array(history.actions, np.int64)
        return Picture(
            title=self.problem.name,
            points=arms,
            mean=function.mean,
            optimum=self.optimum,
            pulled=arms[indices],
            indices=indices,
            rewards=np.array(history.rewards),
            regrets=self.optimum - np.array(history.means),
        )
