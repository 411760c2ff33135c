"""Limits on counts of violated runs, against the numbers of tables."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from benchmarks.guarantees import most_confirmed
from leaderboards.audit.bands import SIGNIFICANCE, least_held, most_violated


def test_the_limits_are_those_of_clopper_and_pearson() -> None:
    assert least_held(0, 20) == pytest.approx(0.05 ** (1 / 20))  # 0.861: 20 runs of one task never confirm 0.9
    assert least_held(0, 30) == pytest.approx(0.05 ** (1 / 30))
    assert least_held(30, 30) == 0.0
    assert np.isnan(least_held(0, 0))
    expected = scipy.stats.binomtest(471, 510, alternative="greater").proportion_ci(0.95, method="exact").low
    assert least_held(39, 510) == pytest.approx(expected)
    assert least_held(39, 510) >= 0.9 > least_held(40, 510)
    assert least_held(16, 240) >= 0.9 > least_held(17, 240)


@pytest.mark.parametrize(("runs", "delta", "tasks"), [(30, 0.1, 17), (30, 0.1, 1), (5, 0.5, 3), (400, 0.01, 40)])
def test_refutation_is_by_the_binomial_tail(runs: int, delta: float, tasks: int) -> None:
    k = most_violated(runs, delta, tasks)
    tail = [float(scipy.stats.binom.sf(j - 1, runs, delta)) for j in range(runs + 1)]
    assert tail[k] >= SIGNIFICANCE / tasks
    assert k == runs or tail[k + 1] < SIGNIFICANCE / tasks


def test_what_refutes_and_what_confirms() -> None:
    assert most_violated(30, 0.1, 17) == 8, "nine of thirty refute on one of 17 tasks"
    assert [most_confirmed(n, 0.1) for n in (510, 240, 30, 29, 28, 0)] == [39, 16, 0, 0, -1, -1]
