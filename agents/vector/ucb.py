"""GP-UCB and its relatives on the exact posterior, over many repetitions at once."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from agents.core.batch import Batch, RowBatch
from agents.core.batch_rules import FixedRule, ProductRule, SequentialRule, SumRule
from agents.core.dual_band import DualArms
from agents.core.finite import group_pulls
from agents.core.initial_design import UniformDesign
from agents.core.ucb import UCBAgent
from agents.core.widths import Constant, DualMixture, WidthContext
from agents.vector.protocol import VectorAgent, VectorChoice, VectorFeedback
from gpbandit_envs.gp.exact import ExactPosteriors
from gpbandit_envs.problem import Problem

__all__ = ["VectorUCB"]


class VectorUCB(VectorAgent):
    """`argmax mean + width * sd` in every repetition, with feedback after each pull or at the end of a batch.

    Posterior, width and batch rule are those of the single policy, so that each repetition chooses, bit for bit, what
    the single policy chooses.

    Args:
        policy: A single policy whose settings are taken over; it is reset and never played.

    Raises:
        ValueError: if its initial design or its batch rule is not supported here.
    """

    def __init__(self, policy: UCBAgent) -> None:
        if not self.covers(policy):
            raise ValueError(
                f"policy: expected no initial design, and batches that end one by one or by drift, got {policy!r}"
            )
        self._policy = policy

    @staticmethod
    def covers(policy: UCBAgent) -> bool:
        """Whether this class implements `policy`."""
        plain = policy.design == UniformDesign(0) and not policy.settings.doubling
        return plain and type(policy.batch_rule) in (SequentialRule, FixedRule, ProductRule, SumRule)

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        policy, R = self._policy, len(rngs)
        policy.reset(problem, np.random.default_rng(0))  # without an initial design it draws nothing
        beliefs = policy.arms
        self._each = np.arange(R)
        self.posterior = ExactPosteriors(beliefs.posterior.rows, policy.model.lam, R)
        schedule = policy.schedule
        self._dual = DualArms(self.posterior, schedule.grid) if isinstance(schedule, DualMixture) else None
        data = np.flatnonzero(beliefs.counts)
        if len(data):
            for i in range(R):
                self._condition(i, data, beliefs.counts[data], beliefs.sums[data])
        self._pulls, self._batch = np.full(R, beliefs.n_pulls), np.zeros(R, np.int64)
        self._batch_length = np.zeros(R)
        self._sum_log, self._sum_log_3 = np.full(R, beliefs.sum_log_leverage), np.full(R, beliefs.sum_log_3_leverage)
        self._rules = [copy.copy(policy.batch_rule) for _ in range(R)]
        self._open: dict[int, Batch] = {}
        self._d_eff = np.array([self.posterior.effective_dimension(i) for i in range(R)])
        self._rngs = list(rngs)
        self._width = np.array([self._next_width(i) for i in range(R)])
        self._refuted = np.full(R, policy.refuted)
        if self._dual is not None:
            self._factors = [self._dual_factors(i) for i in range(R)]
        self._recommended = self.posterior.mean.argmax(axis=1)

    def select(self, left: int) -> VectorChoice:
        if self._dual is not None:
            arms = np.array([self._dual.best(factors, i) for i, factors in enumerate(self._factors)])
            closes = np.ones(len(arms), bool)
        elif isinstance(self._policy.batch_rule, SequentialRule):
            arms = self.posterior.best_scores(self._width)
            closes = np.ones(len(arms), bool)
        else:
            arms, closes = np.zeros(len(self._each), np.int64), np.zeros(len(self._each), bool)
            for i in self._each.tolist():
                arms[i], closes[i] = self._pick(i)
        self._batch += 1
        return VectorChoice(arms, closes)

    def _pick(self, i: int) -> tuple[int, bool]:
        """The next arm of the batch of repetition `i`, and whether the batch ends with it."""
        batch = self._open.get(i)
        if batch is None:
            batch = self._open[i] = RowBatch(self.posterior[i], float(self._width[i]))
            self._rules[i].start(batch)
        arm, _ = batch.propose(1)
        _, closes = self._rules[i].admit(batch, arm, 1)
        batch.take(1)
        return arm, closes

    def observe(self, feedback: VectorFeedback) -> None:
        if len(feedback) == 0:
            return
        groups = feedback.groups()
        updated = feedback.repetitions[[group.start for group in groups]]
        if len(updated) == len(feedback):
            leverage = np.maximum(self.posterior.v[updated, feedback.arms], 0.0) / self.posterior.lam
            self._sum_log[updated] += np.log1p(leverage)
            self._sum_log_3[updated] += np.log1p(3 * leverage)
            self.posterior.update(updated, feedback.arms, feedback.rewards)
            if self._dual is not None:
                self._dual.update(updated, feedback.arms, feedback.rewards)
        else:
            for i, group in zip(updated.tolist(), groups):
                arms, counts, sums = group_pulls(feedback.arms[group], feedback.rewards[group])
                posterior = self.posterior[i]
                leverage = posterior.variance_at(arms) / posterior.lam
                self._sum_log[i] += counts @ np.log1p(leverage)
                self._sum_log_3[i] += counts @ np.log1p(3 * leverage)
                self._condition(i, arms, counts, sums)
        self._pulls[updated] += self._batch[updated]
        self._batch_length[updated] = self._batch[updated]
        self._batch[updated] = 0
        self._recommended[updated] = self.posterior.mean[updated].argmax(axis=1)
        for i in updated.tolist():
            self._open.pop(i, None)
            self._d_eff[i] = self.posterior.effective_dimension(i)
            self._width[i] = self._next_width(i)
            if self._dual is not None:
                self._factors[i] = self._dual_factors(i)
                self._refuted[i] |= np.isinf(self._factors[i]).any()

    def _condition(self, i: int, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """Condition repetition `i` on pulls of distinct arms."""
        self.posterior[i].update(arms, counts, sums)
        if self._dual is not None:
            self._dual.condition(i, arms, counts, sums)

    def _next_width(self, i: int) -> float:
        """The width of the next bounds of repetition `i`."""
        context = None if isinstance(self._policy.schedule, Constant) else self._context(i)
        return self._policy.next_width(context, int(self._pulls[i]) + 1, self._rngs[i])

    def _dual_factors(self, i: int) -> Float[np.ndarray, " G"]:
        """The factor of each regulariser's band in repetition `i`."""
        assert self._dual is not None
        assert isinstance(self._policy.schedule, DualMixture)
        return self._policy.schedule.factors(self._context(i), self._dual.misfits(i))

    def _context(self, i: int) -> WidthContext:
        """The inputs of the width of repetition `i`."""
        return self._policy.model.width_context(
            self._policy.problem,
            int(self._pulls[i]) + 1,
            information_gain=float(self.posterior.information_gain[i]),
            effective_dimension=float(self._d_eff[i]),
            sum_log_leverage=float(self._sum_log[i]),
            sum_log_3_leverage=float(self._sum_log_3[i]),
            batch_ratio=self._policy.batch_ratio,
        )

    def recommend(self) -> np.ndarray:
        return self._recommended.copy()

    def diagnostics(self) -> dict[str, np.ndarray]:
        facts = {
            "width": self._width.copy(),
            "information_gain": self.posterior.information_gain.copy(),
            "d_eff": self._d_eff.copy(),
            "unique_arms": np.array([float(len(self.posterior.distinct(i))) for i in range(len(self._each))]),
            "batch_length": self._batch_length.copy(),
        }
        return facts if self._dual is None else {**facts, "refuted": self._refuted.astype(np.float64)}
