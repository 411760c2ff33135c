"""How far a number over repetitions can be trusted.

| symbol | meaning |
|---|---|
| `n` | number of repetitions |
| `level` | coverage of the interval, 0.95 unless said otherwise |

One repetition says nothing about the spread: its interval has the value as estimate and NaN as both ends, and whoever
shows it has to say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.special
import scipy.stats
from jaxtyping import Float

__all__ = ["Interval", "bootstrap_interval", "mean_band", "mean_interval", "quantile_interval"]

LEVEL = 0.95
Statistic = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Interval:
    """An estimate with the ends of its confidence interval.

    Attributes:
        estimate: The statistic of the sample.
        low: Lower end; NaN where the sample cannot tell.
        high: Upper end; NaN where the sample cannot tell.
        n: Size of the sample.
        level: Nominal coverage.
    """

    estimate: float
    low: float
    high: float
    n: int
    level: float = LEVEL

    @property
    def is_known(self) -> bool:
        """Whether the sample tells the interval at all."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def mean_interval(x: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Mean with Student's interval `mean +- t_{n-1} s / sqrt(n)`.

    Args:
        x: One value per repetition, shape `(n,)`.
        level: Nominal coverage, in (0, 1).

    Returns:
        The interval; its ends are NaN for n = 1, all three numbers if a value is NaN.

    Raises:
        ValueError: for an empty sample or a level outside (0, 1).
    """
    mean, low, high = mean_band(_sample(x)[:, None], level)
    return Interval(float(mean[0]), float(low[0]), float(high[0]), len(x), level)


def mean_band(Y: Float[np.ndarray, "n p"], level: float = LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean curve with Student's interval at each point.

    Args:
        Y: One row per repetition, shape `(n, p)`.
        level: Nominal coverage at each point by itself, in (0, 1).

    Returns:
        Mean, lower and upper end, each of shape `(p,)`.
    """
    Y = np.asarray(Y, np.float64)
    if Y.ndim != 2 or not len(Y):
        raise ValueError(f"Y: expected shape (n, p) with n >= 1, got {Y.shape}")
    _check_level(level)
    n = len(Y)
    mean = Y.mean(axis=0)
    if n == 1:
        nowhere = np.full(Y.shape[1], np.nan)
        return mean, nowhere, nowhere.copy()
    half = scipy.special.stdtrit(n - 1, (1 + level) / 2) * Y.std(axis=0, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def bootstrap_interval(
    x: Float[np.ndarray, "n *shape"],
    rng: np.random.Generator,
    statistic: Statistic = np.mean,
    level: float = LEVEL,
    n_resamples: int = 9999,
) -> Interval:
    """Bias-corrected and accelerated bootstrap interval of a statistic (Efron 1987).

    For statistics without an interval of their own, and ten repetitions or more: with fewer it is too short.

    Args:
        x: One value per repetition, shape `(n,)`; pairs are resampled together if they were subtracted before.
        rng: Source of the resamples.
        statistic: Vectorised function `statistic(x, axis=...)`.
        level: Nominal coverage, in (0, 1).
        n_resamples: Number of resamples.

    Returns:
        The interval; a sample without spread gives an interval of length 0, n = 1 gives NaN ends.
    """
    x = _sample(x)
    _check_level(level)
    estimate = float(statistic(x, axis=0))
    if len(x) == 1 or np.isnan(x).any():
        return Interval(estimate, np.nan, np.nan, len(x), level)
    if (x == x[0]).all():
        return Interval(estimate, estimate, estimate, len(x), level)
    # BCa measures skewness by leaving one value out; a statistic that never notices, as a median of ties, has none.
    without_one = [float(statistic(np.delete(x, i), axis=0)) for i in range(len(x))]
    method = "percentile" if len(set(without_one)) == 1 else "BCa"
    found = scipy.stats.bootstrap(
        (x,), statistic, n_resamples=n_resamples, confidence_level=level, method=method, rng=rng, batch=1000
    ).confidence_interval
    return Interval(estimate, float(found.low), float(found.high), len(x), level)


def quantile_interval(x: Float[np.ndarray, " n"], q: float, level: float = LEVEL) -> Interval:
    """Quantile with the interval between two order statistics, exact for any continuous distribution.

    The number of values below the q-quantile is binomial (n, q); the ends are the order statistics that leave at most
    half of `1 - level` outside on either side, and NaN where the sample is too small to have them.

    Args:
        x: One value per repetition, shape `(n,)`.
        q: Which quantile, in (0, 1); 0.5 is the median.
        level: Least coverage, in (0, 1).
    """
    x = np.sort(_sample(x))
    _check_level(level)
    if not 0 < q < 1:
        raise ValueError(f"q: expected a number in (0, 1), got {q!r}")
    n, tail = len(x), (1 - level) / 2
    if np.isnan(x).any():
        return Interval(np.nan, np.nan, np.nan, n, level)
    # With B values below the quantile, x_(i) lies above it if B < i, and x_(j) below it if B >= j.
    below = scipy.stats.binom(n, q)
    i = int((below.cdf(np.arange(n)) <= tail).sum())
    j = 1 + int((below.sf(np.arange(n)) > tail).sum())
    low = float(x[i - 1]) if i >= 1 else np.nan
    high = float(x[j - 1]) if j <= n else np.nan
    return Interval(float(np.quantile(x, q)), low, high, n, level)


def _sample(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if x.ndim != 1 or not len(x):
        raise ValueError(f"x: expected one value per repetition, shape (n,) with n >= 1, got {x.shape}")
    return x


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number in (0, 1), got {level!r}")
