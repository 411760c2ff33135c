"""The posterior of a Nystrom embedding over a finite set of arms: a dictionary instead of all pulled arms.

| symbol | meaning | shape |
|---|---|---|
| `S` | dictionary, a subset of the pulled arms `U` | m arms |
| `L` | pivoted Cholesky factor of `k(S, S)` | (m, m) |
| `z(x)` | embedding `L^-1 k(S, x)` | (m,) |
| `V` | `sum_s z(x_s) z(x_s)^T + lam I` over all pulls | (m, m) |
| `mean` | `z^T V^-1 sum_s z(x_s) y_s` | (A,) |
| `v` | `k(x, x) - z^T z + lam z^T V^-1 z`, the Bayesian scale | (A,) |

BKB and BBKB write `v / lam` as the squared sigma. Neither mean nor variance depends on the basis of the embedding, so a
Cholesky factor is as right as the papers' symmetric root, and cheaper. With `I - lam V^-1 = F F^T`, the variance is
`k(x, x) - |F^T L^-1 k(S, x)|^2`: one product of an (m, m) matrix with the cached kernel rows gives it at all arms.

References: Calandriello et al. (2019), Gaussian process optimization with adaptive sketching, eq. 4;
Calandriello et al. (2020), Near-linear time Gaussian process optimization, eq. 1-3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arms import ArmPosterior, column_blocks
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, pivoted_cholesky, solve_lower

__all__ = ["SketchedArmPosterior"]


class SketchedArmPosterior(ArmPosterior):
    """The DTC posterior of a dictionary; everything but the kernel rows is O(m^2) in memory.

    `record` counts pulls without touching the posterior; `embed` sets the dictionary and takes in all that has been
    recorded. Until the first `embed` the dictionary is empty: the mean is 0 and the variance the prior's.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0.

    Attributes:
        dictionary: Arms of the dictionary, shape (m,), after dropping dependent ones.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> None:
        super().__init__(kernel, X, lam)
        self._n = np.zeros(0)
        self._s = np.zeros(0)
        self.dictionary = np.zeros(0, np.int64)
        self._S = np.zeros(0, np.int64)
        self._explained = np.zeros((0, 0))
        self._reducible = np.zeros((0, 0))
        self._weights = np.zeros(0)
        # A direction dropped for a remaining variance of tol changes a leverage score by tol / lam.
        scale = float(self.rows.prior.max())
        self._tol = scale * float(np.clip(1e-6 * self.lam / scale, 1e-14, 1e-10))

    @property
    def n(self) -> Float[np.ndarray, " u"]:
        return self._n

    def effective_dimension(self) -> float:
        return float(self._n @ self.variance_at(self.rows.arms)) / self.lam

    def record(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Count `counts` new pulls of each of the distinct `arms`, whose feedback adds up to `sums`.

        Raises:
            ValueError: if a sum is not finite.
        """
        if not np.isfinite(sums).all():
            raise ValueError(f"sums: expected finite feedback, got {sums[~np.isfinite(sums)][0]}")
        positions = self.rows.add(arms)
        self._grow()
        self._n[positions] += counts
        self._s[positions] += sums

    def _grow(self) -> None:
        missing = len(self.rows) - len(self._n)
        if missing:
            self._n = np.pad(self._n, (0, missing))
            self._s = np.pad(self._s, (0, missing))

    def embed(self, arms: Int[np.ndarray, " m"]) -> None:
        """Take `arms` (distinct) as the dictionary and compute mean and variance of all arms from all pulls."""
        positions = self.rows.add(arms)
        self._grow()
        gram = self.rows.gram
        L, pivots = pivoted_cholesky(gram[np.ix_(positions, positions)], self._tol)
        self._S = positions[pivots]
        self.dictionary = self.rows.arms[self._S].copy()
        m = len(L)
        Z = solve_lower(L, gram[self._S])
        V = (Z * self._n) @ Z.T
        V[np.diag_indices(m)] += self.lam
        R, _ = jittered_cholesky(V)
        inverse = solve_lower(L, np.eye(m))
        shrinkage = solve_lower(R, np.eye(m))
        # I - lam V^-1 loses relative accuracy in directions hardly pulled, but no more than rounding of k(x, x) in v.
        F, _ = jittered_cholesky(np.eye(m) - self.lam * (shrinkage.T @ shrinkage))
        self._explained = F.T @ inverse
        self._reducible = np.sqrt(self.lam) * (shrinkage @ inverse)
        self._weights = inverse.T @ (shrinkage.T @ (shrinkage @ (Z @ self._s)))
        for columns in column_blocks(self.n_arms):
            K = self.rows.rows[self._S, columns]
            H = self._explained @ K
            self._v[columns] = self.rows.prior[columns] - np.einsum("ij,ij->j", H, H)
            self._mean[columns] = self._weights @ K

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        X = self.rows.X
        prior = self.rows.kernel(X[arms], X if others is None else X[others])
        return prior - self._product(self._explained, arms, others)

    def reducible_covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """`lam z^T V^-1 z'`: pulls change V, and never what the dictionary cannot express (BBKB, Alg. 1, line 7)."""
        return self._product(self._reducible, arms, others)

    def _product(self, C: np.ndarray, arms: np.ndarray, others: np.ndarray | None) -> np.ndarray:
        rows = self.rows.rows
        left = (C @ rows[self._S[:, None], arms]).T @ C
        if others is not None:
            return left @ rows[self._S[:, None], others]
        product = np.empty((len(arms), self.n_arms))
        for columns in column_blocks(self.n_arms):
            product[:, columns] = left @ rows[self._S, columns]
        return product

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        prior = self.rows.kernel.diag(X)
        if len(self._S) == 0:
            return np.zeros(len(X)), prior
        K = self.rows.kernel(self.rows.X[self.dictionary], X)
        H = self._explained @ K
        return self._weights @ K, np.maximum(prior - np.einsum("ij,ij->j", H, H), 0.0)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "n": self._n.copy(),
            "s": self._s.copy(),
            "dictionary": self.dictionary.copy(),
            "explained": self._explained.copy(),
            "reducible": self._reducible.copy(),
            "weights": self._weights.copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._n, self._s = np.array(state["n"]), np.array(state["s"])
        self.dictionary = np.array(state["dictionary"], np.int64)
        self._S = self.rows.position[self.dictionary]
        self._explained = np.array(state["explained"])
        self._reducible = np.array(state["reducible"])
        self._weights = np.array(state["weights"])
