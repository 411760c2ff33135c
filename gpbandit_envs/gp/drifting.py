"""The exact posterior over a finite set of arms whose function drifts.

| symbol | meaning | shape |
|---|---|---|
| `eps` | rate of drift, `f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g_{t+1}` | |
| `r` | `sqrt(1 - eps)`: correlation of an arm's mean with itself one step later | |
| `W` | whitened rows, each as it was when its arm was pulled | (n, A) |
| `n` | pulls that are remembered | |

The function at the present is a Gaussian process on arms and times of covariance `k(x, x') r^|t - t'|`, so that two
pulls of one arm at different times are two observations. One step later all covariances of the past with the present
are `r` times what they were: the mean becomes `r m`, and `sum_s W_s^2`, which the pulls take off the prior variance,
becomes `r^2` times that. So a pull at time t has the covariance `c = k(x, .) - sum_s r^(2 (t - s)) W_s(x) W_s`; with
`d = c(x) + lam` its row is `c / sqrt(d)`. These are the rows of the Cholesky factorisation of the t x t matrix of all
pulls, whose time of step t is O(A t). A pull whose factor `r^(2 (t - s))` is below rounding is forgotten, which bounds
the number of rows by `log(1e-18) / log(1 - eps)`: 4,100 for `eps = 0.01`, 400 for 0.1.
"""

from __future__ import annotations

from math import ceil, isfinite, log, sqrt
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

_FORGOTTEN = 1e-18  # of the prior variance: what all rows that are left out could change is below rounding
_SPARE = 64


class DriftingPosterior(ArmPosterior):
    """The exact posterior of the present function, given pulls in the past.

    Args:
        kernel: Prior covariance of the function at one time.
        X: Arms, shape (A, d).
        lam: Noise variance of one feedback, > 0, unit of y^2.
        eps: Rate of drift, in (0, 1]; without drift, `ExactPosterior` is the one to use.

    Attributes:
        now: The present time, in steps from 0.
        information_gain: `0.5 logdet(I + K_t / lam)` of all pulls, with the covariance of arms and times, in nats.

    Raises:
        ValueError: if `lam` or `eps` is out of range.

    Reference: Bogunovic, Scarlett and Cevher (2016), Time-varying Gaussian process bandit optimization, eq. 6-7.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, eps: float) -> None:
        super().__init__(kernel, X, lam)
        if not (isfinite(eps) and 0 < eps <= 1):
            raise ValueError(f"eps: expected a rate in (0, 1], got {eps!r}")
        self.eps = float(eps)
        self.now = 0
        self.information_gain = 0.0
        self._keep2 = 1 - self.eps
        # After so many steps a pull is forgotten.
        self._memory = 1 if eps == 1 else ceil(log(_FORGOTTEN) / log(self._keep2))
        A = len(X)
        self._mean, self._explained = np.zeros(A), np.zeros(A)
        self._W = np.empty((_SPARE, A))
        self._first, self._last = 0, 0
        self._arms: list[int] = []
        self._times: list[int] = []
        self._y: list[float] = []

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        return self._mean

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        return np.maximum(self.rows.prior - self._explained, 0.0)

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return np.maximum(self.rows.prior[arms] - self._explained[arms], 0.0)

    def __len__(self) -> int:
        """Number of pulls that are remembered."""
        return self._last - self._first

    def advance(self, steps: int = 1) -> None:
        """Let time pass: the function drifts, and what is known of it becomes less."""
        self.now += steps
        self._mean *= sqrt(self._keep2) ** steps
        self._explained *= self._keep2**steps
        while self._arms and self.now - self._times[0] >= self._memory:
            self._first += 1
            del self._arms[0], self._times[0], self._y[0]

    def pull(self, arm: int, y: float) -> None:
        """Take in the feedback `y` of an evaluation of `arm` at the present time.

        Raises:
            ValueError: if the feedback is not finite; nothing has changed then.
        """
        if not isfinite(y):
            raise ValueError(f"y: expected finite feedback, got {y}")
        row = self._row(arm)
        d = max(float(row[arm]), 0.0) + self.lam
        row /= sqrt(d)
        self._mean += row * ((y - float(self._mean[arm])) / sqrt(d))
        self._explained += row * row
        self.information_gain += 0.5 * log(d / self.lam)
        self._last += 1
        self._arms.append(arm)
        self._times.append(self.now)
        self._y.append(y)

    def _row(self, arm: int) -> Float[np.ndarray, " A"]:
        """The covariance of an arm with all arms at present, in the place of the next row."""
        if self._last == len(self._W):
            kept = self._W[self._first : self._last]
            self._W = np.empty((2 * len(kept) + _SPARE, kept.shape[1]))
            self._W[: len(kept)] = kept
            self._first, self._last = 0, len(kept)
        row: np.ndarray = self._W[self._last]
        self.rows.take(np.array([arm]), out=row[None])
        if self._last > self._first:
            W = self._W[self._first : self._last]
            row -= (W[:, arm] * self._factors()) @ W
        return row

    def _factors(self) -> Float[np.ndarray, " n"]:
        """`r^(2 (now - s))` of each row."""
        return np.power(self._keep2, self.now - np.array(self._times))

    def __getstate__(self) -> dict[str, Any]:
        """Everything; of the rows, those in use."""
        rows = self._W[self._first : self._last].copy()
        return {**vars(self), "_W": rows, "_first": 0, "_last": len(rows)}

    def effective_dimension(self) -> float:
        """`Tr(K (K + lam I)^-1)` of the pulls that are remembered, O(n^3)."""
        L = self._cholesky()[0]
        inverse = solve_lower(L, np.eye(len(L)))
        return len(L) - self.lam * float(np.square(inverse).sum())

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        prior = self.rows.take(arms) if others is None else self.rows.kernel(self.rows.X[arms], self.rows.X[others])
        W = self._W[self._first : self._last]
        return prior - (W[:, arms].T * self._factors()) @ (W if others is None else W[:, others])

    reducible_covariance = covariance

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        kernel = self.rows.kernel
        L, arms, ages = self._cholesky()
        with_now = kernel(self.rows.X[arms], X) * (sqrt(self._keep2) ** ages)[:, None]
        G = solve_lower(L, with_now)
        mean = solve_lower(L, np.array(self._y)) @ G
        return mean, np.maximum(kernel.diag(X) - np.einsum("ij,ij->j", G, G), 0.0)

    def _cholesky(self) -> tuple[Float[np.ndarray, "n n"], Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        """The factor of `K + lam I` of the pulls that are remembered, their arms, and their ages."""
        arms, ages = np.array(self._arms, np.int64), self.now - np.array(self._times, np.int64)
        K = self.rows.kernel(self.rows.X[arms], self.rows.X[arms])
        K *= sqrt(self._keep2) ** np.abs(ages[:, None] - ages)
        return jittered_cholesky(K + self.lam * np.eye(len(arms)))[0], arms, ages
