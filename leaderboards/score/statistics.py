"""Statistics over paired repetitions that say more than a mean.

| symbol | meaning | shape |
|---|---|---|
| `x`, `y` | scores of two agents on the same blocks; smaller is better | (n,) |
| `S` | scores of one agent on all tasks, one stratum a task | list of (n_e,) |

Interquartile means, performance profiles and the probability of improvement follow Agarwal et al. (2021), *Deep
reinforcement learning at the edge of the statistical precipice*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.special
import scipy.stats
from jaxtyping import Float

from leaderboards.score.intervals import LEVEL, Interval, mean_interval, quantile_interval

__all__ = [
    "Slope",
    "high_quantile",
    "improvement",
    "iqm",
    "loglog_slope",
    "paired_difference",
    "performance_profile",
    "repetitions_needed",
    "stratified_bootstrap",
]


def paired_difference(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"]) -> Interval:
    """Mean of `x - y` over blocks that both agents played, with Student's interval.

    Args:
        x: Scores of one agent, shape `(n,)`.
        y: Scores of the other on the same blocks, shape `(n,)`.

    Raises:
        ValueError: if the shapes differ: the scores are then not paired.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.shape != y.shape:
        raise ValueError(f"y: expected the shape {x.shape} of x, one score a block, got {y.shape}")
    return mean_interval(x - y)


def improvement(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], level: float = LEVEL) -> Interval:
    """Probability that the first agent does better on a block, ties counting half, with Wilson's interval.

    `P(x < y) + P(x = y) / 2`, over pairs of the same block.
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if x.shape != y.shape or x.ndim != 1 or not len(x):
        raise ValueError(f"y: expected one score a block as in x, shape {x.shape}, got {y.shape}")
    n = len(x)
    p = float(np.mean((x < y) + 0.5 * (x == y)))
    z = float(scipy.special.ndtri((1 + level) / 2))
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Interval(p, max(centre - half, 0.0), min(centre + half, 1.0), n, level)


def iqm(x: Float[np.ndarray, "*shape n"], axis: int = -1) -> np.ndarray:
    """Interquartile mean: the mean of the middle half, with weights where a quarter of n is no whole number.

    It notices more of the sample than the median and is moved less by outliers than the mean.
    """
    x = np.sort(np.moveaxis(np.asarray(x, np.float64), axis, -1), axis=-1)
    n = x.shape[-1]
    # Value i owns the share [i/n, (i+1)/n] of the sample; what of it lies in the middle half is its weight.
    edges = np.clip(np.arange(n + 1) / n, 0.25, 0.75)
    return x @ (np.diff(edges) * 2)


def stratified_bootstrap(
    strata: list[Float[np.ndarray, " n"]],
    statistic: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    level: float = LEVEL,
    n_resamples: int = 2000,
) -> Interval:
    """Percentile bootstrap of a statistic of all scores, resampling repetitions within each task.

    Args:
        strata: Scores of each task.
        statistic: Function of an array `(resamples, scores)` along its last axis, such as `iqm`.
        rng: Source of the resamples.
        level: Nominal coverage.
        n_resamples: Number of resamples.

    Returns:
        The interval; its ends are NaN if no task has a second repetition.
    """
    if not strata or any(not len(x) for x in strata):
        raise ValueError("strata: expected at least one stratum, and none empty")
    n = sum(map(len, strata))
    estimate = float(statistic(np.concatenate(strata)[None])[0])
    if all(len(x) == 1 for x in strata):
        return Interval(estimate, np.nan, np.nan, n, level)
    drawn = np.concatenate([x[rng.integers(0, len(x), (n_resamples, len(x)))] for x in strata], axis=1)
    low, high = np.quantile(statistic(drawn), [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, float(low), float(high), n, level)


def performance_profile(strata: list[Float[np.ndarray, " n"]], tau: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Share of runs with a score of at most tau, every task with the same weight.

    Args:
        strata: Scores of each task; smaller is better.
        tau: Thresholds, shape `(m,)`.
    """
    if not strata or any(not len(x) for x in strata):
        raise ValueError("strata: expected at least one stratum, and none empty")
    shares = [np.searchsorted(np.sort(x), tau, side="right") / len(x) for x in strata]
    return np.mean(shares, axis=0)


def high_quantile(x: Float[np.ndarray, " n"], q: float = 0.95) -> Interval:
    """High quantile of the regret over repetitions: what theorems that hold with high probability speak of."""
    return quantile_interval(x, q)


@dataclass(frozen=True)
class Slope:
    """Fitted power of t.

    Attributes:
        exponent: Mean over repetitions of the slope of log R against log t, with its interval.
        start: First evaluation that counts.
    """

    exponent: Interval
    start: int


def loglog_slope(t: Float[np.ndarray, " p"], R: Float[np.ndarray, "n p"], share: float = 0.9) -> Slope | None:
    """Growth exponent of the regret: the least-squares slope of `log R_t` against `log t` late in the run.

    Each repetition gives one slope, from points evenly spread in log t; the interval is over repetitions, since the
    points of one run are far from independent.

    Args:
        t: Times, shape `(p,)`.
        R: Cumulative regret, shape `(n, p)`.
        share: The last share of the evaluations that counts: 0.9 is the last decade.

    Returns:
        The slope; None if some run has no regret by the start of that span, or the span holds fewer than 3 times.
    """
    if not 0 < share < 1:
        raise ValueError(f"share: expected a number in (0, 1), got {share!r}")
    t, R = np.asarray(t, np.float64), np.asarray(R, np.float64)
    if R.ndim != 2 or R.shape[1] != len(t):
        raise ValueError(f"R: expected shape (n, {len(t)}), one column a time, got {R.shape}")
    start = max(float(t[-1]) * (1 - share), float(t[0]))
    late = t >= start
    if late.sum() < 3 or not np.isfinite(R[:, late]).all() or (R[:, late] <= 0).any():
        return None
    grid = np.linspace(np.log(t[late][0]), np.log(t[-1]), 50)
    centred = grid - grid.mean()
    slopes = [centred @ np.interp(grid, np.log(t[late]), np.log(row[late])) / (centred @ centred) for row in R]
    return Slope(mean_interval(np.array(slopes)), math.ceil(t[late][0]))


def repetitions_needed(
    difference: float, sd: float, power: float = 0.8, alpha: float = 0.05, most: int = 100_000
) -> int | None:
    """How many paired repetitions a two-sided t-test needs to tell two agents apart.

    Args:
        difference: Mean of the paired differences that is to be found.
        sd: Standard deviation of the paired differences.
        power: Probability of finding it.
        alpha: Error rate of the test.
        most: Give up beyond this many.

    Returns:
        The least number of repetitions, at least 2; None if it exceeds `most`.
    """
    if not (sd >= 0 and math.isfinite(difference)):
        raise ValueError(f"difference, sd: expected a finite difference and sd >= 0, got {difference!r} and {sd!r}")
    if not (0 < alpha < 1 and alpha < power < 1):
        raise ValueError(f"alpha, power: expected 0 < alpha < power < 1, got {alpha!r} and {power!r}")
    if difference == 0:
        return None
    if sd == 0:
        return 2

    def enough(n: int) -> bool:
        return _power(abs(difference) / sd, n, alpha) >= power

    high = 2
    while not enough(high):
        high *= 2
        if high > 2 * most:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high if high <= most else None


def _power(effect: float, n: int, alpha: float) -> float:
    """Power of the two-sided one-sample t-test at an effect in standard deviations."""
    critical = float(scipy.special.stdtrit(n - 1, 1 - alpha / 2))
    shift = effect * math.sqrt(n)
    # Far out the noncentral t is its own limit, and its series does not converge.
    if shift > 30:
        return 1.0
    return float(scipy.stats.nct.sf(critical, n - 1, shift) + scipy.stats.nct.cdf(-critical, n - 1, shift))
