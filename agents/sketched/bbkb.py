"""BBKB: batches and resparsifications at the same time."""

from __future__ import annotations

from math import sqrt
from typing import Any, Literal

import numpy as np

from agents.core.batch_rules import GlobalLocalRule, SumRule
from agents.core.existing_data import Initial
from agents.core.gp_settings import GPSettings, NormBound
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.initial_design import UncertaintyDesign, UniformDesign
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import bbkb_bound, proven_exponent, variance_constant
from agents.core.widths import AnalyticMixture, BBKBTheorem2, LogDeterminant
from agents.sketched.base import SketchedUCBAgent, SketchSettings
from agents.sketched.dictionary import Draws, Resampling
from gpbandit_envs.arguments import as_word

__all__ = ["BBKB"]


class BBKB(SketchedUCBAgent):
    """Batch budgeted kernel bandits: a sketched posterior, refreshed together with the feedback after each batch.

    Within a batch the mean and the dictionary are frozen and the variance shrinks with every pick; the batch ends when
    a bound on its drift exceeds `c`. Then the dictionary is drawn anew from all pulled arms.
    `width="theory"` is the paper's Theorem 2, proven where `qbar` and `lam` are those of the theorem; `"practical"` is
    the one of its experiments. `"amm"` is unproven here: its proof is for the exact posterior.
    Other arguments: see `agents.core.ucb.UCBAgent`.

    Args:
        c: Threshold `C~ >= 1`; 1 gives BKB with this policy's width.
        rule: `"global"`: the bound is `1 + sum lev_fb(x_s)`; `"global-local"`: once that one fires, go on while the
            bound of Lemma 3 holds for every arm, which gives longer batches.
        qbar: Oversampling of the dictionary; 2 in the paper's experiments.
        draws: `"arm"`: every pulled arm is drawn, as the authors' code does, so that dictionaries mostly grow and the
            posterior is extended rather than rebuilt; `"pull"`: every pull, as the paper writes.
        n_start: Arms drawn uniformly and pulled before the first bound is computed; 1 in the paper.
        min_batch: Start instead by uncertainty sampling that guarantees batches of about this size times `c - 1`.
        resampling: `"fresh"`: new random numbers for every dictionary, as in the paper; `"coupled"`: one number a
            pull, or an arm, for good, with the same probabilities, so that one dictionary differs little from the next.
        initial: Existing data, `{"arms": [...], "rewards": [...]}`, from which BLESS draws the first dictionary; None
            for the problem's, if it has some. They replace the initial design.
        max_memory: Memory for kernel rows, such as `"1GB"`; rows beyond it are computed anew at every use. None for no
            limit: about two rows of length A for every arm of the dictionary.

    Reference: Calandriello, Carratino, Lazaric, Valko and Rosasco (2020), Algorithms 1 and 3,
    Lemma 3.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="adaptive", needs=frozenset({"kernel", "noise"}))
    least_lam = 1.0

    def __init__(
        self,
        kernel: Any = None,
        width: object = "theory",
        c: float = 2.0,
        rule: Literal["global", "global-local"] = "global",
        qbar: float = 2.0,
        draws: Draws = "arm",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 1,
        min_batch: float | None = None,
        resampling: Resampling = "fresh",
        initial: Initial = None,
        max_memory: int | str | None = None,
    ) -> None:
        as_word("rule", rule, ("global", "global-local"))
        bound = SumRule(c) if rule == "global" else GlobalLocalRule(c)
        super().__init__(
            GPSettings(kernel, lam, norm_bound, delta, initial),
            width,
            {"theory": BBKBTheorem2(), "amm": AnalyticMixture(), "practical": LogDeterminant()},
            UniformDesign(n_start) if min_batch is None else UncertaintyDesign(min_batch=min_batch),
            bound,
            batch_ratio=bound.c,
            sketch=SketchSettings(qbar, draws, resampling, max_memory),
        )

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        problem, lam, F = inputs.problem, inputs.lam, inputs.problem.norm_bound
        exponent = proven_exponent(problem.kernel, problem.dim)
        if F is None or self.settings.lam is not None or not isinstance(self.schedule, BBKBTheorem2):
            return RegretGuarantee(exponent)
        if not isinstance(self.design, UniformDesign):  # of a length that is not known beforehand
            return RegretGuarantee(exponent)
        if self._unmet_on(problem, self.schedule, lam, inputs.prior_variance):
            return RegretGuarantee(exponent)
        t = np.array([float(inputs.t)])
        # The leverage scores of t pulls add up to at most this.
        leverage = 2 * variance_constant(inputs.prior_variance, lam) / lam * inputs.gamma[inputs.t - 1 : inputs.t]
        delta = self.settings.delta_on(problem)
        bound = float(bbkb_bound(t, leverage, F, inputs.noise_std, delta, lam, self.batch_ratio)[0])
        bound += self.uniform_start * 2 * F * sqrt(inputs.prior_variance)
        return RegretGuarantee(exponent, bound, "Calandriello et al. (2020), Theorem 2")
