"""Uncertainty sampling, or maximum variance reduction: pure exploration by the posterior variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.core.gp_settings import GPSettings, NoiseOfArms, NormBound
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS, NonAdaptive, TwoSidedNonAdaptive, WidthSchedule
from gpbandit_envs.problem import Problem

__all__ = ["UncertaintySampling"]

_WIDTHS: dict[str, WidthSchedule] = {
    "theory": NonAdaptive(),
    "sub-gaussian": TwoSidedNonAdaptive(),
    "amm": SEQUENTIAL_WIDTHS["amm"],
}


class UncertaintySampling(UCBAgent):
    """Pull the arm of largest variance, independent of the rewards; recommend the arm of largest posterior mean.

    Gains at least `1 - 1/e` of the information that any choice of as many arms gains. As `MVR`, maximum variance
    reduction, it is the policy whose recommendation has, up to logarithms, the least regret that any can have in the
    worst case: `sqrt(gamma_n / n)` after n pulls. The width stands before no sum over pulls, since no arm depends on
    any feedback. The pulls themselves are never good for their rewards: the cumulative regret grows with t.

    As `VA-MVR`, variance-aware, its posterior has the noise variance of each arm. It looks as often at an arm as its
    noise asks for, where one variance for all, the largest, goes on looking at arms that are known.

    Args:
        kernel: Prior covariance; None for the problem's.
        lam: Noise variance in the posterior; None for the problem's.
        width: Of the band of `predict` alone: `"theory"` (that of `NonAdaptive`, for Gaussian noise), `"sub-gaussian"`
            (the same with `2 A` for A, for all sub-Gaussian noise), `"amm"`, a number or a `WidthSchedule`.
        norm_bound: Bound `F` on the RKHS norm, for the band; None for the problem's, or 1.
        delta: Allowed probability that the band fails, in (0, 1); None for `1 / horizon`.
        noise: `"common"`, or `"by_arm"` (VA-MVR) for the noise variance of each arm, where the problem states them.

    References: Srinivas, Krause, Kakade and Seeger (2010), section 3; Vakili, Bouziani, Jalali, Bernacchia and Shiu
    (2021), Optimal order simple regret for Gaussian process bandits, Algorithm 1 and Theorems 1 and 3, for MVR;
    Iwazaki and Takeno (2025), Theorem 6.4, for VA-MVR.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="fixed", delayed=True, needs=frozenset({"kernel", "noise"})
    )
    policy_family = "pure exploration"

    def __init__(
        self,
        kernel: Any = None,
        lam: float | None = None,
        width: object = "theory",
        norm_bound: NormBound = None,
        delta: float | None = None,
        noise: NoiseOfArms = "common",
    ) -> None:
        settings = GPSettings(kernel, lam, norm_bound, delta, noise=noise)
        super().__init__(settings, width, _WIDTHS, UniformDesign(0))

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self._own_pulls_alone = problem.initial is None

    def _next(self, n: int, pending: Pending) -> Actions:
        engine = self.arms.engine
        engine.keep_open(0, pending.actions.tolist())
        picks = []
        for _ in range(n):
            picks.append(int(np.argmax(engine.ahead())))
            engine.pull(0, picks[-1])
        return np.array(picks, np.int64)

    def _unmet(self, schedule: WidthSchedule) -> str:
        if isinstance(schedule, NonAdaptive):
            return "" if self._own_pulls_alone else "its theorem asks for pulls that were all chosen without feedback"
        return super()._unmet(schedule)
