"""The arm of largest score, and of largest mean, among all arms or those available."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from agents.core.acquisition import UpperConfidenceBound
from agents.core.space import ArmSpace
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem


@dataclass
class Given:
    """A posterior of given mean and variance, as functions of the first coordinate."""

    mean: np.ndarray
    variance: np.ndarray
    asked: list[int] = field(default_factory=list)

    def at(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(len(Z))
        i = np.rint(Z[:, 0] * (len(self.mean) - 1)).astype(int)
        return self.mean[i], self.variance[i]

    def at_with_gradient(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        raise AssertionError("arms have no gradient")


def space(n: int) -> ArmSpace:
    return ArmSpace(Problem(name="line", dim=1, arms=np.linspace(-3, 5, n)[:, None], noise_std=0.1))


NOTHING = np.zeros((0, 1))


def test_all_arms_are_evaluated_once_for_the_recommendation_and_the_next_arm() -> None:
    rng = np.random.default_rng(0)
    arms = space(20_000)
    given = Given(rng.normal(size=20_000), rng.random(20_000))
    best = arms.best(given, np.zeros(0, np.int64))
    chosen = arms.best_score(UpperConfidenceBound(1.5), given, NOTHING, rng)
    assert best == given.mean.argmax()
    assert chosen.tolist() == [(given.mean + 1.5 * np.sqrt(given.variance)).argmax()]
    assert given.asked == [20_000]
    other = Given(-given.mean, given.variance)
    assert arms.best(other, np.zeros(0, np.int64)) == given.mean.argmin()


@pytest.mark.parametrize("id", ["MAP-UCB", "A-GP-UCB", "MCMC-UCB"])
def test_a_recommendation_evaluates_nothing_that_is_not_timed(id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = space(301).problem
    evaluate, asked = GPRegression.at, [0]

    def counted(self: GPRegression, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked[0] += len(Z) == problem.n_arms
        return evaluate(self, Z)

    monkeypatch.setattr(GPRegression, "at", counted)
    agent: Any = agents.make(id, n_initial=3, **({"burn_in": 2, "samples": 1} if id == "MCMC-UCB" else {}))
    agent.reset(problem, np.random.default_rng(0))
    for t in range(8):
        chosen = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], chosen, np.sin(chosen)))
        before = asked[0]
        agent.recommend()
        assert asked[0] == before or agent.explores
    assert asked[0] == 8


def test_of_arms_available_only_these_are_evaluated() -> None:
    arms, rng = space(9), np.random.default_rng(0)
    given = Given(np.arange(9.0), np.zeros(9))
    some = np.array([1, 4, 6])
    assert arms.best(given, np.zeros(0, np.int64), some) == 6
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, some).tolist() == [6]
    assert arms.best(given, np.zeros(0, np.int64)) == 8
    assert given.asked == [3, 3, 9]


def test_ties_go_to_the_lowest_index() -> None:
    arms, rng = space(9), np.random.default_rng(0)
    given = Given(np.array([0.0, 2, 1, 2, 2, 0, 0, 0, 0]), np.ones(9))
    assert arms.best(given, np.zeros(0, np.int64)) == 1
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, np.array([2, 4])).tolist() == [4]


def test_a_posterior_of_no_finite_numbers_is_an_error() -> None:
    given = Given(np.full(9, np.inf), np.ones(9))
    with pytest.raises(ValueError, match="expected finite values, got inf"):
        space(9).best(given, np.zeros(0, np.int64))


def test_a_posterior_is_what_it_is_at_its_arms() -> None:
    rng = np.random.default_rng(1)
    arms = space(300)
    X = arms.coordinates(rng.integers(300, size=40))
    posterior = GPRegression(SE(0.1), X, np.sin(9 * X[:, 0]), 1e-2)
    mean, variance = posterior.at(arms.coordinates(np.arange(300)))
    chosen = arms.best_score(UpperConfidenceBound(2.0), posterior, X, rng)
    assert chosen.tolist() == [(mean + 2 * np.sqrt(variance)).argmax()]
