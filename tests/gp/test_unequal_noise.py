"""The exact posterior where the noise differs by arm, against the t x t formula."""

from __future__ import annotations

import numpy as np
import pytest

from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.exact import ExactPosterior
from tests.reference.posterior import dense


def textbook(
    posterior: ExactPosterior, lams: np.ndarray, arms: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean, variance and information gain by `K_t + diag(lam of each pull)`."""
    K = posterior.rows.kernel(posterior.rows.X, posterior.rows.X)
    gain = 0.5 * np.linalg.slogdet(np.eye(len(arms)) + K[np.ix_(arms, arms)] / lams[arms][:, None])[1]
    return *dense(K, arms, y, lams[arms]), float(gain)


def played(posterior: ExactPosterior, rng: np.random.Generator, deliveries: int) -> tuple[np.ndarray, np.ndarray]:
    """Pulls one at a time, again and again, in batches, and announced before their feedback."""
    X, arms, rewards = posterior.rows.X, [], []
    for _ in range(deliveries):
        batch = np.unique(rng.choice(len(X) if rng.random() < 0.5 else 6, size=int(rng.integers(1, 5))))
        counts = rng.integers(1, 4, len(batch))
        y = [np.sin(5 * X[arm, 0]) + 0.1 * rng.normal(size=n) for arm, n in zip(batch, counts, strict=True)]
        if rng.random() < 0.3:
            posterior.keep_open(np.repeat(batch, counts).tolist())
        posterior.update(batch, counts.astype(float), np.array([one.sum() for one in y]))
        arms += np.repeat(batch, counts).tolist()
        rewards += np.concatenate(y).tolist()
    return np.array(arms), np.array(rewards)


@pytest.mark.parametrize("kernel", [SE(0.2), Matern(0.5, 1.5)], ids=str)
@pytest.mark.parametrize("spread", [1.0, 1e3])
def test_parity_with_the_dense_formula(kernel: SE | Matern, spread: float) -> None:
    for seed in range(3):
        rng = np.random.default_rng((seed, 2))
        lams = 10 ** rng.uniform(-2, -2 + np.log10(spread), 50)
        posterior = ExactPosterior(kernel, rng.random((50, 2)), lams)
        arms, y = played(posterior, rng, 60)
        mean, variance, gain = textbook(posterior, lams, arms, y)
        at_mean, at_variance = (found[::-1] for found in posterior.at(posterior.rows.X[::-1]))
        for m, v in ((posterior.mean, posterior.variance), (at_mean, at_variance)):
            np.testing.assert_allclose(m, mean, atol=1e-8, rtol=0)
            np.testing.assert_allclose(v, variance, atol=1e-8, rtol=0)
        assert posterior.information_gain == pytest.approx(gain, rel=1e-8)
        assert posterior.effective_dimension() == pytest.approx(float((variance[arms] / lams[arms]).sum()), rel=1e-8)
        assert posterior.renewals > 0
        np.testing.assert_allclose(posterior.covariance(np.array([3]))[0, 3], variance[3], atol=1e-8)


def test_what_comes_later_takes_the_place_of_what_was_there() -> None:
    rng = np.random.default_rng(3)
    lams = rng.uniform(0.01, 1.0, 20)
    posterior = ExactPosterior(SE(0.3), rng.random((20, 1)), lams)
    arms, y = rng.integers(0, 20, 15), rng.normal(size=15)
    for arm, value in zip(arms, y, strict=True):
        posterior.update(np.array([arm]), np.ones(1), np.array([value]))
    posterior.revise(int(arms[4]), float(y[4]), 2.0)
    y[4] = 2.0
    np.testing.assert_allclose(posterior.mean, textbook(posterior, lams, arms, y)[0], atol=1e-8)


def test_equal_variances_are_one_variance() -> None:
    rng = np.random.default_rng(4)
    X = rng.random((40, 2))
    one, many = ExactPosterior(SE(0.2), X, 0.05), ExactPosterior(SE(0.2), X, np.full(40, 0.05))
    arms, y = played(one, np.random.default_rng(5), 40)
    played(many, np.random.default_rng(5), 40)
    assert one.mean.tolist() == many.mean.tolist()
    assert one.variance.tolist() == many.variance.tolist()
    assert one.information_gain == many.information_gain
    assert one.effective_dimension() == pytest.approx(many.effective_dimension(), rel=1e-12)
    np.testing.assert_allclose(one.mean, dense(one.rows.kernel(X, X), arms, y, 0.05)[0], atol=1e-8)


@pytest.mark.wrong_arguments
@pytest.mark.parametrize(
    ("lam", "text"),
    [
        (np.ones(4), "lam: expected 5 numbers, one an arm, got shape"),
        (np.array([1.0, 1.0, 0.0, 1.0, 1.0]), "lam: expected finite numbers > 0"),
        (np.array([1.0, 1.0, np.nan, 1.0, 1.0]), "lam: expected finite numbers > 0"),
    ],
)
def test_wrong_variances(lam: np.ndarray, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        ExactPosterior(SE(0.2), np.zeros((5, 1)), lam)
