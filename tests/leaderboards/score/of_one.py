"""Statistics of one sample, one pair or all pairs, of those that `leaderboards.score.statistics` has of many."""

from __future__ import annotations

import numpy as np

from leaderboards.score import statistics
from leaderboards.score.statistics import LEVEL, Interval, flip_test


def pairwise_p(Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return flip_test(Y, rng, ends=False).p


def median_interval(x: np.ndarray, level: float = LEVEL) -> Interval:
    return statistics.median_intervals(x[None, :], level)[0]


def improvement(x: np.ndarray, y: np.ndarray) -> Interval:
    return statistics.improvements(x, y[None, :])[0]
