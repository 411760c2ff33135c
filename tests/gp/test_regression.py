"""Regression at any point of a box, what it says without some of its data, and paths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from gpbandit_envs.gp import SE, Kernel, Linear, Matern, regression
from gpbandit_envs.gp.leave_one_out import leave_one_out
from gpbandit_envs.gp.observations import Observations
from gpbandit_envs.gp.paths import draw_path
from gpbandit_envs.gp.regression import GPRegression

RNG = np.random.default_rng(0)
X, Z = RNG.random((30, 3)), RNG.random((50, 3))
Y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(30)


@pytest.mark.parametrize("kernel", [SE(0.4), 2.0 * Matern((0.3, 0.5, 2.0)), SE(0.5) + Linear(1.0)], ids=str)
def test_is_the_textbook_posterior(kernel: Kernel) -> None:
    posterior = GPRegression(kernel, X, Y, 0.01, prior_mean=0.3)
    K, k = kernel(X, X) + 0.01 * np.eye(30), kernel(Z, X)
    mean, variance = posterior.at(Z)
    np.testing.assert_allclose(mean, 0.3 + k @ np.linalg.solve(K, Y - 0.3), rtol=1e-9)
    dense = kernel.diag(Z) - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    np.testing.assert_allclose(variance, dense, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("kernel", [SE(0.4), Matern((0.3, 0.5, 2.0)), SE(0.5) * Linear(1.0), Matern(0.7, 1.5)], ids=str)
def test_gradients_are_finite_differences(kernel: Kernel) -> None:
    posterior, step = GPRegression(kernel, X, Y, 0.01), 1e-6
    mean, sd, mean_gradient, sd_gradient = posterior.at_with_gradient(Z)
    np.testing.assert_array_equal(mean, posterior.at(Z)[0])
    np.testing.assert_array_equal(sd, np.sqrt(posterior.at(Z)[1]))
    for j in range(3):
        ahead, behind = Z.copy(), Z.copy()
        ahead[:, j] += step
        behind[:, j] -= step
        (mean_ahead, ahead_variance), (mean_behind, behind_variance) = posterior.at(ahead), posterior.at(behind)
        np.testing.assert_allclose(mean_gradient[:, j], (mean_ahead - mean_behind) / (2 * step), rtol=1e-5, atol=1e-6)
        slope = (np.sqrt(ahead_variance) - np.sqrt(behind_variance)) / (2 * step)
        np.testing.assert_allclose(sd_gradient[:, j], slope, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n", [264, 700, 704, 1_040])
def test_many_points_in_blocks_are_those_at_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, points = GPRegression(Matern((0.3, 0.5, 2.0)), X, Y, 0.01), np.random.default_rng(1).random((n, 3))
    at_once = posterior.at(points)
    monkeypatch.setattr(regression, "_NUMBERS", 1_000)
    np.testing.assert_array_equal(posterior.at(points), at_once)


@pytest.mark.parametrize("n", [1, 256, 700])
def test_the_bound_is_the_variance_given_the_first_quarter_of_the_inputs(n: int) -> None:
    kernel, points = 3.0 * Matern((0.3, 0.5, 2.0)), np.random.default_rng(1).random((n, 3))
    posterior = GPRegression(kernel, X, Y, 0.01, prior_mean=0.5)
    mean, bound = posterior.mean_and_bound(points)
    exact_mean, variance = posterior.at(points)
    np.testing.assert_allclose(mean, exact_mean, rtol=1e-12)
    assert (bound >= variance).all()
    given_first = GPRegression(kernel, X[: len(X) // 4], Y[: len(X) // 4], 0.01).at(points)[1]
    np.testing.assert_allclose(bound, given_first, rtol=1e-6)
    assert (bound < kernel.diag(points)).all()


def test_without_data_the_bound_is_the_prior() -> None:
    posterior = GPRegression(2.0 * SE(0.4), np.zeros((0, 3)), np.zeros(0), 0.1, prior_mean=1.5)
    mean, bound = posterior.mean_and_bound(Z)
    np.testing.assert_array_equal(mean, 1.5)
    np.testing.assert_allclose(bound, 2.0)


def test_without_noise_the_bound_holds_where_rounding_is_all_that_is_left() -> None:
    dense = np.linspace(0, 1, 60)[:, None]
    posterior = GPRegression(SE(0.5), dense, np.sin(dense[:, 0]), 0.0)
    points = np.linspace(0, 1, 500)[:, None]
    assert (posterior.mean_and_bound(points)[1] >= posterior.at(points)[1]).all()


def test_repeated_inputs_are_merged_exactly() -> None:
    rows = RNG.integers(6, size=30)
    merged = GPRegression(SE(0.4), X[rows], Y, 0.01).at(Z)
    k = SE(0.4)(Z, X[rows])
    K = SE(0.4)(X[rows], X[rows]) + 0.01 * np.eye(30)
    np.testing.assert_allclose(merged[0], k @ np.linalg.solve(K, Y), rtol=1e-9)
    np.testing.assert_allclose(merged[1], 1 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)), atol=1e-11)
    assert len(GPRegression(SE(0.4), X[rows], Y, 0.01).X) == len(np.unique(rows))


def test_noise_variances_that_are_known_take_the_place_of_the_learnt_one() -> None:
    rows = RNG.integers(6, size=30)
    known = RNG.choice([np.nan, 0.05, 0.5], 30)
    posterior = GPRegression(SE(0.4), X[rows], Y, 0.01, 0.2, known)
    K = SE(0.4)(X[rows], X[rows]) + np.diag(np.where(np.isnan(known), 0.01, known))
    k = SE(0.4)(Z, X[rows])
    np.testing.assert_allclose(posterior.at(Z)[0], 0.2 + k @ np.linalg.solve(K, Y - 0.2), rtol=1e-9)
    np.testing.assert_allclose(posterior.at(Z)[1], 1 - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T)), atol=1e-11)
    nothing = GPRegression(SE(0.4), X, Y, 0.01, 0.2, np.full(30, np.nan))
    np.testing.assert_array_equal(nothing.at(Z), GPRegression(SE(0.4), X, Y, 0.01, 0.2).at(Z))


def test_without_noise_the_posterior_interpolates_and_has_no_made_up_slope() -> None:
    posterior = GPRegression(Matern(0.5), X, Y, 0.0)
    mean, sd, _, sd_gradient = posterior.at_with_gradient(X)
    np.testing.assert_allclose(mean, Y, atol=1e-8)
    assert sd.max() < 1e-5
    assert np.isfinite(sd_gradient).all()


def test_without_data_it_is_the_prior() -> None:
    posterior = GPRegression(2.0 * SE(0.4), np.zeros((0, 3)), np.zeros(0), 0.1, prior_mean=1.5)
    mean, sd, mean_gradient, sd_gradient = posterior.at_with_gradient(Z)
    np.testing.assert_array_equal(mean, 1.5)
    np.testing.assert_allclose(sd, np.sqrt(2))
    assert not mean_gradient.any()
    assert not sd_gradient.any()


def test_survives_near_duplicates_without_noise() -> None:
    twins = np.vstack([X, X + 1e-9])
    mean, variance = GPRegression(SE(1.0), twins, np.r_[Y, Y], 0.0).at(Z)
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()


def test_observations_keep_what_matters() -> None:
    seen = Observations.of(np.array([[1.0], [0.0], [1.0], [1.0]]), np.array([1.0, 5.0, 2.0, 6.0]))
    np.testing.assert_array_equal(seen.X, [[1.0], [0.0]])
    np.testing.assert_array_equal(seen.counts, [3, 1])
    np.testing.assert_allclose(seen.means, [3.0, 5.0])
    assert seen.scatter == pytest.approx(14.0)
    standard, offset, scale = seen.standardised()
    assert offset == pytest.approx(3.5)
    assert scale == pytest.approx(np.std([1.0, 5.0, 2.0, 6.0]))
    assert standard.total == 4


@pytest.mark.parametrize("y", [[3.0], [1e6, 1e6, 1e6], [0.0, 0.0], [0.1 + 0.2, 0.3, 0.3]])
def test_equal_feedback_is_not_blown_up(y: list[float]) -> None:
    standard, offset, scale = Observations.of(RNG.random((len(y), 2)), np.array(y)).standardised()
    assert offset == pytest.approx(y[0])
    assert scale == 1.0
    assert np.abs(standard.means).max() < 1e-9


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="lam: expected a finite number >= 0, got -1"):
        GPRegression(SE(1.0), X, Y, -1)
    with pytest.raises(ValueError, match=r"X, y: expected shapes"):
        GPRegression(SE(1.0), X, Y[:-1], 0.1)
    with pytest.raises(ValueError, match="y: expected finite numbers"):
        GPRegression(SE(1.0), X, np.full(30, np.nan), 0.1)


@pytest.mark.parametrize("n", [0, 20])
def test_feedback_that_equals_the_mean(n: int) -> None:
    """As the posterior built anew; and the same numbers to the last bit whether added at once or in several calls."""
    before = GPRegression(Matern(0.5), X[:n], Y[:n], 0.01, prior_mean=0.3)
    more = np.concatenate([X[20:25], X[:2]])
    at_once = before.believing(more)
    anew = GPRegression(Matern(0.5), np.append(X[:n], more, 0), np.append(Y[:n], before.at(more)[0]), 0.01, 0.3)
    np.testing.assert_allclose(at_once.at(Z), anew.at(Z), rtol=1e-9)
    np.testing.assert_allclose(at_once.at(Z)[0], before.at(Z)[0], rtol=1e-12)
    assert at_once.information_gain == pytest.approx(anew.information_gain)
    assert before.believing(more[:0]).information_gain == before.information_gain
    by_and_by = before.believing(more[:1]).believing(more[1:4]).believing(more[4:])
    np.testing.assert_array_equal(by_and_by.at(Z), at_once.at(Z))


# ---- predictions of each observation from the others: against fitting once for each of them ----


INPUTS = RNG.random((25, 3))
REPEATED = np.concatenate([INPUTS, INPUTS[:5], INPUTS[:2]])  # two inputs three times, three twice, the others once


@pytest.mark.parametrize("inputs", [INPUTS, REPEATED], ids=["distinct", "repeated"])
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


# ---- sample paths of the posterior: their moments are the posterior's, their gradients their own ----


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
