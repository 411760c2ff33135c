"""Gymnasium entry points: build an environment from keywords."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from gpbandit_envs.envs.bandit import METADATA, BanditEnv, BoxEnv, FiniteArmEnv
from gpbandit_envs.envs.contextual import ContextualArmEnv
from gpbandit_envs.envs.recipe import EnvRecipe, composed
from gpbandit_envs.envs.time_varying import TimeVaryingArmEnv
from gpbandit_envs.functions.base import ArmFamily
from gpbandit_envs.functions.time_varying import TimeVaryingArms

_OPTIONS, _SETTINGS = (
    {name: one for name, one in inspect.signature(takes).parameters.items() if name not in ("self", "recipe")}
    for takes in (composed, BanditEnv.__init__)
)
COMMON_ARGUMENTS: Mapping[str, inspect.Parameter] = {**_OPTIONS, **_SETTINGS}
"""Keywords that every environment takes besides those of its recipe: options of `composed`, and of `BanditEnv`."""

_SHARED_MEANINGS = {
    "grid": "Points per axis of the regular grid that serves as arm set; None for the whole box.",
    "noise_std": "Standard deviation of the noise, unit of the reward.",
    "kernel": "Prior stated to policies, on the unit cube; none if None.",
    "noise": "Noise model, a name or a spec; Gaussian if None.",
    "scaling": (
        'Features of mean 0 and variance 1 (`"standard"`), mapped to [0, 1] by column (`"minmax"`), or '
        'standardised and then divided by the largest norm of an arm (`"unit-norm"`).'
    ),
    "shift": "Whether each episode has the function translated by up to a tenth of the box, the optimum inside it.",
    "values": '`{"centre": c, "scale": s}` for `(v - c) / s` in place of the values `v` in [0, 1]; None for these.',
}
"""What a keyword of a recipe means where its docstring says nothing else."""


class EntryPoint:
    """Decorator of a function that returns an `EnvRecipe`: the entry point of an id.

    The keywords of the function make the recipe; those in `COMMON_ARGUMENTS` go to the environment. A recipe with
    finite arms makes a `FiniteArmEnv`, one on a box a `BoxEnv`.

    Gymnasium requires this form: an id is registered with a string `module:attribute`, because its spec is written as
    JSON; what it names is called with the keywords of `gymnasium.make`; and its `metadata` decides which rendering
    wrappers are added.

    Args:
        recipe: Builds the recipe from keywords. Its docstring need not say what `grid`, `noise_std`, `kernel` and
            `noise` mean where they mean what they do in most environments: it is added.

    Attributes:
        parameters: The keywords of `recipe`, by name.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, recipe: Callable[..., EnvRecipe]) -> None:
        self._recipe = recipe
        self.parameters = inspect.signature(recipe).parameters
        functools.update_wrapper(self, recipe)
        if not isinstance(recipe, functools.partial) and recipe.__doc__ is not None:
            self.__doc__ = _documented(recipe.__doc__, self.parameters)

    def recipe(self, **kwargs: Any) -> EnvRecipe:
        """The recipe of these keywords, for environments that are made of another one."""
        return self._recipe(**kwargs)

    @property
    def given(self) -> tuple[Any, ...]:
        """What the recipe has been given already, such as a function of one's own and its definition."""
        return self._recipe.args if isinstance(self._recipe, functools.partial) else ()

    def __reduce__(self) -> tuple[Any, ...]:
        return EntryPoint, (self._recipe,)

    def __deepcopy__(self, memo: dict[int, Any]) -> EntryPoint:
        return self  # `gymnasium.make` copies the spec of an id, and a recipe may hold a table

    def __call__(self, **kwargs: Any) -> BanditEnv:
        """An environment without wrappers.

        Raises:
            TypeError: for an unknown keyword; the message lists those that exist.
        """
        own: dict[str, Any] = {}
        options: dict[str, Any] = {}
        common: dict[str, Any] = {}
        for name, value in kwargs.items():
            for known, given in ((self.parameters, own), (_OPTIONS, options), (_SETTINGS, common)):
                if name in known:
                    given[name] = value
                    break
            else:
                takes = ", ".join([*self.parameters, *COMMON_ARGUMENTS])
                raise TypeError(f"unknown argument {name!r}; it takes {takes}")
        recipe = composed(self._recipe(**own), **options)
        if isinstance(recipe.family, TimeVaryingArms):
            return TimeVaryingArmEnv(recipe, **common)
        if recipe.offers is not None:
            return ContextualArmEnv(recipe, **common)
        return (FiniteArmEnv if isinstance(recipe.family, ArmFamily) else BoxEnv)(recipe, **common)


def _documented(docstring: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """A docstring that ends with its arguments, where each has a meaning, in the order of the signature."""
    text, _, arguments = inspect.cleandoc(docstring).partition("\n\nArgs:\n")
    meanings = _SHARED_MEANINGS | dict(re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", arguments, flags=re.MULTILINE))
    stated = [f"    {name}: {meanings[name]}" for name in parameters if name in meanings]
    return "\n".join([text, "", "Args:", *stated]) if stated else text
