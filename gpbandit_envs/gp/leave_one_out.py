"""What a Gaussian process predicts of each observation given all the others, without fitting it once for each.

| symbol | meaning | shape |
|---|---|---|
| `K_y` | `K + lam I`, one row an observation, equal inputs among them | (n, n) |
| `c` | constant prior mean | unit of y |
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg.lapack import dpotri

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky
from gpbandit_envs.gp.observations import Observations


def leave_one_out(
    kernel: Kernel,
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    lam: float | Float[np.ndarray, " n"],
    prior_mean: float = 0.0,
    groups: Int[np.ndarray, " n"] | None = None,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Mean and variance of every `y_i` given those of other groups, for the same kernel, noise and prior mean.

    `mean_G = y_G - ([K_y^-1]_GG)^-1 [K_y^-1 (y - c)]_G` and `covariance_G = ([K_y^-1]_GG)^-1`, noise included; alone,
    `mean_i = y_i - [K_y^-1 (y - c)]_i / [K_y^-1]_ii` and `variance_i = 1 / [K_y^-1]_ii`.

    Args:
        kernel: Prior covariance, unit of y^2.
        X: Inputs, shape (n, d), n >= 1; rows may be equal.
        y: Feedback, shape (n,).
        lam: Noise variance `lam > 0`, of all or of each.
        prior_mean: Constant `c`, unit of y.
        groups: What is left out together has the same number, such as the repeats of one input, each of which would
            else be predicted from the others; None for each alone.

    Returns:
        Means and variances, each (n,). The cost is one inverse, O(n^3).

    Raises:
        ValueError: if the shapes do not fit, a number is not finite, or `lam` is not positive.
        FactorisationError: if the kernel is not positive semi-definite on `X`.

    Reference: Rasmussen and Williams (2006), eq. 5.12; their eq. 5.10-5.11 are the log probability of these.
    """
    X, y = np.asarray(X, np.float64), np.asarray(y, np.float64)
    Observations.of(X, y)  # refuses wrong shapes and numbers; what it groups is kept apart here
    if not (np.isfinite(lam) & (np.asarray(lam) > 0)).all():
        raise ValueError(f"lam: expected a finite number > 0, got {lam!r}")
    K = kernel(X, X)
    K[np.diag_indices_from(K)] += lam
    lower = np.tril(dpotri(jittered_cholesky(K)[0], lower=1)[0])
    inverse = lower + np.tril(lower, -1).T
    error = inverse @ (y - prior_mean)
    variance = 1 / np.diagonal(inverse)
    mean = y - variance * error
    numbers, sizes = np.unique(np.arange(len(y)) if groups is None else groups, return_counts=True)
    for number in numbers[sizes > 1]:
        group = np.flatnonzero(groups == number)
        covariance = np.linalg.inv(inverse[np.ix_(group, group)])
        mean[group], variance[group] = y[group] - covariance @ error[group], np.diagonal(covariance)
    return mean, variance
