"""The exact posterior over arms against the dense formula, with noise that is equal or not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.exact import ExactPosterior
from tests.gp.kept import assert_kept
from tests.reference.posterior import dense, extended

LAMS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0, 100.0)
LENGTHSCALES = (0.05, 0.3, 1.0, 17.5, 1e4)


def play(
    posterior: ExactPosterior, rng: np.random.Generator, deliveries: int, largest: int = 4
) -> tuple[np.ndarray, np.ndarray]:
    """Deliver random feedback, repeats and batches among it, and return all arms and rewards."""
    X = posterior.rows.X
    arms: list[int] = []
    rewards: list[float] = []
    for _ in range(deliveries):
        p = int(rng.integers(1, min(largest, len(X)) + 1))
        batch = rng.choice(len(X) if rng.random() < 0.6 else min(len(X), 5), size=p)
        batch = np.unique(batch)
        counts = rng.integers(1, 4, len(batch))
        sums = np.zeros(len(batch))
        for i, (arm, count) in enumerate(zip(batch.tolist(), counts.tolist(), strict=True)):
            y = np.sin(5 * X[arm, 0]) + 0.1 * rng.normal(size=count)
            arms += [arm] * count
            rewards += y.tolist()
            sums[i] = y.sum()
        posterior.update(batch, counts.astype(float), sums)
    return np.array(arms), np.array(rewards)


def error(
    posterior: ExactPosterior, arms: np.ndarray, y: np.ndarray, smallest: float, rounding: float = 1e-16
) -> float:
    """The largest error, judged in extended precision: 1 is `smallest`, or what rounding costs the dense formula.

    That is `rounding` times the condition number of the matrix that the dense formula solves with.
    """
    K = posterior.rows.kernel(posterior.rows.X, posterior.rows.X)
    lam = posterior.lam
    mean, var = extended(K, arms, y, lam)
    condition = np.linalg.cond(K[np.ix_(arms, arms)] + lam * np.eye(len(arms)))
    allowed = max(smallest, rounding * condition)
    assert np.isfinite(posterior.mean).all()
    at_mean, at_var = (found[::-1] for found in posterior.at(posterior.rows.X[::-1]))  # computed anew in this order
    means = max(np.abs(posterior.mean - mean).max(), np.abs(at_mean - mean).max()) / max(1.0, np.abs(y).max())
    variance = np.maximum(var, 0)
    return float(max(means, *(np.abs(v - variance).max() for v in (posterior.variance, at_var))) / allowed)


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("lengthscale", LENGTHSCALES)
def test_parity_with_the_dense_formula(lam: float, lengthscale: float) -> None:
    errors = []
    for seed in range(3):
        rng = np.random.default_rng((7, seed))
        posterior = ExactPosterior(SE(lengthscale), rng.random((60, 2)), lam)
        arms, y = play(posterior, rng, 40)
        errors.append(error(posterior, arms, y, 1e-8))
    # From lam = 1e-6 on the bound is 1e-8 itself; below, what rounding typically costs, of which a run may cost more.
    assert np.exp(np.mean(np.log(errors))) <= 1
    assert max(errors) <= (1 if lam >= 1e-6 else 8)


@pytest.mark.parametrize("lam", [1e-8, 1e-4, 1.0])
@pytest.mark.parametrize("lengthscale", [0.3, 17.5])
def test_parity_of_arms_pulled_one_at_a_time_again_and_again(lam: float, lengthscale: float) -> None:
    """The row of an arm that has been pulled before is computed from its last one."""
    rng = np.random.default_rng(15)
    posterior = ExactPosterior(SE(lengthscale), rng.random((60, 2)), lam)
    arms = np.r_[rng.integers(0, 12, 70), np.repeat(3, 8)]
    y = np.sin(5 * posterior.rows.X[arms, 0]) + 0.1 * rng.normal(size=len(arms))
    for arm, value in zip(arms, y):
        posterior.update(np.array([arm]), np.ones(1), np.array([value]))
    assert posterior.renewals == 0
    # A solution by Cholesky factors is wrong by at most c n u cond(A), u being the unit roundoff (Higham, Accuracy and
    # Stability of Numerical Algorithms, Theorem 10.4); n roundings of mean 0 add up to the square root of n times
    # one of them but for a probability of 2 exp(-c^2 / 2) (Higham and Mary 2019, Theorem 2.4). With c = 3 that is 2 %,
    # and the loops that a processor's BLAS chooses decide which roundings there are.
    rounding = 3 * np.sqrt(len(arms)) * np.finfo(float).eps / 2
    assert error(posterior, arms, y, 1e-8, rounding) <= 1


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("offset", [0.0, 1e-9])
def test_parity_with_duplicated_arms(lam: float, offset: float) -> None:
    rng = np.random.default_rng(8)
    X = rng.random((30, 2))
    X[10:20] = X[:10] + offset
    posterior = ExactPosterior(Matern(0.5, 2.5), X, lam)
    arms, y = play(posterior, rng, 40)
    assert error(posterior, arms, y, 1e-6) <= 1


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    n_arms=st.integers(1, 12),
    lam=st.floats(-8, 2).map(lambda e: 10.0**e),
    lengthscale=st.floats(-1.3, 4).map(lambda e: 10.0**e),
    deliveries=st.integers(1, 25),
)
def test_parity_on_any_sequence(seed: int, n_arms: int, lam: float, lengthscale: float, deliveries: int) -> None:
    rng = np.random.default_rng(seed)
    posterior = ExactPosterior(Matern(lengthscale, 1.5), rng.random((n_arms, 2)), lam)
    arms, y = play(posterior, rng, deliveries)
    assert error(posterior, arms, y, 1e-6) <= 1


def test_many_pulls_of_few_arms_cost_nothing_and_stay_exact() -> None:
    rng = np.random.default_rng(9)
    posterior = ExactPosterior(SE(0.5), rng.random((8, 1)), 1e-2)
    arms, y = [], []
    for _ in range(1500):
        arms.append(int(rng.integers(8)))
        y.append(rng.normal())
        posterior.update(np.array(arms[-1:]), np.ones(1), np.array(y[-1:]))
    mean, var = dense(posterior.rows.kernel(posterior.rows.X, posterior.rows.X), np.array(arms), np.array(y), 1e-2)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)
    np.testing.assert_allclose(posterior.variance, var, atol=1e-8)
    assert posterior.renewals >= 1
    assert len(posterior.whitened()) < 100


def test_information_gain_and_effective_dimension() -> None:
    rng = np.random.default_rng(10)
    posterior = ExactPosterior(SE(0.3), rng.random((20, 1)), 0.1)
    arms, _ = play(posterior, rng, 30)
    K = posterior.rows.kernel(posterior.rows.X, posterior.rows.X)[np.ix_(arms, arms)]
    gain = 0.5 * np.linalg.slogdet(np.eye(len(arms)) + K / 0.1)[1]
    d_eff = np.trace(K @ np.linalg.inv(K + 0.1 * np.eye(len(arms))))
    assert posterior.information_gain == pytest.approx(gain, rel=1e-9)
    assert posterior.effective_dimension() == pytest.approx(d_eff, rel=1e-9)


def test_covariance_of_pulled_and_unpulled_arms() -> None:
    rng = np.random.default_rng(11)
    posterior = ExactPosterior(SE(0.4), rng.random((15, 2)), 1e-3)
    arms, _ = play(posterior, rng, 10)
    K = posterior.rows.kernel(posterior.rows.X, posterior.rows.X)
    Kt = K[np.ix_(arms, arms)] + 1e-3 * np.eye(len(arms))
    expected = K - K[:, arms] @ np.linalg.solve(Kt, K[arms])
    every = np.arange(15)
    np.testing.assert_allclose(posterior.covariance(every, every), expected, atol=1e-10)
    np.testing.assert_allclose(posterior.covariance(every), expected, atol=1e-10)
    more = np.array([every[-1], every[0]])
    posterior.update(more, np.array([1.0, 2.0]), np.array([0.3, 0.1]))
    arms = np.r_[arms, 14, 0, 0]
    Kt = K[np.ix_(arms, arms)] + 1e-3 * np.eye(len(arms))
    expected = np.diagonal(K) - np.einsum("ij,ji->i", K[:, arms], np.linalg.solve(Kt, K[arms]))
    np.testing.assert_allclose(posterior.variance, expected, atol=1e-10)
    posterior.renew()
    np.testing.assert_allclose(posterior.variance, expected, atol=1e-10)


def check(posterior: ExactPosterior, told: list[tuple[int, float]], opened: list[int]) -> None:
    """Mean and variance by the feedback that has arrived, and the variance that looks ahead, against the textbook."""
    X = posterior.rows.X
    K = SE(0.4)(X, X)
    arms, y = np.array([arm for arm, _ in told], np.int64), np.array([value for _, value in told])
    mean, variance = dense(K, arms, y, posterior.lam) if told else (np.zeros(len(X)), np.diagonal(K))
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.v, variance, atol=1e-9)
    every = np.r_[arms, np.array(opened, np.int64)]
    ahead = dense(K, every, np.zeros(len(every)), posterior.lam)[1] if len(every) else np.diagonal(K)
    np.testing.assert_allclose(posterior.ahead(), ahead, atol=1e-9)
    assert posterior.best_score(2.0) == np.argmax(posterior.mean + 2.0 * np.sqrt(posterior.variance))
    if told:
        gain = 0.5 * np.linalg.slogdet(np.eye(len(arms)) + K[np.ix_(arms, arms)] / posterior.lam)[1]
        assert posterior.information_gain == pytest.approx(gain, rel=1e-8)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), n_arms=st.sampled_from([3, 12]), steps=st.integers(1, 120))
def test_feedback_may_come_late_and_in_any_order(seed: int, n_arms: int, steps: int) -> None:
    """Pulls, feedback in and out of order, and pulls that are given up."""
    rng = np.random.default_rng(seed)
    posterior = ExactPosterior(SE(0.4), rng.random((n_arms, 2)), 0.05)
    told: list[tuple[int, float]] = []
    opened: list[int] = []
    for _ in range(steps):
        act = rng.random()
        if act < 0.55 or not opened:
            opened.append(int(rng.integers(n_arms)))
            posterior.pull(opened[-1])
        elif act < 0.95:
            some = opened[: int(rng.integers(1, len(opened) + 1))] if act < 0.75 else [opened[-1]]
            arms, counts = np.unique(some, return_counts=True)
            sums = rng.normal(size=len(arms))
            posterior.update(arms, counts.astype(float), sums)
            for arm, count, total in zip(arms.tolist(), counts.tolist(), sums.tolist()):
                told += [(arm, total / count)] * count
            for arm in some:
                opened.remove(arm)
        else:
            opened.pop()
            posterior.keep_open(opened)
        if rng.random() < 0.1:
            check(posterior, told, opened)
    check(posterior, told, opened)


def test_another_noise_on_the_same_rows_is_as_if_it_stood_alone_bit_for_bit() -> None:
    rng = np.random.default_rng(3)
    X, pulls, y = rng.random((40, 2)), np.r_[rng.integers(40, size=60), rng.integers(9, size=340)], rng.normal(size=400)
    plain = ExactPosterior(Matern(0.3), X, 0.01)
    shared, alone = plain.with_noise(0.3), ExactPosterior(Matern(0.3), X, 0.3)
    assert shared.rows is plain.rows
    for arm, value in zip(pulls.tolist(), y.tolist()):
        for posterior in (plain, shared, alone):
            posterior.update_one(arm, value)
    assert (plain.lam, shared.lam) == (0.01, 0.3)
    assert min(plain.renewals, shared.renewals) > 0
    np.testing.assert_array_equal(shared.mean, alone.mean)
    np.testing.assert_array_equal(shared.v, alone.v)
    assert shared.information_gain == alone.information_gain
    assert shared.effective_dimension() == alone.effective_dimension()
    with pytest.raises(ValueError, match="lam: expected a finite number > 0, got -1"):
        plain.with_noise(-1.0)


def test_branches_begin_with_what_is_known_and_go_on_apart() -> None:
    rng = np.random.default_rng(4)
    posterior = ExactPosterior(SE(0.4), rng.random((15, 2)), 1e-2)
    arms, y = play(posterior, rng, 6)
    before = posterior.mean.copy()
    branches = posterior.branches(2)
    K, points = posterior.rows.kernel(posterior.rows.X, posterior.rows.X), rng.random((7, 2))
    for branch, arm, value in zip(branches, (2, 3), (0.5, -0.5)):
        for _ in range(100):  # long enough for renewals
            branch.update_one(arm, value)
        assert branch.renewals > 0
        pulls, rewards = np.r_[arms, [arm] * 100], np.r_[y, [value] * 100]
        mean, variance = dense(K, pulls, rewards, 1e-2)
        np.testing.assert_allclose(branch.mean, mean, atol=1e-8)
        np.testing.assert_allclose(branch.v, variance, atol=1e-8)
        every, some = np.arange(15), np.array([1, 4])
        np.testing.assert_allclose(np.diagonal(branch.covariance(every)), variance, atol=1e-8)
        np.testing.assert_allclose(branch.covariance(every, some), branch.covariance(every)[:, some], atol=1e-12)
        np.testing.assert_allclose(branch.reducible_among(some)(np.array([1]), None), branch.covariance(some[1:], some))
        anew = ExactPosterior(SE(0.4), posterior.rows.X, 1e-2)
        distinct, counts = np.unique(pulls, return_counts=True)
        anew.update(distinct, counts.astype(float), np.array([rewards[pulls == each].sum() for each in distinct]))
        np.testing.assert_allclose(branch.at(points), anew.at(points), atol=1e-8)
    np.testing.assert_array_equal(posterior.mean, before)


def test_at_all_arms_is_what_is_kept_of_them() -> None:
    rng = np.random.default_rng(5)
    X = rng.random((40, 2))
    posterior = ExactPosterior(SE(0.3), X, 1e-2)
    play(posterior, rng, 30)
    for same in (X, X.copy(), pickle.loads(pickle.dumps(posterior)).rows.X):
        assert_kept(posterior, same)
        assert (posterior.v != 7).all()
    with_one_more = np.concatenate([X, rng.random((1, 2))])
    for found, kept in zip(posterior.at(with_one_more), (posterior.mean, posterior.variance)):
        np.testing.assert_allclose(found[:-1], kept, atol=1e-10)
        assert (found[:-1] != kept).any()


def test_interpolation_is_the_posterior_mean_of_other_feedback() -> None:
    rng = np.random.default_rng(5)
    posterior = ExactPosterior(SE(0.4), rng.random((15, 2)), 1e-2)
    arms, _ = play(posterior, rng, 12)
    distinct = posterior.distinct()
    values = rng.normal(size=(2, len(distinct)))
    found = posterior.interpolate(values)
    K = posterior.rows.kernel(posterior.rows.X, posterior.rows.X)
    for row, value in zip(found, values):
        of_arm = dict(zip(distinct.tolist(), value.tolist()))
        expected = dense(K, arms, np.array([of_arm[arm] for arm in arms.tolist()]), 1e-2)[0]
        np.testing.assert_allclose(row, expected, atol=1e-8)


def test_a_restored_posterior_goes_on_bit_for_bit() -> None:
    X = np.random.default_rng(12).random((25, 2))
    one = ExactPosterior(SE(0.5), X, 1e-4)
    play(one, np.random.default_rng(13), 40)
    for arm in (3, 3, 7, 11):
        one.pull(arm)
    one.update(np.array([7]), np.ones(1), np.array([0.2]))
    one.keep_open([3, 11])
    other = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.whitened(), other.whitened())
    for posterior in (one, other):
        play(posterior, np.random.default_rng(14), 12)
        posterior.pull(5)
    np.testing.assert_array_equal(one.mean, other.mean)
    np.testing.assert_array_equal(one.v, other.v)
    np.testing.assert_array_equal(one.ahead(), other.ahead())
    assert one.information_gain == other.information_gain


@pytest.mark.parametrize("lam", [0.0, -1.0, np.nan, np.inf])
def test_bad_lam_is_named(lam: float) -> None:
    with pytest.raises(ValueError, match="lam: expected a finite number > 0"):
        ExactPosterior(SE(), np.zeros((1, 1)), lam)


def test_nan_feedback_is_refused_before_anything_changes() -> None:
    posterior = ExactPosterior(SE(), np.zeros((2, 1)), 1.0)
    with pytest.raises(ValueError, match="sums: expected finite feedback"):
        posterior.update(np.array([0]), np.ones(1), np.array([np.nan]))
    np.testing.assert_array_equal(posterior.variance, np.ones(2))


@pytest.mark.parametrize("seed", range(6))
def test_feedback_that_is_revised_counts_as_if_it_had_come_first(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, kernel, lam = rng.random((30, 2)), SE(0.4), 0.05
    K = kernel(X, X)
    posterior = ExactPosterior(kernel, X, lam)
    arms, y = rng.integers(30, size=40 * (1 + seed % 2)), np.zeros(0)
    for arm in arms.tolist():
        y = np.append(y, rng.standard_normal())
        posterior.update_one(arm, float(y[-1]))
        if seed % 3 == 0 and len(y) % 7 == 0:
            posterior.pull(int(rng.integers(30)))
        s = int(rng.integers(len(y)))
        new = float(rng.standard_normal())
        posterior.revise(int(arms[s]), float(y[s]), new)
        y[s] = new
    mean, var = dense(K, arms, y, lam)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)
    np.testing.assert_allclose(posterior.v, var, atol=1e-8)
    np.testing.assert_allclose(posterior.sums, np.bincount(arms, y, 30), atol=1e-12)
    quadratic = y @ np.linalg.solve(K[np.ix_(arms, arms)] + lam * np.eye(len(arms)), y)
    assert posterior.quadratic == pytest.approx(quadratic, rel=1e-8)
    posterior.renew()
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)


def test_what_cannot_be_revised_is_named() -> None:
    posterior = ExactPosterior(SE(0.4), np.linspace(0, 1, 5)[:, None], 0.1)
    posterior.update_one(2, 1.0)
    before = posterior.mean.copy()
    with pytest.raises(ValueError, match="new: expected finite feedback, got inf"):
        posterior.revise(2, 1.0, float("inf"))
    with pytest.raises(ValueError, match="arm: expected one whose feedback has arrived, got 3"):
        posterior.revise(3, 1.0, 2.0)
    np.testing.assert_array_equal(posterior.mean, before)


@pytest.mark.parametrize("value", [0.0, -1.5])
def test_the_mean_with_open_pulls_is_that_of_feedback_they_all_have(value: float) -> None:
    rng = np.random.default_rng(1)
    X, kernel, lam = rng.random((20, 2)), Matern(0.4, 2.5), 0.05
    posterior = ExactPosterior(kernel, X, lam)
    told, y, opened = rng.integers(20, size=12), rng.standard_normal(12), rng.integers(20, size=9)
    for arm, reward in zip(told.tolist(), y.tolist(), strict=True):
        posterior.update_one(arm, reward)
    np.testing.assert_array_equal(posterior.mean_with_open(value), posterior.mean)
    before = posterior.mean.copy()
    for arm in opened.tolist():
        posterior.pull(arm)
    mean, _ = dense(kernel(X, X), np.concatenate([told, opened]), np.append(y, np.full(9, value)), lam)
    np.testing.assert_allclose(posterior.mean_with_open(value), mean, atol=1e-9)
    np.testing.assert_array_equal(posterior.mean, before)


# ---- the exact posterior where the noise differs by arm, against the t x t formula ----


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
def test_parity_with_the_dense_formula_under_unequal_noise(kernel: SE | Matern, spread: float) -> None:
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
