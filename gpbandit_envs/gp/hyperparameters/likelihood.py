"""The log marginal likelihood of a Gaussian process with its gradient."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dpotri
from scipy.spatial.distance import pdist, squareform

from gpbandit_envs.gp.hyperparameters.parameters import as_family
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.observations import Observations

__all__ = ["LogMarginalLikelihood"]

_LOG_2PI = float(np.log(2 * np.pi))


class LogMarginalLikelihood:
    """`log N(y | 0, s^2 R_l + lam I)` and its gradient with respect to `theta`.

    One evaluation costs a factorisation and an inverse, O(u^3), and O(u^2 d) for all lengthscales together: with
    `W = a a^T - K^-1`, `a = K^-1 m` and `H` the slopes of the kernel, `-2 dk / d(r^2)`, the derivative with respect to
    `log l_j` is `0.5 sum_ab (W * s^2 H)_ab (x_aj - x_bj)^2 / l_j^2`, a quadratic form.

    Args:
        data: The observations, grouped by input.
        family: `"matern52"`, `"matern32"` or `"se"`.

    Raises:
        ValueError: for an unknown family.

    Reference: Rasmussen and Williams (2006), eq. 5.8-5.9.
    """

    def __init__(self, data: Observations, family: str = "matern52") -> None:
        self.data = data
        self.family = family
        self._unit_kernel = as_family(family)((1.0,) * data.X.shape[1])
        # Distances do not change; centred features lose fewer digits in the quadratic form.
        self._X = data.X - data.X.mean(axis=0)
        self._first, self._second = np.triu_indices(len(data.X), 1)
        self._repeats = data.total - len(data.X)
        self._constant = -0.5 * (data.total * _LOG_2PI + float(np.log(data.counts).sum()))

    def __call__(self, theta: Float[np.ndarray, " d+2"]) -> tuple[float, Float[np.ndarray, " d+2"]]:
        """Value and gradient at `theta`."""
        data, u = self.data, len(self.data.X)
        variance, noise = np.exp(theta[:2]).tolist()
        U = self._X / np.exp(theta[2:])
        # All symmetric matrices as their lower triangles where they are only combined entry by entry.
        k, slope = self._unit_kernel.with_slope(pdist(U, "sqeuclidean"))
        K = squareform(k * variance, checks=False)
        K[np.diag_indices_from(K)] = variance
        lam = noise / data.counts
        K[np.diag_indices_from(K)] += lam
        L, _ = jittered_cholesky(K)
        half = solve_lower(L, data.means)
        a = solve_lower(L, half, transposed=True)
        fit = float(half @ half)
        log_det = 2 * float(np.log(np.diagonal(L)).sum())
        value = -0.5 * (fit + log_det + data.scatter / noise + self._repeats * theta[1]) + self._constant

        inverse, _ = dpotri(L, lower=1)
        noise_trace = float(np.diagonal(inverse) @ lam)
        noise_fit = float(a * a @ lam)
        gradient = np.empty(len(theta))
        gradient[0] = 0.5 * ((fit - noise_fit) - (u - noise_trace))
        gradient[1] = 0.5 * (noise_fit - noise_trace + data.scatter / noise - self._repeats)
        # A column-major lower triangle is a row-major upper one, whose rows `pdist` lists.
        slope *= a[self._first] * a[self._second] - inverse.T[self._first, self._second]
        P = squareform(slope, checks=False)
        gradient[2:] = variance * (P.sum(axis=1) @ (U * U) - np.einsum("ad,ad->d", U, P @ U))
        return value, gradient
