from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from leaderboards.score.ties import holm, paired_t, rank, sign_flip


def rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(key))


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


def test_sign_flips_are_scipys_permutation_test() -> None:
    Y = rng(2).normal(size=(8, 3)) + np.array([0, 0.3, 1])
    p = sign_flip(Y, rng(3))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        expected = scipy.stats.permutation_test(
            (Y[:, i] - Y[:, j],), lambda d, axis: d.sum(axis), permutation_type="samples", n_resamples=np.inf
        ).pvalue
        assert p[i, j] == p[j, i] == pytest.approx(expected)


def test_random_sign_flips_come_close_to_all_of_them() -> None:
    Y = rng(4).normal(size=(13, 2)) + np.array([0, 0.5])
    d = Y[:, 0] - Y[:, 1]
    signs = 1 - 2 * ((np.arange(2**13)[:, None] >> np.arange(13)) & 1)
    exact = (np.abs(signs @ d) >= abs(d.sum()) - 1e-12).mean()
    assert sign_flip(Y, rng(5), 20_000)[0, 1] == pytest.approx(exact, abs=5 * (exact / 20_000) ** 0.5)


def test_holm_worked_by_hand() -> None:
    p = symmetric([0.01, 0.04, 0.03], 3)
    # 3 * 0.01; 2 * 0.03; max(0.06, 1 * 0.04).
    np.testing.assert_allclose(holm(p)[np.triu_indices(3, 1)], [0.03, 0.06, 0.06])


@given(hnp.arrays(np.float64, 10, elements=st.floats(0, 1)))
def test_holm_keeps_the_order_and_lies_between_raw_and_bonferroni(raw: np.ndarray) -> None:
    adjusted = holm(symmetric(raw.tolist(), 5))[np.triu_indices(5, 1)]
    assert (adjusted >= raw).all()
    assert (adjusted <= np.minimum(10 * raw, 1)).all()
    order = np.argsort(raw, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


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
    np.testing.assert_array_equal(rank(np.array([[1.0, 100.0]])).group, [1, 1])


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
        (lambda: rank(np.ones(3)), "Y: expected shape"),
        (lambda: rank(np.array([[np.nan, 1.0]])), "Y: expected finite scores"),
        (lambda: rank(np.ones((2, 2)), np.ones((3, 3))), "p: expected shape"),
        (lambda: holm(np.array([[1.0, 0.5], [0.4, 1.0]])), "p: expected a symmetric matrix"),
        (lambda: holm(np.array([[1.0, 1.5], [1.5, 1.0]])), r"p: expected entries in \[0, 1\]"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
