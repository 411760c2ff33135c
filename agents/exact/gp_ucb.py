"""GP-UCB."""

from __future__ import annotations

from typing import Any

from agents.core.existing_data import Initial
from agents.core.gp_settings import GPSettings, NormBound
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import ucb_guarantee
from agents.core.space import Search
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS, CompactBayes, DualMixture, FiniteBayes

__all__ = ["GPUCB"]


class GPUCB(UCBAgent):
    """Evaluate `argmax mean_{t-1} + width_t sd_{t-1}`, one arm or point at a time.

    Proven for a mean of bounded norm are `width="theory"`, that of Chowdhury and Gopalan (2017) with the data's own
    information gain, and, narrower on the same assumptions, `"amm"` and `"dmm"` of Flynn and Reeb (2025). `"bayes"` is
    that of Srinivas et al. (2010) for a draw from the prior, Theorem 1 on arms and Theorem 2 on a box. Tuned are
    `"practical"`, the one of the BBKB experiments, and `"growing"`, the `sqrt(3 log 2t)` of the BPE experiments.

    Where a step offers only some of the arms, the maximum is over those: CGP-UCB (Krause and Ong 2011, eq. 4). Bands
    and regret bounds hold as they are, with the information gain of all pulls, for regret against the best arm offered.

    The named widths are wide, 6 to 17 in the suite `short-horizons`. Within a few dozen evaluations the policy then
    does hardly better than uniform sampling. The number 1.0 has a fifth to a half of that regret there, and a band that
    guarantees nothing.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        width: `"theory"`, `"amm"`, `"dmm"`, `{"name": "dmm", "grid": [...]}` with regularisers in units of `lam`,
            `"bayes"`, `"practical"`, `"growing"`, a number, or a `WidthSchedule`.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`.
        norm_bound: Bound `F` on the RKHS norm; None for the problem's, or 1 if it states none; `{"times": 3.0}` for a
            multiple of it; on arms also `"double"`, see `agents.core.norm_doubling.NormEstimate`.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
        n_start: Arms or points drawn uniformly and evaluated before the first bound is computed.
        candidates: On a box, Sobol points at which the bound is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.
        initial: On arms, existing data `{"arms": [...], "rewards": [...]}`; None for the problem's, if it has some.

    Attributes:
        width: The current width, a factor of the posterior standard deviation.
        schedule: The width schedule of the episode.
        norm_estimate: The guess at the norm; None where the bound is taken as given.
        refuted: Under `"dmm"`, whether the data refute the stated norm, noise or kernel; also a diagnostic.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1; Chowdhury and Gopalan (2017), Algorithm 1; Flynn
    and Reeb (2025), Tighter confidence bounds for sequential kernel regression; Krause and Ong (2011), Contextual
    Gaussian process bandit optimization.
    """

    takes_dual = True
    policy_family = "GP-UCB"
    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 0,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
        initial: Initial = None,
    ) -> None:
        if isinstance(width, FiniteBayes):
            raise ValueError("width: this schedule counts arms, and a box has none; give CompactBayes or a name")
        super().__init__(
            GPSettings(kernel, lam, norm_bound, delta, initial),
            width,
            {**SEQUENTIAL_WIDTHS, "dmm": DualMixture()},
            UniformDesign(n_start),
            search=Search(candidates, starts, iterations),
            box_widths={"bayes": CompactBayes()},
        )

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        return ucb_guarantee(inputs, self.settings, start=self.uniform_start, mixture=self.is_mixture)
