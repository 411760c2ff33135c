"""What a Gaussian process predicts of each observation given all the others, without fitting it once for each.

| symbol | meaning | shape |
|---|---|---|
| `K_y` | `K + lam I`, one row an observation, equal inputs among them | (n, n) |
| `c` | constant prior mean | unit of y |
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.linalg.lapack import dpotri

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky
from gpbandit_envs.gp.observations import Observations

__all__ = ["leave_one_out"]


def leave_one_out(
    kernel: Kernel,
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    lam: float,
    prior_mean: float = 0.0,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Mean and variance of every `y_i` given the others, for the same kernel, noise and prior mean.

    `mean_i = y_i - [K_y^-1 (y - c)]_i / [K_y^-1]_ii` and `variance_i = 1 / [K_y^-1]_ii`, noise included. Of several
    observations at one input each is left out alone: the others at it still count.

    Args:
        kernel: Prior covariance, unit of y^2.
        X: Inputs, shape (n, d), n >= 1; rows may be equal.
        y: Feedback, shape (n,).
        lam: Noise variance `lam > 0`.
        prior_mean: Constant `c`, unit of y.

    Returns:
        Means and variances, each (n,). The cost is one inverse, O(n^3).

    Raises:
        ValueError: if the shapes do not fit, a number is not finite, or `lam` is not positive.
        FactorisationError: if the kernel is not positive semi-definite on `X`.

    Reference: Rasmussen and Williams (2006), eq. 5.12; their eq. 5.10-5.11 are the log probability of these.
    """
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    Observations.of(X, y)  # refuses wrong shapes and numbers; what it groups is kept apart here
    if not (np.isfinite(lam) and lam > 0):
        raise ValueError(f"lam: expected a finite number > 0, got {lam!r}")
    K = kernel(X, X)
    K[np.diag_indices_from(K)] += lam
    lower = np.tril(dpotri(jittered_cholesky(K)[0], lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    precision = np.diagonal(inverse)
    return y - inverse @ (y - prior_mean) / precision, 1 / precision
