"""Confidence widths for batches that are chosen without looking at their feedback."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

from agents.core.widths import WidthContext, WidthSchedule

__all__ = ["GrowingWidth", "OfflineTheorem"]


@dataclass(frozen=True)
class OfflineTheorem(WidthSchedule):
    """`Psi + R / sqrt(lam) sqrt(2 log(A B / delta))`, valid because a batch is chosen without looking at its feedback.

    Reference: Li and Scarlett (2022), Algorithm 1, line 15; Vakili et al. (2021), Theorem 1.

    Attributes:
        n_batches: Number of batches B, set by the policy.
    """

    assumes = "norm"

    n_batches: int = 1
    depends_on_pulls: ClassVar[bool] = False

    def __call__(self, context: WidthContext) -> float:
        c = context
        return c.norm_bound + c.noise_std / sqrt(c.lam) * sqrt(2 * log(c.n_arms * self.n_batches / c.delta))


@dataclass(frozen=True)
class GrowingWidth(WidthSchedule):
    """`sqrt(3 log(2 i))` in batch i.

    Reference: Li and Scarlett (2022), section 5.

    Attributes:
        batch: Number i of the batch, set by the policy.
    """

    batch: int = 1
    depends_on_pulls: ClassVar[bool] = False

    def __call__(self, context: WidthContext) -> float:
        return sqrt(3 * log(2 * self.batch))
