"""Sample paths of the posterior: their moments are the posterior's, their gradients their own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from gpbandit_envs.gp import SE, Kernel, Matern
from gpbandit_envs.gp.paths import draw_path
from gpbandit_envs.gp.regression import GPRegression


def data(n: int = 7, repeats: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = np.repeat(rng.random((n, 2)), repeats, axis=0)
    return X, rng.standard_normal(len(X))


@pytest.mark.parametrize("kernel", [SE(0.4), 2.0 * Matern((0.3, 0.6), nu=2.5)], ids=str)
@pytest.mark.parametrize("lam", [0.3, 0.01])
def test_moments_are_the_posteriors(kernel: Kernel, lam: float) -> None:
    """400 paths: means within 5 standard errors, variances within 5 of theirs, at data (pulled twice each) and away."""
    X, y = data()
    Z = np.concatenate([X[:4], np.random.default_rng(1).random((6, 2))])
    rng = np.random.default_rng(0)
    draws = np.array([draw_path(kernel, X, y, lam, rng, 512)(Z) for _ in range(400)])
    mean, variance = GPRegression(kernel, X, y, lam).at(Z)
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * np.sqrt(variance / 400) + 1e-6).all()
    np.testing.assert_allclose(draws.var(axis=0) / variance, 1.0, atol=5 * np.sqrt(2 / 400))


def test_without_noise_paths_pass_through_the_data() -> None:
    X, y = data(repeats=1)
    path = draw_path(Matern(0.3), X, y, 0.0, np.random.default_rng(0))
    np.testing.assert_allclose(path(X), y, atol=1e-6)


def test_without_data_a_path_is_a_prior_sample() -> None:
    path = draw_path(SE(0.3), np.zeros((0, 2)), np.zeros(0), 0.1, np.random.default_rng(0), 64)
    Z = np.random.default_rng(1).random((5, 2))
    np.testing.assert_array_equal(path(Z), path.prior(Z))


@pytest.mark.parametrize("kernel", [SE(0.4), 2.0 * Matern((0.3, 0.6), nu=2.5) + SE(0.2)], ids=str)
def test_gradients(kernel: Kernel) -> None:
    path = draw_path(kernel, *data(), 0.1, np.random.default_rng(0), 64)
    for z in np.random.default_rng(2).random((5, 2)):
        assert check_grad(lambda x: path(x[None])[0], lambda x: path.with_gradient(x[None])[1][0], z) < 1e-4
        assert path.with_gradient(z[None])[0] == path(z[None])
