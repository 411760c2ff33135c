"""Guess-and-double: the lower bound on the norm, and what policies make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import agents
from agents import Agent, Feedback, Pending
from agents.core.gp_settings import GPSettings
from agents.core.norm_doubling import NormEstimate, norm_lower_bound
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from tests.agents.play import noisy, play

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


@pytest.mark.parametrize(
    ("norm_bound", "words"),
    [
        ("triple", "expected a number, 'double' or None, got 'triple'"),
        ({"first": 1.0}, "expected a mapping such as"),
        ({"double": -1.0}, "expected a finite number > 0 or None, got -1.0"),
    ],
)
def test_bad_settings_are_named(norm_bound: object, words: str) -> None:
    with pytest.raises(ValueError, match=f"norm_bound: {words}"):
        agents.make("BBKB", norm_bound=norm_bound)


def test_policies_that_cannot_double_say_so() -> None:
    for id, settings in (("BPE", {}), ("ASYNC-TS", {"width": "theory"})):
        with pytest.raises(ValueError, match="norm_bound: this policy cannot double a guess"):
            agents.make(id, norm_bound="double", **settings).reset(PROBLEM, np.random.default_rng(0))
    box = Problem(name="box", dim=1, kernel=KERNEL, noise_std=0.1, horizon=9)
    with pytest.raises(ValueError, match="norm_bound: this policy cannot double a guess"):
        agents.make("GP-UCB", norm_bound="double").reset(box, np.random.default_rng(0))
