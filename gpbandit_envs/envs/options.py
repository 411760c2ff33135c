"""What every environment takes besides the keywords of its recipe, composed around that recipe one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gpbandit_envs.arguments import as_number, as_truth
from gpbandit_envs.certify import find, table_hash
from gpbandit_envs.corruption import as_corruption
from gpbandit_envs.envs.recipe import EnvRecipe, fixed_table
from gpbandit_envs.functions.base import ArmFamily, NearArms
from gpbandit_envs.functions.rows import RowsLike, as_rows
from gpbandit_envs.functions.time_varying import TimeVaryingArms
from gpbandit_envs.gp import Scale, as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import TableNoise

__all__ = ["composed", "rescale_lengthscales"]

_WRONG = ("lengthscale", "variance", "norm", "noise", "sup")


def composed(
    recipe: EnvRecipe,
    *,
    misspecification: Mapping[str, float] | None = None,
    corruption: Mapping[str, Any] | None = None,
    initial: int = 0,
    certified: bool = False,
    rows: RowsLike = None,
) -> EnvRecipe:
    """The recipe with these options.

    Args:
        recipe: The recipe.
        misspecification: Factors by which the stated quantities are wrong, such as `{"lengthscale": 2.0}`; keys
            lengthscale, variance, norm, noise. `{"sup": 0.1}` moves the mean of every arm by 0.1, up or down, away from
            a function that the stated prior describes. Policies are told what is wrong, and use it or not.
        corruption: An adversary that adds to the feedback until its budget is spent, such as
            `{"name": "clipping", "budget": 50.0}`; see `gpbandit_envs.corruption`. Policies are told the budget. Regret
            is that of the clean means; `info["oracle"]["corruption"]` is what was added. Finite arms only.
        initial: Evaluations of arms drawn uniformly, with replacement, that `reset` makes before the first step. The
            problem holds their arms and noisy rewards; they are no steps and cost no regret. Finite arms only, and not
            in the native vector form, whose environments share one problem.
        certified: Whether a table states how near its means are to functions of bounded norm under its kernel, as the
            kept certificate proves, and plays about their average; see `gpbandit certify`. Its knowledge is then
            `"certified"`.
        rows: How many of the arms an episode has, drawn anew with its mean function and pinned or kept as that is: a
            number, or `{"most": 2000, "apart": 0.2}`, where `apart` is the share of the arms that no episode has. At
            most four fifths of those that can be drawn. The problem is then known from the first `reset` on. Finite
            arms only, and not in the native vector form.

    Raises:
        TypeError, ValueError: if an option is wrong, or the recipe cannot have it; the message names it.
    """
    if as_truth("certified", certified):
        recipe = _certified(recipe, misspecification)
    if misspecification is not None:
        recipe = _misspecified(recipe, misspecification)
    adversary = None if corruption is None else as_corruption(corruption)
    some = None if rows is None else as_rows(rows)
    if isinstance(initial, bool) or not isinstance(initial, (int, np.integer)) or initial < 0:
        raise ValueError(f"initial: expected an integer >= 0, got {initial!r}")
    box, changes = not isinstance(recipe.family, ArmFamily), isinstance(recipe.family, TimeVaryingArms)
    if initial and box:
        raise ValueError(f"initial: expected 0 on a box, got {initial!r}")
    for name, given, shown in (("corruption", adversary, corruption), ("rows", some, some and some.most)):
        if given is not None and (box or changes):
            where = "on a box" if box else "where the mean function changes"
            raise ValueError(f"{name}: expected None {where}, got {shown!r}")
    if some is not None:
        if recipe.offers is not None:
            raise ValueError(f"rows: expected None where steps offer only some of the arms, got {some.most}")
        assert isinstance(recipe.family, ArmFamily)
        some.number(len(recipe.family.arms))  # raises if that is none
    return replace(recipe, corruption=adversary, initial=int(initial), rows=some)


def _certified(recipe: EnvRecipe, misspecification: Mapping[str, float] | None) -> EnvRecipe:
    """The recipe with what its certificate proves."""
    if misspecification:
        raise ValueError(f"certified: expected no misspecification beside it, got {dict(misspecification)}")
    table = fixed_table(recipe)
    if table is None or recipe.kernel is None:
        raise ValueError("certified: expected a table of arms whose means are fixed, and a stated kernel")
    found = find(table_hash(*table), dict(recipe.kernel.to_spec()))
    if found is None:
        raise ValueError(
            f"certified: no certificate of this table and the kernel {recipe.kernel} is kept; `gpbandit certify` makes "
            "it"
        )
    return replace(
        recipe,
        knowledge="certified",
        prior_mean=found.prior_mean,
        approximations=found.approximations,
        notes={**recipe.notes, "prior_mean": "average of the table, to two decimals"},
    )


def _misspecified(recipe: EnvRecipe, misspecification: Mapping[str, float]) -> EnvRecipe:
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


def _checked(misspecification: Mapping[str, float]) -> dict[str, float]:
    """The factors, and the distance `sup`, which is left out where it is 0."""
    if not isinstance(misspecification, Mapping):
        raise TypeError(f"misspecification: expected factors such as {{'lengthscale': 2.0}}, got {misspecification!r}")
    for key, factor in misspecification.items():
        if key not in _WRONG:
            raise ValueError(f"misspecification: expected keys among {', '.join(_WRONG)}, got {key!r}")
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
