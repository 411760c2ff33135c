"""The vector entry points that Gymnasium calls, one for each in `gpbandit_envs.envs`."""

from __future__ import annotations

import importlib
from typing import Any

from gpbandit_envs.envs.factory import EntryPoint
from gpbandit_envs.functions.base import ArmFamily
from gpbandit_envs.functions.training import TrainingBox
from gpbandit_envs.vector.base import BanditVectorEnv
from gpbandit_envs.vector.continuous import BoxVectorEnv
from gpbandit_envs.vector.finite import FiniteArmVectorEnv
from gpbandit_envs.vector.training import TrainingVectorEnv

__all__ = ["VectorEntryPoint"]


class VectorEntryPoint:
    """Builds the native vector form of an entry point, from the same keywords.

    Args:
        single: The entry point of one environment.
    """

    def __init__(self, single: EntryPoint) -> None:
        self._single = single

    def __call__(self, num_envs: int, **kwargs: Any) -> BanditVectorEnv:
        """`num_envs` environments; besides their own keywords it takes `max_episode_steps` and `autoreset_mode`."""
        vector = {name: kwargs.pop(name) for name in ("max_episode_steps", "autoreset_mode") if name in kwargs}
        setting, common = self._single.split(kwargs)
        if isinstance(setting.family, ArmFamily):
            return FiniteArmVectorEnv(num_envs, setting, **vector, **common)
        build = TrainingVectorEnv if isinstance(setting.family, TrainingBox) else BoxVectorEnv
        return build(num_envs, setting, **vector, **common)


def __getattr__(name: str) -> VectorEntryPoint:
    """`synthetic__rkhs` is the vector form of `gpbandit_envs.envs.synthetic:rkhs`; imported when asked for."""
    module, separator, attribute = name.partition("__")
    if module and separator and attribute:
        single = getattr(importlib.import_module(f"gpbandit_envs.envs.{module}"), attribute)
        if isinstance(single, EntryPoint):
            return VectorEntryPoint(single)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
