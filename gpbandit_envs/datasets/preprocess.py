"""Scalings of features and targets; environments apply them, tables stay raw."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

__all__ = ["standardise", "unit_interval"]


def standardise(X: Float[np.ndarray, "A d"]) -> Float[np.ndarray, "A d"]:
    """Columns with mean 0 and variance 1.

    `(x - mean) / sd` for each column, with the population's standard deviation; a constant column becomes 0.

    Args:
        X: Features, shape `(A, d)`.

    Raises:
        ValueError: if `X` is not a matrix of finite numbers.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X: expected a matrix (A, d) of finite numbers, got shape {X.shape}")
    centred = X - X.mean(axis=0)
    # The computed deviation of a constant column is rounding and not always 0, its range is.
    constant = np.ptp(X, axis=0) == 0
    centred[:, constant] = 0.0
    return centred / np.where(constant, 1.0, centred.std(axis=0))


def unit_interval(y: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Values mapped linearly so that the smallest is 0 and the largest is 1; NaN stays NaN.

    `(y - min) / (max - min)` over all entries.

    Args:
        y: Values of any shape.

    Raises:
        ValueError: if no two finite values differ, or one is infinite.
    """
    y = np.asarray(y, dtype=np.float64)
    if np.isinf(y).any() or np.isnan(y).all():
        raise ValueError(f"y: expected finite numbers, got shape {y.shape} with infinities or only NaN")
    low, high = np.nanmin(y), np.nanmax(y)
    if low == high:
        raise ValueError(f"y: expected at least two different values, got only {low}")
    return (y - low) / (high - low)
