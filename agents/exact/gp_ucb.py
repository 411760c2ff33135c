"""GP-UCB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from agents.core.beliefs import ArmBeliefs, BoxBeliefs
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import ucb_guarantee
from agents.core.space import SearchFields
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS
from agents.exact.dual_mixture import DualMixture, LikelihoodRatio, SlackMixture
from gpbandit_envs.problem import InitialData


@dataclass(kw_only=True, eq=False, repr=False)
class GPUCB(SearchFields, UCBAgent):
    """Evaluate `argmax mean_{t-1} + width_t sd_{t-1}`, one arm or point at a time.

    Proven for a mean of bounded norm are `width="theory"`, that of Chowdhury and Gopalan (2017) with the data's own
    information gain, and, narrower on the same assumptions, `"amm"` and `"dmm"` of Flynn and Reeb (2025). `"dmm-slack"`
    is for a mean that is only near the RKHS, and reads all of `Problem.approximations`. Proven too are `"ay"`, the
    ellipsoid of Abbasi-Yadkori et al. (2011), and `"lr"`, the likelihood ratios of Emmenegger et al. (2023). `"bayes"`
    is that of Srinivas et al. (2010) for a draw from the prior, Theorem 1 on arms and Theorem 2 on a box. Tuned are
    `"practical"`, the one of the BBKB experiments, and `"growing"`, the `sqrt(3 log 2t)` of the BPE experiments.

    Where a step offers only some of the arms, the maximum is over those: CGP-UCB (Krause and Ong 2011, eq. 4). Bands
    and regret bounds hold as they are, with the information gain of all pulls, for regret against the best arm offered.

    The named widths are wide, 6 to 17 in the suite `short-horizons`. Within a few dozen evaluations the policy then
    does hardly better than uniform sampling. The number 1.0 has a fifth to a half of that regret there, and a band that
    guarantees nothing. Other arguments: see `UCBAgent`.

    Args:
        width: `"theory"`, `"amm"`, `"ay"`, `"dmm"`, `"dmm-slack"`, `"lr"`, `{"name": "dmm", "grid": [...]}` with
            regularisers in units of `lam`, `"bayes"`, `"practical"`, `"growing"`, a number, or a `WidthSchedule`.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), Algorithm 1; Chowdhury and Gopalan (2017), Algorithm 1; Flynn
    and Reeb (2025), Tighter confidence bounds for sequential kernel regression; Krause and Ong (2011), Contextual
    Gaussian process bandit optimization.
    """

    takes_dual = True
    named_widths: ClassVar = {
        **SEQUENTIAL_WIDTHS,
        "dmm": DualMixture(),
        "dmm-slack": SlackMixture(),
        "lr": LikelihoodRatio(),
    }
    policy_family = "GP-UCB"
    side_by_side = True
    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )

    def arm_beliefs(self, data: InitialData | None) -> ArmBeliefs[Any]:
        return self.schedule.arm_beliefs(self.problem, self.model, data)

    def box_beliefs(self, data: InitialData | None) -> BoxBeliefs:
        return self.schedule.box_beliefs(self.problem, self.model, self._search, data)

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        return ucb_guarantee(inputs, self.settings, start=self.n_start, width=self.regret_width)
