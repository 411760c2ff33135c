"""When a batch ends: the rules of GP-UCB, GP-BUCB, GP-AUCB and BBKB as small objects.

`lev` is the ridge leverage score `v / lam`; `lev_fb(x)` is it at the start of the batch, `lev_{s-1}(x_s)` just before
the pick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass

import numpy as np

from agents.core.batch import Batch
from agents.core.beliefs import Beliefs
from agents.core.local_sums import LocalSums
from agents.core.protocol import Actions, Pending
from gpbandit_envs.arguments import as_count, as_number

__all__ = [
    "BatchOfArms",
    "BatchRule",
    "FixedRule",
    "GlobalLocalRule",
    "ProductRule",
    "SequentialRule",
    "SumRule",
]


def _threshold(value: float) -> float:
    return as_number("c", value, "a threshold >= 1 and finite", lambda c: c >= 1)


class BatchRule(ABC):
    """Chooses the picks of a batch by their upper bounds, and says when it is complete."""

    @abstractmethod
    def picks(
        self, beliefs: Beliefs, width: float, n: int, pending: Pending, rng: np.random.Generator
    ) -> tuple[Actions, bool]:
        """Up to `n` actions by `mean + width * sd`, none to wait for feedback; and whether the batch ends with them.

        Args:
            beliefs: The mean as of the last feedback, and the variances.
            width: The width of this batch.
            n: At most so many.
            pending: Open evaluations, those of this batch among them.
            rng: Draws what a search on a box needs.
        """

    def begin(self) -> None:  # noqa: B027
        """A new batch begins with the next picks."""


class SequentialRule(BatchRule):
    """Every evaluation is a batch."""

    def picks(
        self, beliefs: Beliefs, width: float, n: int, pending: Pending, rng: np.random.Generator
    ) -> tuple[Actions, bool]:
        return pending.actions[:0] if len(pending) else beliefs.maximise_bound(width, rng), True


class BatchOfArms(BatchRule):
    """Decides after each pick whether the batch is complete; the pick that completes it still belongs to it."""

    _batch: Batch | None = None

    def begin(self) -> None:
        self._batch = None

    def picks(
        self, beliefs: Beliefs, width: float, n: int, pending: Pending, rng: np.random.Generator
    ) -> tuple[Actions, bool]:
        closed = False
        if self._batch is None:
            self._batch = beliefs.arms.new_batch(width, pending.actions)
            closed = self.start(self._batch)
        batch, known = self._batch, len(self._batch.picks)
        while not closed and (left := n + known - len(batch.picks)) > 0:
            arm, count = batch.propose(left)
            count, closed = self.admit(batch, arm, count)
            batch.take(count)
            if not closed:
                self.take_sure(batch, left - count)
        return np.array(batch.picks[known:], np.int64), closed

    @abstractmethod
    def start(self, builder: Batch) -> bool:
        """A new batch begins; returns whether it is complete already, for pulls that are still pending."""

    @abstractmethod
    def admit(self, builder: Batch, arm: int, count: int) -> tuple[int, bool]:
        """How many of the next `count` picks, all of `arm`, belong to the batch, and whether it ends with them.

        `builder` has proposed these picks and not taken them yet.
        """

    def take_sure(self, builder: Batch, limit: int) -> None:
        """Let `builder` take at most `limit` picks that certainly do not end the batch, where it is quick in that."""


@dataclass
class FixedRule(BatchOfArms):
    """At most `size` pulls are open at a time.

    With feedback on request these are batches of `size` (GP-BUCB with `fb[t] = floor((t - 1) / B) B`).

    Attributes:
        size: Batch size `B >= 1`.
    """

    size: int

    def __post_init__(self) -> None:
        self.size = as_count("batch_size", self.size)

    def start(self, builder: Batch) -> bool:
        return builder.n_pending >= self.size

    def admit(self, builder: Batch, arm: int, count: int) -> tuple[int, bool]:
        free = self.size - builder.n_pending - len(builder.picks)
        return min(count, free), count >= free


@dataclass
class SumRule(BatchOfArms):
    """Ends when `1 + sum_{s in batch} lev_fb(x_s) > c` (BBKB Alg. 1, line 5, with lev where the text has its root).

    Attributes:
        c: Threshold `C~ >= 1`; 1 gives batches of one.
    """

    c: float = 2.0

    def __post_init__(self) -> None:
        self.c = _threshold(self.c)

    def start(self, builder: Batch) -> bool:
        self.total = 1.0
        return builder.n_pending > 0

    def take_sure(self, builder: Batch, limit: int) -> None:
        self.total = builder.take_below(self.total, self.c, limit)

    def admit(self, builder: Batch, arm: int, count: int) -> tuple[int, bool]:
        leverage = float(builder.variance[arm]) / builder.posterior.lam
        for i in range(count):
            self.total += leverage
            if self.total > self.c:
                return i + 1, True
        return count, False


@dataclass
class ProductRule(BatchOfArms):
    """Ends when `prod_{s in batch} (1 + lev_{s-1}(x_s)) > c` (GP-AUCB as in BBKB's Alg. 2).

    Attributes:
        c: Threshold `C >= 1`; 1 gives batches of one.
    """

    c: float = 2.0

    def __post_init__(self) -> None:
        self.c = _threshold(self.c)

    def start(self, builder: Batch) -> bool:
        self.product = 1.0
        return builder.n_pending > 0

    def admit(self, builder: Batch, arm: int, count: int) -> tuple[int, bool]:
        self.product *= 1.0 + builder.picked_variance / builder.posterior.lam
        return 1, self.product > self.c


@dataclass
class GlobalLocalRule(SumRule):
    """Once the sum rule fires, goes on while the bound of Lemma 3 holds for every arm x.

    `max_x 1 + sum_{s in batch} cov_fb(x, x_s)^2 / (lam^2 lev_fb(x)) <= c`. Arms are looked at only where cheaper bounds
    do not decide, as `PickSpan` has them; the batch ends with the same pick as if every sum were known after each.

    The proof (appendix B.3) has a second sum, of the reducible part of the covariance, and drops it as the smaller one.
    That holds on the diagonal; elsewhere, with a dictionary that leaves arms out, ratios have been seen to exceed the
    sum by up to 5 %, though never the threshold, which all but the worst arms are far from.

    Reference: Calandriello et al. (2020), Lemma 3 and section 4.
    """

    def start(self, builder: Batch) -> bool:
        complete = super().start(builder)
        self._sums: LocalSums | None = None
        self._new: dict[int, int] = {}
        self._largest, self._since = 1.0, 0.0
        return complete

    def take_sure(self, builder: Batch, limit: int) -> None:
        known = len(builder.picks)
        # No sum exceeds the one of the sum rule.
        before = min(self.total, self._largest + self._since)
        added = builder.take_below(before, self.c, limit) - before
        self.total, self._since = self.total + added, self._since + added
        for arm, count in Counter(builder.picks[known:]).items():
            self._new[arm] = self._new.get(arm, 0) + count

    def admit(self, builder: Batch, arm: int, count: int) -> tuple[int, bool]:
        leverage = float(builder.variance[arm]) / builder.posterior.lam
        first = 0
        for i in range(count):
            self.total += leverage
            self._since += leverage  # by Cauchy-Schwarz no sum rises by more
            if self.total > self.c and self._largest + self._since > self.c:
                self._new[arm] = self._new.get(arm, 0) + i + 1 - first
                first = i + 1
                if self._sums is None:
                    self._sums = LocalSums(builder.posterior, builder.variance, self.c)
                self._largest, self._since = self._sums.largest(self._new), 0.0
                self._new = {}
                if self._largest > self.c:
                    return i + 1, True
        self._new[arm] = self._new.get(arm, 0) + count - first
        return count, False
