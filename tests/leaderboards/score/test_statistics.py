from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from statsmodels.stats.multitest import multipletests

from leaderboards.score.statistics import (
    exchange_test,
    holm,
    holm_levels,
    improvement,
    iqm,
    loglog_slope,
    mean_band,
    mean_interval,
    paired_difference,
    paired_t,
    pairwise_p,
    performance_profile,
    quantile_interval,
    rank,
    repetitions_needed,
    score_interval,
    sign_flip,
    stratified_mean,
)

SAMPLES = hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e3, 1e3))


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
    found = mean_interval(np.array([2.0]))
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


def test_the_median_interval_covers_at_least_as_often_as_it_says() -> None:
    samples = rng(4).exponential(size=(4000, 12))
    found = [quantile_interval(x, 0.5) for x in samples]
    share = np.mean([np.log(2) in interval for interval in found])
    exact = 1 - 2 * scipy.stats.binom(12, 0.5).cdf(2)  # between the third and the tenth of twelve
    assert abs(share - exact) < 5 * (exact * (1 - exact) / 4000) ** 0.5
    assert exact >= 0.95
    x = np.sort(samples[0])
    assert (found[0].low, found[0].high) == (x[2], x[9])


@pytest.mark.parametrize("q", [0.5, 0.25, 0.95])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 12, 73, 100])
def test_quantile_intervals_are_scipys(n: int, q: float) -> None:
    x = rng(14).normal(size=n)
    for level in (0.6, 0.95):
        expected, found = scipy.stats.quantile_test(x, p=q).confidence_interval(level), quantile_interval(x, q, level)
        np.testing.assert_equal((found.low, found.high), (expected.low, expected.high))


def test_too_small_a_sample_has_no_quantile_interval() -> None:
    x = np.arange(5.0)  # 2 * 0.5^5 > 0.05
    assert not quantile_interval(x, 0.5).is_known
    assert quantile_interval(np.arange(6.0), 0.5).is_known
    assert quantile_interval(x, 0.5).estimate == 2.0


def test_one_stratum_is_the_plain_interval_and_two_are_welchs() -> None:
    x, y = rng(10).normal(size=6), rng(11).normal(2, 3, 9)
    one, plain = stratified_mean([x]), mean_interval(x)
    assert (one.low, one.high) == pytest.approx((plain.low, plain.high))
    # Half the sum of x and y has the interval of half the difference of x and -y.
    welch = scipy.stats.ttest_ind(x, -y, equal_var=False).confidence_interval(0.95)
    two = stratified_mean([x, y])
    assert (two.low, two.high) == pytest.approx((welch.low / 2, welch.high / 2))
    assert not stratified_mean([x, np.array([1.0])]).is_known


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
    # A quarter of five is one on either side.
    assert iqm(np.array([4.0, 0.0, 100.0, 1.0, 2.0])) == pytest.approx((1 + 2 + 4) / 3)


@given(SAMPLES)
def test_iqm_lies_between_the_quartiles_and_moves_with_the_sample(x: np.ndarray) -> None:
    assert x.min() - 1e-9 <= iqm(x) <= x.max() + 1e-9
    assert iqm(3 * x + 1) == pytest.approx(3 * iqm(x) + 1, abs=1e-6)


def test_improvement_counts_ties_half_and_mirrors() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 2.0, 2.0])
    assert improvement(x, y).estimate == (1 + 0.5) / 4
    a, b = improvement(x, y), improvement(y, x)
    assert (a.low, a.high) == pytest.approx((1 - b.high, 1 - b.low))
    wins = scipy.stats.binomtest(9, 12).proportion_ci(method="exact")
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


def symmetric(values: list[float], k: int) -> np.ndarray:
    p = np.ones((k, k))
    p[np.triu_indices(k, 1)] = values
    return np.minimum(p, p.T)


def test_paired_t_is_scipys() -> None:
    Y = rng(1).normal(size=(6, 4)) + np.array([0, 0.5, 1, 1])
    p = paired_t(Y)
    for i in range(4):
        for j in range(4):
            expected = 1.0 if i == j else scipy.stats.ttest_rel(Y[:, i], Y[:, j]).pvalue
            assert p[i, j] == pytest.approx(expected, rel=1e-10)


def test_sign_flips_of_two_agents_are_scipys_permutation_test() -> None:
    Y = rng(2).normal(size=(8, 2)) + np.array([0, 1])
    expected = scipy.stats.permutation_test(
        (Y[:, 0] - Y[:, 1],), lambda d, axis: d.sum(axis), permutation_type="samples", n_resamples=np.inf
    ).pvalue
    p = sign_flip(Y, rng(3))
    assert p[0, 1] == p[1, 0] == pytest.approx(expected)


def test_sign_flips_step_down_through_the_pairs() -> None:
    Y = rng(6).normal(size=(8, 4)) + np.array([0, 0.3, 1, 2])
    pairs = list(itertools.combinations(range(4), 2))
    D = np.stack([(Y[:, i] - Y[:, j]) / np.linalg.norm(Y[:, i] - Y[:, j]) for i, j in pairs])
    signs = np.array(list(itertools.product((-1, 1), repeat=8)))
    sums, seen = np.abs(D @ signs.T), np.abs(D.sum(axis=1))
    p, left, smallest = sign_flip(Y, rng(3)), list(range(6)), 0.0
    while left:
        pair = max(left, key=seen.__getitem__)
        smallest = max(smallest, float((sums[left].max(axis=0) >= seen[pair] - 1e-12).mean()))
        assert p[pairs[pair]] == pytest.approx(smallest)
        left.remove(pair)


def test_thirty_agents_on_twelve_tasks_are_told_apart() -> None:
    Y = rng(7).normal(size=(60, 30)) + np.arange(30)
    found = rank(Y, sign_flip(Y, rng(8)))
    assert found.group[-1] > 20  # 435 times the smallest p of 4,999 flips would be 0.087


@pytest.mark.parametrize("draw", ["normal", "lumpy"])
def test_sign_flips_of_equal_agents_seldom_differ(draw: str) -> None:
    false, boards = 0, 200
    for board in range(boards):
        Y = rng(9, board).normal(size=(15, 8)) if draw == "normal" else rng(9, board).integers(0, 2, (15, 8)) * 1.0
        ranks = scipy.stats.rankdata(Y, axis=1)
        false += bool((sign_flip(ranks, rng(10, board), 999) < 0.05).any())
    assert scipy.stats.binomtest(false, boards, 0.05, "greater").pvalue > 1e-3


def test_random_sign_flips_come_close_to_all_of_them() -> None:
    Y = rng(4).normal(size=(13, 2)) + np.array([0, 0.5])
    d = Y[:, 0] - Y[:, 1]
    signs = 1 - 2 * ((np.arange(2**13)[:, None] >> np.arange(13)) & 1)
    exact = (np.abs(signs @ d) >= abs(d.sum()) - 1e-12).mean()
    assert sign_flip(Y, rng(5), 20_000)[0, 1] == pytest.approx(exact, abs=5 * (exact / 20_000) ** 0.5)


def test_wins_and_holm_are_those_of_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint

    for n in (1, 2, 5, 8):
        for wins in np.arange(2 * n + 1) / 2:
            x, y = np.zeros(n), np.r_[np.ones(int(wins)), np.zeros(int(wins % 1 > 0)), -np.ones(n)][:n]
            found = improvement(x, y)
            assert found.estimate == wins / n
            expected = np.nan_to_num(proportion_confint(wins, n, method="beta"), nan=wins / n)
            assert (found.low, found.high) == pytest.approx(tuple(expected), abs=1e-12)
    raw = rng(13).random(45) ** 4
    adjusted = holm(symmetric(raw.tolist(), 10))[np.triu_indices(10, 1)]
    np.testing.assert_allclose(adjusted, multipletests(raw, method="holm")[1], rtol=1e-12)


def test_holm_worked_by_hand() -> None:
    p = symmetric([0.01, 0.04, 0.03], 3)
    # 3 * 0.01; 2 * 0.03; max(0.06, 1 * 0.04).
    np.testing.assert_allclose(holm(p)[np.triu_indices(3, 1)], [0.03, 0.06, 0.06])


@given(hnp.arrays(np.float64, 10, elements=st.floats(0, 1) | st.sampled_from([0.0, 0.005, 0.1, 1.0])))
def test_holm_is_that_of_statsmodels_bit_for_bit(raw: np.ndarray) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gc.collect", lambda: 0)  # which it does at every call
        expected = multipletests(raw, method="holm")[1]
    np.testing.assert_array_equal(holm(symmetric(raw.tolist(), 5))[np.triu_indices(5, 1)], expected)


@given(hnp.arrays(np.float64, 10, elements=st.floats(0, 1)))
def test_holm_keeps_the_order_and_lies_between_raw_and_bonferroni(raw: np.ndarray) -> None:
    adjusted = holm(symmetric(raw.tolist(), 5))[np.triu_indices(5, 1)]
    assert (adjusted >= raw).all()
    assert (adjusted <= np.minimum(10 * raw, 1)).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


@given(hnp.arrays(np.float64, 10, elements=st.floats(0, 1)))
def test_the_level_of_a_pair_is_where_holm_finds_it(raw: np.ndarray) -> None:
    p = symmetric((raw**3).tolist(), 5)
    i, j = np.triu_indices(5, 1)
    levels, found = holm_levels(p)[i, j], holm(p)[i, j] < 0.05
    assert ((levels >= 0.05 / 10 * (1 - 1e-12)) & (levels <= 0.05)).all()
    assert (p[i, j][found] < levels[found]).all()
    assert (p[i, j][~found] >= levels[~found] * (1 - 1e-12)).all()


def test_the_planner_speaks_of_the_test_that_it_is_given() -> None:
    n = repetitions_needed(1.0, 1.0, alpha=0.005)
    assert n == 18  # 10 at 0.05
    x = rng(12).normal(1.0, 1.0, size=(20_000, n))
    share = (scipy.stats.ttest_1samp(x, 0, axis=1).pvalue < 0.005).mean()
    assert 0.8 - 0.015 < share < 0.84


def test_agents_that_no_exchange_tells_apart_are_equal_whatever_the_t_test_says() -> None:
    # Five blocks of 0 or 1: two of fifteen agents are apart in all of them by chance, and t is infinite.
    Y = np.ones((5, 15)) * (rng(20).random((5, 15)) < 0.5)
    Y[:, 0], Y[:, 1] = 0.0, 1.0
    assert paired_t(Y)[0, 1] == 0
    assert (pairwise_p(Y, rng(21)) > 0.05).all()
    # A real difference is found, and what both tests find has the larger p of the two.
    Z = rng(22).normal(size=(10, 5)) + np.array([0, 0, 0, 0, 4.0])
    p, t = pairwise_p(Z, rng(23)), holm(paired_t(Z))
    assert (p[4, :4] < 0.05).all()
    assert (p >= t).all()
    assert exchange_test(Z, rng(23)) == pytest.approx(0.001)
    assert (p[:4, :4] >= 0.05).all()


def test_exchanges_of_two_agents_are_sign_flips() -> None:
    Y = rng(24).normal(size=(7, 2)) + np.array([0, 0.8])
    assert exchange_test(Y, rng(25)) == pytest.approx(sign_flip(Y, rng(25))[0, 1])


@pytest.mark.parametrize(("n", "k", "found"), [(2, 2, False), (2, 3, False), (3, 2, True), (5, 2, True), (6, 2, True)])
def test_few_blocks(n: int, k: int, found: bool) -> None:
    Y = rng(26).normal(0, 1e-3, (n, k)) + np.arange(k)
    assert bool((pairwise_p(Y, rng(27)) < 0.05).any()) == found


def test_more_orders_than_a_float_can_count() -> None:
    """Twelve agents on 100 blocks, as in the built-in suites: 12!^99 orders."""
    Y = rng(29).standard_normal((100, 12)) + 2 * np.arange(12)
    p = pairwise_p(Y, rng(30))
    assert (p[~np.eye(12, dtype=bool)] <= 0.05).all()


def test_scores_have_an_upper_end_for_skewed_samples() -> None:
    x = np.array([1.0, 1.2, 0.8, 1.1, 4.0])
    student, found = mean_interval(x), score_interval(x)
    logs = np.log(x)
    half = scipy.stats.t(4).ppf(0.975) * np.sqrt(logs.var(ddof=1) / 5 + logs.var(ddof=1) ** 2 / 8)
    assert found.high == pytest.approx(max(student.high, np.exp(logs.mean() + logs.var(ddof=1) / 2 + half)))
    assert found.high > student.high
    assert (found.estimate, found.low) == (student.estimate, max(student.low, 0.0))
    # A score next to 0 says nothing of the large ones; one of 0 has no logarithm.
    tiny, none = score_interval(np.array([1.0, 1.2, 0.8, 1.1, 1e-12])), score_interval(np.array([1.0, 1.2, 0.0]))
    student = mean_interval(np.array([1.0, 1.2, 0.8, 1.1, 1e-12]))
    assert tiny.high - tiny.estimate == pytest.approx(3 * (student.high - student.estimate))
    assert none.high == mean_interval(np.array([1.0, 1.2, 0.0])).high
    assert not score_interval(np.array([2.0])).is_known
    assert np.isnan(score_interval(np.array([2.0, np.nan])).estimate)
    assert score_interval(np.full(4, 2.0)).high == pytest.approx(2.0)


def test_clear_differences_give_ranks_and_none_gives_one_group() -> None:
    clear = rng(6).normal(0, 0.01, (8, 3)) + np.array([3, 1, 2])
    found = rank(clear)
    np.testing.assert_array_equal(found.group, [3, 1, 2])
    np.testing.assert_array_equal(found.best, found.worst)
    same = rank(np.tile([[1.0, 1.0, 1.0]], (5, 1)))
    np.testing.assert_array_equal(same.group, [1, 1, 1])
    np.testing.assert_array_equal(same.worst, [3, 3, 3])


def test_an_agent_between_two_that_differ_ties_with_the_leader_and_keeps_an_open_rank() -> None:
    p = symmetric([0.5, 0.01, 0.5], 3)
    found = rank(np.array([[1.0, 2.0, 3.0]]), p)
    np.testing.assert_array_equal(found.group, [1, 1, 3])
    np.testing.assert_array_equal(found.best, [1, 1, 2])
    np.testing.assert_array_equal(found.worst, [2, 3, 3])


def test_one_block_tells_nobody_apart() -> None:
    Y = np.array([[1.0, 100.0]])
    np.testing.assert_array_equal(rank(Y).group, [1, 1])
    np.testing.assert_array_equal(sign_flip(Y, rng(0)), np.ones((2, 2)))


def test_a_constant_difference_is_certain() -> None:
    base = rng(7).normal(size=5)
    p = paired_t(np.stack([base, base + 1, base], axis=1))
    assert p[0, 1] == 0
    assert p[0, 2] == 1


def test_equal_agents_are_told_apart_no_more_often_than_alpha() -> None:
    wrong = [len(set(rank(Y).group)) > 1 for Y in rng(8).normal(size=(2000, 6, 4))]
    assert np.mean(wrong) < 0.05 + 5 * (0.05 * 0.95 / 2000) ** 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval(np.zeros(0)), "Y: expected shape|x: expected one value"),
        (lambda: mean_interval(np.ones((2, 2))), "x: expected one value per repetition"),
        (lambda: mean_interval(np.ones(2), level=1.0), "level: expected a number in"),
        (lambda: stratified_mean([np.ones(2)], level=2), "level: expected a number in"),
        (lambda: improvement(np.ones(2), np.ones(2), level=2), "level: expected a number in"),
        (lambda: quantile_interval(np.ones(2), 1.0), "q: expected a number in"),
        (lambda: mean_band(np.ones(3)), "Y: expected shape"),
        (lambda: stratified_mean([]), "strata: expected at least one"),
        (lambda: paired_difference(np.ones(2), np.ones(3)), r"y: expected the shape \(2,\)"),
        (lambda: improvement(np.ones(2), np.ones(3)), "y: expected one score a block"),
        (lambda: performance_profile([], np.ones(2)), "strata: expected at least one"),
        (lambda: loglog_slope(np.ones(3), np.ones((2, 4))), r"R: expected shape \(n, 3\)"),
        (lambda: loglog_slope(np.ones(3), np.ones((2, 3)), 1.0), "share: expected a number"),
        (lambda: repetitions_needed(1.0, -1.0), "difference, sd: expected"),
        (lambda: repetitions_needed(1.0, 1.0, power=0.01), "alpha, power: expected"),
        (lambda: rank(np.ones(3)), "Y: expected shape"),
        (lambda: rank(np.array([[np.nan, 1.0]])), "Y: expected finite scores"),
        (lambda: rank(np.ones((2, 2)), np.ones((3, 3))), "p: expected shape"),
        (lambda: holm(np.array([[1.0, 0.5], [0.4, 1.0]])), "p: expected a symmetric matrix"),
        (lambda: holm(np.array([[1.0, 1.5], [1.5, 1.0]])), r"p: expected entries in \[0, 1\]"),
        (lambda: quantile_interval(np.zeros(0), 0.95), "x: expected one value"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
