"""Recipes: the parts of a bandit, what policies are told of them, and the options that are composed around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from gpbandit_envs.arguments import as_number, as_truth
from gpbandit_envs.certify import find, table_hash
from gpbandit_envs.corruption import Corruption, as_corruption
from gpbandit_envs.datasets.table import neighbours_among
from gpbandit_envs.functions.base import (
    ArmFamily,
    BoxFamily,
    FixedArms,
    NearArms,
    Rows,
    RowsFunction,
    RowsLike,
    as_rows,
)
from gpbandit_envs.functions.laboratory import InUnits
from gpbandit_envs.functions.time_varying import DriftingGP, TimeVaryingArms
from gpbandit_envs.gp import Scale, as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import ArmNoise, Noise, TableNoise, as_noise
from gpbandit_envs.offers import Offers
from gpbandit_envs.problem import Approximation, Knowledge, Problem

_WRONG = ("lengthscale", "variance", "norm", "noise", "sup")

KernelLike = Kernel | Mapping[str, Any] | None
"""A kernel, its JSON form, or None for the default."""
NoiseLike = Mapping[str, Any] | str | None
"""The JSON form or the name of a noise model, or None for Gaussian noise."""


@dataclass(frozen=True, kw_only=True)
class EnvRecipe:
    """The parts of a bandit environment.

    Attributes:
        family: Mean functions; a finite arm set or a box.
        noise: Noise model.
        kernel: Prior stated to policies; None to state none.
        norm_bound: RKHS norm bound stated to policies; None to state none.
        knowledge: How the stated prior relates to the truth.
        costs: Cost of each arm, shape `(A,)`; None for 1 each.
        neighbours: Neighbourhood of the arms, stated to policies.
        offers: Which arms each step offers; None for all of them, always.
        prior_mean: Constant that the prior is about, stated to policies.
        approximations: How near the means are to functions of bounded norm, stated to policies.
        notes: Further facts stated to policies.
        misspecification: Factors by which stated quantities are wrong; see `composed`, as for these:
        corruption: An adversary that adds to the feedback; None for none.
        initial: Evaluations of arms that are made before the first step of each episode.
        rows: How many of the arms an episode has, drawn anew; None for all of them.
        untold: Whether the problem states no noise.

    Raises:
        ValueError: if the noise model does not fit the arms.
    """

    family: ArmFamily | BoxFamily
    noise: Noise
    kernel: Kernel | None
    norm_bound: float | None
    knowledge: Knowledge = "oracle"
    costs: np.ndarray | None = None
    neighbours: np.ndarray | None = None
    offers: Offers | None = None
    prior_mean: float = 0.0
    approximations: tuple[Approximation, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)
    misspecification: Mapping[str, float] = field(default_factory=dict)
    corruption: Corruption | None = None
    initial: int = 0
    rows: Rows | None = None
    untold: bool = False

    def __post_init__(self) -> None:
        arms = self.family.arms if isinstance(self.family, ArmFamily) else None
        if self.kernel is not None:  # one of other features would fail where a policy first asks it
            point = np.zeros((1, self.family.dim if isinstance(self.family, BoxFamily) else self.family.arms.shape[1]))
            self.kernel(point, point)
        object.__setattr__(self, "noise", self.noise.on(arms))

    def among(self, function: RowsFunction) -> EnvRecipe:
        """The recipe of an episode that has only some rows of the arms, with their function."""
        assert isinstance(self.family, ArmFamily)
        whole, rows = self.family.arms, function.rows
        kept = np.zeros(len(whole), bool)
        kept[rows] = True
        arms = whole[rows]
        arms.flags.writeable = False
        return replace(
            self,
            family=FixedArms(arms, function.mean, self.family.kernel, self.family.norm_bound),
            noise=self.noise.among(rows),
            costs=None if self.costs is None else self.costs[rows],
            neighbours=None if self.neighbours is None else neighbours_among(self.neighbours, kept),
            notes={**self.notes, "rows": f"{len(rows):,} of {len(whole):,}, drawn anew in each episode"},
        )

    def problem(self, spec: gym.envs.registration.EnvSpec | None, horizon: int | None) -> Problem:
        """The problem description.

        The horizon is `horizon`, or else the time limit that the environment's id is registered with.
        """
        family, noise, wrong = self.family, self.noise, self.misspecification
        times = wrong.get("noise", 1.0)
        silent = self.untold or (isinstance(noise, TableNoise) and noise.std == 0)
        tails = None if self.untold else noise.tails
        # That of `ArmNoise` is stated in full; its largest deviation is true of every arm.
        stated_in_full = noise.homoscedastic or isinstance(noise, ArmNoise)
        # A wrong bound on the norm leaves kernel and noise true, and one that is too large is a bound.
        is_wrong = bool(wrong.keys() - {"sup", "norm"}) or not stated_in_full
        if horizon is None and spec is not None and spec.id in gym.registry:
            horizon = gym.registry[spec.id].max_episode_steps
        budget = 0.0 if self.corruption is None else self.corruption.budget
        arms = family.arms if isinstance(family, ArmFamily) else None
        return Problem(
            name=spec.id if spec is not None else "unregistered",
            dim=family.arms.shape[1] if isinstance(family, ArmFamily) else family.dim,
            arms=arms,
            kernel=self.kernel,
            noise_std=None if silent else noise.std * times,
            noise_stds=None if silent or noise.stds is None else noise.stds * times,
            noise_tails=None if tails is None else replace(tails, sub_gaussian=tails.sub_gaussian * times),
            prior_mean=self.prior_mean,
            norm_bound=self.norm_bound,
            approximations=self.approximations,
            horizon=horizon,
            knowledge="misspecified" if self.knowledge == "oracle" and is_wrong else self.knowledge,
            misspecification={**wrong, "corruption": budget} if budget else wrong,
            neighbours=None if arms is None else self.neighbours,
            contexts=self.offers is not None,
            time_varying=isinstance(family, TimeVaryingArms),
            drift=family.eps if isinstance(family, DriftingGP) else None,
            notes=self.notes if self.untold else {"noise": noise.to_spec(), **self.notes},
        )


def drawn(
    family: ArmFamily | BoxFamily, stated: Kernel | None, noise: NoiseLike, noise_std: float, **parts: Any
) -> EnvRecipe:
    """The recipe of functions that `family.kernel` describes, where policies are told the kernel `stated`.

    The norm under another kernel than the one that drew the function is unknown, and may be infinite: none is stated.
    """
    is_true = stated == family.kernel
    return EnvRecipe(
        family=family,
        noise=as_noise(noise, noise_std),
        kernel=stated,
        norm_bound=family.norm_bound if is_true else None,
        knowledge="oracle" if is_true else "misspecified",
        **parts,
    )


def modelled(
    family: ArmFamily | BoxFamily, kernel: KernelLike, noise: NoiseLike, noise_std: float, **parts: Any
) -> EnvRecipe:
    """The recipe of a function that no kernel describes: the stated prior, if any, is a modelling choice."""
    return EnvRecipe(
        family=family,
        noise=as_noise(noise, noise_std),
        kernel=None if kernel is None else as_kernel(kernel),
        norm_bound=None,
        knowledge="learned",
        **parts,
    )


def fixed_table(recipe: EnvRecipe) -> tuple[np.ndarray, np.ndarray] | None:
    """Arms and means of a recipe whose means are the same in every episode; None for any other."""
    family = recipe.family
    if not isinstance(family, ArmFamily) or isinstance(family, TimeVaryingArms) or not family.fixed:
        return None
    return family.arms, family.draw(np.random.default_rng(0)).mean


def composed(
    recipe: EnvRecipe,
    *,
    misspecification: Mapping[str, float] | None = None,
    corruption: Mapping[str, Any] | None = None,
    initial: int = 0,
    certified: bool = False,
    rows: RowsLike = None,
    untold: bool = False,
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
            problem holds their arms and noisy rewards; they are no steps and cost no regret. Finite arms only.
        certified: Whether a table states how near its means are to functions of bounded norm under its kernel, as the
            kept certificate proves, and plays about their average; see `gpbandit_envs.certify`. Its knowledge is then
            `"certified"`.
        rows: How many of the arms an episode has, drawn anew with its mean function and pinned or kept as that is: a
            number, or `{"most": 2000, "apart": 0.2}`, where `apart` is the share of the arms that no episode has. At
            most four fifths of those that can be drawn. The problem is then known from the first `reset` on. Finite
            arms only.
        untold: Whether policies meet the task as a laboratory does: the problem states neither kernel nor norm nor
            noise, only which columns are categories, and means are about their own mean, in units of their deviation
            once they are clipped from below at their lower quartile. `noise_std` is then in that unit. Finite arms
            only, and no replicates for a noise.

    Raises:
        TypeError, ValueError: if an option is wrong, or the recipe cannot have it; the message names it.
    """
    if as_truth("untold", untold):
        recipe = _untold(recipe, certified, misspecification)
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


def _untold(recipe: EnvRecipe, certified: bool, misspecification: Mapping[str, float] | None) -> EnvRecipe:
    """The recipe in units of its means, of which nothing is stated."""
    if certified or misspecification:
        raise ValueError("untold: expected neither certified nor misspecification beside it, as nothing is stated")
    if not isinstance(recipe.family, ArmFamily) or isinstance(recipe.family, TimeVaryingArms) or recipe.offers:
        raise ValueError("untold: expected finite arms, all of them at each step, and means that stay as they are")
    if isinstance(recipe.noise, TableNoise):
        raise ValueError("untold: expected a noise with a deviation, got replicates; give noise='gaussian'")
    return replace(
        recipe,
        family=InUnits(recipe.family),
        kernel=None,
        norm_bound=None,
        knowledge="learned",
        prior_mean=0.0,
        notes={name: recipe.notes[name] for name in ("categories",) if name in recipe.notes},
        untold=True,
    )


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
            f"certified: no certificate of this table and the kernel {recipe.kernel} is kept; gpbandit_envs.certify "
            "makes it"
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
