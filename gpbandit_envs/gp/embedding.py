"""A Nystrom embedding and its regression, as seen from the cached arms alone: small matrices only.

| symbol | meaning | shape |
|---|---|---|
| `S` | dictionary, positions among the cached arms `U` | (m,) |
| `L` | Cholesky factor of `k(S, S)` | (m, m) |
| `z(x)` | embedding `L^-1 k(S, x)` | (m,) |
| `V` | `sum_s z(x_s) z(x_s)^T + lam I` over all pulls, `V = R R^T` | (m, m) |
| `F` | `I - lam V^-1 = F F^T` | (m, m) |
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.linalg import jittered_cholesky, pivoted_cholesky, solve_lower

__all__ = ["Embedding"]

_CLEAR, _DEPENDENT = 1e-8, 1e-14


class Embedding:
    """All that is needed to write mean and variance of any arm as combinations of kernel rows of the dictionary.

    Args:
        gram: Kernel matrix of the cached arms, shape (u, u).
        S: Dictionary, shape (m,).
        L: Cholesky factor of `gram[S][:, S]`, shape (m, m).
        n: Pulls of each cached arm, shape (u,).
        s: Feedback sum of each cached arm, shape (u,).
        lam: Noise variance of one feedback.

    Attributes:
        inverse: `L^-1`: these rows times `k(S, x)` are `z(x)`, shape (m, m).
        reducible: `sqrt(lam) R^-1 L^-1`: the squares of these rows times `k(S, x)` add up to `lam z^T V^-1 z`.
        weights: `L^-T V^-1 sum_s z(x_s) y_s`: these times `k(S, x)` are the mean, shape (m,).
    """

    def __init__(
        self,
        gram: Float[np.ndarray, "u u"],
        S: Int[np.ndarray, " m"],
        L: Float[np.ndarray, "m m"],
        n: Float[np.ndarray, " u"],
        s: Float[np.ndarray, " u"],
        lam: float,
    ) -> None:
        self.S, self.L, self.lam = S, L, lam
        m = len(S)
        Z = solve_lower(L, gram[S])
        V = (Z * n) @ Z.T
        V[np.diag_indices(m)] += lam
        R, _ = jittered_cholesky(V)
        self.inverse = solve_lower(L, np.eye(m))
        self._shrinkage = solve_lower(R, np.eye(m))
        self.reducible = np.sqrt(lam) * (self._shrinkage @ self.inverse)
        self.weights = self.inverse.T @ (self._shrinkage.T @ (self._shrinkage @ (Z @ s)))

    @classmethod
    def of(
        cls,
        gram: Float[np.ndarray, "u u"],
        positions: Int[np.ndarray, " q"],
        n: Float[np.ndarray, " u"],
        s: Float[np.ndarray, " u"],
        lam: float,
        tol: float,
    ) -> Embedding:
        """The embedding of a dictionary, without arms whose remaining variance is at most `tol`."""
        L, pivots = pivoted_cholesky(gram[np.ix_(positions, positions)], tol)
        return cls(gram, positions[pivots], L, n, s, lam)

    def extended(
        self,
        gram: Float[np.ndarray, "u u"],
        added: Int[np.ndarray, " q"],
        n: Float[np.ndarray, " u"],
        s: Float[np.ndarray, " u"],
        tol: float,
    ) -> Embedding | None:
        """The embedding with further dictionary arms behind the present ones, and with pulls as they are now.

        None if an added arm is neither clearly dependent on the others nor clearly not: what remains of its variance
        is then mostly rounding, and pivoting over the whole dictionary is called for.
        """
        Z = solve_lower(self.L, gram[np.ix_(self.S, added)])
        schur = gram[np.ix_(added, added)] - Z.T @ Z
        rest, pivots = pivoted_cholesky(schur, tol)
        m, q = len(self.S), len(pivots)
        largest = float(np.diagonal(gram).max(initial=0.0))
        dropped = np.delete(np.diagonal(schur), pivots)
        if (np.diagonal(rest) ** 2 < _CLEAR * largest).any() or (dropped > _DEPENDENT * largest).any():
            return None
        L = np.zeros((m + q, m + q))
        L[:m, :m], L[m:, :m], L[m:, m:] = self.L, Z[:, pivots].T, rest
        return Embedding(gram, np.concatenate([self.S, added[pivots]]), L, n, s, self.lam)

    @cached_property
    def explained(self) -> Float[np.ndarray, "m m"]:
        """`F^T L^-1`: the squares of these rows times `k(S, x)` add up to `k(x, x)` less the variance."""
        # I - lam V^-1 loses relative accuracy in directions hardly pulled, but no more than rounding of k(x, x).
        W = self._shrinkage
        F, _ = jittered_cholesky(np.eye(len(W)) - self.lam * (W.T @ W))
        return F.T @ self.inverse
