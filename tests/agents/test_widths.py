"""Each schedule against its formula, worked out by hand for one context."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import exp, log, pi, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import agents
from agents import Agent, Feedback, Pending
from agents.core import widths
from agents.core.gp_settings import GPSettings
from agents.core.norm_doubling import NormEstimate, norm_lower_bound
from agents.core.widths import WidthContext
from agents.exact.dual_mixture import DualMixture
from agents.sketched.theory import BBKBTheorem2, BKBTheorem2
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import begun, noisy, play

CONTEXT = WidthContext(
    t=7,
    n_arms=20,
    lam=0.04,
    noise_std=0.1,
    norm_bound=3.0,
    delta=0.05,
    prior_variance=1.5,
    information_gain=2.5,
    effective_dimension=4.0,
    sum_log_leverage=1.7,
    sum_log_3_leverage=2.9,
    batch_ratio=2.0,
    dim=3,
)

FORMULAS = [
    (widths.Constant(1.96), 1.96),
    (widths.FiniteBayes(), 2 * sqrt(2 * log(20 * 49 * pi**2 / 0.3))),
    (widths.Logarithmic(), 2 * sqrt(3 * log(14))),
    (
        widths.CompactBayes(a=1.5, b=2.0, side=4.0),
        2 * sqrt(2 * log(2 * 49 * pi**2 / 0.15) + 6 * log(49 * 3 * 2 * 4 * sqrt(log(4 * 3 * 1.5 / 0.05)))),
    ),
    (widths.AnalyticMixture(), 2 * sqrt(9 + 0.25 * 2 * (2.5 + log(20)))),
    (DualMixture(), 2 * sqrt(9 + 0.25 * 2 * (2.5 + log(20)))),
    (widths.InformationGain(), 2 * (3 + 0.5 * sqrt(2 * (2.5 + 1 + log(20))))),
    (BKBTheorem2(), (0.2 * sqrt(3 * log(10.5) * 4 + log(20)) + (1 + sqrt(2)) * 0.2 * 3) / 0.2),
    (BKBTheorem2(eps=0.75), (0.2 * sqrt(7 * log(10.5) * 4 + log(20)) + 3 * 0.2 * 3) / 0.2),
    (BBKBTheorem2(), 2 * (0.2 * sqrt(2.9 + log(20)) + (1 + sqrt(2)) * 0.2 * 3) / 0.2),
    (widths.EffectiveDimension(), 2 * (3 + 0.5 * sqrt(log(7) * 4 + log(20)))),
    (widths.LogDeterminant(), 3 + 0.5 * sqrt(2 * 1.7 + log(20))),
    (widths.Scaled(widths.FiniteBayes(), 0.2), 0.4 * sqrt(2 * log(20 * 49 * pi**2 / 0.3))),
]


@pytest.mark.parametrize(("schedule", "value"), FORMULAS, ids=lambda x: str(x)[:24])
def test_formula(schedule: widths.WidthSchedule, value: float) -> None:
    assert schedule(CONTEXT) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("schedule", [schedule for schedule, _ in FORMULAS], ids=lambda x: str(x)[:24])
def test_the_first_step_is_defined(schedule: widths.WidthSchedule) -> None:
    first = replace(CONTEXT, t=1, information_gain=0.0, effective_dimension=0.0, prior_variance=1e-3)
    assert 0 <= schedule(first) < float("inf")


@pytest.mark.parametrize("width", ["theory", "amm", "practical", "bayes", "growing"])
def test_every_named_width_of_gp_bucb_is_that_of_gp_ucb_times_exp_c(width: str) -> None:
    X = np.random.default_rng(0).random((30, 2))
    problem = Problem(name="p", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=2.0, horizon=50)
    found = {}
    pairs: Any = (("GP-UCB", {}), ("GP-BUCB", {"c": 0.0}), ("GP-BUCB", {"c": 0.7}))
    for id, kwargs in pairs:
        agent = begun(problem, id, width=width, **kwargs)
        agent.observe(Feedback.of(range(4), np.array([3, 9, 9, 20]), [0.1, 0.2, 0.3, 0.4]))
        found[id, kwargs.get("c", 0.0)] = agent.diagnostics()["width"]
    assert found["GP-BUCB", 0.0] == pytest.approx(found["GP-UCB", 0.0])
    assert found["GP-BUCB", 0.7] == pytest.approx(exp(0.7) * found["GP-UCB", 0.0])


class TestGainOfABatch:
    """`c=None` of GP-BUCB: `exp(C)` with the gain that theorems need, for widths of theorems alone."""

    X = np.random.default_rng(1).random((7, 2))
    problem = Problem(name="p", dim=2, arms=X, kernel=SE(0.6), noise_std=1.0, norm_bound=2.0, horizon=50)

    def ratio(self, problem: Problem, **kwargs: Any) -> float:
        """The width over that of GP-UCB."""
        plain = begun(problem, "GP-UCB", width=kwargs["width"])
        return float(begun(problem, "GP-BUCB", **kwargs).current_width / plain.current_width)

    @pytest.mark.parametrize("width", ["theory", "amm", "bayes"])
    def test_no_batch_tells_more_than_a_proven_width_allows_for(self, width: str) -> None:
        C = np.log(self.ratio(self.problem, width=width, batch_size=4))
        K = SE(0.6)(self.X, self.X)
        sets = [list(s) for s in np.ndindex(7, 7, 7)]
        largest = max(0.5 * np.linalg.slogdet(np.eye(3) + K[np.ix_(s, s)])[1] for s in sets)
        assert largest <= C <= largest / (1 - 1 / exp(1))

    @pytest.mark.parametrize("width", ["practical", "growing", 2.0, {"name": "bayes", "scale": 0.5}])
    def test_a_tuned_width_stands_as_it_is(self, width: object) -> None:
        assert self.ratio(self.problem, width=width, batch_size=4) == pytest.approx(1.0)

    def test_a_batch_of_one_is_gp_ucb(self) -> None:
        assert self.ratio(self.problem, width="theory", batch_size=1) == pytest.approx(1.0)

    def test_an_initial_design_lowers_it(self) -> None:
        plain = self.ratio(self.problem, width="theory", batch_size=4)
        assert 1 < self.ratio(self.problem, width="theory", batch_size=4, t_init=30) < 0.8 * plain

    def test_a_gain_that_no_width_can_carry_is_named(self) -> None:
        arms = np.arange(200.0)[:, None]
        problem = Problem(name="wide", dim=1, arms=arms, kernel=SE(0.1), noise_std=0.01, horizon=50)
        with pytest.raises(ValueError, match=r"c: expected a number, since 30 open evaluations may tell 138 nats on"):
            agents.make("GP-BUCB", batch_size=31).reset(problem, np.random.default_rng(0))
        agents.make("GP-BUCB", batch_size=31, c=1.0).reset(problem, np.random.default_rng(0))


@pytest.mark.parametrize("id", ["BKB", "BBKB"])
def test_a_sketched_policy_knows_the_information_gain_that_it_states(id: str) -> None:
    X = np.random.default_rng(0).random((30, 2))
    problem = Problem(name="p", dim=2, arms=X, kernel=SE(0.3), noise_std=0.1, norm_bound=2.0, horizon=50)
    agent, exact = begun(problem, id, width=widths.InformationGain(), qbar=1e6), begun(problem, "GP-UCB")
    for policy in (agent, exact):
        for t, arm in enumerate((3, 9, 9, 20)):
            policy.observe(Feedback.of([t], np.array([arm]), [0.1]))
    assert agent.diagnostics()["information_gain"] == pytest.approx(exact.diagnostics()["information_gain"])
    factor = agent.batch_ratio
    assert agent.diagnostics()["width"] == pytest.approx(factor * exact.diagnostics()["width"])


@pytest.mark.parametrize("id", ["BPE", "RGP-PE", "TV-GP-UCB"])
def test_a_scaled_width_depends_on_the_pulls_if_what_it_scales_does(id: str) -> None:
    X = np.linspace(0, 1, 9)[:, None]
    arms = Problem(name="arms", dim=1, arms=X, kernel=SE(0.2), noise_std=0.1, norm_bound=1.0, horizon=20)
    settings: dict[str, Any] = {"TV-GP-UCB": {"eps": 0.01}, "RGP-PE": {"corruption": 0.0}}.get(id, {})
    found = []
    for scale in (1.0, 0.5):
        width = {"name": "bayes" if id == "TV-GP-UCB" else "theory", "scale": scale}
        agent = begun(arms, id, width=width, **settings)
        found.append(agent.diagnostics()["width"])
    assert found[1] == pytest.approx(found[0] / 2)
    with pytest.raises(ValueError, match="depend"):
        agents.make(id, width=widths.Scaled(widths.InformationGain(), 0.5), **settings)


@pytest.mark.parametrize("number", [2, 2.0, np.int64(2), np.float32(2), Fraction(2)], ids=repr)
def test_any_real_number_is_a_width(number: object) -> None:
    assert widths.as_width(number, {}) == widths.Constant(2.0)


@pytest.mark.parametrize("word", [True, np.bool_(True), 2j, None], ids=repr)
def test_what_is_no_real_number_is_no_width(word: object) -> None:
    with pytest.raises(TypeError, match="width: expected one of"):
        widths.as_width(word, {})


@pytest.mark.parametrize("bad", [{"a": 0.0}, {"b": -1.0}, {"side": float("inf")}])
def test_bad_constants_are_named(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(bad))}: expected a finite number > 0"):
        widths.CompactBayes(**bad)


# ---- guess-and-double: the lower bound on the norm, and what policies make of it ----


X = np.linspace(0, 1, 120)[:, None]
KERNEL = SE(0.1)
K = KERNEL(X, X)
PROBLEM = Problem(name="rkhs", dim=1, arms=X, kernel=KERNEL, noise_std=0.1, horizon=200)


def mean_of_norm(norm: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.choice(len(X), 8, replace=False)
    weights = rng.standard_normal(8)
    weights *= norm / np.sqrt(weights @ K[np.ix_(centres, centres)] @ weights)
    values: np.ndarray = K[:, centres] @ weights
    return values


class TestLowerBound:
    def test_it_is_the_smallest_norm_in_the_confidence_set(self) -> None:
        """Against a general solver on the dense formula, with one row for each of 9 pulls of 4 arms."""
        arms = np.array([0, 3, 3, 3, 7, 7, 11, 11, 11])
        points = np.linspace(0, 1, 12)[:, None]
        gram = SE(0.3)(points, points)
        y = np.array([2.0, -1.0, -1.2, -0.9, 0.4, 0.5, 1.4, 1.7, 1.5])
        lam, noise_std, delta = 0.05, 0.1, 0.1
        G = gram[np.ix_(arms, arms)]
        radius = 2 * noise_std**2 * (0.5 * np.linalg.slogdet(np.eye(9) + G / lam)[1] + np.log(1 / delta))
        distinct, inverse, pulls = np.unique(arms, return_inverse=True, return_counts=True)
        small = gram[np.ix_(distinct, distinct)]
        M = G @ np.linalg.inv(G + lam * np.eye(9))

        def misfit(a: np.ndarray) -> float:
            r = y - (small @ a)[inverse]
            return float(r @ M @ r)

        found = minimize(
            lambda a: a @ small @ a,
            np.linalg.solve(small, np.bincount(inverse, y) / pulls),
            jac=lambda a: 2 * small @ a,
            constraints={"type": "ineq", "fun": lambda a: radius - misfit(a)},
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        assert found.success
        bound = norm_lower_bound(small, pulls.astype(float), np.bincount(inverse, y), lam, noise_std, delta)
        assert bound > 1
        assert bound == pytest.approx(np.sqrt(found.fun), rel=1e-4)

    def test_it_never_exceeds_the_norm_but_for_delta(self) -> None:
        rng = np.random.default_rng(0)
        failures = 0
        for repetition in range(100):
            mean = mean_of_norm(3.0, repetition)
            pulls, sums, exceeded = np.zeros(120), np.zeros(120), False
            for _ in range(6):
                arms = rng.integers(120, size=10)
                np.add.at(pulls, arms, 1.0)
                np.add.at(sums, arms, mean[arms] + 0.1 * rng.standard_normal(10))
                u = np.flatnonzero(pulls)
                exceeded |= norm_lower_bound(K[np.ix_(u, u)], pulls[u], sums[u], 0.01, 0.1, 0.1) > 3.0
            failures += exceeded
        assert failures <= 10

    def test_without_noise_it_is_the_norm_of_the_interpolant(self) -> None:
        mean, arms = mean_of_norm(3.0, 0), np.arange(0, 120, 12)
        gram = K[np.ix_(arms, arms)]
        interpolant = np.sqrt(mean[arms] @ np.linalg.solve(gram, mean[arms]))
        bound = norm_lower_bound(gram, np.ones(10), mean[arms], 1e-8, 1e-6, 0.1)
        assert bound <= interpolant
        assert bound == pytest.approx(interpolant, rel=1e-3)

    def test_noise_shows_nothing(self) -> None:
        rewards = 0.1 * np.random.default_rng(0).standard_normal(120)
        assert norm_lower_bound(K, np.ones(120), rewards, 0.01, 0.1, 0.05) == 0.0


def bands(agent: Agent, mean: np.ndarray, horizon: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """After each feedback: the norm bound in use, and whether the band holds the mean everywhere."""
    agent.reset(PROBLEM, np.random.default_rng(0))
    feedback, t = noisy(mean, 0.1, 1), 0
    guesses, held = [], []
    while t < horizon:
        arms = agent.select(1 if agent.capabilities.batch != "adaptive" else horizon - t, Pending.empty(PROBLEM))
        agent.observe(Feedback.of(np.arange(t, t + len(arms)), arms, feedback(arms)))
        t += len(arms)
        band: Any = agent.predict(X)
        guesses.append(agent.diagnostics().get("norm_bound", 1.0))
        held.append(bool((np.abs(band[0] - mean) <= band[1]).all()))
    return np.array(guesses), np.array(held)


@pytest.mark.parametrize("id", ["GP-UCB", "GP-AUCB", "BKB", "BBKB"])
class TestPolicies:
    def test_a_guess_below_the_norm_grows_past_it_and_the_band_holds_from_then_on(self, id: str) -> None:
        mean = mean_of_norm(20.0, 3)
        guesses, held = bands(agents.make(id, norm_bound="double"), mean)
        assert guesses[-1] == 32.0  # 1 doubled five times: never beyond twice the norm
        assert (np.diff(guesses) >= 0).all()
        assert held[guesses >= 20.0].all()
        if id.startswith(
            "GP"
        ):  # Without doubling the guess is wrong; the sketched widths forgive it by their constants.
            assert not bands(agents.make(id, norm_bound=1.0), mean)[1].all()

    def test_a_guess_above_the_norm_stays(self, id: str) -> None:
        guesses, held = bands(agents.make(id, norm_bound={"double": 4.0}), mean_of_norm(3.0, 3))
        assert (guesses == 4.0).all()
        assert held.all()

    def test_it_plays_like_the_given_bound_until_the_data_refute_the_guess(self, id: str) -> None:
        mean = mean_of_norm(0.8, 4)
        plays = [play(agents.make(id, norm_bound=F), PROBLEM, noisy(mean, 0.1, 0), 0) for F in (1.0, "double")]
        assert plays[0] == plays[1]


@pytest.mark.parametrize(
    ("id", "kwargs"), [("BBKB", {"norm_bound": {"double": 0.01}}), ("GP-AUCB", {"norm_bound": "double"})]
)
def test_protocol(id: str, kwargs: dict[str, Any]) -> None:
    agents.check_agent(lambda: agents.make(id, **kwargs))


def test_the_data_are_tested_ever_more_rarely() -> None:
    guess = NormEstimate(GPSettings(norm_bound="double").resolve(PROBLEM, allow_doubling=True))
    asked = 0
    for t in range(1, 2001):
        before = guess._next
        guess.revise(X[:1], np.array([float(t)]), np.zeros(1))
        asked += guess._next != before
    assert asked <= 40


def test_noise_free_feedback_is_no_obstacle() -> None:
    problem = Problem(name="exact", dim=1, arms=X, kernel=KERNEL, noise_std=0.0, horizon=30)
    agent = agents.make("GP-UCB", norm_bound="double")
    play(agent, problem, noisy(mean_of_norm(20.0, 3), 0.0, 0), 0)
    assert 16.0 <= agent.diagnostics()["norm_bound"] <= 32.0


def test_policies_that_cannot_double_say_so() -> None:
    for id, settings in (("BPE", {}), ("ASYNC-TS", {"width": "theory"})):
        with pytest.raises(ValueError, match="norm_bound: this policy cannot double a guess"):
            agents.make(id, norm_bound="double", **settings).reset(PROBLEM, np.random.default_rng(0))
    box = Problem(name="box", dim=1, kernel=KERNEL, noise_std=0.1, horizon=9)
    with pytest.raises(ValueError, match="norm_bound: this policy cannot double a guess"):
        agents.make("GP-UCB", norm_bound="double").reset(box, np.random.default_rng(0))
