"""The very best candidates of a batch in plain floats: NumPy's overhead on three numbers exceeds the work on them.

Late batches pull one or two arms thousands of times. Here such a pick costs a microsecond, and a run of one arm is a
single step: while nothing else is pulled, the others' scores can only fall, so the arm stays best until its own score
reaches theirs.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from jaxtyping import Float

__all__ = ["Front"]


class Front:
    """Scores of a few arms under further pulls of them.

    Args:
        mean: Shape (k,).
        v: Variance, shape (k,).
        C: Covariance that pulls can reduce, shape (k, k).
        width: Multiplies the standard deviation, at least 0.
        lam: Noise variance.
        tau: Best score outside.

    Attributes:
        counts: Pulls taken so far, one entry an arm.
        v: Present variances.
    """

    def __init__(
        self,
        mean: Float[np.ndarray, " k"],
        v: Float[np.ndarray, " k"],
        C: Float[np.ndarray, "k k"],
        width: float,
        lam: float,
        tau: float,
    ) -> None:
        self.v: list[float] = v.tolist()
        self.counts = [0] * len(self.v)
        self._mean: list[float] = mean.tolist()
        self._C: list[list[float]] = C.tolist()
        self._width, self._lam, self._tau = width, lam, tau
        self._fresh = True
        self._score()

    def _score(self) -> None:
        width = self._width
        self._scores = [m + width * sqrt(v) if v > 0 else m for m, v in zip(self._mean, self.v)]

    def propose(self, limit: int) -> tuple[int, int]:
        """The best arm and how often in a row, up to `limit`, it surely stays best; a count of 0 if none here is.

        The count may be short of the truth, never beyond it.
        """
        scores = self._scores
        top = max(scores)
        j = scores.index(top)
        if not (top > self._tau or self._fresh):
            return j, 0
        bound = self._tau
        for i, score in enumerate(scores):
            if i != j and score > bound:
                bound = score
        gap = bound - self._mean[j]
        if self._width == 0 or gap < 0:
            return j, limit if top > bound else 1
        # After n pulls v_j = v - c^2 n / (lam + n c), which stays above g while n (c^2 - c h) < h lam, h = v - g.
        c, h = self._C[j][j], self.v[j] - (gap / self._width) ** 2
        if h <= 0:
            return j, 1
        if c <= h:
            return j, limit
        return j, min(limit, 1 + int(min(h * self._lam / (c * (c - h)) * (1 - 1e-9), limit)))

    def take(self, j: int, count: int) -> None:
        """Account for `count` pulls of arm `j`."""
        row = list(self._C[j])
        d = max(row[j], 0.0) + self._lam / count
        v, C = self.v, self._C
        for i, c in enumerate(row):
            scaled = c / d
            v[i] -= c * scaled
            Ci = C[i]
            for k, ck in enumerate(row):
                Ci[k] -= scaled * ck
        self.counts[j] += count
        self._fresh = False
        self._score()
