"""Many trainings in one step."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.functions.training import TrainingBox
from gpbandit_envs.vector.continuous import BoxVectorEnv

__all__ = ["TrainingVectorEnv"]


class TrainingVectorEnv(BoxVectorEnv):
    """`TrainingEnv`, `N` at a time; see `BanditVectorEnv`."""

    def __init__(self, num_envs: int, setting: Setting, **kwargs: Any) -> None:
        if not isinstance(setting.family, TrainingBox):
            raise TypeError(f"setting: expected a training, got {type(setting.family).__name__}")
        super().__init__(num_envs, setting, **kwargs)
        self._training = setting.family.training

    def _costs(self, actions: np.ndarray) -> np.ndarray:
        return np.array([self._training.outcome(x).cost for x in actions])

    def _info(self, actions: np.ndarray, means: np.ndarray, live: np.ndarray | None) -> dict[str, Any]:
        info = super()._info(actions, means, live)
        failed = np.array([self._training.outcome(x).failure is not None for x in actions])
        if live is not None:
            failed &= live
        # As in SyncVectorEnv, a key that no environment gave is not there.
        return {**info, "failed": failed, "_failed": failed.copy()} if failed.any() else info
