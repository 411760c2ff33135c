"""Exact posteriors of many repetitions over the same arms at once, a row a pull, in any array namespace.

The formulas are those of `gpbandit_envs.gp.exact`, with one more axis in front, of length R:

| symbol | meaning | shape |
|---|---|---|
| `R`, `A`, `t` | repetitions, arms, pulls so far | |
| `W` | whitened rows | (R, t, A) |

A pull costs each repetition one product of a row with its `W`, which is read once. All repetitions have made equally
many pulls. Where there is one repetition, many pulls of few arms are renewed: a row for each distinct arm. One whose
`W` does not fit keeps the small factor `L` of the pulls' own covariances instead, and computes their rows anew at each
pull: `k(x, .) - (L^-T L^-1 k_t(x))^T K(X_t, .)` is the same row, for as many values of the kernel as `W` has entries.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arrays import Array, Device, namespace_of
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

_GRAM_BYTES = 2**29  # the covariances of 8,192 arms with each other
_LONG, _SPARE = 1.25, 64  # rows beyond one a distinct arm, before they are renewed
_AGAIN = 2**24  # entries of the rows that are computed anew at a time, 128 MB


class CovarianceRows:
    """Prior covariances of arms with all arms, on a device: looked up where all of them fit, or computed anew.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        device: Where the rows are.

    Attributes:
        prior: Prior variance of each arm, shape (A,).
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], device: Device) -> None:
        self.kernel, self.X, self.device = kernel, X, device
        prior = kernel.diag(X)
        self.prior = device.put(prior)
        self._all: Array = None
        self._points: Array = None
        if 8 * len(X) ** 2 <= _GRAM_BYTES:
            gram = kernel(X, X)
            np.fill_diagonal(gram, prior)  # as `gpbandit_envs.gp.kernel_rows` has it
            self._all = device.put(gram)
        elif device.name != "numpy":
            points = device.put(X)
            self._points = None if kernel.rows(points[:1, :], points[:1, :]) is None else points

    def take(self, arms: Array) -> Array:
        """Rows of arms, shape (p, A)."""
        if self._all is not None:
            return self.device.xp.take(self._all, arms, axis=0)
        if self._points is not None:
            return self.kernel.rows(self.device.xp.take(self._points, arms, axis=0), self._points)
        return self.device.put(self.kernel(self.X[self.device.get(arms)], self.X))


class ManyPosteriors:
    """R exact posteriors over the same arms, each given its own pulls.

    Args:
        rows: Prior covariances.
        noise: Noise variance of one feedback, or that of each arm, shape (A,).
        repetitions: Number `R`.
        pulls: Most pulls that a repetition makes before `forget`.
        precision: Type of the whitened rows, `"float64"` or `"float32"`; all else is float64.
        keeps: Whether whitened rows are kept; if not, there is one repetition.

    Attributes:
        mean, v: Posterior mean and variance, the latter never clipped, shape (R, A).
        arms: The arms that were pulled, shape (R, pulls).
        n_pulls: Pulls of each repetition.
        information_gain: `0.5 logdet(I + K_t / lam)`, in nats, shape (R,).
        quadratic: `y^T (K_t + lam I)^-1 y` of the feedback, shape (R,).
    """

    def __init__(
        self,
        rows: CovarianceRows,
        noise: Any,
        repetitions: int,
        pulls: int,
        precision: str = "float64",
        keeps: bool = True,
    ) -> None:
        self.rows, self.device, self._keeps = rows, rows.device, keeps
        xp, R, A = rows.device.xp, repetitions, len(rows.X)
        self._noise = np.broadcast_to(np.asarray(noise, np.float64), (A,))
        self._lams: Array = rows.device.put(self._noise) if np.ndim(noise) else None
        self._sums: Array = np.zeros((2, A)) if R == 1 else None
        room = pulls if R > 1 else min(pulls, max(ceil(_LONG * A) + _SPARE, 1))
        kept = (R, room, A) if keeps else (1, room, 0)
        self._W = xp.empty(kept, dtype=getattr(xp, precision), device=rows.prior.device)
        self._basis, self._L = np.zeros(room, np.int64), np.zeros((0, 0) if keeps else (room, room))
        self.arms = xp.zeros((R, pulls), dtype=xp.int64, device=rows.prior.device)
        self.forget()

    def forget(self) -> None:
        """Go back to the prior."""
        R, A = self._W.shape[0], len(self.rows.X)
        zeros = self.device.put(np.zeros((R, A)))
        self.n_pulls = self._used = self._distinct = 0
        self.mean, self.v = zeros, zeros + self.rows.prior
        self.information_gain, self.quadratic = (self.device.put(np.zeros(R)) for _ in range(2))
        if self._sums is not None:
            self._sums[:] = 0.0

    def noise_of(self, arms: Array) -> Any:
        """The noise variance of these arms: one number where all have the same."""
        xp = self.device.xp
        if self._lams is None:
            return float(self._noise[0])
        return xp.reshape(xp.take(self._lams, xp.reshape(arms, (-1,))), arms.shape)

    def update(self, arms: Array, y: Array) -> None:
        """One more pull of each repetition, of `arms` with feedback `y`, each of shape (R,)."""
        xp, t = self.device.xp, self._used
        if self._sums is not None and t == self._W.shape[1]:
            self._renew()
            t = self._used
        row, lam = self.rows.take(arms), self.noise_of(arms)
        whitened = self._whitened(arms) if t and not self._keeps else np.zeros(0)
        if not self._keeps:
            row = row - self._explained(whitened)
        elif t:
            W = self._W[:, :t, :]
            at_arms = xp.take_along_axis(W, arms[:, None, None], axis=2)
            row = row - xp.astype(xp.matmul(xp.permute_dims(at_arms, (0, 2, 1)), W)[:, 0, :], xp.float64)
        d = xp.clip(at(row, arms), 0.0, None) + lam
        root = xp.sqrt(d)
        row = row / root[:, None]
        if self._keeps:
            self._W[:, t, :] = xp.astype(row, self._W.dtype)
        else:
            self._basis[t], self._L[t, :t], self._L[t, t] = int(arms[0]), whitened, float(root[0])
        z = (y - at(self.mean, arms)) / root
        self.mean += z[:, None] * row
        row *= row
        self.v -= row
        self.quadratic += z * z
        self.information_gain += 0.5 * xp.log(d / lam)
        self.arms[:, self.n_pulls] = arms
        self.n_pulls, self._used = self.n_pulls + 1, t + 1
        if self._sums is not None:
            arm = int(arms[0])
            self._distinct += self._sums[0, arm] == 0
            self._sums[:, arm] += 1.0, float(y[0])
            if self._used > _LONG * self._distinct + _SPARE:
                self._renew()

    def _whitened(self, arms: Array) -> Float[np.ndarray, " t"]:
        """`L^-1 k_t(x)` at the arm of the one repetition."""
        X, t = self.rows.X, self._used
        return solve_lower(self._L[:t, :t], self.rows.kernel(X[self._basis[:t]], X[self.device.get(arms)])[:, 0])

    def _explained(self, whitened: Float[np.ndarray, " t"]) -> Array:
        """What the pulls explain of the covariances of an arm, shape (1, A), from rows that are computed anew."""
        xp, t, found = self.device.xp, len(whitened), self.rows.prior[None, :] * 0.0
        weights = self.device.put(solve_lower(self._L[:t, :t], whitened, transposed=True)[None, :])
        step = max(1, _AGAIN // len(self.rows.X))
        for first in range(0, t, step):
            part = slice(first, min(first + step, t))
            found += xp.matmul(weights[:, part], self.rows.take(self.device.put(self._basis[part])))
        return found

    def _renew(self) -> None:
        """Of one repetition: a row for each distinct arm, in place of one a pull. n pulls are one, of noise `lam / n`.

        The small algebra is the processor's.
        """
        xp, device = self.device.xp, self.device
        counts, sums = self._sums
        arms = np.flatnonzero(counts)
        X, n = self.rows.X[arms], counts[arms]
        L, _ = jittered_cholesky(self.rows.kernel(X, X) + np.diag(self._noise[arms] / n))
        self._used = len(arms)
        if not self._keeps:
            self._basis[: len(arms)], self._L[: len(arms), : len(arms)] = arms, L
            return
        inverse = device.put(solve_lower(L, np.eye(len(arms))))
        W = xp.matmul(inverse, self.rows.take(device.put(arms)))
        z = device.put(solve_lower(L, sums[arms] / n))
        self.mean = xp.matmul(z[None, :], W)
        self.v = self.rows.prior - xp.sum(W * W, axis=0, keepdims=True)
        self._W[0, : len(arms), :] = xp.astype(W, self._W.dtype)

    def effective_dimension(self) -> Array:
        """`Tr(K_t (K_t + lam I)^-1)`, shape (R,)."""
        xp, arms = self.device.xp, self.arms[:, : self.n_pulls]
        variance = xp.clip(xp.take_along_axis(self.v, arms, axis=1), 0.0, None)
        return xp.sum(variance / self.noise_of(arms), axis=1)


def at(values: Array, arms: Array) -> Array:
    """The entry of each row of `values`, shape (R, A), at its arm, shape (R,)."""
    return namespace_of(values).take_along_axis(values, arms[:, None], axis=1)[:, 0]


def bytes_of(n_arms: int, pulls: int, posteriors: int = 1, precision: str = "float64", keeps: bool = True) -> int:
    """Bytes that a repetition takes: whitened rows, or the factor and some rows at a time, and ten numbers an arm."""
    if not keeps:
        return 8 * (posteriors * (10 * n_arms + pulls**2) + 4 * max(_AGAIN, n_arms))
    return posteriors * n_arms * (pulls * (4 if precision == "float32" else 8) + 8 * 10)
