"""When a batch ends: the rules of GP-UCB, GP-BUCB, GP-AUCB and BBKB as small objects.

`lev` is the ridge leverage score `v / lam`; `lev_fb(x)` is it at the start of the batch, `lev_{s-1}(x_s)` just before
the pick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.core.batch import Batch
from agents.core.beliefs import Beliefs
from agents.core.gp_settings import Number
from agents.core.protocol import Actions, Pending
from gpbandit_envs.arguments import as_count, as_number


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
        return np.array(batch.picks[known:], np.int64), closed

    @abstractmethod
    def grown(self, total: Number, first: Number, now: Number) -> tuple[Number, Any]:
        """The number that ends a batch after one more pick, 1 before the first, and whether it ends with that pick.

        Args:
            total: The number before it.
            first: Leverage score of the pick at the start of the batch.
            now: That just before the pick.
        """

    @abstractmethod
    def start(self, batch: Batch) -> bool:
        """A new batch begins; returns whether it is complete already, for pulls that are still pending."""

    @abstractmethod
    def admit(self, batch: Batch, arm: int, count: int) -> tuple[int, bool]:
        """How many of the next `count` picks, all of `arm`, belong to the batch, and whether it ends with them.

        `batch` has proposed these picks and not taken them yet.
        """


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

    def grown(self, total: Number, first: Number, now: Number) -> tuple[Number, Any]:
        return total + 1, total >= self.size

    def start(self, batch: Batch) -> bool:
        return batch.n_pending >= self.size

    def admit(self, batch: Batch, arm: int, count: int) -> tuple[int, bool]:
        free = self.size - batch.n_pending - len(batch.picks)
        return min(count, free), count >= free


@dataclass
class _ThresholdRule(BatchOfArms):
    """Ends when a number that begins at 1 is above `c`; waits for the feedback of the batch before.

    Attributes:
        c: Threshold, >= 1; 1 gives batches of one.
    """

    c: float = 2.0

    def __post_init__(self) -> None:
        self.c = as_number("c", self.c, "a threshold >= 1 and finite", lambda c: c >= 1)

    def start(self, batch: Batch) -> bool:
        self.total = 1.0
        return batch.n_pending > 0


class SumRule(_ThresholdRule):
    """Ends when `1 + sum_{s in batch} lev_fb(x_s) > c` (BBKB Alg. 1, line 5, with lev where the text has its root)."""

    def grown(self, total: Number, first: Number, now: Number) -> tuple[Number, Any]:
        total = total + first
        return total, total > self.c

    def admit(self, batch: Batch, arm: int, count: int) -> tuple[int, bool]:
        leverage = float(batch.variance[arm]) / batch.posterior.lam
        for i in range(count):
            self.total, ends = self.grown(self.total, leverage, leverage)
            if ends:
                return i + 1, True
        return count, False


class ProductRule(_ThresholdRule):
    """Ends when `prod_{s in batch} (1 + lev_{s-1}(x_s)) > c` (GP-AUCB as in BBKB's Alg. 2)."""

    def grown(self, total: Number, first: Number, now: Number) -> tuple[Number, Any]:
        total = total * (1.0 + now)
        return total, total > self.c

    def admit(self, batch: Batch, arm: int, count: int) -> tuple[int, bool]:
        now = batch.picked_variance / batch.posterior.lam
        self.total, ends = self.grown(self.total, now, now)
        return 1, ends
