from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from leaderboards.score import statistics
from leaderboards.score.statistics import (
    improvement,
    iqm,
    loglog_slope,
    paired_difference,
    performance_profile,
    repetitions_needed,
    stratified_bootstrap,
)

SAMPLES = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e3, 1e3))


def rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(key))


def test_a_paired_difference_is_scipys_and_forgets_what_both_share() -> None:
    x, y, shared = rng(1).normal(size=(3, 8))
    expected = scipy.stats.ttest_rel(x, y).confidence_interval()
    for found in (paired_difference(x, y), paired_difference(x + 100 * shared, y + 100 * shared)):
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("n", [4, 8, 20])
def test_iqm_is_the_trimmed_mean_where_a_quarter_is_whole(n: int) -> None:
    x = rng(3).normal(size=(5, n))
    np.testing.assert_allclose(iqm(x), scipy.stats.trim_mean(x, 0.25, axis=-1))
    np.testing.assert_allclose(iqm(x.T, axis=0), iqm(x))


def test_iqm_of_five_worked_by_hand() -> None:
    # The middle half of five holds a quarter of the second, the third, a quarter of the fourth: .15, .2, .15 of .5.
    assert iqm(np.array([0.0, 1.0, 2.0, 4.0, 100.0])) == pytest.approx((0.15 * 1 + 0.2 * 2 + 0.15 * 4) / 0.5)


@given(SAMPLES)
def test_iqm_lies_between_the_quartiles_and_moves_with_the_sample(x: np.ndarray) -> None:
    assert x.min() - 1e-9 <= iqm(x) <= x.max() + 1e-9
    assert iqm(3 * x + 1) == pytest.approx(3 * iqm(x) + 1, abs=1e-6)


def test_improvement_counts_ties_half_and_mirrors() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 2.0, 2.0])
    assert improvement(x, y).estimate == (1 + 0.5) / 4
    a, b = improvement(x, y), improvement(y, x)
    assert (a.low, a.high) == pytest.approx((1 - b.high, 1 - b.low))
    wins = scipy.stats.binomtest(9, 12).proportion_ci(method="wilson")
    found = improvement(np.arange(12.0), np.where(np.arange(12) < 9, 100.0, -1.0))
    assert (found.low, found.high) == pytest.approx((wins.low, wins.high))


def test_a_profile_is_the_mean_distribution_function() -> None:
    tau = np.array([0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(performance_profile([np.array([1.0, 2.0]), np.array([3.0])], tau), [0, 0.25, 0.5, 1])


@given(st.lists(SAMPLES, min_size=1, max_size=4))
def test_a_profile_rises_from_none_to_all(strata: list[np.ndarray]) -> None:
    tau = np.linspace(-1001, 1000, 50)
    profile = performance_profile(strata, tau)
    assert profile[0] == 0
    assert profile[-1] == pytest.approx(1)
    assert (np.diff(profile) >= -1e-12).all()


def test_the_stratified_bootstrap_covers_the_iqm() -> None:
    hits = 0
    for i in range(200):
        strata = [rng(4, i).normal(size=12), rng(5, i).normal(size=12)]
        hits += 0.0 in stratified_bootstrap(strata, iqm, rng(6, i), n_resamples=400)
    # The percentile bootstrap is a little short at 12 repetitions.
    assert 0.87 <= hits / 200 <= 0.99


def test_one_repetition_a_task_has_no_interval() -> None:
    assert not stratified_bootstrap([np.ones(1), np.zeros(1)], iqm, rng(7)).is_known


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_the_slope_of_a_power_is_its_exponent(power: float) -> None:
    t = np.unique(np.geomspace(1, 10_000, 150).astype(int)).astype(float)
    R = np.array([[2.0], [3.0], [5.0]]) * t**power
    found = loglog_slope(t, R)
    assert found is not None
    assert found.exponent.estimate == pytest.approx(power, abs=1e-9)
    assert found.start >= 1000
    noisy = loglog_slope(t, R * np.exp(0.01 * rng(8).normal(size=R.shape)))
    assert noisy is not None
    assert abs(noisy.exponent.estimate - power) < 0.01


def test_no_regret_has_no_slope() -> None:
    t = np.arange(1.0, 101.0)
    assert loglog_slope(t, np.zeros((2, 100))) is None
    assert loglog_slope(t, np.full((2, 100), np.nan)) is None
    assert loglog_slope(t[:2], np.ones((1, 2))) is None


def test_the_planner_agrees_with_simulation_and_with_the_textbook() -> None:
    # Cohen (1988): half a standard deviation, 80 % power, two-sided 5 %: 34 pairs.
    assert repetitions_needed(0.5, 1.0) == 34
    n = repetitions_needed(-1.0, 1.0, power=0.9)
    assert n is not None
    x = rng(9).normal(1.0, 1.0, size=(20_000, n))
    share = (scipy.stats.ttest_1samp(x, 0, axis=1).pvalue < 0.05).mean()
    assert share >= 0.9 - 5 * (0.09 / 20_000) ** 0.5
    x = x[:, : n - 1]
    assert (scipy.stats.ttest_1samp(x, 0, axis=1).pvalue < 0.05).mean() < 0.9 + 5 * (0.09 / 20_000) ** 0.5


def test_the_planner_at_its_ends() -> None:
    assert repetitions_needed(0.0, 1.0) is None
    assert repetitions_needed(1.0, 0.0) == 2
    assert repetitions_needed(1e-6, 1.0, most=1000) is None
    assert repetitions_needed(50.0, 1.0) == 2 or repetitions_needed(50.0, 1.0) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_difference(np.ones(2), np.ones(3)), r"y: expected the shape \(2,\)"),
        (lambda: improvement(np.ones(2), np.ones(3)), "y: expected one score a block"),
        (lambda: performance_profile([], np.ones(2)), "strata: expected at least one"),
        (lambda: stratified_bootstrap([], iqm, rng(0)), "strata: expected at least one"),
        (lambda: loglog_slope(np.ones(3), np.ones((2, 4))), r"R: expected shape \(n, 3\)"),
        (lambda: loglog_slope(np.ones(3), np.ones((2, 3)), 1.0), "share: expected a number"),
        (lambda: repetitions_needed(1.0, -1.0), "difference, sd: expected"),
        (lambda: repetitions_needed(1.0, 1.0, power=0.01), "alpha, power: expected"),
        (lambda: statistics.high_quantile(np.zeros(0)), "x: expected one value"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
