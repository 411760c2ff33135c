"""BKB: a fresh dictionary after every pull."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import proven_exponent
from agents.core.widths import AnalyticMixture, EffectiveDimension
from agents.sketched.base import SketchedUCBAgent
from agents.sketched.theory import BKBTheorem2, CorrectedBKB, bkb_bound

_THEOREM = "Calandriello et al. (2019), Theorem 2"


class BKB(SketchedUCBAgent):
    """Budgeted kernelised bandits: GP-UCB on a Nystrom posterior whose dictionary is drawn anew at every step.

    With the oversampling of 2 that experiments use, drawing every pull leaves a much-pulled arm out of one dictionary
    in seven; its leverage score, and with it the width, then jumps. So the default here draws every arm, as the
    authors' code does; with the oversampling of the theorems both take every arm with a probability near one. The proof
    holds for arms too: n pulls of one are one row `sqrt(n) phi(x)` of leverage score `n lev`, with the same covariance.

    `width="theory"` is the paper's Theorem 2 as printed, whose logarithm is too small for most kernels and noises;
    `"proven"` is the width that its proof gives, for a `qbar` as large as that of the theorem; see `docs/math/bkb.md`.
    `"practical"` is the one of the BBKB experiments. `"amm"` is unproven here: its proof is for the exact posterior.
    Arguments: see `SketchedUCBAgent`.

    Reference: Calandriello, Carratino, Lazaric, Valko and Rosasco (2019), Algorithm 1.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )

    named_widths: ClassVar = {
        "theory": BKBTheorem2(),
        "proven": CorrectedBKB(),
        "amm": AnalyticMixture(),
        "practical": EffectiveDimension(),
    }

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        problem, F, schedule = inputs.problem, inputs.problem.norm_bound, self.schedule
        eps = schedule.sketch_eps
        if F is None or inputs.d_eff is None or eps is None or _THEOREM not in schedule.theorem:
            return RegretGuarantee()
        kappa2, lam = inputs.prior_variance, inputs.lam
        if self.settings.own_lam or self._unmet_on(problem, schedule, lam, kappa2):
            return RegretGuarantee()
        # The policy reports the effective dimension of its sketch, which is at least 1 / alpha of the exact one.
        d_eff, delta = (1 + eps) / (1 - eps) * inputs.d_eff, self.settings.delta_on(problem)
        bound = bkb_bound(inputs.t, d_eff, F, inputs.noise_std, delta, kappa2, lam, eps)
        largest = 2 * F * sqrt(kappa2)
        bound += self.n_start * largest
        exponent = proven_exponent(problem)
        if bound >= inputs.t * largest:  # which holds without a theorem
            return RegretGuarantee(exponent, rests_on_band=True)
        return RegretGuarantee(exponent, bound, f"{_THEOREM}, corrected", rests_on_band=True)
