"""Environment recipes, and the problem descriptions that policies receive."""

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
from gpbandit_envs.functions.base import ArmFamily, BoxFamily, FixedArms
from gpbandit_envs.functions.near import NearArms
from gpbandit_envs.functions.rows import DrawnRows, Rows, RowsFunction
from gpbandit_envs.functions.time_varying import DriftingGP, TimeVaryingArms
from gpbandit_envs.gp import Scale, as_kernel
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import ArmNoise, Noise, TableNoise
from gpbandit_envs.offers import Offers
from gpbandit_envs.problem import Approximation, Knowledge, Problem

__all__ = [
    "EnvRecipe",
    "KernelLike",
    "NoiseLike",
    "adversary",
    "certified_recipe",
    "fixed_table",
    "make_problem",
    "misspecification_factors",
    "misspecified",
    "on_rows",
    "rescale_lengthscales",
]

KernelLike = Kernel | Mapping[str, Any] | None
"""A kernel, its JSON form, or None for the default."""
NoiseLike = Mapping[str, Any] | str | None
"""The JSON form or the name of a noise model, or None for Gaussian noise."""

_MISSPECIFIABLE = ("lengthscale", "variance", "norm", "noise", "sup")


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


def misspecification_factors(misspecification: Mapping[str, float] | None) -> dict[str, float]:
    """The misspecification factors, checked, and the distance `sup`, which is left out where it is 0.

    Raises:
        TypeError: if it is no mapping.
        ValueError: if a key is not one of lengthscale, variance, norm, noise, sup, or a factor is not a finite positive
            number.
    """
    if misspecification is None:
        return {}
    if not isinstance(misspecification, Mapping):
        raise TypeError(f"misspecification: expected factors such as {{'lengthscale': 2.0}}, got {misspecification!r}")
    for key, factor in misspecification.items():
        if key not in _MISSPECIFIABLE:
            raise ValueError(f"misspecification: expected keys among {', '.join(_MISSPECIFIABLE)}, got {key!r}")
        if key == "sup":
            as_number("misspecification['sup']", factor, "a finite number >= 0", lambda distance: distance >= 0)
        elif not (isinstance(factor, (int, float)) and np.isfinite(factor) and factor > 0):
            raise ValueError(f"misspecification[{key!r}]: expected a finite factor > 0, got {factor!r}")
    return {key: float(factor) for key, factor in misspecification.items() if factor}


def misspecified(recipe: EnvRecipe, factors: Mapping[str, float]) -> EnvRecipe:
    """The recipe with mean functions that are `factors["sup"]` away from its own, if that is among the factors.

    Raises:
        ValueError: on a box, or if the stated prior is not known to be true of the recipe's own functions.
    """
    if "sup" not in factors:
        return recipe
    if not isinstance(recipe.family, ArmFamily):
        raise ValueError("misspecification['sup']: expected finite arms, as the optimum is certified arm by arm")
    if isinstance(recipe.family, TimeVaryingArms):
        raise ValueError("misspecification['sup']: expected a mean function that stays as it is")
    if recipe.knowledge != "oracle":
        raise ValueError(
            "misspecification['sup']: expected an environment whose functions the stated prior describes, got one of "
            f"knowledge {recipe.knowledge!r}"
        )
    return replace(recipe, family=NearArms(recipe.family, factors["sup"]))


def certified_recipe(recipe: EnvRecipe, certified: bool, factors: Mapping[str, float]) -> EnvRecipe:
    """The recipe with what its certificate proves, if that is wanted.

    Raises:
        TypeError: if `certified` is no truth value.
        ValueError: if there is no table of known means, no kernel, something is to be misspecified, or no certificate
            of this table and kernel is found.
    """
    if not as_truth("certified", certified):
        return recipe
    if factors:
        raise ValueError(f"certified: expected no misspecification beside it, got {dict(factors)}")
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


def fixed_table(recipe: EnvRecipe) -> tuple[np.ndarray, np.ndarray] | None:
    """Arms and means of a recipe whose means are the same in every episode; None for any other."""
    family = recipe.family
    if not isinstance(family, ArmFamily) or isinstance(family, TimeVaryingArms) or not family.fixed:
        return None
    return family.arms, family.draw(np.random.default_rng(0)).mean


def adversary(recipe: EnvRecipe, corruption: Mapping[str, Any] | None) -> Corruption | None:
    """The adversary of an environment; None for none.

    Raises:
        TypeError, ValueError: as `as_corruption`; on a box, or if the mean changes from step to step.
    """
    parsed = as_corruption(corruption)
    if parsed is not None and not isinstance(recipe.family, ArmFamily):
        raise ValueError(f"corruption: expected None on a box, got {corruption!r}")
    if parsed is not None and isinstance(recipe.family, TimeVaryingArms):
        raise ValueError(f"corruption: expected None where the mean function changes, got {corruption!r}")
    return parsed


def on_rows(recipe: EnvRecipe, rows: Rows | None) -> ArmFamily | BoxFamily:
    """The mean functions of a recipe, on rows that are drawn with each of them if `rows` is given.

    Raises:
        ValueError: on a box, where the mean changes from step to step, or where steps offer some of the arms only.
    """
    if rows is None:
        return recipe.family
    if not isinstance(recipe.family, ArmFamily):
        raise ValueError(f"rows: expected None on a box, got {rows.most}")
    if isinstance(recipe.family, TimeVaryingArms):
        raise ValueError(f"rows: expected None where the mean function changes, got {rows.most}")
    if recipe.offers is not None:
        raise ValueError(f"rows: expected None where steps offer only some of the arms, got {rows.most}")
    rows.number(len(recipe.family.arms))
    return DrawnRows(recipe.family, rows)


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


def _wrong_kernel(kernel: Kernel | None, factors: Mapping[str, float]) -> Kernel | None:
    """The kernel that is stated in place of the true one."""
    for name in ("lengthscale", "variance"):
        if name in factors and kernel is None:
            raise ValueError(f"misspecification: there is no kernel in the problem whose {name} could be wrong")
    if kernel is not None and "lengthscale" in factors:
        kernel = rescale_lengthscales(kernel, factors["lengthscale"])
    if kernel is not None and "variance" in factors:
        kernel = Scale(kernel, factors["variance"])
    return kernel


def make_problem(
    recipe: EnvRecipe,
    spec: gym.envs.registration.EnvSpec | None,
    horizon: int | None,
    factors: Mapping[str, float],
    corruption: float = 0.0,
) -> Problem:
    """The problem description of a recipe, with the stated quantities wrong by `factors`, and a budget of corruption.

    The horizon is `horizon`, or else the time limit that the environment's id is registered with.

    Raises:
        ValueError: if there is a factor for a quantity that the recipe does not state.
    """
    family, noise = recipe.family, recipe.noise
    kernel, norm_bound = recipe.kernel, recipe.norm_bound
    noise_std = None if isinstance(noise, TableNoise) and noise.std == 0 else noise.std
    noise_stds, noise_tails = None if noise_std is None else noise.stds, noise.tails
    kernel = _wrong_kernel(kernel, factors)
    if "norm" in factors:
        if norm_bound is None:
            raise ValueError("misspecification: there is no norm bound in the problem that could be wrong")
        norm_bound *= factors["norm"]
    if "noise" in factors:
        if noise_std is None:
            raise ValueError("misspecification: there is no noise_std in the problem that could be wrong")
        noise_std *= factors["noise"]
        noise_stds = None if noise_stds is None else noise_stds * factors["noise"]
        if noise_tails is not None:
            noise_tails = replace(noise_tails, sub_gaussian=noise_tails.sub_gaussian * factors["noise"])
    near = recipe.approximations
    if "sup" in factors and norm_bound is not None:
        near = (Approximation(norm_bound, factors["sup"]),)
    wrong = {**factors, "corruption": corruption} if corruption else factors
    knowledge = recipe.knowledge
    # That of `ArmNoise` is stated in full; its largest deviation is true of every arm.
    stated_in_full = noise.homoscedastic or isinstance(noise, ArmNoise)
    # A wrong bound on the norm leaves kernel and noise true, and one that is too large is a bound.
    if knowledge == "oracle" and (factors.keys() - {"sup", "norm"} or not stated_in_full):
        knowledge = "misspecified"
    if horizon is None and spec is not None and spec.id in gym.registry:
        horizon = gym.registry[spec.id].max_episode_steps
    arms = family.arms if isinstance(family, ArmFamily) else None
    return Problem(
        name=spec.id if spec is not None else "unregistered",
        dim=family.arms.shape[1] if isinstance(family, ArmFamily) else family.dim,
        arms=arms,
        kernel=kernel,
        noise_std=noise_std,
        noise_stds=noise_stds,
        noise_tails=noise_tails,
        prior_mean=recipe.prior_mean,
        norm_bound=norm_bound,
        approximations=near,
        horizon=horizon,
        knowledge=knowledge,
        misspecification=wrong,
        neighbours=None if arms is None else recipe.neighbours,
        contexts=recipe.offers is not None,
        time_varying=isinstance(family, TimeVaryingArms),
        drift=family.eps if isinstance(family, DriftingGP) else None,
        notes={"noise": noise.to_spec(), **recipe.notes},
    )
