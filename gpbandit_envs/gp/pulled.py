"""The exact posterior as seen from the pulled arms alone: everything that does not grow with the number of arms.

| symbol | meaning | shape |
|---|---|---|
| `u` | number of distinct cached arms `U` | |
| `n, s` | pulls and feedback sum of each; n is 0 for an arm that is cached but was never pulled | (u,) |
| `lam` | noise variance of one feedback | unit of y^2 |
| `K` | `k(U, U)` | (u, u) |
| `M` | `(K + lam diag(1/n))^-1`, with zeros for arms that were never pulled | (u, u) |
| `T` | a square root, `T^T T = M` | (u, u) |

Pulling an arm n times with mean feedback s / n is one observation with noise variance lam / n, so nothing ever grows
with the number of pulls. The covariance of all arms with a pulled arm i is `(lam / n_i) M_i k(U, .)`: one product of a
row with the cached kernel rows, without cancellation. The root T is kept rather than M, whose entries grow as n / lam
and whose rounding alone would exceed small variances; the entries of T grow as the square root.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

__all__ = ["PulledArms"]


class PulledArms:
    """Counts, feedback sums and the root of the inverse.

    Args:
        rows: Cached kernel rows, shared with the posterior.
        lam: Noise variance of one feedback.

    Attributes:
        n: Pulls of each cached arm, shape (u,).
        s: Feedback sum of each cached arm, shape (u,).
        T: Square root of the inverse, shape (u, u).
    """

    def __init__(self, rows: KernelRows, lam: float) -> None:
        self.rows = rows
        self.lam = lam
        self.n = np.zeros(0)
        self.s = np.zeros(0)
        self.T = np.zeros((0, 0))

    def grow(self) -> None:
        """Make room for rows that were added since."""
        missing = len(self.rows) - len(self.n)
        if missing:
            self.T = np.pad(self.T, (0, missing))
            self.n = np.pad(self.n, (0, missing))
            self.s = np.pad(self.s, (0, missing))

    def coefficients(self, positions: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p u"]:
        """Covariance of cached arms with any others as combinations of rows.

        For an arm that was never pulled its own row has to be added; the coefficient for it is 0 here.
        """
        n = self.n[positions]
        pulled = n > 0
        T = self.T
        C = np.empty((len(positions), len(T)))
        C[pulled] = (T[:, positions[pulled]] * (self.lam / n[pulled])).T @ T
        fresh = positions[~pulled]
        C[~pulled] = -(self.rows.gram[fresh, : len(T)] @ T.T) @ T
        return C

    def covariance(self, positions: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        """Posterior covariance among cached arms."""
        gram = self.rows.gram[:, positions]
        C = self.coefficients(positions) @ gram
        fresh = self.n[positions] == 0
        C[fresh] += gram[positions[fresh]]
        return 0.5 * (C + C.T)

    def variances(self, positions: Int[np.ndarray, " p"] | None = None) -> Float[np.ndarray, " p"]:
        """Posterior variances of cached arms, of all by default; 0 for arms that were never pulled."""
        n, T = (self.n, self.T) if positions is None else (self.n[positions], self.T[:, positions])
        noise = self.lam / np.where(n > 0, n, np.inf)
        return np.maximum(noise - noise**2 * np.einsum("ij,ij->j", T, T), 0.0)

    def weights(self) -> Float[np.ndarray, " u"]:
        """`M (s / n)`: the posterior mean is these weights times the rows."""
        n = np.maximum(self.n, 1e-300)
        y = self.s / n
        weights = (self.T @ y) @ self.T
        # One step of iterative refinement: the root carries the rounding of all its updates, the Gram matrix none.
        residual = y - self.rows.gram @ weights - weights * (self.lam / n)
        return weights + (self.T @ residual) @ self.T

    def pull(
        self, positions: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Account for new pulls of distinct cached arms."""
        T, fresh = self.T, self.n[positions] == 0
        for k, c in zip(positions[~fresh], counts[~fresh], strict=True):
            # lam/n falls to lam/(n+c): M' = M + m m^T / d with m = M e_k (Sherman-Morrison), and with t = T e_k
            # T' = (I + t t^T / d)^(1/2) T, whose root is I + g t t^T.
            t = T[:, k].copy()
            t2 = float(t @ t)
            d = self.n[k] * (self.n[k] + c) / (c * self.lam) - t2
            g = t2 / d
            T += np.multiply.outer(t * (g / (1 + np.sqrt(1 + g)) / t2), t @ T)
        if fresh.any():
            # Bordering by arms that had no pull yet.
            k, gram = positions[fresh], self.rows.gram
            G = T @ gram[:, k]
            schur = gram[np.ix_(k, k)] - G.T @ G + np.diag(self.lam / counts[fresh])
            L, _ = jittered_cholesky(schur)
            border = -(G.T @ T)
            border[:, k] = np.eye(len(k))
            T[k] = solve_lower(L, border)
        self.n[positions] += counts
        self.s[positions] += sums

    def factor(self) -> tuple[Int[np.ndarray, " q"], Float[np.ndarray, "q q"]]:
        """Positions of the pulled arms and the Cholesky factor of `K + lam diag(1/n)` there, from scratch."""
        pulled = np.flatnonzero(self.n > 0)
        L, _ = jittered_cholesky(self.rows.gram[np.ix_(pulled, pulled)] + np.diag(self.lam / self.n[pulled]))
        return pulled, L

    def refresh(self, pulled: Int[np.ndarray, " q"], L: Float[np.ndarray, "q q"]) -> None:
        """Take the root from a factor, which frees it of the rounding of its updates."""
        self.T[:] = 0.0
        self.T[np.ix_(pulled, pulled)] = solve_lower(L, np.eye(len(L)))

    def state_dict(self) -> dict[str, Any]:
        """Counts, sums and root."""
        return {"n": self.n.copy(), "s": self.s.copy(), "root": self.T.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of `state_dict`, after the same rows were added."""
        self.n, self.s, self.T = (np.array(state[name]) for name in ("n", "s", "root"))
