"""Uncertainty sampling, or maximum variance reduction: pure exploration by the posterior variance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from agents.core.gp_settings import NoiseOfArms
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS, NonAdaptive, TwoSidedNonAdaptive, WidthSchedule
from gpbandit_envs.problem import Problem


@dataclass(kw_only=True, eq=False, repr=False)
class UncertaintySampling(UCBAgent):
    """Pull the arm of largest variance, independent of the rewards; recommend the arm of largest posterior mean.

    Gains at least `1 - 1/e` of the information that any choice of as many arms gains. As `MVR`, maximum variance
    reduction, it is the policy whose recommendation has, up to logarithms, the least regret that any can have in the
    worst case: `sqrt(gamma_n / n)` after n pulls. The width stands before no sum over pulls, since no arm depends on
    any feedback. The pulls themselves are never good for their rewards: the cumulative regret grows with t.

    As `VA-MVR`, variance-aware, its posterior has the noise variance of each arm. It looks as often at an arm as its
    noise asks for, where one variance for all, the largest, goes on looking at arms that are known.

    Width, norm bound and `delta` are for the band alone. Other arguments: see `UCBAgent`.

    Args:
        width: Of the band of `predict` alone: `"theory"` (that of `NonAdaptive`, for Gaussian noise), `"sub-gaussian"`
            (the same with `2 A` for A, for all sub-Gaussian noise), `"amm"`, a number or a `WidthSchedule`.
        noise: `"common"`, or `"by_arm"` (VA-MVR) for the noise variance of each arm, where the problem states them.

    References: Srinivas, Krause, Kakade and Seeger (2010), section 3; Vakili, Bouziani, Jalali, Bernacchia and Shiu
    (2021), Optimal order simple regret for Gaussian process bandits, Algorithm 1 and Theorems 1 and 3, for MVR;
    Iwazaki and Takeno (2025), Theorem 6.4, for VA-MVR.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="fixed", delayed=True, needs=frozenset({"kernel", "noise"})
    )
    policy_family = "pure exploration"
    side_by_side = True

    named_widths: ClassVar = {
        "theory": NonAdaptive(),
        "sub-gaussian": TwoSidedNonAdaptive(),
        "amm": SEQUENTIAL_WIDTHS["amm"],
    }
    noise: NoiseOfArms = "common"
    n_start: int = field(default=0, init=False)  # every pull is the most uncertain one

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self._own_pulls_alone = self.beliefs.n_pulls == 0

    def next_actions(self, n: int, pending: Pending) -> Actions:
        beliefs: Any = self.beliefs  # exact ones, of one episode or of many
        picks: Actions = beliefs.most_uncertain(n, pending.actions)
        return picks

    def unmet_condition(self, schedule: WidthSchedule) -> str:
        if schedule.chosen_blindly == "all":
            return "" if self._own_pulls_alone else "its theorem asks for pulls that were all chosen without feedback"
        return super().unmet_condition(schedule)
