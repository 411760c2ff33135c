"""What every environment takes besides the keywords of its recipe, composed around that recipe one by one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gpbandit_envs.arguments import as_truth
from gpbandit_envs.certify import find, table_hash
from gpbandit_envs.corruption import as_corruption
from gpbandit_envs.envs.misspecified import misspecified
from gpbandit_envs.envs.recipe import EnvRecipe, fixed_table
from gpbandit_envs.functions.base import ArmFamily
from gpbandit_envs.functions.rows import RowsLike, as_rows
from gpbandit_envs.functions.time_varying import TimeVaryingArms

__all__ = ["composed"]


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
    recipe = misspecified(recipe, misspecification)
    adversary, some = as_corruption(corruption), as_rows(rows)
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
