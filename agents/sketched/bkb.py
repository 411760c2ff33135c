"""BKB: a fresh dictionary after every pull."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from agents.core.existing_data import Initial
from agents.core.gp_settings import GPSettings, NormBound
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import bkb_bound, proven_exponent
from agents.core.widths import AnalyticMixture, BKBTheorem2, CorrectedBKB, EffectiveDimension
from agents.sketched.base import SketchedUCBAgent, SketchSettings
from agents.sketched.dictionary import Draws, Resampling

__all__ = ["BKB"]


class BKB(SketchedUCBAgent):
    """Budgeted kernelised bandits: GP-UCB on a Nystrom posterior whose dictionary is drawn anew at every step.

    With the oversampling of 2 that experiments use, drawing every pull leaves a much-pulled arm out of one dictionary
    in seven; its leverage score, and with it the width, then jumps. So the default here draws every arm, as the
    authors' code does; with the oversampling of the theorems both take every arm with a probability near one. The proof
    holds for arms too: n pulls of one are one row `sqrt(n) phi(x)` of leverage score `n lev`, with the same covariance.

    `width="theory"` is the paper's Theorem 2 as printed, whose logarithm is too small for most kernels and noises;
    `"proven"` is the width that its proof gives, for a `qbar` as large as that of the theorem; see `docs/math/bkb.md`.
    `"practical"` is the one of the BBKB experiments. `"amm"` is unproven here: its proof is for the exact posterior.
    Other arguments: see `agents.core.ucb.UCBAgent`.

    Args:
        qbar: Oversampling of the dictionary.
        draws: `"pull"`: every pull is drawn, as the paper writes; `"arm"`: every arm, as its authors' code does.
        n_start: Arms drawn uniformly and pulled before the first bound is computed; 1 in the paper.
        resampling: `"fresh"`: new random numbers for every dictionary, as in the paper; `"coupled"`: one number a
            pull, or an arm, for good, with the same probabilities, so that one dictionary differs little from the next.
        initial: Existing data, `{"arms": [...], "rewards": [...]}`, from which BLESS draws the first dictionary; None
            for the problem's, if it has some. They replace the initial design.
        max_memory: Memory for kernel rows, such as `"1GB"`; rows beyond it are computed anew at every use. None for no
            limit: about two rows of length A for every arm of the dictionary.

    Reference: Calandriello, Carratino, Lazaric, Valko and Rosasco (2019), Algorithm 1.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        qbar: float = 2.0,
        draws: Draws = "arm",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 1,
        resampling: Resampling = "fresh",
        initial: Initial = None,
        max_memory: int | str | None = None,
    ) -> None:
        super().__init__(
            GPSettings(kernel, lam, norm_bound, delta, initial),
            width,
            {
                "theory": BKBTheorem2(),
                "proven": CorrectedBKB(),
                "amm": AnalyticMixture(),
                "practical": EffectiveDimension(),
            },
            UniformDesign(n_start),
            sketch=SketchSettings(qbar, draws, resampling, max_memory),
        )

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        problem, F, schedule = inputs.problem, inputs.problem.norm_bound, self.schedule
        exponent = proven_exponent(problem.kernel, problem.dim)
        if F is None or inputs.d_eff is None or self.settings.lam is not None or not isinstance(schedule, BKBTheorem2):
            return RegretGuarantee(exponent)
        kappa2, lam = inputs.prior_variance, inputs.lam
        if self._unmet_on(problem, schedule, lam, kappa2):
            return RegretGuarantee(exponent)
        # The policy reports the effective dimension of its sketch, which is at least 1 / alpha of the exact one.
        t, d_eff = np.array([float(inputs.t)]), np.array([schedule.alpha * inputs.d_eff])
        delta = self.settings.delta_on(problem)
        bound = float(bkb_bound(t, d_eff, F, inputs.noise_std, delta, kappa2, lam, schedule.eps)[0])
        largest = 2 * F * sqrt(kappa2)
        bound += self.uniform_start * largest
        if bound >= inputs.t * largest:  # which holds without a theorem
            return RegretGuarantee(exponent)
        return RegretGuarantee(exponent, bound, "Calandriello et al. (2019), Theorem 2, corrected")
