"""Predictions of each observation from the others: against fitting once for each of them."""

from __future__ import annotations

import numpy as np
import pytest

from gpbandit_envs.gp import SE, Kernel, Linear, Matern
from gpbandit_envs.gp.leave_one_out import leave_one_out
from gpbandit_envs.gp.regression import GPRegression

RNG = np.random.default_rng(0)
X = RNG.random((25, 3))
REPEATED = np.concatenate([X, X[:5], X[:2]])  # two inputs three times, three twice, the others once


@pytest.mark.parametrize("inputs", [X, REPEATED], ids=["distinct", "repeated"])
@pytest.mark.parametrize("kernel", [SE(0.4), 2.0 * Matern((0.3, 0.5, 2.0)), SE(0.5) + Linear(1.0)], ids=str)
@pytest.mark.parametrize("lam", [1e-4, 0.3])
def test_is_what_a_posterior_given_the_others_predicts(inputs: np.ndarray, kernel: Kernel, lam: float) -> None:
    y = np.sin(5 * inputs[:, 0]) + inputs[:, 1] + 0.3 * np.random.default_rng(1).standard_normal(len(inputs))
    mean, variance = leave_one_out(kernel, inputs, y, lam, prior_mean=0.7)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        expected, of_function = GPRegression(kernel, inputs[others], y[others], lam, 0.7).at(inputs[i : i + 1])
        assert mean[i] == pytest.approx(expected[0], rel=1e-6, abs=1e-6)
        assert variance[i] == pytest.approx(of_function[0] + lam, rel=1e-6)


def test_groups_are_left_out_together() -> None:
    kernel, lam, groups = Matern((0.3, 0.5, 2.0)), 0.3, np.unique(REPEATED, axis=0, return_inverse=True)[1].ravel()
    y = np.sin(5 * REPEATED[:, 0]) + 0.3 * np.random.default_rng(1).standard_normal(len(REPEATED))
    mean, variance = leave_one_out(kernel, REPEATED, y, lam, 0.7, groups)
    for i in range(len(y)):
        others = groups != groups[i]
        expected, of_function = GPRegression(kernel, REPEATED[others], y[others], lam, 0.7).at(REPEATED[i : i + 1])
        assert mean[i] == pytest.approx(expected[0], rel=1e-6, abs=1e-6)
        assert variance[i] == pytest.approx(of_function[0] + lam, rel=1e-6)


def test_a_replicate_tells_of_another_one() -> None:
    x = np.array([[0.2], [0.2], [0.9]])
    mean, variance = leave_one_out(SE(0.1), x, np.array([3.0, 5.0, 0.0]), 1e-4)
    np.testing.assert_allclose(mean, [5.0, 3.0, 0.0], atol=1e-2)
    np.testing.assert_allclose(variance, [2e-4, 2e-4, 1.0], rtol=1e-3)


def test_a_single_observation_is_predicted_by_the_prior() -> None:
    mean, variance = leave_one_out(2.0 * SE(0.3), np.zeros((1, 2)), np.array([9.0]), 0.5, prior_mean=4.0)
    assert (mean[0], variance[0]) == pytest.approx((4.0, 2.5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros((0, 1)), np.zeros(0), 1.0), r"X, y: expected shapes \(n, d\) and \(n,\) with n >= 1"),
        ((np.zeros((2, 1)), np.zeros(3), 1.0), r"X, y: expected shapes .* got \(2, 1\) and \(3,\)"),
        ((np.array([[0.0], [np.nan]]), np.zeros(2), 1.0), "X: expected finite numbers"),
        ((np.zeros((2, 1)), np.array([0.0, np.inf]), 1.0), "y: expected finite numbers"),
        ((np.zeros((2, 1)), np.zeros(2), 0.0), "lam: expected a finite number > 0, got 0.0"),
    ],
)
def test_what_is_refused(arguments: tuple[np.ndarray, np.ndarray, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        leave_one_out(SE(0.3), *arguments)
