"""What an environment may have besides mean function, noise and costs: one small class for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpbandit_envs.corruption import Corruption
from gpbandit_envs.envs.episodes import reset_needed
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.functions.base import ArmFamily, ArmFunction
from gpbandit_envs.functions.rows import RowsFunction
from gpbandit_envs.problem import InitialData, Problem

if TYPE_CHECKING:
    from gpbandit_envs.envs.bandit import BanditEnv

__all__ = ["CorruptedFeedback", "Feature", "InitialEvaluations", "RowsDrawnAnew", "features_of"]


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


def features_of(recipe: EnvRecipe) -> tuple[Feature, ...]:
    """The features that a recipe asks for; the arms of an episode come before what depends on them."""
    found: list[Feature] = []
    if recipe.rows is not None:
        found.append(RowsDrawnAnew(recipe))
    if recipe.initial:
        found.append(InitialEvaluations())
    if recipe.corruption is not None:
        found.append(CorruptedFeedback(recipe.corruption))
    return tuple(found)
