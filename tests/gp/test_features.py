"""Random Fourier features have the kernel's covariance, and gradients that are theirs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from gpbandit_envs.gp import SE, Kernel, Linear, Matern, RationalQuadratic
from gpbandit_envs.gp.features import draw_fourier_sample

KERNELS = [
    SE(0.3),
    SE((0.2, 0.7)),
    Matern(0.4, nu=0.5),
    Matern((0.3, 0.5), nu=2.5),
    RationalQuadratic(0.3, alpha=0.7),
    2.5 * SE(0.5) * Matern(0.8, nu=1.5),
    SE(0.2) + 0.5 * RationalQuadratic((0.4, 0.9), alpha=2.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_covariance(kernel: Kernel) -> None:
    """`E cos(<omega, x> + b) cos(<omega, y> + b) * 2 variance` over the features, within 5 standard errors."""
    X = np.random.default_rng(1).random((12, 2))
    sample = draw_fourier_sample(kernel, 2, 40_000, np.random.default_rng(0))
    # The weights' variance is what a sum has in place of a factor: each term keeps its own.
    terms = np.split(np.arange(len(sample.weights)), len(sample.weights) // 40_000)
    K, error = np.zeros((12, 12)), np.zeros((12, 12))
    for rows in terms:
        features = np.cos(X @ sample.frequencies[rows].T + sample.phases[rows])
        products = sample.weights[rows].var() * len(rows) * features[:, None] * features[None]
        K += products.mean(axis=2)
        error += products.std(axis=2) / np.sqrt(len(rows)) + 0.01 * np.abs(products.mean(axis=2))
    assert (np.abs(K - kernel(X, X)) < 5 * error).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradient(kernel: Kernel) -> None:
    sample = draw_fourier_sample(kernel, 2, 200, np.random.default_rng(0))
    for x in np.random.default_rng(2).random((5, 2)):
        error = check_grad(lambda z: sample(z[None])[0], lambda z: sample.gradient(z[None])[0], x)
        assert error < 1e-6 * sample.curvature_bound


def test_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = draw_fourier_sample(SE(0.2), 3, 64, np.random.default_rng(0))
    X = np.random.default_rng(0).random((100, 3))
    whole = sample(X)
    monkeypatch.setattr("gpbandit_envs.gp.features._CHUNK", 7)
    np.testing.assert_allclose(sample(X), whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", [Linear(), SE(0.3) * (SE(0.2) + Matern(0.3))], ids=str)
def test_kernels_without_features(kernel: Kernel) -> None:
    with pytest.raises(TypeError, match="random features need an SE, Matern or rational quadratic kernel"):
        draw_fourier_sample(kernel, 2, 8, np.random.default_rng(0))
