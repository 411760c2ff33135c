"""The posterior of a Nystrom embedding over a finite set of arms: a dictionary instead of all pulled arms.

With `z(x)` the embedding on the dictionary S and `V = sum_s z(x_s) z(x_s)^T + lam I` (see
`gpbandit_envs.gp.embedding`)

- the mean is `z^T V^-1 sum_s z(x_s) y_s`,
- the variance is `k(x, x) - z^T z + lam z^T V^-1 z`, on the Bayesian scale: BKB and BBKB write it, divided by lam, as
  the squared sigma.

Neither depends on the basis of the embedding, so a Cholesky factor is as right as the papers' symmetric root, and
cheaper. Dictionaries drawn one after the other have most arms in common: what was pulled, what joined and what left
changes the variance of all arms by a signed sum of a few squares, which is one product with as many rows.

References: Calandriello et al. (2019), Gaussian process optimization with adaptive sketching, eq. 4;
Calandriello et al. (2020), Near-linear time Gaussian process optimization, eq. 1-3.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.embedding import AmbiguousRankError, Change, Embedding
from gpbandit_envs.gp.kernel_rows import products
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import whitened
from gpbandit_envs.gp.look_ahead import LookAhead

__all__ = ["SketchedArmPosterior"]

_GUARD_VARIANCE, _GUARD_NORM = 1e-10, 1e-9
_GUARDED = 4
_CHECK_AFTER, _REFRESH_AFTER = 8, 500


class SketchedArmPosterior(ArmPosterior):
    """The DTC posterior of a dictionary; everything but the kernel rows is O(m^2) in memory.

    `record` stores pulls without changing mean and variance; `embed` sets the dictionary and conditions on all pulls
    recorded so far. Until the first `embed` the dictionary is empty: the mean is 0 and the variance the prior's.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0.
        max_memory: Bytes for kernel rows; see `gpbandit_envs.gp.kernel_rows.KernelRows`.

    Attributes:
        refreshes: How often all arms were embedded from scratch.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, max_memory: int | None = None) -> None:
        super().__init__(kernel, X, lam, max_memory)
        self._mean = np.zeros(len(X))
        # Never clipped: clipping an accumulated value would turn rounding into drift.
        self._v = self.rows.prior.copy()
        self._n = np.zeros(0)
        self._s = np.zeros(0)
        self.refreshes = 0
        self._embedding = Embedding(self.rows, self.lam)
        self._scale = float(self.rows.prior.max())
        self._requested = np.zeros(0, np.int64)
        self._new: dict[int, float] = {}
        self._events = 0

    @property
    def dictionary(self) -> Int[np.ndarray, " m"]:
        """Arms of the dictionary, shape (m,), without those that depend on others."""
        return self.rows.arms[self._embedding.S]

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        return self._mean

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        return np.maximum(self._v, 0.0)

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return np.maximum(self._v[arms], 0.0)

    @property
    def n(self) -> Float[np.ndarray, " u"]:
        """Pulls of each cached arm, in the order of the rows."""
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
        for k, c in zip(positions.tolist(), counts.tolist(), strict=True):
            self._new[k] = self._new.get(k, 0.0) + c

    def _grow(self) -> None:
        missing = len(self.rows) - len(self._n)
        if missing:
            self._n = np.concatenate([self._n, np.zeros(missing)])
            self._s = np.concatenate([self._s, np.zeros(missing)])

    def embed(self, arms: Int[np.ndarray, " m"]) -> None:
        """Make `arms` (distinct) the dictionary and bring mean and variance of all arms up to date."""
        positions = self.rows.add(arms)
        self._grow()
        self._events += 1
        if not self._carry_over(positions):
            self._refresh(positions)
        self._requested = positions
        self._new = {}

    def _carry_over(self, positions: np.ndarray) -> bool:
        """Update the last dictionary to this one; False if a refresh is cheaper, or needed because of rounding."""
        leaving, joining = self._difference(positions)
        if len(self._new) + 2 * (len(leaving) + len(joining)) >= len(self._embedding):
            return False
        if self._events >= _REFRESH_AFTER:
            return False
        embedding = self._embedding
        changes = []
        try:
            if self._new:
                pulled, counts = np.fromiter(self._new, np.int64), np.fromiter(self._new.values(), np.float64)
                changes.append(embedding.pull(pulled, counts))
            if leaving:
                changes.append(embedding.remove(np.array(leaving)))
            if joining:
                changes.append(embedding.add(np.array(joining), self._n))
        except AmbiguousRankError:
            return False
        self._apply(changes)
        # Pulls alone round little; what accumulates over them shows at the next check.
        if not leaving and not joining and self._events % _CHECK_AFTER:
            return True
        return self._sound([*self._new, *joining])

    def _difference(self, positions: np.ndarray) -> tuple[list[int], list[int]]:
        """Positions that leave the dictionary, and those that may join it."""
        if np.array_equal(positions, self._requested):
            return [], []
        now, before = set(positions.tolist()), set(self._embedding.S.tolist())
        leaving = sorted(before - now)
        # An arm that depended on others still does, unless one of them leaves.
        known = before if leaving else before.union(self._requested.tolist())
        return leaving, sorted(now - known)

    def _apply(self, changes: list[Change]) -> None:
        width = len(self.rows)
        C = np.zeros((sum(len(change.signs) for change in changes) + 1, width))
        signs, row = np.empty(len(C) - 1), 0
        for change in changes:
            stop = row + len(change.signs)
            C[row:stop, change.positions] = change.rows
            signs[row:stop] = change.signs
            row = stop
        C[-1, self._embedding.S] = self._embedding.weights(self._n, self._s)
        used = None
        if 2 * len(self._embedding) < width:
            used = np.flatnonzero(C.any(axis=0))
            C = C[:, used]
        for columns, H in self.rows.products(C, used):
            self._mean[columns] = H[-1]
            np.square(H, out=H)
            self._v[columns] += signs @ H[:-1]

    def _sound(self, touched: list[int]) -> bool:
        """Whether the updated variances agree with a direct computation, at these positions and a few others."""
        u = len(self.rows)
        others = (self._events * _GUARDED + np.arange(min(_GUARDED, u))) % u
        positions = np.concatenate([np.array(touched, np.int64), others])
        norms, variances = self._embedding.norms_and_variances(positions)
        prior = self.rows.gram.diagonal()[positions]
        inside = np.zeros(u, bool)
        inside[self._embedding.S] = True
        gap = np.abs(variances - self._v[self.rows.arms[positions]])
        excess = norms - prior
        np.abs(excess, out=excess, where=inside[positions])
        return bool(gap.max() <= _GUARD_VARIANCE * self._scale and excess.max() <= _GUARD_NORM * self._scale)

    def _refresh(self, positions: np.ndarray) -> None:
        embedding = self._embedding
        embedding.rebuild(positions, self._n)
        C = np.vstack([embedding.explained(), embedding.weights(self._n, self._s)])
        for columns, H in self.rows.products(C, embedding.S):
            self._mean[columns] = H[-1]
            self._v[columns] = self.rows.prior[columns] - np.einsum("ij,ij->j", H[:-1], H[:-1])
        self.refreshes += 1
        self._events = 0

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        X, P = self.rows.X, self._embedding.P
        prior = self.rows.kernel(X[arms], X if others is None else X[others])
        prior -= self._product(np.eye(len(P)) - self.lam * P, arms, others)
        return prior

    def reducible_covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """`lam z^T V^-1 z'`: pulls change V, and never what the dictionary cannot express (BBKB, Alg. 1, line 7)."""
        return self._product(self.lam * self._embedding.P, arms, others)

    def look_ahead(self) -> LookAhead:
        return _ArmsAhead(self)

    def _product(self, M: np.ndarray, arms: np.ndarray, others: np.ndarray | None) -> np.ndarray:
        """`Z M Z'^T`."""
        embedding = self._embedding
        z = embedding.of_arms(arms)
        left = z.T @ M
        if others is None:
            return self.rows.product(left @ embedding.T.T, embedding.S)
        return left @ (z if others is arms else embedding.of_arms(others))

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        K = self.rows.kernel(self.rows.X[self.dictionary], X)
        H = self._embedding.explained() @ K
        variance = np.maximum(self.rows.kernel.diag(X) - np.einsum("ij,ij->j", H, H), 0.0)
        return self._embedding.weights(self._n, self._s) @ K, variance


class _BasisAhead(LookAhead):
    """Some arms whose reducible covariance is `Z^T M Z`: pulls change M, and nothing is kept for each of them.

    Args:
        v: Variance, shape (k,).
        Z: Embedding of the arms, shape (m, k).
        M: `lam P`, less what pulls have taken off it, shape (m, m).
        lam: Noise variance.
    """

    def __init__(
        self, v: Float[np.ndarray, " k"], Z: Float[np.ndarray, "m k"], M: Float[np.ndarray, "m m"], lam: float
    ) -> None:
        self.v, self._Z, self._M, self._lam = v, Z, M, lam

    def covariance(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        Z = self._Z[:, arms]
        return Z.T @ (self._M @ Z)

    def pull(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        F, self._M = _pulled(self._M, self._Z[:, arms], self._lam / counts)
        self.v = self.v.copy()
        for columns, H in products(F, self._Z):
            self.v[columns] -= np.einsum("ij,ij->j", H, H)

    def among(self, arms: Int[np.ndarray, " n"]) -> _BasisAhead:
        return _BasisAhead(self.v[arms], self._Z[:, arms], self._M, self._lam)


class _ArmsAhead(LookAhead):
    """The same of all arms of a posterior, whose embedding is not kept.

    Args:
        posterior: It must not change.
    """

    def __init__(self, posterior: SketchedArmPosterior) -> None:
        self._embedding, self._rows, self._lam = posterior._embedding, posterior.rows, posterior.lam
        self._M = self._lam * self._embedding.P
        self.v = posterior.variance

    def covariance(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        Z = self._embedding.of_arms(arms)
        return Z.T @ (self._M @ Z)

    def pull(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        embedding = self._embedding
        F, self._M = _pulled(self._M, embedding.of_arms(arms), self._lam / counts)
        self.v = self.v.copy()
        for columns, H in self._rows.products(F @ embedding.T.T, embedding.S):
            self.v[columns] -= np.einsum("ij,ij->j", H, H)

    def among(self, arms: Int[np.ndarray, " n"]) -> _BasisAhead:
        return _BasisAhead(self.v[arms], self._embedding.of_arms(arms), self._M, self._lam)


def _pulled(
    M: Float[np.ndarray, "m m"], Z: Float[np.ndarray, "m p"], noise: Float[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, "r m"], Float[np.ndarray, "m m"]]:
    """F and `M - F^T F` after noisy observations of `Z^T M Z`: of at most m rows, however many pulls."""
    H = (M @ Z).T
    F = whitened(H, H @ Z, noise)
    rest = M - F.T @ F
    if len(F) > len(M):
        F = np.asarray(np.linalg.qr(F, mode="r"))
    return F, rest
