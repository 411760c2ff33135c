"""What is proven of batches that are planned in advance: the widths of BPE, and the bound on its regret.

Symbols are those of `agents.core.widths` and `agents.core.regret_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int

from agents.core.gp_settings import WidthContext
from agents.core.regret_bounds import variance_constant
from agents.core.widths import NonAdaptive, WidthSchedule


@dataclass(frozen=True)
class OfflineTheorem(NonAdaptive):
    """`Psi + R / sqrt(lam) sqrt(2 log(A B / delta))`, valid because a batch is chosen without its feedback.

    The theorem is about one arm and one side of the band. Both sides of A arms in B batches are `2 A B` events. For
    Gaussian noise the two tails of an arm together have the bound of one, and `A B` suffices; see `TwoSidedOffline` for
    other noise.

    Reference: Li and Scarlett (2022), Algorithm 1, line 15; Vakili et al. (2021), Theorem 1.

    Attributes:
        n_batches: Number of batches B, set by the policy.
    """

    chosen_blindly: ClassVar[Literal["", "batch", "all"]] = "batch"

    n_batches: int = 1

    def in_batch(self, number: int, n_batches: int) -> WidthSchedule:
        return replace(self, n_batches=n_batches)

    def odds(self, context: WidthContext) -> float:
        return self.sides * context.n_arms * self.n_batches / context.delta


@dataclass(frozen=True)
class TwoSidedOffline(OfflineTheorem):
    """`OfflineTheorem` with `2 A B` for `A B`, for all sub-Gaussian noise."""

    gaussian_noise: ClassVar[bool] = False
    sides: ClassVar[int] = 2


@dataclass(frozen=True)
class GrowingWidth(WidthSchedule):
    """`sqrt(3 log(2 i))` in batch i.

    Reference: Li and Scarlett (2022), section 5.

    Attributes:
        batch: Number i of the batch, set by the policy.
    """

    batch: int = 1
    depends_on_pulls: ClassVar[bool] = False

    def in_batch(self, number: int, n_batches: int) -> WidthSchedule:
        return replace(self, batch=number)

    def __call__(self, context: WidthContext) -> float:
        return sqrt(3 * log(2 * self.batch))


def bpe_bound(
    lengths: Int[np.ndarray, " B"],
    gamma: Float[np.ndarray, " T"],
    norm: float,
    noise: float,
    n_arms: int,
    delta: float,
    kappa2: float,
    lam: float,
) -> float:
    """`2 w kappa N_1 + sum_{i>1} 4 w N_i sqrt(2 C gamma_{N_{i-1}} / N_{i-1})` for BPE with batches of lengths `N_i`.

    `w = F + R / sqrt(lam) sqrt(2 log(A B / delta))` is its width; after N pulls of largest variance no arm's variance
    exceeds the average of those of the pulled arms, `2 C gamma_N / N`.

    Args:
        lengths: Batch lengths, B of them.
        gamma: Largest information gain after 1, 2, ... pulls, at least as many as the longest batch but the last.
        norm: Bound `F` on the RKHS norm.
        noise: Sub-Gaussian scale `R` of the noise.
        n_arms: Number of arms.
        delta: Failure probability.
        kappa2: Largest prior variance.
        lam: Regularisation.

    Reference: Li and Scarlett (2022), Theorem 1 and its Appendix A.1.
    """
    lengths, gamma = np.asarray(lengths, np.int64), np.asarray(gamma, np.float64)
    if len(lengths) > 1 and lengths[:-1].max() > len(gamma):
        raise ValueError(
            f"gamma: expected {lengths[:-1].max()} values, one a pull of the longest batch, got {len(gamma)}"
        )
    width = norm + noise / math.sqrt(lam) * math.sqrt(2 * math.log(n_arms * len(lengths) / delta))
    before = lengths[:-1]
    later = 4 * width * lengths[1:] * np.sqrt(2 * variance_constant(kappa2, lam) * gamma[before - 1] / before)
    return float(2 * width * math.sqrt(kappa2) * lengths[0] + later.sum())
