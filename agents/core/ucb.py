"""Upper-confidence-bound policies on finite arms: a posterior, a width schedule and a batch rule."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from agents.core.gp_arms import NO_ARMS, GPArmAgent
from agents.core.initial import each_pull, leverage_in_turn
from agents.core.norm import NormGuess
from agents.core.protocol import Actions, Pending
from agents.core.rules import Batch, BatchRule, SequentialRule
from agents.core.settings import GPSettings
from agents.core.starts import Start
from agents.core.widths import WidthContext, WidthSchedule, as_width
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import InitialData

__all__ = ["ExactBatch", "UCBAgent"]


class ExactBatch(Batch):
    """Picks on an exact posterior that takes every pick as a pull without feedback.

    Args:
        posterior: The posterior; picks go into it as open pulls.
        width: Factor of the standard deviation.
        mean: Mean to add, shape (A,).
        pending: Arms already under evaluation, shape (p,).
    """

    def __init__(
        self, posterior: ExactPosterior, width: float, mean: Float[np.ndarray, " A"], pending: np.ndarray
    ) -> None:
        super().__init__(posterior, len(pending))
        self._posterior, self._width, self._mean = posterior, width, mean
        posterior.engine.keep_open(0, pending.tolist())

    def propose(self, limit: int) -> tuple[int, int]:
        variance = self._posterior.hallucinated
        arm = int(np.argmax(self._mean + self._width * np.sqrt(variance)))
        self._proposed, self.picked_variance = arm, float(variance[arm])
        return arm, 1

    def take(self, count: int) -> None:
        self._posterior.pull(self._proposed)
        self.picks.append(self._proposed)


class UCBAgent(GPArmAgent):
    """Plays `argmax mean + width * sd`, with the mean as of the last feedback and the variance as of the last pick.

    Args:
        settings: Kernel, noise, norm bound, delta and existing data.
        width: A name among `named_widths`, a number, or a `WidthSchedule`.
        named_widths: The schedules behind the names of `width`.
        design: What is pulled, as one batch, before the first bound is computed.
        rule: When a batch ends.
        batch_ratio: The factor `C` by which a variance may shrink within a batch, for the width.

    Attributes:
        norm_guess: The guess at the norm, from `reset` on; None if the norm bound is taken as given.
        sum_log_leverage: `sum_s log(1 + lev_fb(x_s))` over the pulls with feedback.
        sum_log_3_leverage: `sum_s log(1 + 3 lev_fb(x_s))`, likewise.
    """

    def __init__(
        self,
        settings: GPSettings,
        width: object,
        named_widths: Mapping[str, WidthSchedule],
        design: Start,
        rule: BatchRule | None = None,
        batch_ratio: float = 1.0,
    ) -> None:
        super().__init__(settings, design)
        self.schedule = as_width(width, named_widths)
        self.rule = SequentialRule() if rule is None else rule
        self.batch_ratio = float(batch_ratio)

    def _start(self) -> None:
        self.sum_log_leverage = self.sum_log_3_leverage = 0.0
        self.norm_guess: NormGuess | None = None
        super()._start()
        self._revise_norm()

    def _condition(self, data: InitialData) -> None:
        assert self.problem.arms is not None
        arms, counts, sums = self._take_over(data)
        X = self.problem.arms[arms]
        leverage = leverage_in_turn(self.model.kernel(X, X), counts, self.lam)
        self._update(arms, counts, sums)
        self._count_data(counts, leverage, np.zeros(len(arms)))

    def _count_data(self, counts: np.ndarray, reducible: np.ndarray, rest: np.ndarray) -> None:
        """Account for existing data in the width.

        They were not chosen in one batch: each is weighed by what those before it had left of its leverage score.

        Args:
            counts: Pulls of each distinct arm, shape (p,).
            reducible: What further pulls of the arm take away of its leverage score, shape (p,).
            rest: What they leave, shape (p,).
        """
        leverage = each_pull(reducible, rest, counts)
        self._count_leverage(leverage, np.ones(len(leverage)))
        self._revise_norm()

    def _count_leverage(self, leverage: np.ndarray, counts: np.ndarray) -> None:
        self.sum_log_leverage += float(counts @ np.log1p(leverage))
        self.sum_log_3_leverage += float(counts @ np.log1p(3 * leverage))

    def _revise_norm(self) -> None:
        if self.model.doubling:
            assert self.problem.arms is not None
            self.norm_guess = self.norm_guess or NormGuess(self.model)
            pulled = np.flatnonzero(self.counts)
            self.norm_guess.revise(self.problem.arms[pulled], self.counts[pulled], self.sums[pulled])

    def _begin_batch(self) -> None:
        super()._begin_batch()
        self._batch: Batch | None = None
        self.width = self.schedule(self.width_context())

    def width_context(self) -> WidthContext:
        """What the width schedule sees now."""
        return WidthContext.of(
            self.model,
            self.problem,
            t=self.n_pulls + 1,
            norm_bound=self.model.norm_bound if self.norm_guess is None else self.norm_guess.value,
            information_gain=self.information_gain,
            effective_dimension=self.effective_dimension,
            sum_log_leverage=self.sum_log_leverage,
            sum_log_3_leverage=self.sum_log_3_leverage,
            batch_ratio=self.batch_ratio,
        )

    def _next(self, n: int, pending: Pending) -> Actions:
        if isinstance(self.rule, SequentialRule) and len(pending) == 0:
            self._closed = True
            return np.array([self._best_score()])
        if self._batch is None:
            self._batch = self._new_batch(pending.actions)
            self._closed = self.rule.start(self._batch)
        picks: list[int] = []
        while len(picks) < n and not self._closed:
            arm, count = self._batch.propose(n - len(picks))
            count, self._closed = self.rule.admit(self._batch, arm, count)
            self._batch.take(count)
            picks += [arm] * count
        return np.array(picks, np.int64)

    def _best_score(self) -> int:
        return int(np.argmax(self.posterior.mean + self.width * np.sqrt(self.posterior.variance)))

    def _new_batch(self, pending: np.ndarray) -> Batch:
        """Picks on the posterior of now, with `pending` arms under evaluation."""
        assert isinstance(self.posterior, ExactPosterior)
        return ExactBatch(self.posterior, self.width, self.posterior.mean, pending)

    def _learn(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self._count_leverage(self.posterior.variance_at(arms) / self.lam, counts)
        self.batch_length = self._issued
        self._update(arms, counts, sums)
        self._revise_norm()
        self._begin_batch()

    def diagnostics(self) -> Mapping[str, float]:
        facts = super().diagnostics()
        if self.norm_guess is not None:
            facts = {**facts, "norm_bound": self.norm_guess.value, "norm_shown": self.norm_guess.shown}
        return facts
