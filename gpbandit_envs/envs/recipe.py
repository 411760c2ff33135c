"""Environment recipes: the parts of a bandit, and the problem description that policies receive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import gymnasium as gym
import numpy as np

from gpbandit_envs.corruption import Corruption
from gpbandit_envs.datasets.table import neighbours_among
from gpbandit_envs.functions.base import ArmFamily, BoxFamily, FixedArms
from gpbandit_envs.functions.rows import Rows, RowsFunction
from gpbandit_envs.functions.time_varying import DriftingGP, TimeVaryingArms
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.noise import ArmNoise, Noise, TableNoise
from gpbandit_envs.offers import Offers
from gpbandit_envs.problem import Approximation, Knowledge, Problem

__all__ = ["EnvRecipe", "KernelLike", "NoiseLike", "fixed_table"]

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
        misspecification: Factors by which stated quantities are wrong; see `gpbandit_envs.envs.options`, as for these:
        corruption: An adversary that adds to the feedback; None for none.
        initial: Evaluations of arms that are made before the first step of each episode.
        rows: How many of the arms an episode has, drawn anew; None for all of them.

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
        silent = isinstance(noise, TableNoise) and noise.std == 0
        tails = noise.tails
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
            notes={"noise": noise.to_spec(), **self.notes},
        )


def fixed_table(recipe: EnvRecipe) -> tuple[np.ndarray, np.ndarray] | None:
    """Arms and means of a recipe whose means are the same in every episode; None for any other."""
    family = recipe.family
    if not isinstance(family, ArmFamily) or isinstance(family, TimeVaryingArms) or not family.fixed:
        return None
    return family.arms, family.draw(np.random.default_rng(0)).mean
