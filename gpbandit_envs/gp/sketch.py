"""The posterior of a Nystrom embedding over a finite set of arms: a dictionary instead of all pulled arms.

With `z(x) = L^-1 k(S, x)` and `V = sum_s z(x_s) z(x_s)^T + lam I` (see `gpbandit_envs.gp.embedding`)

- the mean is `z^T V^-1 sum_s z(x_s) y_s`,
- the variance is `k(x, x) - z^T z + lam z^T V^-1 z`, on the Bayesian scale: BKB and BBKB write it, divided by lam, as
  the squared sigma.

Neither depends on the basis of the embedding, so a Cholesky factor is as right as the papers' symmetric root, and
cheaper. One product of an (m, m) matrix with the cached kernel rows gives the variance at all arms. Where a new
dictionary contains the last one, far fewer rows do: with p arms pulled and q added, the change of the variance is a
signed sum of p + 2q squares.

References: Calandriello et al. (2019), Gaussian process optimization with adaptive sketching, eq. 4;
Calandriello et al. (2020), Near-linear time Gaussian process optimization, eq. 1-3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arms import ArmPosterior, column_blocks
from gpbandit_envs.gp.embedding import Embedding
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

__all__ = ["SketchedArmPosterior"]

_GUARD = 1e-10
_REFRESH_AFTER = 500


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
        refreshes: How often all arms were embedded from scratch.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> None:
        super().__init__(kernel, X, lam)
        self._n = np.zeros(0)
        self._s = np.zeros(0)
        self.refreshes = 0
        self._embedding = self._embed_from_scratch(np.zeros(0, np.int64), 0.0)
        self._requested: frozenset[int] = frozenset()
        self._new: dict[int, float] = {}
        self._events = 0
        # A direction dropped for a remaining variance of tol changes a leverage score by tol / lam.
        scale = float(self.rows.prior.max())
        self._tol = scale * float(np.clip(1e-6 * self.lam / scale, 1e-14, 1e-10))

    @property
    def dictionary(self) -> Int[np.ndarray, " m"]:
        return self.rows.arms[self._embedding.S]

    @property
    def n(self) -> Float[np.ndarray, " u"]:
        return self._n

    def effective_dimension(self) -> float:
        return float(self._n @ self.variance_at(self.rows.arms)) / self.lam

    def record(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Count `counts` new pulls of each of the distinct `arms`, whose feedback adds up to `sums`.

        A state is saved and restored between `embed` and the next `record`.

        Raises:
            ValueError: if a sum is not finite.
        """
        if not np.isfinite(sums).all():
            raise ValueError(f"sums: expected finite feedback, got {sums[~np.isfinite(sums)][0]}")
        positions = self.rows.add(arms)
        self._grow()
        self._n[positions] += counts
        self._s[positions] += sums
        for k, c in zip(positions.tolist(), counts.tolist(), strict=True):
            self._new[k] = self._new.get(k, 0.0) + c

    def _grow(self) -> None:
        missing = len(self.rows) - len(self._n)
        if missing:
            self._n = np.pad(self._n, (0, missing))
            self._s = np.pad(self._s, (0, missing))

    def embed(self, arms: Int[np.ndarray, " m"]) -> None:
        """Take `arms` (distinct) as the dictionary and bring mean and variance of all arms up to date."""
        positions = self.rows.add(arms)
        self._grow()
        requested = frozenset(positions.tolist())
        added = np.array([k for k in positions.tolist() if k not in self._requested], np.int64)
        few = len(self._new) + 2 * len(added) < len(self._embedding.S)
        self._events += 1
        if not (few and self._requested <= requested and self._events < _REFRESH_AFTER and self._extend(added)):
            self._refresh(positions)
        self._requested = requested
        self._new = {}

    def _embed_from_scratch(self, positions: np.ndarray, tol: float) -> Embedding:
        return Embedding.of(self.rows.gram, positions, self._n, self._s, self.lam, tol)

    def _refresh(self, positions: np.ndarray) -> None:
        self._embedding = self._embed_from_scratch(positions, self._tol)
        S, weights = self._embedding.S, self._embedding.weights
        for columns in column_blocks(self.n_arms):
            K = self.rows.rows[S, columns]
            H = self._embedding.explained @ K
            self._v[columns] = self.rows.prior[columns] - np.einsum("ij,ij->j", H, H)
            self._mean[columns] = weights @ K
        self.refreshes += 1
        self._events = 0

    def _extend(self, added: np.ndarray) -> bool:
        """Account for new pulls and added dictionary arms; False if rounding asks for a refresh instead."""
        old, gram = self._embedding, self.rows.gram
        new = old.extended(gram, added, self._n, self._s, self._tol)
        if new is None:
            return False
        m, q = len(old.S), len(new.S) - len(old.S)
        pulled = np.fromiter(self._new, np.int64)
        counts = np.fromiter(self._new.values(), np.float64)
        # Pulls in the old embedding: v falls by the squares of L_P^-1 c(P, .) with c the reducible covariance.
        left = (old.reducible @ gram[np.ix_(old.S, pulled)]).T @ old.reducible
        S = left @ gram[np.ix_(old.S, pulled)]
        L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(self.lam / counts))
        fall = np.zeros((len(pulled) + q, m + q))
        fall[: len(pulled), :m] = solve_lower(L, left)
        # New directions: v falls by their squares, and rises by what is not known of them yet.
        fall[len(pulled) :] = new.inverse[m:]
        C = np.vstack([fall, new.reducible[m:], new.weights])
        for columns in column_blocks(self.n_arms):
            H = C @ self.rows.rows[new.S, columns]
            down, up = H[: len(fall)], H[len(fall) : -1]
            self._v[columns] += np.einsum("ij,ij->j", up, up) - np.einsum("ij,ij->j", down, down)
            self._mean[columns] = H[-1]
        self._embedding = new
        H = new.explained @ gram[new.S]
        direct = self.rows.prior[self.rows.arms] - np.einsum("ij,ij->j", H, H)
        gap = np.abs(direct - self._v[self.rows.arms]).max()
        return bool(gap <= _GUARD * float(self.rows.prior.max()))

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        X = self.rows.X
        prior = self.rows.kernel(X[arms], X if others is None else X[others])
        return prior - self._product(self._embedding.explained, arms, others)

    def reducible_covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """`lam z^T V^-1 z'`: pulls change V, and never what the dictionary cannot express (BBKB, Alg. 1, line 7)."""
        return self._product(self._embedding.reducible, arms, others)

    def _product(self, C: np.ndarray, arms: np.ndarray, others: np.ndarray | None) -> np.ndarray:
        rows, S = self.rows.rows, self._embedding.S
        left = (C @ rows[S[:, None], arms]).T @ C
        if others is not None:
            return left @ rows[S[:, None], others]
        product = np.empty((len(arms), self.n_arms))
        for columns in column_blocks(self.n_arms):
            product[:, columns] = left @ rows[S, columns]
        return product

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        prior = self.rows.kernel.diag(X)
        K = self.rows.kernel(self.rows.X[self.dictionary], X)
        H = self._embedding.explained @ K
        return self._embedding.weights @ K, np.maximum(prior - np.einsum("ij,ij->j", H, H), 0.0)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "n": self._n.copy(),
            "s": self._s.copy(),
            "dictionary": self._embedding.S.copy(),
            "factor": self._embedding.L.copy(),
            "requested": sorted(self._requested),
            "events": self._events,
            "refreshes": self.refreshes,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._n, self._s = np.array(state["n"]), np.array(state["s"])
        S, L = np.array(state["dictionary"], np.int64), np.array(state["factor"])
        self._embedding = Embedding(self.rows.gram, S, L, self._n, self._s, self.lam)
        self._requested = frozenset(state["requested"])
        self._new = {}
        self._events, self.refreshes = int(state["events"]), int(state["refreshes"])
