"""Posteriors of functions that drift, and of weighted pulls, against the t x t formulas."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from gpbandit_envs.gp import Matern
from gpbandit_envs.gp.drifting import DriftingPosterior
from gpbandit_envs.gp.weighted import WeightedPosterior
from tests.reference.posterior import dense

X = np.random.default_rng(0).random((25, 2))
KERNEL = 1.7 * Matern(0.3, nu=2.5)
LAM = 0.04


def textbook(
    arms: np.ndarray, times: np.ndarray, y: np.ndarray, now: int, eps: float, at: np.ndarray = X
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and variance of `f_now`, and the information gain, by `K o D` and `k o d` (Bogunovic et al. 2016, eq. 6-7).

    `D_ij = (1 - eps)^(|t_i - t_j| / 2)`, written out for every pair, in the precision of the machine and by a solver
    that knows nothing of time.
    """
    n = len(arms)
    D = np.array([[(1 - eps) ** (abs(int(s) - int(t)) / 2) for t in times] for s in times]).reshape(n, n)
    d = np.array([(1 - eps) ** (abs(now - int(t)) / 2) for t in times])
    K = KERNEL(X[arms], X[arms]) * D
    k = KERNEL(X[arms], at) * d[:, None]
    solved = np.linalg.solve(K + LAM * np.eye(n), np.column_stack([y, k]))
    gain = 0.5 * np.linalg.slogdet(np.eye(n) + K / LAM)[1]
    return k.T @ solved[:, 0], KERNEL.diag(at) - np.einsum("ij,ij->j", k, solved[:, 1:]), gain


def history(n: int, seed: int, gaps: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.integers(0 if gaps else 1, 4 if gaps else 2, n))
    # Few arms, so that the same is pulled at many times.
    return rng.integers(0, 6, n), times - times[0], rng.normal(size=n)


@pytest.mark.parametrize("eps", [1e-4, 0.01, 0.1, 0.7, 1.0])
def test_a_drifting_posterior_is_the_textbook(eps: float) -> None:
    arms, times, y = history(150, 3)
    posterior = DriftingPosterior(KERNEL, X, LAM, eps)
    for t, (arm, time, value) in enumerate(zip(arms.tolist(), times.tolist(), y.tolist()), 1):
        posterior.advance(time - posterior.now)
        posterior.pull(arm, value)
        if t in (1, 2, 17, 60, 150):
            mean, variance, gain = textbook(arms[:t], times[:t], y[:t], posterior.now, eps)
            np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)
            np.testing.assert_allclose(posterior.variance, variance, atol=1e-8)
            assert posterior.information_gain == pytest.approx(gain, abs=1e-8)
    posterior.advance(5)
    Z = np.random.default_rng(1).random((7, 2))
    for at in (X, Z):
        mean, variance, _ = textbook(arms, times, y, posterior.now, eps, at)
        found = posterior.at(at)
        np.testing.assert_allclose(found[0], mean, atol=1e-8)
        np.testing.assert_allclose(found[1], variance, atol=1e-8)
    np.testing.assert_allclose(posterior.mean, textbook(arms, times, y, posterior.now, eps)[0], atol=1e-8)
    np.testing.assert_array_equal(posterior.variance_at(np.array([3, 9])), posterior.variance[[3, 9]])


def test_what_is_forgotten_is_below_rounding() -> None:
    """With eps = 0.5 a pull is forgotten after 60 steps; the textbook remembers all of 300."""
    arms, times, y = history(300, 5, gaps=False)
    posterior = DriftingPosterior(KERNEL, X, LAM, 0.5)
    for arm, value in zip(arms.tolist(), y.tolist()):
        posterior.pull(arm, value)
        posterior.advance()
    assert len(posterior) < 70
    mean, variance, gain = textbook(arms, times, y, 300, 0.5)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-12)
    np.testing.assert_allclose(posterior.variance, variance, atol=1e-12)
    assert posterior.information_gain == pytest.approx(gain, rel=1e-12)
    assert len(posterior._W) < 300, "memory is that of what is remembered"


def test_covariances_and_effective_dimension_of_a_drifting_posterior() -> None:
    arms, times, y = history(40, 7)
    eps = 0.05
    posterior = DriftingPosterior(KERNEL, X, LAM, eps)
    for arm, time, value in zip(arms.tolist(), times.tolist(), y.tolist()):
        posterior.advance(time - posterior.now)
        posterior.pull(arm, value)
    age = posterior.now - times
    D = (1 - eps) ** (np.abs(age[:, None] - age) / 2)
    K, k = KERNEL(X[arms], X[arms]) * D, KERNEL(X[arms], X) * ((1 - eps) ** (age / 2))[:, None]
    dense = KERNEL(X, X) - k.T @ np.linalg.solve(K + LAM * np.eye(40), k)
    some, others = np.array([0, 4, 20]), np.array([1, 4])
    np.testing.assert_allclose(posterior.covariance(some), dense[some], atol=1e-10)
    np.testing.assert_allclose(posterior.covariance(some, others), dense[np.ix_(some, others)], atol=1e-10)
    among = posterior.reducible_among(np.arange(25))
    np.testing.assert_allclose(among(some, others), dense[np.ix_(some, others)], atol=1e-10)
    np.testing.assert_allclose(among(some, None), dense[some], atol=1e-10)
    assert posterior.effective_dimension() == pytest.approx(np.trace(K @ np.linalg.inv(K + LAM * np.eye(40))))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_of_a_drifting_posterior_go_on_alike(copied: Any) -> None:
    posterior = DriftingPosterior(KERNEL, X, LAM, 0.4)
    for arm in range(90):
        posterior.pull(arm % 25, 0.1 * arm)
        posterior.advance()
    twin = copied(posterior)
    for one in (posterior, twin):
        for arm in range(80):
            one.pull(arm % 7, 0.3)
            one.advance(2)
    np.testing.assert_array_equal(twin.mean, posterior.mean)
    np.testing.assert_array_equal(twin.variance, posterior.variance)


def weighted_textbook(arms: np.ndarray, weights: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Every pull an observation of its own, of noise variance `lam / w`."""
    K, noise = KERNEL(X, X), LAM / weights
    gain = 0.5 * (np.linalg.slogdet(K[np.ix_(arms, arms)] + np.diag(noise))[1] - np.log(noise).sum())
    return *dense(K, arms, y, noise), gain


def test_a_weighted_posterior_is_the_textbook() -> None:
    arms, _, y = history(80, 2)
    weights = np.random.default_rng(4).uniform(0.01, 3, 80)
    posterior = WeightedPosterior(KERNEL, X, LAM)
    np.testing.assert_array_equal(posterior.mean, np.zeros(25))
    np.testing.assert_array_equal(posterior.variance, KERNEL.diag(X))
    distinct = np.unique(arms)
    total = np.array([weights[arms == a].sum() for a in distinct])
    posterior.condition(distinct, total, np.array([(weights * y)[arms == a].sum() for a in distinct]))
    mean, variance, gain = weighted_textbook(arms, weights, y)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)
    np.testing.assert_allclose(posterior.variance, variance, atol=1e-8)
    assert posterior.information_gain == pytest.approx(gain, abs=1e-8)
    np.testing.assert_allclose(posterior.at(X)[0], mean, atol=1e-8)
    np.testing.assert_allclose(posterior.at(X)[1], variance, atol=1e-8)
    assert posterior.effective_dimension() == pytest.approx((weights * variance[arms]).sum() / LAM)
    some = np.array([2, 11])
    np.testing.assert_allclose(np.diagonal(posterior.covariance(some, some)), posterior.variance_at(some), atol=1e-10)
    np.testing.assert_allclose(posterior.covariance(some)[:, some], posterior.covariance(some, some), atol=1e-10)
    among = posterior.reducible_among(some)
    np.testing.assert_allclose(among(np.array([1]), None), posterior.covariance(some, some)[1:], atol=1e-12)
    np.testing.assert_allclose(among(np.array([1]), np.array([0]))[0, 0], posterior.covariance(some, some)[1, 0])


@pytest.mark.parametrize(("eps", "lam"), [(0.0, 0.1), (1.5, 0.1), (float("nan"), 0.1), (0.1, 0.0)])
def test_wrong_arguments(eps: float, lam: float) -> None:
    with pytest.raises(ValueError, match="eps: expected a rate" if lam else "lam: expected a finite number > 0"):
        DriftingPosterior(KERNEL, X, lam, eps)


def test_feedback_that_is_not_finite_changes_nothing() -> None:
    posterior = DriftingPosterior(KERNEL, X, LAM, 0.1)
    with pytest.raises(ValueError, match="y: expected finite feedback, got inf"):
        posterior.pull(3, float("inf"))
    assert len(posterior) == 0
    np.testing.assert_array_equal(posterior.variance, KERNEL.diag(X))
