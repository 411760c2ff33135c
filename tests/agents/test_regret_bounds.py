"""Regret bounds, and which exponents are proven."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
import leaderboards
from agents import Agent, BoundInputs, RegretGuarantee
from agents.core.guarantees import guarantee_status
from agents.core.information import greedy_information, realised_information
from agents.core.regret_bounds import gain_within_batch, gp_ucb_bound, proven_exponent, variance_constant
from agents.core.widths import FiniteBayes, WidthContext
from agents.exact.gp_bucb import GPBUCB
from agents.few_batches.theory import bpe_bound
from agents.sketched.theory import bbkb_bound, bkb_bound
from gpbandit_envs.gp import SE, Kernel, Matern, RationalQuadratic
from gpbandit_envs.problem import Approximation, InitialData, NoiseTails, Problem
from leaderboards.play.build import build_env
from leaderboards.play.spec import Ref
from leaderboards.score.theory import stated_regret
from tests.contracts.test_agents import VARIANTS, make


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
        return np.sqrt(1 - np.sum(K * np.linalg.solve(kernel(X[arms], X[arms]) + lam * np.eye(len(arms)), K), 0))

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


# ---- every policy on every kind of task: what is proven of its regret is what applies there, and grows as it says ----


TIMES = (30_000, 300_000)  # of the growth of a bound, which logarithms are part of
_NOISE, _GROWTH = 1.5, 2 / (2 * 1.5 + 2)  # a noise of variance above 1, as BBKB's theorem asks; of the Matern kernel
_X = np.random.default_rng(0).random((12, 2))
_TRUE = Problem(
    name="drawn",
    dim=2,
    arms=_X,
    kernel=Matern(0.3, nu=1.5),
    noise_std=_NOISE,
    noise_tails=NoiseTails(_NOISE, gaussian=True),
)
_RKHS = replace(_TRUE, name="RKHS", norm_bound=1.0)
KINDS: Mapping[str, Problem] = {
    "a draw from the prior": _TRUE,
    "a function of bounded norm": _RKHS,
    "sub-Gaussian noise": replace(_RKHS, noise_tails=NoiseTails(_NOISE, gaussian=False)),
    "heavy noise": replace(_RKHS, noise_tails=None),
    "a mean that is only near": replace(_RKHS, misspecification={"sup": 0.2}),
    "corrupted feedback": replace(_RKHS, misspecification={"corruption": 3.0}),
    "a wrong kernel": replace(_RKHS, knowledge="misspecified", misspecification={"lengthscale": 2.0}),
    "a norm that is stated too small": replace(_RKHS, misspecification={"norm": 0.5}),
    "real data": replace(_TRUE, knowledge="learned"),
    "certified distances": replace(
        _TRUE, knowledge="certified", approximations=(Approximation(1.0, 0.3), Approximation(3.0, 0.05))
    ),
    "existing data": replace(_RKHS, initial=InitialData(rewards=np.array([0.1, 0.2]), arms=np.array([0, 1]))),
}
POLICIES = {f"{id} {kwargs}": (id, kwargs) for id in agents.registered() for kwargs in VARIANTS.get(id, [{}])}
# The growth of a bound in the policies that state one without constants, from their papers.
_WITHOUT_CONSTANTS = {"RGP-PE", "BPE-Delay", "GP-UCB-PE", "REDS"}


def stated(agent: Agent, problem: Problem, t: int) -> RegretGuarantee:
    """What is proven at the horizon t, were the gain as large as it may be for this kernel."""
    gamma = np.arange(1.0, t + 1) ** _GROWTH
    inputs = BoundInputs(problem, t, gamma, 2 * float(gamma[-1]), 1.0, _NOISE)
    return stated_regret("it", agent, inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_exponents_are_those_of_bounds_that_apply(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    seen = 0
    for name, (id, kwargs) in POLICIES.items():
        problems = [replace(KINDS[kind], horizon=t) for t in TIMES]
        players = [agent for problem in problems if (agent := make_or_none(id, kwargs, problem)) is not None]
        if len(players) < len(TIMES):
            continue
        found = [stated(*each) for each in zip(players, problems, TIMES)]
        assert len({one.exponent for one in found}) == 1, name
        exponent, bounds = found[0].exponent, [one.bound for one in found if one.bound is not None]
        if exponent is None:
            assert not bounds, name
            continue
        seen += 1
        if found[0].rests_on_band:
            assert guarantee_status(players[0].band_guarantee(), problems[0]) == "", name
        else:
            assert kind == "a draw from the prior", name
        assert exponent in {proven_exponent(problems[0], optimal) for optimal in (False, True)} | {1.0}, name
        if len(bounds) < len(TIMES):  # the theorem has no constants, or the bound is above what holds without one
            assert id in _WITHOUT_CONSTANTS or id == "BKB", name
            continue
        growth = math.log(bounds[1] / bounds[0]) / math.log(TIMES[1] / TIMES[0])
        assert min(growth, 1.0) == pytest.approx(exponent, abs=0.12), name
    assert not caplog.records
    assert (seen == 0) == (kind in ("heavy noise", "a wrong kernel", "a norm that is stated too small", "real data"))


def make_or_none(id: str, kwargs: Mapping[str, Any], problem: Problem) -> Agent | None:
    """The policy in an episode on the problem; None where it cannot play it."""
    try:
        agent = make(id, dict(kwargs))
        agent.reset(problem, np.random.default_rng(0))
    except (ValueError, TypeError, pytest.skip.Exception):
        return None
    return agent
