"""Kernel rows that all repetitions share: each computed once for all of them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp import Kernel

__all__ = ["SharedRows"]


class SharedRows:
    """`k(x_a, .)` over all arms, for every arm `a` that some repetition has pulled.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).

    Attributes:
        prior: Prior variances, shape (A,).
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"]) -> None:
        self._kernel, self._X = kernel, X
        self.prior: Float[np.ndarray, " A"] = kernel.diag(X)
        self._position = np.full(len(X), -1, np.int64)
        self._rows = np.empty((min(64, len(X)), len(X)))
        self._used = 0

    def serves(self, kernel: Kernel, X: Float[np.ndarray, "A d"]) -> bool:
        """Whether these are the rows of that kernel on those arms."""
        return self._kernel == kernel and np.array_equal(self._X, X)

    def of(self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None) -> Float[np.ndarray, "p A"]:
        """The rows of `arms`, a copy."""
        positions = self._position[arms]
        if (positions < 0).any():
            self._add(np.unique(arms[positions < 0]))
            positions = self._position[arms]
        return np.take(self._rows, positions, axis=0, out=out, mode="clip")  # "clip" writes into out unbuffered

    def _add(self, arms: np.ndarray) -> None:
        used = self._used + len(arms)
        if used > len(self._rows):
            rows = np.empty((min(max(used, 2 * len(self._rows)), len(self._X)), len(self._X)))
            rows[: self._used] = self._rows[: self._used]
            self._rows = rows
        new = self._kernel(self._X[arms], self._X)
        # As in the posterior of one repetition: a kernel may round k(x, x) differently from the prior variance.
        new[np.arange(len(arms)), arms] = self.prior[arms]
        self._rows[self._used : used] = new
        self._position[arms] = np.arange(self._used, used)
        self._used = used
