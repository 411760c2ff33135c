"""BBKB: batches and resparsifications at the same time."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int

from agents.core.batch_rules import SumRule
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.information import most_uncertain
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import proven_exponent, variance_constant
from agents.core.widths import AnalyticMixture, LogDeterminant
from agents.sketched.base import SketchedUCBAgent
from agents.sketched.local_rule import GlobalLocalRule
from agents.sketched.theory import BBKBTheorem2, bbkb_bound
from gpbandit_envs.arguments import as_word, positive_number

_THEOREM = "Calandriello et al. (2020), Theorem 2"


@dataclass(kw_only=True, eq=False, repr=False)
class BBKB(SketchedUCBAgent):
    """Batch budgeted kernel bandits: a sketched posterior, refreshed together with the feedback after each batch.

    Within a batch the mean and the dictionary are frozen and the variance shrinks with every pick; the batch ends when
    a bound on its drift exceeds `c`. Then the dictionary is drawn anew from all pulled arms.
    `width="theory"` is the paper's Theorem 2, proven where `qbar` and `lam` are those of the theorem; `"practical"` is
    the one of its experiments. `"amm"` is unproven here: its proof is for the exact posterior.
    Other arguments: see `SketchedUCBAgent`.

    Args:
        c: Threshold `C~ >= 1`; 1 gives BKB with this policy's width.
        rule: `"global"`: the bound is `1 + sum lev_fb(x_s)`; `"global-local"`: once that one fires, go on while the
            bound of Lemma 3 holds for every arm, which gives longer batches.
        min_batch: Start, in place of `n_start` uniform arms, by uncertainty sampling that guarantees batches of about
            this size times `c - 1`.

    Reference: Calandriello, Carratino, Lazaric, Valko and Rosasco (2020), Algorithms 1 and 3,
    Lemma 3.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="adaptive", needs=frozenset({"kernel", "noise"}))
    least_lam = 1.0

    named_widths: ClassVar = {"theory": BBKBTheorem2(), "amm": AnalyticMixture(), "practical": LogDeterminant()}
    c: float = 2.0
    rule: Literal["global", "global-local"] = "global"
    min_batch: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_word("rule", self.rule, ("global", "global-local"))
        bound = SumRule(self.c) if self.rule == "global" else GlobalLocalRule(self.c)
        self.batch_rule, self.batch_ratio = bound, bound.c
        if self.min_batch is not None:
            self.min_batch = positive_number("min_batch", self.min_batch)

    def initial_arms(self, X: Float[np.ndarray, "A d"], most: int | None) -> Int[np.ndarray, " n"]:
        if self.min_batch is None:
            return super().initial_arms(X, most)
        return most_uncertain(self.model, X, most, self.min_batch)

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        problem, lam, F = inputs.problem, inputs.lam, inputs.problem.norm_bound
        if F is None or self.settings.own_lam or self.schedule.theorem != _THEOREM:
            return RegretGuarantee()
        if self.min_batch is not None:  # a start of a length that is not known beforehand
            return RegretGuarantee()
        if self._unmet_on(problem, self.schedule, lam, inputs.prior_variance):
            return RegretGuarantee()
        # The leverage scores of t pulls add up to at most this.
        leverage = 2 * variance_constant(inputs.prior_variance, lam) / lam * inputs.gain
        delta = self.settings.delta_on(problem)
        bound = bbkb_bound(float(inputs.t), leverage, F, inputs.noise_std, delta, lam, self.batch_ratio)
        bound += self.n_start * 2 * F * sqrt(inputs.prior_variance)
        return RegretGuarantee(proven_exponent(problem), bound, _THEOREM, rests_on_band=True)
