"""From a function that builds a setting to the entry point that Gymnasium calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from gpbandit_envs.envs.base import METADATA, BanditEnv
from gpbandit_envs.envs.continuous import BoxEnv
from gpbandit_envs.envs.finite import FiniteArmEnv
from gpbandit_envs.envs.setting import Setting
from gpbandit_envs.envs.training import TrainingEnv
from gpbandit_envs.functions.base import ArmFamily
from gpbandit_envs.functions.training import TrainingBox

__all__ = ["COMMON", "EntryPoint"]

COMMON: tuple[str, ...] = tuple(
    name for name in inspect.signature(BanditEnv.__init__).parameters if name not in ("self", "setting")
)
"""Keywords that every environment takes, besides those of its setting."""


class EntryPoint:
    """Builds environments: its own keywords make the setting, the common ones go to the environment.

    Used as a decorator on a function that returns a `Setting`, whose keywords and docstring it takes over.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, build: Callable[..., Setting]) -> None:
        self.build = build
        self.parameters = inspect.signature(build).parameters
        functools.update_wrapper(self, build)
        common = inspect.signature(BanditEnv.__init__).parameters
        self.__signature__ = inspect.Signature([*self.parameters.values(), *(common[name] for name in COMMON)])

    def split(self, kwargs: dict[str, Any]) -> tuple[Setting, dict[str, Any]]:
        """The setting, and the keywords that are the environment's.

        Raises:
            TypeError: for an unknown keyword; the message lists those that exist.
        """
        own = {name: value for name, value in kwargs.items() if name in self.parameters}
        common = {name: value for name, value in kwargs.items() if name in COMMON}
        for name in kwargs:
            if name not in own and name not in common:
                raise TypeError(f"unknown argument {name!r}; it takes {', '.join([*self.parameters, *COMMON])}")
        return self.build(**own), common

    def __call__(self, **kwargs: Any) -> BanditEnv:
        """An environment without wrappers."""
        setting, common = self.split(kwargs)
        if isinstance(setting.family, ArmFamily):
            return FiniteArmEnv(setting, **common)
        return (TrainingEnv if isinstance(setting.family, TrainingBox) else BoxEnv)(setting, **common)
