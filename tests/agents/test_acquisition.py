"""Acquisition functions against their integrals, far into the tails, and their slopes against differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from agents.core.acquisition import LogExpectedImprovement, PosteriorScore, Score, UpperConfidenceBound


def log_improvement(z: float) -> float:
    """`log E max(Z + z, 0)`, by the integral with the density at 0 taken out, so that nothing underflows."""
    scale = max(1.0, abs(z))
    integral = quad(lambda u: u * np.exp(z * u / scale - 0.5 * (u / scale) ** 2), 0, np.inf, epsabs=0, epsrel=1e-12)[0]
    return float(-0.5 * z * z - 0.5 * np.log(2 * np.pi) + np.log(integral / scale**2))


@pytest.mark.parametrize("z", [-1e6, -2e3, -999.0, -300.0, -40.0, -5.0, -1.001, -0.999, 0.0, 1.3, 6.0])
def test_log_expected_improvement_is_its_integral(z: float) -> None:
    score = LogExpectedImprovement(2.0)
    s = np.array([0.5])
    assert score(2.0 + z * s, s)[0] == pytest.approx(log_improvement(z) + np.log(0.5), rel=1e-9, abs=1e-9)


def test_log_expected_improvement_is_the_log_of_the_textbook_formula() -> None:
    m, s = np.random.default_rng(0).normal(size=(2, 100))
    s, z = np.abs(s), (m - 0.3) / np.abs(s)
    expected = (m - 0.3) * ndtr(z) + s * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    keep = expected > 1e-6
    np.testing.assert_allclose(np.exp(LogExpectedImprovement(0.3)(m, s))[keep], expected[keep], rtol=1e-7)


def test_far_above_and_without_uncertainty() -> None:
    """No infinity or NaN reaches an argmax: what is certain improves by what it is above, or hopelessly little."""
    score = LogExpectedImprovement(1.0)
    np.testing.assert_allclose(score(np.array([4.0, 101.0]), np.array([1e-9, 1.0])), np.log([3.0, 100.0]))
    values = score(np.array([1.0, 0.5, -1e9]), np.zeros(3))
    assert np.isfinite(values).all()
    assert values[0] > values[1] >= values[2]
    assert np.isfinite(score.slopes(np.array([2.0, 1.0, 0.5]), np.full(3, 1e-9))).all()


@pytest.mark.parametrize("score", [LogExpectedImprovement(0.2), UpperConfidenceBound(1.7)], ids=str)
def test_slopes(score: Score) -> None:
    m = np.concatenate([np.linspace(-3, 3, 61), [-60.0, -300.0, -500.0]])
    s = np.full_like(m, 0.4)
    by_m, by_s = score.slopes(m, s)
    step = 1e-5
    np.testing.assert_allclose((score(m + step, s) - score(m - step, s)) / (2 * step), by_m, rtol=1e-6)
    np.testing.assert_allclose((score(m, s + step) - score(m, s - step)) / (2 * step), by_s, rtol=1e-6, atol=1e-6)


def test_slopes_continue_where_the_formula_changes() -> None:
    score = LogExpectedImprovement(0.0)
    for z in (-1.0, -1e3):
        around = np.array([z * (1 + 1e-9), z * (1 - 1e-9)])
        for values in (score(around, np.ones(2)), *score.slopes(around, np.ones(2))):
            assert values[0] == pytest.approx(values[1], rel=1e-8)


class Bowl:
    """Mean `-|x|^2`, standard deviation `1 + x_0`."""

    def at(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return -np.square(X).sum(axis=1), (1 + X[:, 0]) ** 2

    def mean_and_bound(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.at(X)

    def at_with_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return -np.square(X).sum(axis=1), 1 + X[:, 0], -2 * X, np.tile([1.0, 0.0], (len(X), 1))


@pytest.mark.parametrize("score", [LogExpectedImprovement(0.5), UpperConfidenceBound(2.0)], ids=str)
def test_chain_rule(score: Score) -> None:
    X = np.random.default_rng(1).random((20, 2))
    objective = PosteriorScore(score, Bowl())
    values, G = objective.with_gradient(X)
    np.testing.assert_allclose(values, objective(X), rtol=1e-14)
    for j in range(2):
        step = 1e-6 * np.eye(2)[j]
        forward, back = objective(X + step), objective(X - step)
        np.testing.assert_allclose((forward - back) / 2e-6, G[:, j], rtol=1e-5, atol=1e-7)
