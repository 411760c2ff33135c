"""Many finite-arm bandits in one step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import ArmFamily, ArmFunction
from gpbandit_envs.vector.base import BanditVectorEnv

__all__ = ["FiniteArmVectorEnv"]


class FiniteArmVectorEnv(BanditVectorEnv):
    """`FiniteArmEnv`, `N` at a time; see `BanditVectorEnv`."""

    def __init__(self, num_envs: int, setting: Setting, **kwargs: Any) -> None:
        if not isinstance(setting.family, ArmFamily):
            raise TypeError(f"setting: expected a family over finite arms, got {type(setting.family).__name__}")
        self._n_arms = len(setting.family.arms)
        super().__init__(num_envs, setting, gym.spaces.Discrete(self._n_arms), **kwargs)
        # A fixed function is stored once; drawn ones side by side, in one block for one gather.
        self._shared = setting.family.fixed or kwargs.get("instance_seed") is not None
        self._table = np.zeros(self._n_arms if self._shared else self._n_arms * num_envs)
        self._offsets = np.arange(num_envs, dtype=np.int64) * self._n_arms

    @property
    def functions(self) -> tuple[ArmFunction, ...]:
        """The mean function of each environment; for scoring, never for policies."""
        return tuple(episodes.function for episodes in self._episodes)

    def _checked(self, actions: Any) -> np.ndarray:
        arms = np.asarray(actions)
        if arms.dtype.kind not in "iu":
            raise TypeError(f"action: expected {self.num_envs} integers, got dtype {arms.dtype}")
        if arms.shape != (self.num_envs,):
            raise ValueError(f"action: expected shape ({self.num_envs},), got {arms.shape}")
        arms = arms.astype(np.int64, copy=False)
        # Seen without its sign a negative index is huge: one comparison checks both ends.
        if arms.view(np.uint64).max() >= self._n_arms:
            raise ValueError(f"action: expected integers in [0, {self._n_arms}), got {arms.min()} to {arms.max()}")
        return arms

    def _means(self, actions: np.ndarray) -> np.ndarray:
        means: np.ndarray = self._table.take(actions if self._shared else actions + self._offsets)
        return means

    def _costs(self, actions: np.ndarray) -> np.ndarray:
        if self.setting.costs is None:
            return np.ones(self.num_envs)
        costs: np.ndarray = self.setting.costs.take(actions)
        return costs

    def _use(self, i: int, function: ArmFunction) -> None:
        if self._shared:
            self._table = function.mean
        else:
            self._table[i * self._n_arms : (i + 1) * self._n_arms] = function.mean
