"""Many bandits on a box in one step."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from gpbandit_envs.envs.continuous import as_points
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.base import BoxFamily, BoxFunction
from gpbandit_envs.vector.base import BanditVectorEnv

__all__ = ["BoxVectorEnv"]


class BoxVectorEnv(BanditVectorEnv):
    """`BoxEnv`, `N` at a time; see `BanditVectorEnv`."""

    def __init__(self, num_envs: int, setting: Setting, **kwargs: Any) -> None:
        if not isinstance(setting.family, BoxFamily):
            raise TypeError(f"setting: expected a family on a box, got {type(setting.family).__name__}")
        self._shape = (num_envs, setting.family.dim)
        super().__init__(num_envs, setting, gym.spaces.Box(0.0, 1.0, self._shape[1:], np.float64), **kwargs)
        self._elementwise = setting.family.elementwise
        self._functions: list[BoxFunction | None] = [None] * num_envs

    def _checked(self, actions: Any) -> np.ndarray:
        return as_points(actions, self._shape)

    def _means(self, actions: np.ndarray) -> np.ndarray:
        first = self._functions[0]
        if self._elementwise and first is not None:
            return first.evaluate(actions)
        means = np.empty(self.num_envs)
        for i, function in enumerate(self._functions):
            if function is not None:
                means[i] = function.evaluate(actions[i : i + 1])[0]
        return means

    def _costs(self, actions: np.ndarray) -> np.ndarray:
        return np.ones(len(actions))

    def _use(self, i: int, function: BoxFunction) -> None:
        self._functions[i] = function
