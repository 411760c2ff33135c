"""BKB and BBKB as published: what the fast policies' speed is measured against.

The embedding comes from a singular value decomposition, and mean and variance of all arms are computed anew at every
resparsification. Within a batch `V^-1` gets rank-one updates, and then either the variances of all arms are computed
anew (BBKB, Alg. 1 as printed) or only those of arms whose score exceeds that of the arm just picked (its App. A.3).
`V` is kept either as its inverse, the quicker form in NumPy, or as its QR decomposition, as the code that the authors
of BBKB published keeps it: an update of the decomposition a pick and a triangular solve for the arms looked at.
Honest NumPy and SciPy, no more.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from math import log, sqrt

import numpy as np
from scipy.linalg import qr, qr_update, solve_triangular

from gpbandit_envs.gp.kernels import Kernel


class Inverse:
    """`V` by its inverse."""

    def __init__(self, V: np.ndarray) -> None:
        self.inverse = np.linalg.inv(V)

    def add(self, z: np.ndarray) -> None:
        """`V + z z'`."""
        u = self.inverse @ z
        self.inverse -= np.outer(u, u) / (1 + z @ u)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """`V^-1 b`."""
        return self.inverse @ b

    def forms(self, Z: np.ndarray) -> np.ndarray:
        """`z' V^-1 z` for each row of Z."""
        return np.einsum("ij,ij->i", Z @ self.inverse, Z)


class QR:
    """`V` by its QR decomposition."""

    def __init__(self, V: np.ndarray) -> None:
        self.Q, self.R = qr(V)

    def add(self, z: np.ndarray) -> None:
        """`V + z z'`."""
        self.Q, self.R = qr_update(self.Q, self.R, z, z)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """`V^-1 b`."""
        return solve_triangular(self.R, self.Q.T @ b)

    def forms(self, Z: np.ndarray) -> np.ndarray:
        """`z' V^-1 z` for each row of Z."""
        solved = solve_triangular(self.R, (Z @ self.Q).T, overwrite_b=True, check_finite=False).T
        return (solved * Z).sum(axis=1)


class PublishedSketch:
    """The state of one run.

    Args:
        kernel: Prior covariance, with k(x, x) = 1.
        X: Arms, shape (A, d).
        noise_std: Noise; also sqrt(lam).
        F: Norm bound.
        delta: Probability of failure.
        qbar: Oversampling; one draw an arm.
        lazy: Whether only arms that may be the maximiser are looked at again within a batch.
        form: How `V` is kept.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: np.ndarray,
        noise_std: float,
        F: float,
        delta: float,
        qbar: float,
        seed: int,
        lazy: bool = True,
        form: type[Inverse] | type[QR] = Inverse,
    ) -> None:
        self.kernel, self.X, self.xi, self.lam = kernel, X, noise_std, noise_std**2
        self.F, self.delta, self.qbar, self.lazy, self.form = F, delta, qbar, lazy, form
        self.rng = np.random.default_rng(seed)
        self.counts, self.sums = np.zeros(len(X)), np.zeros(len(X))
        self.order: list[int] = []
        self.lev = np.ones(len(X)) / self.lam
        self.log_sum = 0.0

    def observe(self, batch: list[int], rewards: np.ndarray) -> None:
        """Take in a batch, draw a dictionary and embed all arms on it."""
        self.log_sum += np.log1p(self.lev[batch]).sum()
        np.add.at(self.counts, batch, 1)
        np.add.at(self.sums, batch, rewards)
        known = set(self.order)
        self.order += [a for a in sorted(set(batch)) if a not in known]
        pulled = np.array(self.order)
        inclusion = self.counts[pulled] * self.qbar * self.lev[pulled]
        keep = self.rng.random(len(pulled)) < inclusion
        if not keep.any():
            keep[np.argmax(inclusion)] = True
        S = pulled[keep]
        U, values, _ = np.linalg.svd(self.kernel(self.X[S], self.X[S]))
        ok = values > 1e-13 * len(S) * values[0]
        self.Z = self.kernel(self.X, self.X[S]) @ (U[:, ok] / np.sqrt(values[ok]))
        ZU = self.Z[pulled]
        V = (ZU.T * self.counts[pulled]) @ ZU + self.lam * np.eye(self.Z.shape[1])
        self.V = self.form(V)
        self.mean = self.Z @ self.V.solve(ZU.T @ self.sums[pulled])
        self.residual = np.maximum(1 - np.einsum("ij,ij->i", self.Z, self.Z), 0) / self.lam
        self.lev = self.residual + self.V.forms(self.Z)

    def bkb_step(self) -> list[int]:
        """The next arm of BKB with the practical width."""
        d_eff = self.counts @ self.lev
        beta = sqrt(self.lam) * self.F + self.xi * sqrt(log(self.counts.sum() + 1) * d_eff + log(1 / self.delta))
        return [int(np.argmax(self.mean + beta * np.sqrt(self.lev)))]

    def bbkb_batch(self, c: float, left: int, local: bool) -> list[int]:
        """The next batch of BBKB with the practical width, Global or GlobalLocal."""
        beta = sqrt(self.lam) * self.F + self.xi * sqrt(c * self.log_sum + log(1 / self.delta))
        ucb = self.mean + beta * np.sqrt(self.lev)
        V = deepcopy(self.V)
        batch: list[int] = []
        total = 1.0
        ratios = np.ones(len(self.X))
        while len(batch) < left:
            arm = int(np.argmax(ucb))
            batch.append(arm)
            V.add(self.Z[arm])
            if self.lazy:
                lev = self.residual[arm] + self.Z[arm] @ V.solve(self.Z[arm])
                ucb[arm] = self.mean[arm] + beta * sqrt(max(lev, 0.0))
                stale = np.flatnonzero(ucb >= ucb[arm])
            else:
                stale = np.arange(len(ucb))
            lev = self.residual[stale] + V.forms(self.Z[stale])
            ucb[stale] = self.mean[stale] + beta * np.sqrt(np.maximum(lev, 0))
            total += self.lev[arm]
            if local:
                k = self.kernel(self.X, self.X[arm : arm + 1])[:, 0]
                z = self.Z[arm]
                cov = (k - self.Z @ z) / self.lam + self.Z @ self.V.solve(z)
                ratios += cov**2 / np.maximum(self.lev, 1e-300)
            if total > c and (not local or ratios.max() > c):
                break
        return batch


def play(
    run: PublishedSketch, policy: str, T: int, feedback: Callable[[np.ndarray], np.ndarray], c: float = 2.0
) -> list[list[int]]:
    """Play T evaluations of `"bkb"`, `"bbkb"` or `"bbkb-local"`."""
    batches = [[int(a) for a in run.rng.integers(len(run.X), size=1)]]
    played = 1
    run.observe(batches[0], feedback(np.array(batches[0])))
    while played < T:
        batch = run.bkb_step() if policy == "bkb" else run.bbkb_batch(c, T - played, policy == "bbkb-local")
        run.observe(batch, feedback(np.array(batch)))
        batches.append(batch)
        played += len(batch)
    return batches
