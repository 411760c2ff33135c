"""When a batch ends: the rules of GP-UCB, GP-BUCB, GP-AUCB and BBKB as small objects.

`lev` is the ridge leverage score `v / lam`; `lev_fb(x)` is it at the start of the batch, `lev_{s-1}(x_s)` just before
the pick.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from agents.core.batch import BatchBuilder

__all__ = ["BatchRule", "FixedRule", "ProductRule", "SequentialRule", "SumRule"]


def _threshold(value: float) -> float:
    if not value >= 1:
        raise ValueError(f"c: expected a threshold >= 1, got {value!r}")
    return float(value)


class BatchRule(ABC):
    """Decides after each pick whether the batch is complete; the pick that completes it still belongs to it."""

    @abstractmethod
    def start(self) -> None:
        """A new batch begins."""

    @abstractmethod
    def closes(self, builder: BatchBuilder, arm: int) -> bool:
        """Whether the batch ends with the pick of `arm`, which `builder` has just made."""


@dataclass
class SequentialRule(BatchRule):
    """Every pick is a batch."""

    def start(self) -> None:
        pass

    def closes(self, builder: BatchBuilder, arm: int) -> bool:
        return True


@dataclass
class FixedRule(BatchRule):
    """`size` picks (GP-BUCB with `fb[t] = floor((t - 1) / B) B`).

    Attributes:
        size: Batch size `B >= 1`.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"batch_size: expected at least 1, got {self.size!r}")

    def start(self) -> None:
        pass

    def closes(self, builder: BatchBuilder, arm: int) -> bool:
        return len(builder.picks) >= self.size


@dataclass
class SumRule(BatchRule):
    """Ends when `1 + sum_{s in batch} lev_fb(x_s) > c` (BBKB Alg. 1, line 5, with lev where the text has its root).

    Attributes:
        c: Threshold `C~ >= 1`; 1 gives batches of one.
    """

    c: float = 2.0

    def __post_init__(self) -> None:
        self.c = _threshold(self.c)
        self.start()

    def start(self) -> None:
        self.total = 1.0

    def closes(self, builder: BatchBuilder, arm: int) -> bool:
        self.total += builder.variance[arm] / builder.posterior.lam
        return self.total > self.c


@dataclass
class ProductRule(BatchRule):
    """Ends when `prod_{s in batch} (1 + lev_{s-1}(x_s)) > c` (GP-AUCB as in BBKB's Alg. 2).

    Attributes:
        c: Threshold `C >= 1`; 1 gives batches of one.
    """

    c: float = 2.0

    def __post_init__(self) -> None:
        self.c = _threshold(self.c)
        self.start()

    def start(self) -> None:
        self.product = 1.0

    def closes(self, builder: BatchBuilder, arm: int) -> bool:
        self.product *= 1.0 + builder.picked_variance / builder.posterior.lam
        return self.product > self.c
