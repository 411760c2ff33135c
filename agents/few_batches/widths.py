"""Confidence widths for batches that are chosen without looking at their feedback."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt

from agents.core.widths import WidthContext, WidthSchedule

__all__ = ["GrowingWidth", "OfflineTheorem", "depends_on_pulls"]


@dataclass(frozen=True)
class OfflineTheorem(WidthSchedule):
    """`Psi + R / sqrt(lam) sqrt(2 log(A B / delta))`, valid because a batch is chosen without looking at its feedback.

    Reference: Li and Scarlett (2022), Algorithm 1, line 15; Vakili et al. (2021), Theorem 1.

    Attributes:
        n_batches: Number of batches B, set by the policy.
    """

    assumes = "norm"

    n_batches: int = 1

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

    def __call__(self, context: WidthContext) -> float:
        return sqrt(3 * log(2 * self.batch))


def depends_on_pulls(schedule: WidthSchedule) -> bool:
    """Whether a width is another one for other pulls, through their information gain, leverage scores or their sums.

    Schedules do not say what they read: one is asked for its width in two contexts that differ in nothing else.
    """
    one = WidthContext(t=100, n_arms=100, lam=1.0, noise_std=1.0, norm_bound=1.0, delta=0.1)
    other = replace(one, information_gain=1.0, effective_dimension=1.0, sum_log_leverage=1.0, sum_log_3_leverage=1.0)
    return schedule(one) != schedule(other)
