"""The log marginal likelihood of a Gaussian process with its gradient."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dpotri

from gpbandit_envs.gp.hyperparameters.parameters import as_family
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.observations import Observations

__all__ = ["LogMarginalLikelihood"]

_LOG_2PI = float(np.log(2 * np.pi))


class LogMarginalLikelihood:
    """`log N(y | 0, s^2 R_l + lam I)` and its gradient with respect to `theta`.

    One evaluation costs a factorisation and an inverse, O(u^3), and O(u^2 d) for all lengthscales together: with
    `W = a a^T - K^-1`, `a = K^-1 m` and `H` the slopes of the kernel, `-2 dk / d(r^2)`, the derivative with respect to
    `log l_j` is `sum_{a < b} (W * s^2 H)_ab (x_aj - x_bj)^2 / l_j^2`. The squared differences of all pairs are kept,
    `u^2 d / 2` numbers, so that distances and derivatives are one matrix-vector product each and lose no digits.

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
        u = len(data.X)
        first, second = np.triu_indices(u, 1)
        self._squares = np.square(data.X[first] - data.X[second])
        self._first, self._second = first, second
        # Where the pairs are in the lower triangle of a row-major and of a column-major matrix.
        self._by_rows, self._by_columns = second * u + first, first * u + second
        self._repeats = data.total - len(data.X)
        self._constant = -0.5 * (data.total * _LOG_2PI + float(np.log(data.counts).sum()))

    def __call__(self, theta: Float[np.ndarray, " d+2"]) -> tuple[float, Float[np.ndarray, " d+2"]]:
        """Value and gradient at `theta`."""
        data, u = self.data, len(self.data.X)
        variance, noise = np.exp(theta[:2]).tolist()
        precision = np.exp(-2 * theta[2:])
        k, slope = self._unit_kernel.with_slope(self._squares @ precision)
        K = np.zeros((u, u))
        K.reshape(-1)[self._by_rows] = k * variance  # the lower triangle is all that is read
        lam = noise / data.counts
        K.reshape(-1)[:: u + 1] = variance + lam
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
        W = a[self._first] * a[self._second] - inverse.T.reshape(-1)[self._by_columns]
        gradient[2:] = variance * precision * ((W * slope) @ self._squares)
        return value, gradient
