"""Observations with repeated inputs, reduced to their sufficient statistics.

| symbol | meaning | shape |
|---|---|---|
| `X` | distinct inputs, in order of first appearance | (u, d) |
| `n_u` | observations at each | (u,) |
| `m_u` | their mean | (u,) |
| `s` | `sum_u sum_{i at u} (y_i - m_u)^2`, the scatter within inputs | |

The posterior given all observations with noise variance `lam` is the one given the means with noise `lam / n_u`, and

    log N(y | 0, K + lam I) = log N(m | 0, K_u + lam / n) - 0.5 (s / lam + (N - u) log(2 pi lam) + sum_u log n_u),

so that the cost grows with distinct inputs, and repeated inputs make no matrix singular.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import LEAST


@dataclass(frozen=True)
class Observations:
    """The sufficient statistics of `(X, y)`; build them with `Observations.of`.

    Attributes:
        X: Distinct inputs, shape (u, d).
        counts: Observations at each input, shape (u,).
        means: Mean feedback at each input, shape (u,), unit of y.
        scatter: Squared deviations from the means, summed, unit of y^2; where `known`, of the others.
        known: Noise variance of each observation at an input where it is known, NaN where it is `lam`; None for `lam`
            everywhere. Equal inputs with different ones are kept apart.
    """

    X: Float[np.ndarray, "u d"]
    counts: Float[np.ndarray, " u"]
    means: Float[np.ndarray, " u"]
    scatter: float
    known: Float[np.ndarray, " u"] | None = None

    @classmethod
    def of(
        cls, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], known: Float[np.ndarray, " n"] | None = None
    ) -> Observations:
        """Group the rows of `X` that are equal, and whose noise variances are.

        Raises:
            ValueError: if there is no observation, the shapes do not fit, or a number is not finite.
        """
        X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
        if X.ndim != 2 or y.shape != (len(X),) or len(X) == 0:
            raise ValueError(f"X, y: expected shapes (n, d) and (n,) with n >= 1, got {X.shape} and {y.shape}")
        for name, values in (("X", X), ("y", y)):
            if not np.isfinite(values).all():
                raise ValueError(f"{name}: expected finite numbers, got NaN or infinity")
        if known is not None and not np.isnan(known).all():
            found = cls.of(np.column_stack([X, np.nan_to_num(known, nan=-1.0)]), y)
            variances = np.where(found.X[:, -1] < 0, np.nan, found.X[:, -1])
            learnt = np.isnan(known)
            scatter = cls.of(X[learnt], y[learnt]).scatter if learnt.any() else 0.0
            return cls(found.X[:, :-1], found.counts, found.means, scatter, variances)
        # Points of a box differ in their first coordinate already, which takes a tenth of the time to see.
        if len(np.unique(X[:, 0])) == len(X):
            return cls(X, np.ones(len(X)), y, 0.0)
        _, first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
        if len(first) == len(X):
            return cls(X, np.ones(len(X)), y, 0.0)
        order = np.argsort(first)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        group = rank[group.reshape(-1)]
        counts = np.bincount(group).astype(np.float64)
        means = np.bincount(group, y) / counts
        return cls(X[first[order]], counts, means, float(np.square(y - means[group]).sum()))

    @property
    def total(self) -> int:
        """Number of observations `N`."""
        return int(self.counts.sum())

    def standardised(self) -> tuple[Observations, float, float]:
        """The observations with mean 0 and standard deviation 1, and the offset and the scale that were taken out.

        The scale of observations that are equal up to rounding, or whose square would be none, is 1.
        """
        total = self.counts.sum()
        offset = float(self.counts @ self.means / total)
        scale = float(np.sqrt((self.scatter + self.counts @ np.square(self.means - offset)) / total))
        if not scale > max(1e-12 * max(abs(offset), float(np.abs(self.means).max())), LEAST):
            scale = 1.0
        return self.rescaled(offset, scale), offset, scale

    def rescaled(self, offset: float, scale: float) -> Observations:
        """The observations `(y - offset) / scale`."""
        known = None if self.known is None else self.known / scale**2
        return Observations(self.X, self.counts, (self.means - offset) / scale, self.scatter / scale**2, known)

    def noise(self, lam: float) -> Float[np.ndarray, " u"]:
        """Noise variance of the mean at each input."""
        known = lam if self.known is None else np.where(np.isnan(self.known), lam, self.known)
        noise: np.ndarray = known / self.counts
        return noise
