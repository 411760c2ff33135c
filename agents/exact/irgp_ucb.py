"""IRGP-UCB: GP-UCB with a width that is drawn anew for every evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from agents.core.gp_agent import GPAgent
from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.regret_bounds import gp_ucb_bound, proven_exponent
from gpbandit_envs.arrays import at_least, sqrt


@dataclass(kw_only=True, eq=False, repr=False)
class IRGPUCB(GPAgent):
    """Pull `argmax mean_{t-1} + sqrt(zeta_t) sd_{t-1}` with `zeta_t = 2 log(A / 2) + Exp(1/2)`, drawn for each pull.

    The exponential distribution is that of rate 1/2, so that `zeta_t` has mean `2 + 2 log(A / 2)`. The expected regret
    on draws from the prior is at most that of GP-UCB with a width that does not grow with time. No single band holds
    the mean function at all times: the largest bound exceeds the largest mean in expectation over `zeta_t`, see
    `docs/math/gp-ucb.md`; so no theorem guarantees the band of `predict`, the one last drawn. Arguments: see `GPAgent`.

    Attributes:
        current_width: `sqrt(zeta_t)` as drawn for the next pull.

    Reference: Takeno, Inatsu and Karasuyama (2023), Randomized Gaussian process upper confidence bound with tighter
    Bayesian regret bounds, on finite arms; `docs/math/gp-ucb.md` has a proof of the property that its bound needs.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise"}))
    side_by_side = True

    def begin_batch(self) -> None:
        super().begin_batch()
        # For one or two arms the shift is negative or 0; a lower bound of 0 keeps the property.
        self.current_width = sqrt(at_least(2 * log(self.problem.n_arms / 2) + self.rng.exponential(2.0), 0.0))

    def next_actions(self, n: int, pending: Pending) -> Actions:
        self.batch_closed = True
        if len(pending):
            return self.no_actions
        return self.beliefs.maximise_bound(self.current_width, self.rng)

    def band_guarantee(self) -> BandGuarantee:
        return BandGuarantee(width="drawn")

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        problem = inputs.problem
        if problem.knowledge != "oracle" or problem.norm_bound is not None or self.n_start:
            return RegretGuarantee()
        # E[sum zeta_t^(1/2) sd] <= sqrt(E[sum zeta_t] E[sum var]): half of what two-sided bands need.
        width = sqrt(2 + 2 * log(max(problem.n_arms, 2) / 2))
        bound = 0.5 * gp_ucb_bound(float(inputs.t), width, inputs.gain, inputs.prior_variance, inputs.lam)
        theorem = "Takeno et al. (2023), in expectation over draws of the mean"
        return RegretGuarantee(proven_exponent(problem, optimal=True), bound, theorem, gaussian_noise=True)
