"""The exact posterior over a finite set of arms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arms import ArmPosterior
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.pulled import PulledArms

__all__ = ["ExactArmPosterior"]

_GUARD = 1e-10
_REFRESH_AFTER = 1000


class ExactArmPosterior(ArmPosterior):
    """The exact posterior, conditioned at once on what was pulled and carried to all arms when they are looked at.

    `update` works on the pulled arms alone. The first look at `mean`, `variance` or a covariance with all arms brings
    them up to date by one matrix product for all pulls since the last look, so a policy that knows from bounds that the
    other arms do not matter pays nothing for them.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0.
        max_memory: Bytes for kernel rows; see `gpbandit_envs.gp.kernel_rows.KernelRows`.

    Attributes:
        information_gain: `0.5 logdet(I + K_t / lam)` of all pulls, in nats.
        refreshes: How often everything was computed from scratch because rounding had piled up.

    Reference: Rasmussen and Williams (2006), eq. 2.23-2.24, in the form of `gpbandit_envs.gp.pulled`.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, max_memory: int | None = None) -> None:
        super().__init__(kernel, X, lam, max_memory)
        self.pulled = PulledArms(self.rows, self.lam)
        self.information_gain = 0.0
        self.refreshes = 0
        self._tolerance = _GUARD * float(self.rows.prior.max())
        self._events = 0
        # What all arms have not seen yet: new pulls by position, and the pulled arms as they were before them.
        self._unseen: dict[int, float] = {}
        self._seen = PulledArms(self.rows, self.lam)

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        self.synchronise()
        return self._mean

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        self.synchronise()
        return super().variance

    @property
    def n(self) -> Float[np.ndarray, " u"]:
        return self.pulled.n

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        positions = self.rows.position[arms]
        if (positions >= 0).all() and len(self.pulled.n) == len(self.rows) and (self.pulled.n[positions] > 0).all():
            return self.pulled.variances(positions)
        self.synchronise()
        return super().variance_at(arms)

    def effective_dimension(self) -> float:
        return float(self.pulled.n @ self.pulled.variances()) / self.lam

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
        self.pulled.grow()
        self._gain(positions, counts)
        if not self._unseen:
            self._seen.n, self._seen.T = self.pulled.n.copy(), self.pulled.T.copy()
        self.pulled.pull(positions, counts, sums)
        for k, c in zip(positions.tolist(), counts.tolist(), strict=True):
            self._unseen[k] = self._unseen.get(k, 0.0) + c
        self._events += 1
        if self._events >= _REFRESH_AFTER:
            self.refresh()

    def _gain(self, positions: np.ndarray, counts: np.ndarray) -> None:
        noise = self.lam / counts
        S = self.pulled.covariance(positions)
        if len(positions) == 1:
            self.information_gain += 0.5 * float(np.log1p(max(S[0, 0], 0.0) / noise[0]))
        else:
            L, _ = jittered_cholesky(S + np.diag(noise))
            self.information_gain += float(np.log(np.diagonal(L)).sum() - 0.5 * np.log(noise).sum())

    def synchronise(self) -> None:
        """Carry all pulls since the last call to the mean and variance of all arms."""
        if not self._unseen:
            return
        positions = np.fromiter(self._unseen, np.int64)
        counts = np.fromiter(self._unseen.values(), np.float64)
        self._unseen = {}
        seen, u = self._seen, len(self.rows)
        n = np.zeros(u)
        n[: len(seen.n)] = seen.n
        seen.n = n
        seen.T = np.pad(seen.T, (0, u - len(seen.T)))
        # One product for the covariances before these pulls and the mean after them: it reads the rows once.
        product = self.rows.product(np.vstack([self._covariance_rows(seen, positions), self.pulled.weights()]))
        H, self._mean = product[:-1], product[-1]
        S = H[:, self.rows.arms[positions]]
        gap = float(np.abs(np.diagonal(S) - self._v[self.rows.arms[positions]]).max())
        if len(positions) == 1:
            h = H[0]
            np.square(h, out=h)
            h /= max(float(S[0, 0]), 0.0) + self.lam / counts[0]
            self._v -= h
        else:
            L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(self.lam / counts))
            B = solve_lower(L, H)
            self._v -= np.einsum("ij,ij->j", B, B)
        if gap > self._tolerance:
            self.refresh()

    @staticmethod
    def _covariance_rows(pulled: PulledArms, positions: np.ndarray) -> np.ndarray:
        C = pulled.coefficients(positions)
        fresh = np.flatnonzero(pulled.n[positions] == 0)
        C[fresh, positions[fresh]] += 1.0
        return C

    def refresh(self) -> None:
        """Compute everything from scratch from counts, sums and kernel rows."""
        pulled, L = self.pulled.factor()
        self.pulled.refresh(pulled, L)
        self._unseen = {}
        inverse = solve_lower(L, np.eye(len(L)))
        for columns, G in self.rows.products(inverse, pulled):
            self._v[columns] = self.rows.prior[columns] - np.einsum("ij,ij->j", G, G)
        self._mean = self.rows.product(self.pulled.weights()[None])[0]
        self.refreshes += 1
        self._events = 0
        # What a fresh computation leaves is the rounding of this problem: nothing can be asked beyond it.
        left = np.abs(self._v[self.rows.arms[pulled]] - self.pulled.variances(pulled)).max()
        self._tolerance = max(_GUARD * float(self.rows.prior.max()), 10 * float(left))

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        if others is None:
            positions = self.rows.add(arms)
            self.pulled.grow()
            return self.rows.product(self._covariance_rows(self.pulled, positions))
        K = self.rows.kernel(self.rows.X[arms], self.rows.X[others])
        T = self.pulled.T
        every = np.arange(len(T))
        left = T @ self.rows.at(every, arms)
        right = left if others is arms else T @ self.rows.at(every, others)
        return K - left.T @ right

    reducible_covariance = covariance

    def reducible_among(
        self, arms: Int[np.ndarray, " n"]
    ) -> Callable[[Int[np.ndarray, " p"], Int[np.ndarray, " q"] | None], Float[np.ndarray, "p q"]]:
        T, X, kernel = self.pulled.T, self.rows.X[arms], self.rows.kernel
        G = T @ self.rows.at(np.arange(len(T)), arms)

        def among(some: np.ndarray, others: np.ndarray | None) -> np.ndarray:
            left, right = G[:, some], G if others is None else G[:, others]
            return kernel(X[some], X if others is None else X[others]) - left.T @ right

        return among

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        pulled, L = self.pulled.factor()
        rows = self.rows
        y = self.pulled.s[pulled] / self.pulled.n[pulled]
        G = solve_lower(L, rows.kernel(rows.X[rows.arms[pulled]], X))
        return solve_lower(L, y) @ G, np.maximum(rows.kernel.diag(X) - np.einsum("ij,ij->j", G, G), 0.0)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "pulled": self.pulled.state_dict(),
            "seen": self._seen.state_dict(),
            "unseen": dict(self._unseen),
            "information_gain": self.information_gain,
            "refreshes": self.refreshes,
            "tolerance": self._tolerance,
            "events": self._events,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.pulled.load_state_dict(state["pulled"])
        self._seen.load_state_dict(state["seen"])
        self._unseen = {int(k): float(c) for k, c in state["unseen"].items()}
        self.information_gain = float(state["information_gain"])
        self.refreshes = int(state["refreshes"])
        self._tolerance = float(state["tolerance"])
        self._events = int(state["events"])
