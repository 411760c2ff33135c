"""What counts of runs say of a band: exact binomial limits, and nothing else.

A run is violated if some mean was ever outside the band. A band is *refuted* on a task where so many violations are
improbable for one that fails with probability `delta`: the binomial tail is below the significance over the number of
tasks, so that a band that keeps its word is refuted anywhere with a probability of at most 0.05. It is *confirmed* if
the one-sided 95 % Clopper-Pearson limit of the share that held is at least `1 - delta`.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does

from leaderboards.score.statistics import clopper_pearson

SIGNIFICANCE = 0.05
"""Of the limit of confirmation, and of refutation over all tasks together."""


def least_held(violated: int, runs: int, significance: float = SIGNIFICANCE) -> float:
    """Lower Clopper-Pearson limit of the share of runs that hold, one-sided; NaN without runs."""
    if not runs:
        return math.nan
    return float(clopper_pearson(np.array([runs - violated]), runs, significance)[0][0])


@functools.cache
def most_violated(runs: int, delta: float, tasks: int, significance: float = SIGNIFICANCE) -> int:
    """Largest number of violated runs on a task that does not refute a row, when `tasks` decide."""
    tails = scipy.stats.binom.sf(np.arange(-1, runs), runs, delta)  # P(X >= k) of each k
    return int(np.flatnonzero(tails >= significance / tasks)[-1])


def most_confirmed(runs: int, delta: float) -> int:
    """Largest number of violated runs that confirms a row, -1 if even none does."""
    k = -1
    while k < runs and least_held(k + 1, runs) >= 1 - delta:
        k += 1
    return k
