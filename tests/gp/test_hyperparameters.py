"""Likelihoods, priors and MAP estimates: against scikit-learn, written-out formulas and finite differences."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import gamma, kstest, multivariate_normal, norm, truncnorm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from gpbandit_envs.gp.hyperparameters import (
    FAMILIES,
    Flat,
    Gamma,
    Hyperparameters,
    HyperPrior,
    LogMarginalLikelihood,
    LogNormal,
    LogPosterior,
    Prior,
    as_hyper_prior,
    hmc,
    map_estimate,
    noise_estimate,
    sample_hyperparameters,
)
from gpbandit_envs.gp.hyperparameters.hmc import _Leapfrog
from gpbandit_envs.gp.kernel_specs import as_kernel
from gpbandit_envs.gp.linalg import FactorisationError
from gpbandit_envs.gp.observations import Observations
from tests.reference.likelihood import log_marginal_likelihood

FLAT = HyperPrior(Flat(), Flat(), Flat())


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def draw(n: int, true: Hyperparameters, seed: int, family: str = "matern52") -> tuple[np.ndarray, np.ndarray]:
    """Uniform inputs and feedback drawn from the model."""
    source = rng(seed)
    X = source.random((n, len(true.lengthscales)))
    K = true.kernel(family)(X, X) + true.noise * np.eye(n)
    return X, np.linalg.cholesky(K) @ source.standard_normal(n)


def repeated(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Thirty observations at nine inputs, two of them nearly equal."""
    source = rng(seed)
    points = source.random((9, 2))
    points[8] = points[0] + 1e-7
    rows = np.r_[np.arange(9), source.integers(9, size=21)]
    return points[rows], np.sin(6 * points[rows, 0]) + 0.2 * source.standard_normal(30)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("data", [draw(25, Hyperparameters(2.0, 0.05, (0.3, 0.8)), 1), repeated()], ids=["iid", "rep"])
def test_likelihood_is_the_normal_density(family: str, data: Any) -> None:
    X, y = data
    likelihood = LogMarginalLikelihood(Observations.of(X, y), family)
    for theta in rng().normal([0.0, -2.0, -1.0, 0.5], 0.7, (5, 4)):
        expected = log_marginal_likelihood(Hyperparameters.from_vector(theta), X, y, family)
        assert likelihood(theta)[0] == pytest.approx(expected, rel=1e-9)
        assert likelihood.value(theta) == likelihood(theta)[0]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "prior",
    [HyperPrior(), HyperPrior(LogNormal(0.0, 1.0), Gamma(1.5, 3.0), LogNormal(-1.0, 0.5)), FLAT],
    ids=["paper", "mixed", "flat"],
)
@pytest.mark.parametrize("data", [draw(25, Hyperparameters(2.0, 0.05, (0.3, 0.8)), 1), repeated()], ids=["iid", "rep"])
def test_gradients_are_finite_differences(family: str, prior: HyperPrior, data: Any) -> None:
    target = LogPosterior(Observations.of(*data), prior, family)
    for theta in rng().normal([0.0, -2.0, -1.0, 0.5], 0.7, (5, 4)):
        assert target.value(theta) == target(theta)[0]
        steps = 1e-5 * np.eye(4)
        slopes = [(target(theta + step)[0] - target(theta - step)[0]) / 2e-5 for step in steps]
        np.testing.assert_allclose(target(theta)[1], slopes, rtol=1e-6, atol=1e-5)


GROUPS = ((1, 2, 3), (5, 4))


def with_levels(numbers: bool) -> tuple[np.ndarray, np.ndarray, tuple[tuple[int, ...], ...]]:
    """Rows of categories of three and two levels, beside two numbers or none, some of them repeated."""
    source = rng(5)
    a, b = np.eye(3)[source.integers(3, size=18)], np.eye(2)[source.integers(2, size=18)]
    x = source.random((18, 2))
    X = np.column_stack([x[:, :1], a, b, x[:, 1:]]) if numbers else np.column_stack([a, b])
    return X, source.standard_normal(18) + 2 * a[:, 0], GROUPS if numbers else ((0, 1, 2), (3, 4))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("numbers", [True, False], ids=["mixed", "categories alone"])
def test_a_kernel_of_categories(family: str, numbers: bool) -> None:
    X, y, groups = with_levels(numbers)
    k = 6 + 2 * numbers
    likelihood = LogMarginalLikelihood(Observations.of(X, y), family, groups)
    target = LogPosterior(Observations.of(X, y), HyperPrior(), family, groups)
    for theta in rng().normal(0.0, 0.5, (4, k)):
        known = Hyperparameters.from_vector(theta, groups)
        np.testing.assert_allclose(known.vector(), theta, atol=1e-12)
        K = as_kernel(known.kernel(family).to_spec())(X, X)
        s2, rhos, levels = known.variance, np.exp(-np.exp(-2 * theta[-4:-2])), known.levels
        # By hand: a correlation for each category whose levels differ, and a variance for each whose levels are equal.
        same = [X[:, group] @ X[:, group].T == 1 for group in groups]
        unit = FAMILIES[family](tuple(np.exp(theta[2:4])))(X[:, [0, 6]], X[:, [0, 6]]) if numbers else 1.0
        expected = s2 * unit * np.prod([np.where(at, 1, rho) for at, rho in zip(same, rhos, strict=True)], axis=0)
        expected = expected + sum(v * at for v, at in zip(levels, same, strict=True))
        np.testing.assert_allclose(K, expected, rtol=1e-10)
        density = multivariate_normal.logpdf(y, np.zeros(len(y)), K + known.noise * np.eye(len(y)))
        assert likelihood(theta)[0] == pytest.approx(density, rel=1e-9)
        slopes = [(target.value(theta + h) - target.value(theta - h)) / 2e-5 for h in 1e-5 * np.eye(k)]
        np.testing.assert_allclose(target(theta)[1], slopes, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(known.rescaled(3.0).kernel()(X, X), 9 * known.kernel()(X, X), rtol=1e-12)


def test_what_a_category_says_is_learnt() -> None:
    X, _, groups = with_levels(True)
    X = np.concatenate([X] * 3)
    X[:, [0, 6]] = rng(8).random((len(X), 2))
    y = 3 * X[:, 1] - 3 * X[:, 3] + np.sin(6 * X[:, 0]) + 0.05 * rng(9).standard_normal(len(X))
    found = map_estimate(X, y, rng(), prior=HyperPrior.informative(4), groups=groups).hyperparameters
    assert found.levels[0] > 4 * found.levels[1]  # the first category moves the outcome, the second does nothing
    assert found.lengthscales[4] == found.lengthscales[5] > 1.2  # whose levels are alike: a correlation above a half
    drawn, _ = sample_hyperparameters(X, y, rng(), prior=HyperPrior.informative(4), groups=groups, burn_in=30)
    assert np.mean([each.levels[0] for each in drawn]) > np.mean([each.levels[1] for each in drawn])


@pytest.mark.parametrize("learnt", [True, False])
def test_the_likelihood_where_noise_variances_are_known(learnt: bool) -> None:
    X, y = repeated()
    known = rng(3).choice([np.nan, 0.05, 0.5] if learnt else [0.05, 0.5], len(y))
    data, offset, scale = Observations.of(X, y, known).standardised()
    likelihood = LogMarginalLikelihood(data)

    def density(theta: np.ndarray) -> float:
        lam = np.where(np.isnan(known), np.exp(theta[1]), known / scale**2)
        K = Hyperparameters.from_vector(theta).kernel()(X, X) + np.diag(lam)
        return float(multivariate_normal.logpdf((y - offset) / scale, np.zeros(len(y)), K))

    thetas = rng().normal([0.0, -2.0, -1.0, 0.5], 0.7, (4, 4))
    constants = [density(theta) - likelihood(theta)[0] for theta in thetas]
    np.testing.assert_allclose(constants, constants[0], rtol=1e-8)  # what scatters where it is known does not matter
    for theta in thetas:
        slopes = [(likelihood.value(theta + h) - likelihood.value(theta - h)) / 2e-5 for h in 1e-5 * np.eye(4)]
        np.testing.assert_allclose(likelihood(theta)[1], slopes, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(
    ("prior", "density"),
    [
        (Gamma(2.0, 3.0), lambda t: gamma(2.0, scale=1 / 3.0).logpdf(np.exp(t)) + t),
        (Gamma(), lambda t: gamma(1e-3, scale=1e4).logpdf(np.exp(t)) + t),
        (LogNormal(0.5, 2.0), lambda t: norm(0.5, 2.0).logpdf(t)),
    ],
    ids=["gamma", "default gamma", "log-normal"],
)
def test_priors_are_densities_of_the_logarithm(prior: Prior, density: Any) -> None:
    theta = np.linspace(-3, 3, 7)
    value, slope = prior.log_density(theta)
    np.testing.assert_allclose(value, density(theta), rtol=1e-10)
    np.testing.assert_allclose(slope, (density(theta + 1e-6) - density(theta - 1e-6)) / 2e-6, rtol=1e-5, atol=1e-7)


def test_map_reaches_scikit_learns_maximum_of_the_likelihood() -> None:
    X, y = draw(60, Hyperparameters(1.0, 0.02, (0.3, 0.8, 3.0)), 3)
    kernel = sk.ConstantKernel(1.0, FLAT.variance_bounds) * sk.Matern(
        [0.5, 0.5, 0.5], FLAT.lengthscale_bounds, nu=2.5
    ) + sk.WhiteKernel(1e-2, FLAT.noise_bounds)
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, normalize_y=True, n_restarts_optimizer=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an irrelevant lengthscale that ends at its bound
        theirs.fit(X, y)
    found = map_estimate(X, y, rng(), prior=FLAT)
    assert found.log_posterior > theirs.log_marginal_likelihood_value_ - 1e-4
    assert found.hyperparameters.lengthscales[0] == pytest.approx(theirs.kernel_.k1.k2.length_scale[0], rel=1e-2)


@pytest.mark.parametrize("prior", [FLAT, HyperPrior()], ids=["flat", "paper"])
@pytest.mark.parametrize("true", [1e-4, 0.05, 2.0])
def test_the_noise_alone_is_at_the_mode_of_its_own_posterior(prior: HyperPrior, true: float) -> None:
    X, y = draw(40, Hyperparameters(1.0, true, (0.2, 0.5)), 3)
    known = Hyperparameters(1.3, 7.0, (0.25, 0.4))
    found = noise_estimate(X, 1e3 * y, known.rescaled(1e3), prior=prior).rescaled(1e-3)
    assert (found.variance, *found.lengthscales) == pytest.approx((1.3, 0.25, 0.4))
    data, _, scale = Observations.of(X, y).standardised()
    target, theta = LogPosterior(data, prior), found.rescaled(1 / scale).vector()
    heights = []
    for log_noise in np.linspace(target.lower[1], target.upper[1], 2_000):
        heights.append(target(np.r_[theta[0], log_noise, theta[2:]])[0])
    assert target(theta)[0] >= max(heights) - 1e-4


def test_readings_of_the_papers_prior_have_names() -> None:
    assert as_hyper_prior("gamma-mean") == as_hyper_prior(None) == HyperPrior()
    literal = as_hyper_prior("gamma-rate")
    assert {literal.variance, literal.noise, literal.lengthscale} == {Gamma(1e-3, 10.0)}
    with pytest.raises(ValueError, match="prior: expected one of 'gamma-mean', 'gamma-rate', got 'gamma'"):
        as_hyper_prior("gamma")


def test_log_normal_prior_decides_where_the_data_do_not() -> None:
    X, y = draw(30, Hyperparameters(1.0, 0.01, (0.3, 50.0)), 4)
    free = map_estimate(X, y, rng()).hyperparameters.lengthscales[1]
    held = map_estimate(X, y, rng(), prior=HyperPrior(lengthscale=LogNormal(0.0, 0.5))).hyperparameters.lengthscales[1]
    assert free > 3 * held
    assert held == pytest.approx(1.0, rel=0.9)


def test_estimates_follow_the_unit_of_the_feedback() -> None:
    X, y = draw(40, Hyperparameters(1.0, 0.05, (0.3, 0.8)), 5)
    plain = map_estimate(X, y, rng())
    for offset, scale in ((0.0, 1e9), (-1e6, 1e3), (3.0, 1e-9)):
        other = map_estimate(X, offset + scale * y, rng())
        assert other.prior_mean == pytest.approx(offset + scale * plain.prior_mean, abs=1e-9 * max(scale, abs(offset)))
        np.testing.assert_allclose(
            other.hyperparameters.vector(), plain.hyperparameters.rescaled(scale).vector(), atol=0.02
        )


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.3, 0.4]]), np.array([7.0])),
        (np.tile([[0.3, 0.4]], (10, 1)), np.arange(10.0)),
        (np.tile([[0.3, 0.4]], (10, 1)), np.full(10, 2.0)),
        (rng().random((20, 2)), np.full(20, 1e6)),
        (rng().random((20, 2)), np.full(20, 0.0)),
        (rng().random((20, 2)), np.r_[np.zeros(19), 1e12]),
        (np.vstack([rng().random((10, 2))] * 2) + 1e-12 * np.arange(20)[:, None], np.arange(20.0)),
        (*repeated(),),
        (np.linspace(0, 1, 60)[:, None] ** 8, np.linspace(0, 1, 60)),
    ],
    ids=["one", "one input", "one value", "constant", "zero", "outlier", "near twins", "repeated", "line"],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_degenerate_data_give_finite_estimates(family: str, X: np.ndarray, y: np.ndarray) -> None:
    found = map_estimate(X, y, rng(), family=family)
    low, high = HyperPrior().bounds(X.shape[1])
    theta = found.hyperparameters.rescaled(1 / found.scale).vector()
    assert np.isfinite(found.log_posterior)
    assert (theta >= low - 1e-9).all()
    assert (theta <= high + 1e-9).all()


def test_repeated_starts_and_warm_starts_find_the_same_mode() -> None:
    X, y = draw(50, Hyperparameters(1.0, 0.02, (0.2, 0.6)), 6)
    first = map_estimate(X, y, rng(0), starts=5)
    warm = map_estimate(X, y, rng(1), starts=1, warm=[first.hyperparameters])
    assert warm.log_posterior == pytest.approx(first.log_posterior, abs=1e-4)
    assert warm.evaluations < first.evaluations / 3


def test_several_starts_escape_a_local_mode() -> None:
    """Near-periodic data have a mode that explains them as noise; only one of the climbs starts beside it."""
    X = np.linspace(0, 1, 30)[:, None]
    y = np.sin(40 * X[:, 0]) + 0.05 * rng(1).standard_normal(30)
    stuck = map_estimate(X, y, rng(), starts=1, warm=[Hyperparameters(1.0, 1.0, (50.0,))])
    found = map_estimate(X, y, rng(), starts=4, warm=[Hyperparameters(1.0, 1.0, (50.0,))])
    assert found.log_posterior > stuck.log_posterior + 3
    assert found.hyperparameters.noise < 0.05 < 0.3 < stuck.hyperparameters.noise


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"family": "cosine"}, "family: expected 'matern52', 'matern32' or 'se'"),
        ({"starts": 0}, "starts: expected at least 1"),
        ({"units": (0.0, 0.0)}, "units: expected a finite offset and a scale > 0"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        map_estimate(np.zeros((1, 1)), np.zeros(1), rng(), **arguments)


def test_bad_values_are_named() -> None:
    with pytest.raises(ValueError, match="noise: expected finite numbers > 0"):
        Hyperparameters(1.0, 0.0, (1.0,))
    with pytest.raises(ValueError, match="lengthscale_bounds: expected finite numbers 0 < low < high"):
        HyperPrior(lengthscale_bounds=(1.0, 1.0))
    with pytest.raises(ValueError, match="rate: expected a finite number > 0"):
        Gamma(1.0, 0.0)
    with pytest.raises(ValueError, match="scale: expected a finite number > 0"):
        LogNormal(0.0, -1.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_evaluations_share_an_array_and_nothing_else(family: str) -> None:
    rng = np.random.default_rng(0)
    data = Observations.of(rng.random((20, 2)), rng.standard_normal(20))
    likelihood = LogMarginalLikelihood(data, family)
    thetas = [rng.standard_normal(4), np.array([0.0, -60.0, 4.0, 4.0]), rng.standard_normal(4)]  # the 2nd jitters
    for theta in thetas:
        value, gradient = likelihood(theta)
        alone, slope = LogMarginalLikelihood(data, family)(theta)
        assert likelihood.value(theta) == value == alone
        np.testing.assert_array_equal(gradient, slope)


def test_a_likelihood_that_is_no_number_is_an_error() -> None:
    likelihood = LogMarginalLikelihood(Observations.of(np.array([[0.0], [1.0]]), np.array([0.0, 1.0])))
    with pytest.raises(FactorisationError):
        likelihood(np.array([np.nan, 0.0, 0.0]))


def test_an_estimate_evaluates_no_point_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    evaluate = LogPosterior.__call__

    def noted(self: LogPosterior, theta: np.ndarray) -> tuple[float, np.ndarray]:
        seen.append(theta.tobytes())
        return evaluate(self, theta)

    monkeypatch.setattr(LogPosterior, "__call__", noted)
    rng = np.random.default_rng(0)
    found = map_estimate(rng.random((20, 2)), rng.standard_normal(20), rng, starts=1)
    assert len(set(seen)) == len(seen) == found.evaluations


# ---- hMC draws from the densities it is given: moments, truncation, reversibility, and agreement with quadrature ----


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


def test_bad_arguments_of_a_chain_are_named() -> None:
    with pytest.raises(ValueError, match="burn_in, samples: expected"):
        hmc(lambda x: (0.0, x), np.zeros(1), rng(), samples=0)
    with pytest.raises(ValueError, match="start: expected a point of finite density"):
        hmc(lambda x: (float("nan"), x), np.zeros(1), rng())
