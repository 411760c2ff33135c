"""Stated quantities that are wrong by known factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gpbandit_envs.arguments import as_number
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.functions.base import ArmFamily
from gpbandit_envs.functions.near import NearArms
from gpbandit_envs.functions.time_varying import TimeVaryingArms
from gpbandit_envs.gp import Scale, as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import TableNoise

__all__ = ["misspecified", "rescale_lengthscales"]

_KEYS = ("lengthscale", "variance", "norm", "noise", "sup")


def misspecified(recipe: EnvRecipe, misspecification: Mapping[str, float] | None) -> EnvRecipe:
    """The recipe with stated quantities wrong by these factors, and with means `"sup"` away from its own functions.

    Raises:
        TypeError: if the factors are no mapping.
        ValueError: if a key is not one of lengthscale, variance, norm, noise, sup, a factor is not a finite positive
            number, the recipe does not state the quantity, or its means cannot be moved.
    """
    factors = _checked(misspecification)
    kernel, norm, family = recipe.kernel, recipe.norm_bound, recipe.family
    for name, stated in (("lengthscale", kernel), ("variance", kernel)):
        if name in factors and stated is None:
            raise ValueError(f"misspecification: there is no kernel in the problem whose {name} could be wrong")
    if kernel is not None:
        kernel = rescale_lengthscales(kernel, factors["lengthscale"]) if "lengthscale" in factors else kernel
        kernel = Scale(kernel, factors["variance"]) if "variance" in factors else kernel
    if "norm" in factors:
        if norm is None:
            raise ValueError("misspecification: there is no norm bound in the problem that could be wrong")
        norm *= factors["norm"]
    if "noise" in factors and isinstance(recipe.noise, TableNoise) and recipe.noise.std == 0:
        raise ValueError("misspecification: there is no noise_std in the problem that could be wrong")
    if "sup" in factors:
        if not isinstance(family, ArmFamily):
            raise ValueError("misspecification['sup']: expected finite arms, as the optimum is certified arm by arm")
        if isinstance(family, TimeVaryingArms):
            raise ValueError("misspecification['sup']: expected a mean function that stays as it is")
        if recipe.knowledge != "oracle":
            raise ValueError(
                "misspecification['sup']: expected an environment whose functions the stated prior describes, got one "
                f"of knowledge {recipe.knowledge!r}"
            )
        family = NearArms(family, factors["sup"])
    return replace(recipe, family=family, kernel=kernel, norm_bound=norm, misspecification=factors)


def _checked(misspecification: Mapping[str, float] | None) -> dict[str, float]:
    """The factors, and the distance `sup`, which is left out where it is 0."""
    if misspecification is None:
        return {}
    if not isinstance(misspecification, Mapping):
        raise TypeError(f"misspecification: expected factors such as {{'lengthscale': 2.0}}, got {misspecification!r}")
    for key, factor in misspecification.items():
        if key not in _KEYS:
            raise ValueError(f"misspecification: expected keys among {', '.join(_KEYS)}, got {key!r}")
        if key == "sup":
            as_number("misspecification['sup']", factor, "a finite number >= 0", lambda distance: distance >= 0)
        elif not (isinstance(factor, (int, float)) and np.isfinite(factor) and factor > 0):
            raise ValueError(f"misspecification[{key!r}]: expected a finite factor > 0, got {factor!r}")
    return {key: float(factor) for key, factor in misspecification.items() if factor}


def rescale_lengthscales(kernel: Kernel, factor: float) -> Kernel:
    """`kernel` with every lengthscale in it multiplied by `factor`."""

    def rescaled(spec: Any) -> Any:
        if isinstance(spec, list):
            return [rescaled(part) for part in spec]
        if not isinstance(spec, dict):
            return spec
        return {key: times(value) if key == "lengthscale" else rescaled(value) for key, value in spec.items()}

    def times(lengthscale: Any) -> Any:
        if isinstance(lengthscale, (list, tuple)):
            return [part * factor for part in lengthscale]
        return lengthscale * factor

    return as_kernel(rescaled(kernel.to_spec()))
