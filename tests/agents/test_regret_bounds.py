"""Bounds against worked examples, and against what really happens."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leaderboards
from agents.core.guarantees import BoundInputs
from agents.core.information import greedy_information, realised_information
from agents.core.regret_bounds import gain_within_batch, gp_ucb_bound, proven_exponent, variance_constant
from agents.core.widths import FiniteBayes, WidthContext
from agents.exact.gp_bucb import GPBUCB
from agents.few_batches.theory import bpe_bound
from agents.sketched.theory import bbkb_bound, bkb_bound
from gpbandit_envs.gp import SE, Kernel, Matern, RationalQuadratic
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_env
from leaderboards.play.spec import Ref


def rng(*key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(key))


def test_variances_met_stay_below_what_the_gain_allows() -> None:
    X, kernel, lam = rng(4).uniform(size=(40, 1)), SE(0.2), 0.01
    found = greedy_information(kernel, X, lam, 60)
    variance = lam * np.expm1(2 * np.diff(found.gain, prepend=0.0))
    assert (np.cumsum(variance) <= 2 * variance_constant(1.0, lam) * found.gain * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("kernel", "n", "lam", "T"),
    [
        (SE(0.1), 300, 0.01, 150),
        (SE(2.0), 300, 0.01, 90),
        (Matern(nu=1.5, lengthscale=0.3), 300, 1e3, 70),
        (SE(0.2), 20, 0.1, 100),
    ],
    ids=str,
)
def test_pulls_chosen_together_are_those_chosen_one_by_one(kernel: Kernel, n: int, lam: float, T: int) -> None:
    X = rng(5).uniform(size=(n, 2))
    found = greedy_information(kernel, X, lam, T)
    arms: list[int] = []
    for _ in range(T):
        K = kernel(X[arms], X)
        explained = K * np.linalg.solve(kernel(X[arms], X[arms]) + lam * np.eye(len(arms)), K)
        variance = kernel.diag(X) - explained.sum(axis=0)
        arms.append(int(np.argmax(variance)))
    assert found.arms.tolist() == arms
    K = kernel(X[arms], X[arms])
    gain = [0.5 * np.linalg.slogdet(np.eye(t) + K[:t, :t] / lam)[1] for t in range(1, T + 1)]
    assert found.gain == pytest.approx(gain, rel=1e-9, abs=1e-13)
    assert found.d_eff == pytest.approx(np.trace(np.linalg.solve(K + lam * np.eye(T), K)), rel=1e-9)


def test_bounds_worked_by_hand() -> None:
    t, gamma = 100.0, 10.0
    C1 = 8 / math.log(1 + 1 / 0.25)
    assert gp_ucb_bound(t, 3.0, gamma, 1.0, 0.25) == pytest.approx(3 * math.sqrt(C1 * 1000))
    # Desautels et al. (2012), Theorem 1, case 1, with C = 0.5: sqrt(C_1 T exp(2 C) alpha_T gamma_T).
    alpha = 2 * math.log(50 * 1e4 * math.pi**2 / 0.6)
    width = FiniteBayes()(WidthContext(t=100, n_arms=50, lam=0.25, noise_std=0.5, norm_bound=1.0, delta=0.1))
    expected = math.sqrt(C1 * 100 * math.exp(1) * alpha * 10)
    assert gp_ucb_bound(t, width, gamma, 1.0, 0.25, math.exp(0.5)) == pytest.approx(expected)
    L = 1 + math.log(1 + 100 / 0.25)
    expected = 2 * 6**1.5 * math.sqrt(5 * 100) * (0.5 * 4 * L + math.sqrt(0.25 * 4 * 4 * L) + 0.5 * math.log(10))
    assert bkb_bound(t, 4.0, 2.0, 0.5, 0.1, 1.0, 0.25) == pytest.approx(expected)
    expected = 55 * 8 * 10 * (0.5 * (6 + math.log(10)) + math.sqrt(4 * 6))
    assert bbkb_bound(t, 6.0, 2.0, 0.5, 0.1, 1.0, 2.0) == pytest.approx(expected)
    psi = 2 + 0.5 / 0.5 * math.sqrt(2 * math.log(50 * 2 / 0.1))
    expected = 2 * psi * 4 + 4 * psi * 6 * math.sqrt(2 / math.log(5) * 3 / 4)
    found = bpe_bound(np.array([4, 6]), np.array([1.0, 2.0, 2.5, 3.0]), 2.0, 0.5, 50, 0.1, 1.0, 0.25)
    assert found == pytest.approx(expected)


def test_what_a_batch_can_gain_without_feedback() -> None:
    gamma = np.array([1.0, 1.5, 1.8, 2.0, 2.1])
    assert gain_within_batch(gamma, 1) == 0
    assert gain_within_batch(gamma, 4) == 1.8
    assert gain_within_batch(gamma, 4, t_init=5) == pytest.approx(3 / 5 * 2.1)
    assert gain_within_batch(gamma, 4, t_init=1) == 1.8, "a short start cannot make it worse"


def test_no_variance_shrinks_within_a_batch_by_more_than_the_gain_allows() -> None:
    X, kernel, lam, B = rng(7).uniform(size=(30, 1)), SE(0.2), 0.05, 5
    first = rng(8).integers(0, 30, 8)
    gamma = greedy_information(kernel, X, lam, B - 1).gain / (1 - 1 / math.e)
    ratio = math.exp(gain_within_batch(gamma, B))

    def sd(arms: np.ndarray) -> np.ndarray:
        K = kernel(X[arms], X)
        return np.sqrt(
            1 - np.einsum("ij,ij->j", K, np.linalg.solve(kernel(X[arms], X[arms]) + lam * np.eye(len(arms)), K))
        )

    for seed in range(20):
        batch = rng(9, seed).integers(0, 30, B - 1)
        assert (sd(first) <= ratio * sd(np.r_[first, batch])).all()


def test_the_bound_of_gp_ucb_holds_on_a_draw_from_its_prior() -> None:
    env: tuple[str, dict[str, object]] = ("GPBandit/GPSample-v0", {"n_arms": 60, "dim": 1})
    record = leaderboards.run(env, ("GP-UCB", {"width": "bayes"}), horizon=120)
    problem = build_env(Ref(*env), 120).unwrapped.problem  # type: ignore[attr-defined]
    information = realised_information(
        problem.kernel, problem.arms, problem.noise_std**2, record.trace["action"].to_numpy()
    )
    kappa2 = float(problem.kernel.diag(problem.arms).max())
    t = np.arange(1.0, 121)
    width = np.maximum.accumulate(record.trace["width"].to_numpy())
    bound = gp_ucb_bound(t, width, information.gain, kappa2, problem.noise_std**2)
    assert (record.trace["regret"].cumsum().to_numpy() <= bound).all()


@pytest.mark.parametrize(
    ("kernel", "dim", "optimal", "exponent"),
    [
        (SE(0.2), 8, False, 0.5),
        (SE(0.2) * 3.0, 8, True, 0.5),
        (Matern(1.0, nu=2.5), 1, True, (2.5 + 1) / (5 + 1)),
        (Matern(1.0, nu=2.5), 2, False, 0.5 + 2 / 7),
        (Matern(1.0, nu=0.5), 8, False, 1.0),
        (RationalQuadratic(1.0), 2, False, None),
    ],
)
def test_proven_exponents(kernel: Kernel, dim: int, optimal: bool, exponent: float | None) -> None:
    problem = Problem(name="p", dim=dim, arms=np.zeros((1, dim)), kernel=kernel)
    assert proven_exponent(problem, optimal) == pytest.approx(exponent)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: variance_constant(1.0, 0.0), "kappa2, lam: expected numbers > 0"),
        (lambda: bpe_bound(np.array([9, 1]), np.ones(3), 1.0, 1.0, 5, 0.1, 1.0, 1.0), "gamma: expected 9 values"),
        (lambda: gain_within_batch(np.ones(3), 5), "gamma: expected 4 values"),
        (lambda: gp_ucb_bound(np.ones(1), np.ones(1), np.ones(1), 1.0, 1.0, 0.5), "ratio: expected a number >= 1"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_the_regret_of_gp_bucb_is_bounded_only_if_its_width_covers_the_gain_of_a_batch() -> None:
    problem = Problem(name="p", dim=1, arms=np.zeros((3, 1)), kernel=SE(0.2), noise_std=0.1, norm_bound=1.0)
    gamma = np.linspace(1.0, 900.0, 1_000)
    inputs = BoundInputs(problem, 1_000, gamma, None, 1.0, 0.1)
    for c, bounded in ((0.0, False), (8.0, False), (9.0, True), (None, True)):  # gamma_9 is 8.2
        assert (GPBUCB(batch_size=10, c=c).regret_guarantee(inputs).bound is not None) == bounded
    assert GPBUCB(batch_size=10, width=2.0).regret_guarantee(inputs).bound is None
    for c in (None, 100.0):
        assert GPBUCB(batch_size=1_000, c=c).regret_guarantee(inputs).bound is None  # exp(899) overflows
