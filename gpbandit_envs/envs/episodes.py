"""The random streams of an environment and the mean functions drawn from them, episode by episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeVar, get_args

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

from gpbandit_envs.arguments import as_truth
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, BoxFamily, BoxFunction

__all__ = ["Episodes", "Stream", "keeps_function", "reset_needed"]

Stream = Literal["function", "noise", "cost", "delay", "initial", "context", "drift"]
_STREAMS: tuple[Stream, ...] = get_args(Stream)

FunctionT = TypeVar("FunctionT", ArmFunction, BoxFunction)


class Episodes(Generic[FunctionT]):
    """The current episode: its seed, its number and its mean function.

    The generator of a stream is child `stream` of child `episode` of `SeedSequence(seed)`, as `SeedSequence.spawn`
    makes them: seeds, episodes and purposes never share a stream.

    Args:
        family: Mean functions.
        instance_seed: Seed that pins the function, whatever the episodes are seeded with; None for a new one each.

    Raises:
        ValueError: if `instance_seed` is no integer >= 0.
    """

    def __init__(self, family: ArmFamily | BoxFamily, instance_seed: int | None) -> None:
        if instance_seed is not None and (not isinstance(instance_seed, (int, np.integer)) or instance_seed < 0):
            raise ValueError(f"instance_seed: expected an integer >= 0 or None, got {instance_seed!r}")
        self._family = family
        self._instance_seed = instance_seed
        self._function: FunctionT | None = None
        self._seed: int | None = None
        self._episode = -1
        self._drawn_in = 0, 0

    @property
    def seeded(self) -> bool:
        """Whether there was an episode."""
        return self._seed is not None

    @property
    def function(self) -> FunctionT:
        """The mean function of the current episode.

        Raises:
            gymnasium.error.ResetNeeded: before the first one.
        """
        if self._function is None:
            raise reset_needed()
        return self._function

    def advance(self, seed: int | None, keep: bool) -> bool:
        """Go on to the next episode, of a new seed if one is given; whether the function has changed."""
        if seed is not None or self._seed is None:
            self._seed, self._episode = (seeding.np_random()[1] if seed is None else seed), -1
        self._episode += 1
        if self._function is not None and (keep or self._family.fixed or self._instance_seed is not None):
            return False
        seed, episode = (self._seed, self._episode) if self._instance_seed is None else (self._instance_seed, 0)
        self._drawn_in = seed, episode
        self._function = self._family.draw(_generator(seed, episode, "function"))  # type: ignore[assignment]
        return True

    def drift(self) -> np.random.Generator:
        """A fresh generator of how the mean function moves, which goes with the function: kept or pinned as that is."""
        return _generator(*self._drawn_in, "drift")

    def stream(self, name: Stream) -> np.random.Generator:
        """A fresh generator at the start of stream `name` of the current episode.

        Raises:
            gymnasium.error.ResetNeeded: before the first one.
        """
        if self._seed is None:
            raise reset_needed()
        return _generator(self._seed, self._episode, name)


def keeps_function(options: Mapping[str, Any] | None) -> bool:
    """Whether reset options keep the mean function.

    Raises:
        TypeError: if the value is no truth value.
        ValueError: if an option is unknown.
    """
    for name in options or {}:
        if name != "keep_function":
            raise ValueError(f"options: expected only 'keep_function', got {name!r}")
    return as_truth("keep_function", (options or {}).get("keep_function", False))


def reset_needed() -> gym.error.ResetNeeded:
    """The error raised before the first `reset`."""
    return gym.error.ResetNeeded("the environment has no instance yet: call reset() first")


def _generator(seed: int, episode: int, name: Stream) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(episode, _STREAMS.index(name)))))
