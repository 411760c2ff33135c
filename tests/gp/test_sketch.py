from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.exact_arms import ExactArmPosterior
from gpbandit_envs.gp.sketch import SketchedArmPosterior
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
    at_mean, at_variance = posterior.at(posterior.rows.X)
    np.testing.assert_allclose(at_mean, posterior.mean, atol=1e-10)
    np.testing.assert_allclose(at_variance, posterior.variance, atol=1e-10)


def test_with_all_pulled_arms_in_the_dictionary_it_is_exact() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((50, 2))
    exact, sketch = ExactArmPosterior(SE(0.3), X, 1e-2), SketchedArmPosterior(SE(0.3), X, 1e-2)
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
    exact = ExactArmPosterior(SE(0.5), X, 1e-4)
    exact.update(np.arange(12), np.ones(12), np.ones(12))
    np.testing.assert_allclose(posterior.variance, exact.variance, atol=1e-8)


def test_a_restored_posterior_is_the_same() -> None:
    rng = np.random.default_rng(2)
    X = rng.random((30, 2))
    one, other = (SketchedArmPosterior(SE(0.5), X, 1e-4) for _ in range(2))
    arms, _ = feed(one, rng, 20)
    one.embed(np.unique(arms)[::2])
    other.load_state_dict(one.state_dict())
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.reducible_covariance(np.arange(30)), other.reducible_covariance(np.arange(30)))
    for posterior in (one, other):
        posterior.embed(np.unique(arms)[1::2])
    np.testing.assert_array_equal(one.variance, other.variance)


def test_nan_feedback_is_refused() -> None:
    with pytest.raises(ValueError, match="sums: expected finite feedback"):
        SketchedArmPosterior(SE(), np.zeros((2, 1)), 1.0).record(np.array([0]), np.ones(1), np.array([np.inf]))
