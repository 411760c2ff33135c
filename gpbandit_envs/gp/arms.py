"""The exact posterior over a finite set of arms, kept up to date at every arm.

| symbol | meaning | shape |
|---|---|---|
| `u` | number of distinct pulled arms `U` | |
| `n, s` | pulls and feedback sum of each | (u,) |
| `lam` | noise variance of one feedback | unit of y^2 |
| `K` | `k(U, U)` | (u, u) |
| `M` | `(K + lam diag(1/n))^-1` | (u, u) |
| `T` | a square root, `T^T T = M` | (u, u) |
| `v, mean` | posterior variance and mean at every arm | (A,) |

Pulling an arm n times with mean feedback s / n is one observation with noise variance lam / n, so nothing ever grows
with the number of pulls. The covariance of all arms with a pulled arm i is `(lam / n_i) M_i k(U, .)`: one product of a
row with the cached kernel rows, without cancellation. The root T is kept rather than M, whose entries grow as n / lam
and whose rounding alone would exceed small variances; the entries of T grow as the square root.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.rows import KernelRows

__all__ = ["ArmPosterior", "ExactArmPosterior", "column_blocks"]

_GUARD = 1e-10
_REFRESH_AFTER = 1000


class ArmPosterior(ABC):
    """A Gaussian posterior over a finite set of arms.

    Attributes:
        rows: Cached kernel rows of the arms that were pulled.
        lam: Noise variance of one feedback, unit of y^2.
        mean: Posterior mean at every arm, shape (A,).
        n: Pulls of each cached arm, shape (u,).
        s: Feedback sum of each cached arm, shape (u,).
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> None:
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"lam: expected a finite number > 0, got {lam!r}")
        self.rows = KernelRows(kernel, X)
        self.lam = float(lam)
        self.mean = np.zeros(len(X))
        self.n = np.zeros(0)
        self.s = np.zeros(0)
        # Never clipped: clipping an accumulated value would turn rounding into drift.
        self._v = self.rows.prior.copy()

    @property
    def n_arms(self) -> int:
        """Number of arms `A`."""
        return len(self.mean)

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        """Posterior variance at every arm, at least 0."""
        return np.maximum(self._v, 0.0)

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Posterior variance at `arms`, at least 0."""
        return np.maximum(self._v[arms], 0.0)

    def effective_dimension(self) -> float:
        """`sum_s var(x_s) / lam` over all pulls; `Tr(K_t (K_t + lam I)^-1)` for the exact posterior."""
        return float(self.n @ self.variance_at(self.rows.arms)) / self.lam

    @abstractmethod
    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """Posterior covariance of `arms` with `others`, or with all arms."""

    @abstractmethod
    def reducible_covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """The part of the covariance that further pulls take away.

        Pulling x changes the variance of every arm a by `-c(a)^2 / (c(x) + lam)`, where c is this covariance with x.
        """

    @abstractmethod
    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        """Posterior mean and variance at any points `X`."""

    def state_dict(self) -> dict[str, Any]:
        """Everything but the kernel rows, which are computed anew."""
        return {
            "arms": self.rows.arms.copy(),
            "n": self.n.copy(),
            "s": self.s.copy(),
            "v": self._v.copy(),
            "mean": self.mean.copy(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of `state_dict` into a posterior of the same kernel, arms and lam."""
        self.rows.add(np.asarray(state["arms"], np.int64))
        self.n = np.array(state["n"])
        self.s = np.array(state["s"])
        self._v = np.array(state["v"])
        self.mean = np.array(state["mean"])


class ExactArmPosterior(ArmPosterior):
    """The exact posterior, updated at all arms by one matrix product per delivery of feedback.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0.

    Attributes:
        information_gain: `0.5 logdet(I + K_t / lam)` of all pulls, in nats.
        refreshes: How often everything was computed from scratch because rounding had piled up.

    Reference: Rasmussen and Williams (2006), eq. 2.23-2.24, in the form above.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> None:
        super().__init__(kernel, X, lam)
        self.information_gain = 0.0
        self.refreshes = 0
        self._T = np.zeros((0, 0))
        self._tolerance = _GUARD * float(self.rows.prior.max())
        self._events = 0

    def update(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Condition on `counts` new pulls of each of the distinct `arms`, whose feedback adds up to `sums`.

        Raises:
            ValueError: if a sum is not finite.
        """
        if not np.isfinite(sums).all():
            raise ValueError(f"sums: expected finite feedback, got {sums[~np.isfinite(sums)][0]}")
        positions = self.rows.add(arms)
        self._grow()
        noise = self.lam / counts
        fresh = positions[self.n[positions] == 0]
        C = self._coefficients(positions)
        self._update_root(positions, counts)
        self.n[positions] += counts
        self.s[positions] += sums
        # One product for the covariances before these pulls and the mean after them: it reads the rows once.
        product = np.vstack([C, self._weights()]) @ self.rows.rows
        H, self.mean = product[:-1], product[-1]
        H[np.isin(positions, fresh)] += self.rows.rows[fresh]
        gap = np.abs(np.diagonal(H[:, arms]) - self._v[arms]).max()
        if len(arms) == 1:
            h = H[0]
            s = max(float(h[arms[0]]), 0.0) + noise[0]
            np.square(h, out=h)
            h /= s
            self._v -= h
            self.information_gain += 0.5 * float(np.log(s / noise[0]))
        else:
            S = H[:, arms]
            L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(noise))
            B = solve_lower(L, H)
            self._v -= np.einsum("ij,ij->j", B, B)
            self.information_gain += float(np.log(np.diagonal(L)).sum() - 0.5 * np.log(noise).sum())
        self._events += 1
        if self._events >= _REFRESH_AFTER or gap > self._tolerance:
            self.refresh()

    def _grow(self) -> None:
        missing = len(self.rows) - len(self._T)
        if missing:
            # Rows of arms without a pull are zero: their noise lam / n is infinite.
            self._T = np.pad(self._T, (0, missing))
            self.n = np.pad(self.n, (0, missing))
            self.s = np.pad(self.s, (0, missing))

    def _coefficients(self, positions: np.ndarray) -> np.ndarray:
        """Covariance of cached arms with all arms as combinations of rows, shape (p, u); a fresh arm adds its own."""
        n = self.n[positions]
        pulled = n > 0
        T = self._T
        C = np.empty((len(positions), len(T)))
        C[pulled] = (T[:, positions[pulled]] * (self.lam / n[pulled])).T @ T
        fresh = positions[~pulled]
        C[~pulled] = -(self.rows.gram[fresh] @ T.T) @ T
        return C

    def _weights(self) -> np.ndarray:
        """`M (s / n)`, so that the mean is these weights times the rows, shape (u,)."""
        T, n = self._T, np.maximum(self.n, 1e-300)
        y = self.s / n
        weights = (T @ y) @ T
        # One step of iterative refinement: the root carries the rounding of all its updates, the Gram matrix none.
        residual = y - self.rows.gram @ weights - weights * (self.lam / n)
        return weights + (T @ residual) @ T

    def _update_root(self, positions: np.ndarray, counts: np.ndarray) -> None:
        T, fresh = self._T, self.n[positions] == 0
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

    def refresh(self) -> None:
        """Compute everything from scratch from counts, sums and kernel rows."""
        pulled, L, _ = self._factor()
        self._T[:] = 0.0
        self._T[np.ix_(pulled, pulled)] = solve_lower(L, np.eye(len(L)))
        for columns in column_blocks(self.n_arms):
            G = solve_lower(L, self.rows.rows[pulled, columns])
            self._v[columns] = self.rows.prior[columns] - np.einsum("ij,ij->j", G, G)
        self.mean = self._weights() @ self.rows.rows
        self.refreshes += 1
        self._events = 0
        # What a fresh computation leaves is the rounding of this problem: nothing can be asked beyond it.
        left = np.abs(self.lam / self.n[pulled] - self._variance_gap(pulled)).max()
        self._tolerance = max(_GUARD * float(self.rows.prior.max()), 10 * float(left))

    def _variance_gap(self, pulled: np.ndarray) -> np.ndarray:
        noise = self.lam / self.n[pulled]
        T = self._T[:, pulled]
        return self._v[self.rows.arms[pulled]] + noise**2 * np.einsum("ij,ij->j", T, T)

    def _factor(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions of the pulled arms, the factor of `K + lam diag(1/n)` there, and the whitened mean feedback."""
        pulled = np.flatnonzero(self.n > 0)
        n = self.n[pulled]
        L, _ = jittered_cholesky(self.rows.gram[np.ix_(pulled, pulled)] + np.diag(self.lam / n))
        return pulled, L, solve_lower(L, self.s[pulled] / n)

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        if others is None:
            positions = self.rows.add(arms)
            self._grow()
            H = self._coefficients(positions) @ self.rows.rows
            fresh = self.n[positions] == 0
            H[fresh] += self.rows.rows[positions[fresh]]
            return H
        K = self.rows.kernel(self.rows.X[arms], self.rows.X[others])
        rows = self.rows.rows[: len(self._T)]
        return K - (self._T @ rows[:, arms]).T @ (self._T @ rows[:, others])

    reducible_covariance = covariance

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        pulled, L, w = self._factor()
        rows = self.rows
        G = solve_lower(L, rows.kernel(rows.X[rows.arms[pulled]], X))
        return w @ G, np.maximum(rows.kernel.diag(X) - np.einsum("ij,ij->j", G, G), 0.0)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "root": self._T.copy(),
            "information_gain": self.information_gain,
            "refreshes": self.refreshes,
            "tolerance": self._tolerance,
            "events": self._events,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._T = np.array(state["root"])
        self.information_gain = float(state["information_gain"])
        self.refreshes = int(state["refreshes"])
        self._tolerance = float(state["tolerance"])
        self._events = int(state["events"])


def column_blocks(n: int, size: int = 2048) -> list[slice]:
    """Column blocks small enough for the cache."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]
