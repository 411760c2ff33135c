"""Bandit environments whose mean function changes from step to step."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, SupportsIndex

import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.bandit import FiniteArmEnv, as_arms
from gpbandit_envs.envs.episodes import reset_needed
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.functions.base import ArmFunction, certify_arms
from gpbandit_envs.functions.time_varying import MeanPath, TimeVaryingArms
from gpbandit_envs.problem import Certificate


class TimeVaryingArmEnv(FiniteArmEnv):
    """A bandit whose arms have other means at each evaluation; see `BanditEnv` for arguments.

    The regret of a step is measured from the best mean of that step. `mean`, `regret` and `optimum` are those of the
    coming one; `certificate` is that of the first, and `certificate_now()` that of the coming one. How the function
    moves goes with the function: `instance_seed` pins both, and `keep_function` repeats both.

    Args:
        recipe: As for `BanditEnv`, with a family of time-varying functions.
        **kwargs: As for `BanditEnv`.

    Raises:
        TypeError: if the family is none, or the recipe has offers.
    """

    regret_changes = True

    def __init__(self, recipe: EnvRecipe, **kwargs: Any) -> None:
        self._family = _family_of(recipe)
        super().__init__(recipe, **kwargs)
        self._path: MeanPath | None = None

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        answer = super().reset(seed=seed, options=options)
        first = self._episodes.function
        self._path = self._family.path(first, self._episodes.drift())
        self._go_to(first.mean)
        return answer

    def step(self, action: SupportsIndex) -> tuple[int, float, bool, bool, dict[str, Any]]:
        answer = super().step(action)
        self._go_to(self._current.next())
        return answer

    @property
    def certificate(self) -> Certificate:
        function: ArmFunction = self._episodes.function
        digest = hashlib.blake2b(function.mean.tobytes(), digest_size=16).hexdigest()
        return replace(function.certificate, facts={**function.certificate.facts, "instance": digest})

    def certificate_now(self) -> Certificate:
        """The certificate of the mean function of the coming step; for scoring, never for policies."""
        return certify_arms(self._current.mean).certificate

    @property
    def optimum(self) -> float:
        self._current  # noqa: B018  raises before the first reset
        return self.best_mean

    def mean(self, actions: Any) -> Float[np.ndarray, " n"]:
        means: np.ndarray = self._current.mean[as_arms(actions, 0, self._n_arms)]
        return means

    def regret(self, actions: Any) -> Float[np.ndarray, " n"]:
        return self.best_mean - self.mean(actions)

    @property
    def _current(self) -> MeanPath:
        if self._path is None:
            raise reset_needed()
        return self._path

    def _go_to(self, mean: np.ndarray) -> None:
        self._mean_of, self.best_mean = mean.item, float(mean.max())


def _family_of(recipe: EnvRecipe) -> TimeVaryingArms:
    if not isinstance(recipe.family, TimeVaryingArms):
        raise TypeError(f"recipe: expected a family of time-varying functions, got {type(recipe.family).__name__}")
    if recipe.offers is not None:
        raise TypeError("recipe: expected time-varying functions or offers, got both")
    return recipe.family
