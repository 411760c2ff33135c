from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from leaderboards.score.intervals import bootstrap_interval, mean_band, mean_interval, quantile_interval
from leaderboards.score.standings import stratified_mean


def rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(key))


def test_the_mean_interval_is_scipys() -> None:
    x = rng(1).normal(3, 2, 7)
    expected = scipy.stats.ttest_1samp(x, 0).confidence_interval(0.9)
    found = mean_interval(x, level=0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert found.estimate == pytest.approx(x.mean())
    assert found.n == 7


def test_one_repetition_has_no_interval() -> None:
    for found in (mean_interval(np.array([2.0])), bootstrap_interval(np.array([2.0]), rng(0))):
        assert found.estimate == 2.0
        assert not found.is_known


def test_a_band_is_the_interval_of_each_point() -> None:
    Y = rng(2).normal(size=(5, 4))
    mean, low, high = mean_band(Y)
    for j in range(4):
        point = mean_interval(Y[:, j])
        assert (mean[j], low[j], high[j]) == pytest.approx((point.estimate, point.low, point.high))


def test_the_mean_interval_covers_as_often_as_it_says() -> None:
    hits = sum(0.0 in mean_interval(x) for x in rng(3).normal(size=(4000, 5)))
    # Five standard errors of a binomial share.
    assert abs(hits / 4000 - 0.95) < 5 * (0.95 * 0.05 / 4000) ** 0.5


@pytest.mark.slow
def test_the_median_interval_covers_at_least_as_often_as_it_says() -> None:
    samples = rng(4).exponential(size=(4000, 12))
    found = [quantile_interval(x, 0.5) for x in samples]
    share = np.mean([np.log(2) in interval for interval in found])
    exact = 1 - 2 * scipy.stats.binom(12, 0.5).cdf(2)  # between the third and the tenth of twelve
    assert abs(share - exact) < 5 * (exact * (1 - exact) / 4000) ** 0.5
    assert exact >= 0.95
    x = np.sort(samples[0])
    assert (found[0].low, found[0].high) == (x[2], x[9])


def test_too_small_a_sample_has_no_quantile_interval() -> None:
    x = np.arange(5.0)  # 2 * 0.5^5 > 0.05
    assert not quantile_interval(x, 0.5).is_known
    assert quantile_interval(np.arange(6.0), 0.5).is_known
    assert quantile_interval(x, 0.5).estimate == 2.0


def test_the_bootstrap_covers_the_mean_of_a_skewed_sample_and_repeats_itself() -> None:
    samples = rng(5).exponential(size=(300, 30))
    hits = [1.0 in bootstrap_interval(x, rng(6, i), n_resamples=599) for i, x in enumerate(samples)]
    # BCa is only asymptotically exact: at n = 30 it covers somewhat less than 95 %.
    assert 0.88 < np.mean(hits) < 0.99
    a, b = (bootstrap_interval(samples[0], rng(7), statistic=np.median, n_resamples=599) for _ in range(2))
    assert a == b


def test_the_bootstrap_of_equal_values_has_no_length() -> None:
    found = bootstrap_interval(np.full(6, 1.5), rng(8))
    assert (found.estimate, found.low, found.high) == (1.5, 1.5, 1.5)


def test_the_bootstrap_falls_back_where_bca_is_undefined() -> None:
    x = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    found = bootstrap_interval(x, rng(9), statistic=np.median, n_resamples=599)
    assert found.low == 0
    assert np.isfinite(found.high)


def test_one_stratum_is_the_plain_interval_and_two_are_welchs() -> None:
    x, y = rng(10).normal(size=6), rng(11).normal(2, 3, 9)
    one, plain = stratified_mean([x]), mean_interval(x)
    assert (one.low, one.high) == pytest.approx((plain.low, plain.high))
    # Half the sum of x and y has the interval of half the difference of x and -y.
    welch = scipy.stats.ttest_ind(x, -y, equal_var=False).confidence_interval(0.95)
    two = stratified_mean([x, y])
    assert (two.low, two.high) == pytest.approx((welch.low / 2, welch.high / 2))
    assert not stratified_mean([x, np.array([1.0])]).is_known


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval(np.zeros(0)), "Y: expected shape|x: expected one value"),
        (lambda: mean_interval(np.ones((2, 2))), "x: expected one value per repetition"),
        (lambda: mean_interval(np.ones(2), level=1.0), "level: expected a number in"),
        (lambda: quantile_interval(np.ones(2), 1.0), "q: expected a number in"),
        (lambda: mean_band(np.ones(3)), "Y: expected shape"),
        (lambda: stratified_mean([]), "strata: expected at least one"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
