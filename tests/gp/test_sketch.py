from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpbandit_envs.gp import SE, Matern, sketch
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.sketch import SketchedArmPosterior
from tests.gp.kept import assert_kept
from tests.reference.posterior import sketched


def feed(posterior: SketchedArmPosterior, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    arms = rng.integers(0, posterior.n_arms, n)
    y = rng.normal(size=n)
    distinct, where = np.unique(arms, return_inverse=True)
    posterior.record(distinct, np.bincount(where).astype(float), np.bincount(where, weights=y))
    return arms, y


@settings(max_examples=50)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 40),
    lam=st.floats(-6, 2).map(lambda e: 10.0**e),
    lengthscale=st.floats(-1.3, 1).map(lambda e: 10.0**e),
    m=st.integers(1, 10),
)
def test_parity_with_the_symmetric_root(seed: int, n_arms: int, lam: float, lengthscale: float, m: int) -> None:
    rng = np.random.default_rng(seed)
    posterior = SketchedArmPosterior(Matern(lengthscale, 1.5), rng.random((n_arms, 2)), lam)
    arms, y = feed(posterior, rng, 30)
    dictionary = rng.permutation(np.unique(arms))[:m]
    posterior.embed(dictionary)
    K = posterior.rows.kernel(posterior.rows.X, posterior.rows.X)
    mean, leverage, E = sketched(K, dictionary, arms, y, lam)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-6)
    np.testing.assert_allclose(posterior.variance, np.maximum(lam * leverage, 0), atol=1e-8)
    every = np.arange(n_arms)
    np.testing.assert_allclose(posterior.reducible_covariance(every), lam * E, atol=1e-8)
    np.testing.assert_allclose(posterior.reducible_covariance(every, every[:1]), lam * E[:, :1], atol=1e-8)
    np.testing.assert_allclose(np.diagonal(posterior.covariance(every)), lam * leverage, atol=1e-8)
    np.testing.assert_allclose(posterior.covariance(every, every), posterior.covariance(every), atol=1e-12)
    twice = np.tile(posterior.rows.X, (2, 1))  # which is computed anew
    at_mean, at_variance = (found[:n_arms] for found in posterior.at(twice))
    np.testing.assert_allclose(at_mean, posterior.mean, atol=1e-10)
    np.testing.assert_allclose(at_variance, posterior.variance, atol=1e-10)


def test_at_all_arms_is_what_is_kept_of_them() -> None:
    rng = np.random.default_rng(5)
    X = rng.random((40, 2))
    posterior = SketchedArmPosterior(SE(0.3), X, 1e-2)
    arms, _ = feed(posterior, rng, 30)
    posterior.embed(np.unique(arms)[:10])
    for same in (X, X.copy()):
        assert_kept(posterior, same)
    with_one_more = np.concatenate([X, rng.random((1, 2))])
    for found, kept in zip(posterior.at(with_one_more), (posterior.mean, posterior.variance)):
        np.testing.assert_allclose(found[:-1], kept, atol=1e-10)


def test_with_all_pulled_arms_in_the_dictionary_it_is_exact() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((50, 2))
    exact, sketch = ExactPosterior(SE(0.3), X, 1e-2), SketchedArmPosterior(SE(0.3), X, 1e-2)
    arms, y = feed(sketch, rng, 80)
    sketch.embed(np.unique(arms))
    distinct, where = np.unique(arms, return_inverse=True)
    exact.update(distinct, np.bincount(where).astype(float), np.bincount(where, weights=y))
    np.testing.assert_allclose(sketch.mean, exact.mean, atol=1e-9)
    np.testing.assert_allclose(sketch.variance, exact.variance, atol=1e-9)
    assert sketch.effective_dimension() == pytest.approx(exact.effective_dimension())


def test_before_the_first_dictionary_it_is_the_prior() -> None:
    posterior = SketchedArmPosterior(2.0 * SE(), np.zeros((3, 1)), 1.0)
    np.testing.assert_array_equal(posterior.variance, [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(posterior.mean, np.zeros(3))
    np.testing.assert_array_equal(posterior.reducible_covariance(np.arange(3)), np.zeros((3, 3)))
    mean, variance = posterior.at(np.ones((1, 1)))
    assert (mean[0], variance[0]) == (0.0, 2.0)


def test_dependent_arms_are_left_out_of_the_dictionary() -> None:
    X = np.repeat(np.random.default_rng(1).random((4, 2)), 3, axis=0)
    posterior = SketchedArmPosterior(SE(0.5), X, 1e-4)
    posterior.record(np.arange(12), np.ones(12), np.ones(12))
    posterior.embed(np.arange(12))
    assert len(posterior.dictionary) == 4
    assert np.isfinite(posterior.mean).all()
    exact = ExactPosterior(SE(0.5), X, 1e-4)
    exact.update(np.arange(12), np.ones(12), np.ones(12))
    np.testing.assert_allclose(posterior.variance, exact.variance, atol=1e-8)


def test_nan_feedback_is_refused() -> None:
    with pytest.raises(ValueError, match="sums: expected finite feedback"):
        SketchedArmPosterior(SE(), np.zeros((2, 1)), 1.0).record(np.array([0]), np.ones(1), np.array([np.inf]))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    lam=st.floats(-6, 1).map(lambda e: 10.0**e),
    lengthscale=st.floats(-1, 1).map(lambda e: 10.0**e),
    duplicates=st.booleans(),
)
def test_growing_dictionaries_stay_exact(seed: int, lam: float, lengthscale: float, duplicates: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((60, 2))
    if duplicates:
        X[30:] = X[:30] + rng.choice([0.0, 1e-9], (30, 1))
    posterior = SketchedArmPosterior(Matern(lengthscale, 2.5), X, lam)
    K = posterior.rows.kernel(X, X)
    arms, y = feed(posterior, rng, 40)
    dictionary = rng.permutation(np.unique(arms))[:15]
    posterior.embed(dictionary)
    for step in range(12):
        more, values = feed(posterior, rng, 2)
        arms, y = np.r_[arms, more], np.r_[y, values]
        if step % 5 == 4:
            dictionary = dictionary[1:]
        elif step % 2:
            dictionary = np.unique(np.r_[dictionary, more])
        posterior.embed(dictionary)
        mean, leverage, _ = sketched(K, dictionary, arms, y, lam)
        # Near-duplicates are directions at the level of rounding, which the two cut off at different places.
        atol = 1e-6 if duplicates else 1e-8
        np.testing.assert_allclose(posterior.variance, np.maximum(lam * leverage, 0), atol=atol)
        np.testing.assert_allclose(posterior.mean, mean, atol=1e-6 * max(1.0, 1e-3 / lam))
    assert posterior.refreshes <= 12


def test_a_dictionary_that_stays_is_not_embedded_again() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((40, 2))
    posterior = SketchedArmPosterior(SE(0.3), X, 1e-2)
    posterior.record(np.arange(20), np.ones(20), np.ones(20))
    posterior.embed(np.arange(20))
    for arm in range(12):
        posterior.record(np.array([arm]), np.ones(1), np.ones(1))
        posterior.embed(np.arange(20))
    assert posterior.refreshes == 1
    scratch = SketchedArmPosterior(SE(0.3), X, 1e-2)
    counts = np.where(np.arange(20) < 12, 2.0, 1.0)
    scratch.record(np.arange(20), counts, counts)
    scratch.embed(np.arange(20))
    np.testing.assert_allclose(posterior.variance, scratch.variance, atol=1e-12)
    np.testing.assert_allclose(posterior.mean, scratch.mean, atol=1e-10)


@pytest.mark.parametrize("lam", [1e-6, 1e-4, 1.0])
def test_arms_that_come_and_go_are_carried_along(lam: float) -> None:
    rng = np.random.default_rng(4)
    X = rng.random((80, 2))
    posterior = SketchedArmPosterior(Matern(0.5, 2.5), X, lam)
    K = posterior.rows.kernel(X, X)
    arms, y = feed(posterior, rng, 60)
    chosen = rng.random(80) < 0.6
    for _ in range(200):
        posterior.embed(dictionary := np.unique(arms)[chosen[np.unique(arms)]])
        more, values = feed(posterior, rng, 1)
        arms, y = np.r_[arms, more], np.r_[y, values]
        chosen[rng.integers(0, 80, 2)] ^= True
    posterior.embed(dictionary)
    assert posterior.refreshes <= 5
    mean, leverage, E = sketched(K, dictionary, arms, y, lam)
    np.testing.assert_allclose(posterior.variance, lam * leverage, atol=1e-9)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-6)
    np.testing.assert_allclose(posterior.reducible_covariance(np.arange(80)), lam * E, atol=1e-9)


def test_an_arm_that_depended_on_one_that_leaves_takes_its_place() -> None:
    X = np.r_[np.random.default_rng(5).random((12, 2)), np.zeros((2, 2))]
    posterior = SketchedArmPosterior(SE(0.2), X, 1e-2)
    posterior.record(np.arange(14), np.ones(14), np.ones(14))
    posterior.embed(np.arange(14))
    assert len(posterior.dictionary) == 13
    twin = next(arm for arm in (12, 13) if arm in posterior.dictionary)
    posterior.embed(np.delete(np.arange(14), twin))
    assert len(posterior.dictionary) == 13
    assert 25 - twin in posterior.dictionary
    assert posterior.refreshes == 1


@pytest.mark.parametrize("size", [0, 1, 7, 20])
def test_a_look_ahead_is_the_dense_downdate(size: int) -> None:
    """Of all arms and of some, for fewer pulled arms than the dictionary has and for more, and without any."""
    rng = np.random.default_rng(size)
    X, lam = rng.random((60, 2)), 0.01
    posterior = SketchedArmPosterior(SE(0.3), X, lam)
    if size:
        arms = rng.choice(60, size, replace=False)
        posterior.record(arms, np.ones(size), rng.normal(size=size))
        posterior.embed(arms)
    start = posterior.variance
    v, C = start.copy(), posterior.reducible_covariance(np.arange(60))
    every = posterior.look_ahead()
    some = np.array([3, 8, 20, 41, 59])
    apart = every.among(some)
    for pulled in (np.array([5]), np.arange(20, 35), np.array([41, 3])):
        counts = rng.integers(1, 9, len(pulled)).astype(float)
        every.pull(pulled, counts)
        G = C[:, pulled] @ np.linalg.inv(C[np.ix_(pulled, pulled)] + np.diag(lam / counts))
        v, C = v - np.einsum("ij,ij->i", G, C[:, pulled]), C - G @ C[pulled]
        np.testing.assert_allclose(every.v, v, atol=1e-10)
        np.testing.assert_allclose(every.covariance(some), C[np.ix_(some, some)], atol=1e-10)
        fewer = every.among(some).among(np.array([0, 2]))
        np.testing.assert_allclose(fewer.v, v[[3, 20]], atol=1e-10)
        np.testing.assert_allclose(fewer.covariance(np.array([1, 0])), C[np.ix_([20, 3], [20, 3])], atol=1e-10)
    np.testing.assert_array_equal(apart.v, start[some])
    apart.pull(np.array([1]), np.array([2.0]))
    c = posterior.reducible_covariance(some, some[1:2])[:, 0]
    np.testing.assert_allclose(apart.v, start[some] - c**2 / (c[1] + lam / 2), atol=1e-10)
    np.testing.assert_array_equal(posterior.variance, start)


@pytest.mark.parametrize("lam", [1e-4, 1e-2])
def test_arms_pulled_in_turn_are_carried_along_without_kernel_rows(lam: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """More arms than rows are kept, and dictionaries that change now and then."""
    rng = np.random.default_rng(6)
    X = rng.random((50, 2))
    posterior = SketchedArmPosterior(Matern(0.5, 2.5), X, lam)
    K = posterior.rows.kernel(X, X)
    arms, y = feed(posterior, rng, 40)
    inside = np.unique(arms)
    posterior.embed(inside)
    products, calls = KernelRows.products, [0]

    def counted(*args: Any) -> Iterator[Any]:
        calls[0] += 1
        return products(*args)

    monkeypatch.setattr(KernelRows, "products", counted)
    steps = 240
    for step in range(steps):
        few = inside[:3] if step % 20 else inside[3:9]
        arm, count = int(rng.choice(few)), int(rng.integers(1, 4))
        values = np.sqrt(lam) * rng.normal(size=count)
        posterior.record(np.array([arm]), np.array([float(count)]), np.array([values.sum()]))
        arms, y = np.r_[arms, np.full(count, arm)], np.r_[y, values]
        if step % 40 == 39:
            inside = np.r_[inside[:10], rng.permutation(inside[10:])]
        posterior.embed(dictionary := inside[: -1 - step // 20 % 2])
        if step % 30 == 29:
            mean, leverage, E = sketched(K, dictionary, arms, y, lam)
            np.testing.assert_allclose(posterior.variance, lam * leverage, atol=1e-10)
            np.testing.assert_allclose(posterior.mean, mean, atol=1e-6)
            rows = posterior._all
            np.testing.assert_allclose(rows.rows, lam * E[rows.recent], atol=1e-10)
    assert calls[0] < steps // 4
    assert len(posterior._all.recent) == 4
    assert posterior._carries_mean


def rounding(n: int, lam: float) -> float:
    """How far a mean of n rewards of size 1 may be from another computation of it, whatever loops a processor has.

    A solution by Cholesky factors is wrong by at most `c sqrt(n) u cond(A)`, with c = 3 but for 2 % (Higham 2002,
    Theorem 10.4; Higham and Mary 2019, Theorem 2.4), u being the unit roundoff; kernels of variance 1 have
    `cond(K + lam I) <= 1 + n / lam`.
    """
    return float(3 * np.sqrt(n) * np.finfo(float).eps / 2 * (1 + n / lam))


def test_a_mean_that_drifts_is_computed_anew_until_all_arms_are() -> None:
    rng = np.random.default_rng(9)
    X = rng.random((40, 2))
    kernel, lam, inside = SE(0.4), 1e-3, np.arange(12)
    posterior = SketchedArmPosterior(kernel, X, lam)
    K = kernel(X, X)

    def pull(times: int) -> None:
        for _ in range(times):
            posterior.record(np.array([int(rng.integers(3))]), np.ones(1), rng.normal(size=1))
            posterior.embed(inside)

    def drift() -> float:
        weights = posterior._embedding.weights(posterior.n, posterior._s)
        return float(np.abs(weights @ K[posterior.dictionary] - posterior.mean).max())

    posterior.record(np.arange(12), np.ones(12), rng.normal(size=12))
    posterior.embed(inside)
    pull(17)
    posterior._all.mean += 1e-7
    pull(1)
    assert drift() > 5e-8  # not a check yet
    pull(6)
    assert drift() < rounding(36, lam)
    assert not posterior._carries_mean
    posterior._all.mean += 1e-7
    pull(1)
    assert drift() < rounding(37, lam)
    refreshes = posterior.refreshes
    posterior.embed(np.arange(12, 24))
    assert posterior.refreshes == refreshes + 1
    assert posterior._carries_mean


def test_a_mean_is_computed_anew_from_time_to_time_if_no_check_sees_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch, "_GUARD_MEAN", np.inf)
    rng = np.random.default_rng(9)
    X = rng.random((40, 2))
    posterior, K = SketchedArmPosterior(SE(0.4), X, 1e-3), SE(0.4)(X, X)
    posterior.record(np.arange(12), np.ones(12), rng.normal(size=12))
    posterior.embed(np.arange(12))
    drifts = []
    for event in range(1, 19):
        posterior.record(np.array([event % 3]), np.ones(1), rng.normal(size=1))
        posterior.embed(np.arange(12))
        if event == 3:  # from now on all rows are kept
            posterior._all.mean += 1e-7
        weights = posterior._embedding.weights(posterior.n, posterior._s)
        drifts.append(np.abs(weights @ K[posterior.dictionary] - posterior.mean).max())
    assert min(drifts[2:15]) > 1e-8
    assert max(drifts[15:]) < rounding(30, 1e-3)
    assert posterior._carries_mean


def test_a_restored_posterior_goes_on_with_the_rows_it_had() -> None:
    def played(restore: bool) -> SketchedArmPosterior:
        rng = np.random.default_rng(7)
        posterior = SketchedArmPosterior(SE(0.5), rng.random((30, 2)), 1e-2)
        posterior.record(np.arange(10), np.ones(10), rng.normal(size=10))
        posterior.embed(np.arange(10))
        for arm in (3, 4, 3, 3, 4, 5, 3):
            posterior.record(np.array([arm]), np.ones(1), rng.normal(size=1))
            posterior.embed(np.arange(10))
            if restore:
                posterior = pickle.loads(pickle.dumps(posterior))
        return posterior

    one, other = played(restore=False), played(restore=True)
    assert one._all.recent == other._all.recent == [3, 4, 5]
    for name in ("mean", "v", "rows"):
        np.testing.assert_array_equal(getattr(one._all, name), getattr(other._all, name))
    assert np.abs(one._all.rows).max(axis=1).min() > 1e-4
