"""HMC draws from the densities it is given: moments, truncation, reversibility, and agreement with quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

from gpbandit_envs.gp.hyperparameters import HyperPrior, LogNormal, LogPosterior, hmc, sample_hyperparameters
from gpbandit_envs.gp.hyperparameters.hmc import _Leapfrog
from gpbandit_envs.gp.observations import Observations


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(precision: np.ndarray, mean: np.ndarray) -> object:
    return lambda x: (-0.5 * float((x - mean) @ precision @ (x - mean)), -precision @ (x - mean))


def test_moments_of_a_correlated_normal() -> None:
    covariance, mean = np.array([[1.0, 0.6], [0.6, 0.5]]), np.array([2.0, -1.0])
    density = normal(np.linalg.inv(covariance), mean)
    chain = hmc(density, np.zeros(2), rng(), burn_in=300, samples=4_000)  # type: ignore[arg-type]
    thinned = chain.samples[::4]
    error = np.sqrt(np.diagonal(covariance) / len(thinned))
    assert (np.abs(thinned.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(np.cov(chain.samples.T), covariance, rtol=0.15)
    assert chain.acceptance == pytest.approx(0.8, abs=0.15)


def test_a_density_cut_off_by_walls() -> None:
    chain = hmc(
        lambda x: (-0.5 * float(x @ x), -x),
        np.array([0.5]),
        rng(1),
        walls=(np.array([-0.3]), np.array([1.0])),
        burn_in=200,
        samples=6_000,
    )
    assert chain.samples.min() >= -0.3
    assert chain.samples.max() <= 1.0
    assert kstest(chain.samples[::6, 0], truncnorm(-0.3, 1.0).cdf).pvalue > 1e-3


def test_the_integrator_is_reversible_and_keeps_the_energy() -> None:
    precision = np.array([[2.0, 0.3], [0.3, 1.0]])
    leapfrog = _Leapfrog(normal(precision, np.zeros(2)), (np.full(2, -1.0), np.full(2, 1.5)))  # type: ignore[arg-type]
    start, p = leapfrog.at(np.array([0.4, -0.2])), np.array([1.3, -2.0])
    end, q = leapfrog.run(start, p, 1e-3, 2_000)
    back, r = leapfrog.run(end, -q, 1e-3, 2_000)
    np.testing.assert_allclose(back.theta, start.theta, atol=1e-9)
    np.testing.assert_allclose(-r, p, atol=1e-9)
    # At a wall the energy is kept to first order in the step only.
    assert end.value - 0.5 * q @ q == pytest.approx(start.value - 0.5 * p @ p, abs=1e-2)


@pytest.mark.slow
def test_the_posterior_of_a_lengthscale_agrees_with_quadrature() -> None:
    X = rng(2).random((12, 1))
    y = np.sin(7 * X[:, 0]) + 0.1 * rng(3).standard_normal(12)
    target = LogPosterior(Observations.of(X, y).standardised()[0], HyperPrior(lengthscale=LogNormal(-1.0, 1.0)))

    def density(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = target(np.array([0.0, np.log(0.02), x[0]]))
        return value, gradient[2:]

    grid = np.linspace(-4, 3, 400)
    logs = np.array([density(g)[0] for g in grid[:, None]])
    weights = np.exp(logs - logs.max())
    mean = weights @ grid / weights.sum()
    sd = np.sqrt(weights @ (grid - mean) ** 2 / weights.sum())
    walls = (target.lower[2:], target.upper[2:])
    chain = hmc(density, np.array([-1.0]), rng(4), walls=walls, burn_in=300, samples=2_000)
    drawn = chain.samples[:, 0]
    assert drawn.mean() == pytest.approx(mean, abs=0.25 * sd)
    assert drawn.std() == pytest.approx(sd, rel=0.2)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.3]]), np.array([7.0])),
        (rng().random((15, 1)), np.full(15, 1e6)),
        (np.repeat(rng().random((4, 1)), 5, axis=0), rng().normal(1e9, 1e6, 20)),
    ],
    ids=["one", "constant", "repeated"],
)
def test_degenerate_data(X: np.ndarray, y: np.ndarray) -> None:
    drawn, offset = sample_hyperparameters(X, y, rng(), burn_in=50, samples=5)
    assert len(drawn) == 5
    assert offset == pytest.approx(y.mean())
    low, high = HyperPrior().bounds(1)
    scale = Observations.of(X, y).standardised()[2]
    for known in drawn:
        theta = known.rescaled(1 / scale).vector()
        assert ((theta >= low - 1e-9) & (theta <= high + 1e-9)).all()


def test_equal_seeds_give_equal_chains() -> None:
    X, y = rng().random((20, 2)), rng(1).standard_normal(20)
    assert sample_hyperparameters(X, y, rng(5), burn_in=20) == sample_hyperparameters(X, y, rng(5), burn_in=20)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="burn_in, samples: expected"):
        hmc(lambda x: (0.0, x), np.zeros(1), rng(), samples=0)
    with pytest.raises(ValueError, match="start: expected a point of finite density"):
        hmc(lambda x: (float("nan"), x), np.zeros(1), rng())
