"""Episodes: random streams, the mean functions drawn from them, and what an environment may have besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding

from gpbandit_envs.arguments import as_truth
from gpbandit_envs.corruption import Corruption
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, BoxFamily, RowsFunction
from gpbandit_envs.problem import InitialData, Problem

if TYPE_CHECKING:
    from gpbandit_envs.envs.bandit import BanditEnv

Stream = Literal["function", "noise", "cost", "delay", "initial", "context", "drift"]
_STREAMS: tuple[Stream, ...] = get_args(Stream)


class Episodes:
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
        self._function: Any = None
        self._seed: int | None = None
        self._episode = -1
        self._drawn_in = 0, 0

    @property
    def seeded(self) -> bool:
        """Whether there was an episode."""
        return self._seed is not None

    @property
    def function(self) -> Any:
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
        self._function = self._family.draw(_generator(seed, episode, "function"))
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


class Feature:
    """A feature of an environment, of which each method does nothing unless it is overridden."""

    def state(self, env: BanditEnv, problem: Problem) -> Problem:
        """What policies are told."""
        return problem

    def use(self, env: BanditEnv, function: Any) -> None:
        """There is a new mean function, for which the environment is about to be prepared."""

    def begin(self, env: BanditEnv) -> None:
        """An episode begins, on a mean function for which the environment is prepared."""

    def feed(self, env: BanditEnv, action: Any, mean: float, reward: float, info: dict[str, Any]) -> float:
        """The feedback of an evaluation, in place of `reward`; what is to be said of it goes to `info`."""
        return reward


class CorruptedFeedback(Feature):
    """An adversary adds to the feedback, until its budget is spent."""

    def __init__(self, corruption: Corruption) -> None:
        self._corruption = corruption

    def use(self, env: BanditEnv, function: ArmFunction) -> None:
        assert isinstance(env.recipe.family, ArmFamily)
        self._shift_of = self._corruption.attack.shifts(function.mean, env.recipe.family.arms).item

    def begin(self, env: BanditEnv) -> None:
        self._left = self._corruption.budget

    def feed(self, env: BanditEnv, action: Any, mean: float, reward: float, info: dict[str, Any]) -> float:
        added = float(max(-self._left, min(self._left, self._shift_of(action))))
        self._left -= abs(added)
        if "oracle" in info:
            info["oracle"]["corruption"] = added
        return reward + added


class InitialEvaluations(Feature):
    """Arms are evaluated before the first step; the problem holds what was seen."""

    def state(self, env: BanditEnv, problem: Problem) -> Problem:
        if not env.seeded:
            return problem
        rng, recipe = env.stream("initial"), env.recipe
        assert isinstance(recipe.family, ArmFamily)
        arms = rng.integers(len(recipe.family.arms), size=recipe.initial)
        # The means of `reset`, also where those of a later step differ: the data are made when they are first read.
        rewards = recipe.noise.reward(env.function.mean[arms], arms, recipe.noise.draw(rng, recipe.initial))
        return replace(problem, initial=InitialData(arms=arms, rewards=rewards))

    def begin(self, env: BanditEnv) -> None:
        env.state_anew()


class RowsDrawnAnew(Feature):
    """An episode has only some of the arms."""

    def __init__(self, whole: EnvRecipe) -> None:
        self._whole = whole

    def state(self, env: BanditEnv, problem: Problem) -> Problem:
        if not env.seeded:
            raise reset_needed()
        return problem

    def use(self, env: BanditEnv, function: RowsFunction) -> None:
        env.recipe = self._whole.among(function)
        env.state_anew()


class FailedEvaluations(Feature):
    """Some arms give no result: `info["failed"]` says so, and the feedback is to be ignored."""

    def __init__(self, failed: np.ndarray) -> None:
        self._failed = failed.tolist()

    def feed(self, env: BanditEnv, action: Any, mean: float, reward: float, info: dict[str, Any]) -> float:
        if self._failed[action]:
            info["failed"] = True
        return reward


def features_of(recipe: EnvRecipe) -> tuple[Feature, ...]:
    """The features that a recipe asks for; the arms of an episode come before what depends on them."""
    found: list[Feature] = []
    if recipe.rows is not None:
        found.append(RowsDrawnAnew(recipe))
    if recipe.initial:
        found.append(InitialEvaluations())
    if recipe.corruption is not None:
        found.append(CorruptedFeedback(recipe.corruption))
    if isinstance(recipe.family, ArmFamily) and recipe.family.failed is not None:
        found.append(FailedEvaluations(recipe.family.failed))
    return tuple(found)
