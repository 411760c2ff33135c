"""The arm of largest score, and of largest mean, among all arms or those offered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from agents import Feedback, Pending
from agents.core.acquisition import LogExpectedImprovement, Predictive, Score, UpperConfidenceBound
from agents.core.finite import Offer
from agents.core.space import ArmSpace, Search, SearchFields
from agents.core.ucb import UCBAgent
from agents.learned.base import Mixture
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem
from tests.agents.play import begun


@dataclass
class Given:
    """A posterior of given mean and variance, as functions of the first coordinate."""

    mean: np.ndarray
    variance: np.ndarray
    bound: np.ndarray | None = None
    asked: list[int] = field(default_factory=list)
    bounded: list[int] = field(default_factory=list)

    def at(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(len(Z))
        i = self._arms(Z)
        return self.mean[i], self.variance[i]

    def mean_and_bound(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self.bound is not None
        self.bounded.append(len(Z))
        i = self._arms(Z)
        return self.mean[i], self.bound[i]

    def at_with_gradient(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        raise AssertionError("arms have no gradient")

    def _arms(self, Z: np.ndarray) -> np.ndarray:
        return np.rint(Z[:, 0] * (len(self.mean) - 1)).astype(int)


def space(n: int) -> ArmSpace:
    return ArmSpace(Problem(name="line", dim=1, arms=np.linspace(-3, 5, n)[:, None], noise_std=0.1))


def every(arms: ArmSpace) -> Offer:
    return Offer.all(arms.problem)


NOTHING = np.zeros((0, 1))


def test_all_arms_are_evaluated_once_for_the_recommendation_and_the_next_arm() -> None:
    rng = np.random.default_rng(0)
    arms = space(1_000)
    given = Given(rng.normal(size=1_000), rng.random(1_000))
    best = arms.best(given, np.zeros(0, np.int64), every(arms))
    chosen = arms.best_score(UpperConfidenceBound(1.5), given, NOTHING, rng, every(arms))
    assert best == given.mean.argmax()
    assert chosen.tolist() == [(given.mean + 1.5 * np.sqrt(given.variance)).argmax()]
    assert given.asked == [1_000]
    other = Given(-given.mean, given.variance)
    assert arms.best(other, np.zeros(0, np.int64), every(arms)) == given.mean.argmin()


@pytest.mark.parametrize("some", [None, np.arange(3, 20_000, 2)], ids=["all", "half"])
def test_of_many_arms_those_that_may_win_are_evaluated(some: np.ndarray | None) -> None:
    rng = np.random.default_rng(0)
    arms, among = space(20_000), np.arange(20_000) if some is None else some
    variance = rng.random(20_000)
    given = Given(rng.normal(size=20_000), variance, variance + 0.3 * rng.random(20_000))
    offered = every(arms) if some is None else Offer.among(some, arms.problem)
    assert arms.best(given, np.zeros(0, np.int64), offered) == among[given.mean[among].argmax()]
    chosen = arms.best_score(UpperConfidenceBound(1.5), given, NOTHING, rng, offered)
    upper = given.mean + 1.5 * np.sqrt(given.variance)
    assert chosen.tolist() == [among[upper[among].argmax()]]
    assert 0 < sum(given.asked) < 1_000
    assert given.bounded == [20_000] if some is None else [len(among)] * 2


def test_of_many_arms_too_ties_go_to_the_lowest_index() -> None:
    arms, rng = space(5_000), np.random.default_rng(0)
    # The larger the index the larger the bound, so that the tie of arm 7 is found in the last of the blocks.
    tied = np.isin(np.arange(5_000), [7, 11, 4_990])
    given = Given(np.zeros(5_000), tied * 1.0, 1.0 + np.arange(5_000.0))
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, every(arms)).tolist() == [7]
    assert sum(given.asked) == 5_000


def test_of_many_arms_a_score_that_is_no_finite_number_is_an_error() -> None:
    arms, rng = space(2_000), np.random.default_rng(0)
    unknown, infinite = np.full(2_000, np.nan), np.full(2_000, np.inf)
    for mean, variance, what in ((np.zeros(2_000), unknown, "nan"), (infinite, np.ones(2_000), "inf")):
        given = Given(mean, variance, np.ones(2_000))
        with pytest.raises(ValueError, match=f"expected finite values, got {what}"):
            arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, every(arms))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("score", [UpperConfidenceBound(0.1), UpperConfidenceBound(5.0), LogExpectedImprovement(0.9)])
def test_the_next_of_many_arms_is_that_of_largest_score(score: Score, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = rng.random((3_001, 3))
    arms = ArmSpace(Problem(name="cube", dim=3, arms=features, noise_std=0.1))
    X = arms.coordinates(rng.integers(3_001, size=60))
    y = np.sin(9 * X[:, 0]) * X[:, 1]
    parts = [GPRegression(SE((length, 0.3, 1.0)), X, y, noise) for length, noise in ((0.1, 1e-2), (0.3, 1e-8))]
    posteriors: list[Predictive] = [*parts, Mixture(parts)]
    for posterior in posteriors:
        mean, variance = posterior.at(arms.coordinates(np.arange(3_001)))
        chosen = int(arms.best_score(score, posterior, X, rng, every(arms))[0])
        values = score(mean, np.sqrt(variance))
        # Equal features give equal scores up to rounding.
        assert values[chosen] >= values.max() - 1e-9 * np.abs(values.max())


@pytest.mark.parametrize(("n_arms", "evaluation"), [(301, "at"), (1_301, "mean_and_bound")])
@pytest.mark.parametrize("id", ["MAP-UCB", "A-GP-UCB", "MCMC-UCB"])
def test_a_recommendation_evaluates_nothing_that_is_not_timed(
    id: str, n_arms: int, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = space(n_arms).problem
    evaluate, asked = getattr(GPRegression, evaluation), [0]

    def counted(self: GPRegression, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked[0] += len(Z) == n_arms
        answer: tuple[np.ndarray, np.ndarray] = evaluate(self, Z)
        return answer

    monkeypatch.setattr(GPRegression, evaluation, counted)
    agent = begun(problem, id, n_initial=3, **({"burn_in": 2, "samples": 1} if id == "MCMC-UCB" else {}))
    for t in range(8):
        chosen = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], chosen, np.sin(chosen)))
        before = asked[0]
        agent.recommend()
        assert asked[0] == before or agent.explores
    assert asked[0] == 8


def test_of_arms_offered_only_these_are_evaluated() -> None:
    arms, rng = space(9), np.random.default_rng(0)
    given = Given(np.arange(9.0), np.zeros(9))
    some = Offer.among(np.array([1, 4, 6]), arms.problem)
    assert arms.best(given, np.zeros(0, np.int64), some) == 6
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, some).tolist() == [6]
    assert arms.best(given, np.zeros(0, np.int64), every(arms)) == 8
    assert given.asked == [3, 3, 9]


def test_ties_go_to_the_lowest_index() -> None:
    arms, rng = space(9), np.random.default_rng(0)
    given = Given(np.array([0.0, 2, 1, 2, 2, 0, 0, 0, 0]), np.ones(9))
    some = Offer.among(np.array([2, 4]), arms.problem)
    assert arms.best(given, np.zeros(0, np.int64), every(arms)) == 1
    assert arms.best_score(UpperConfidenceBound(1.0), given, NOTHING, rng, some).tolist() == [4]


def test_a_posterior_of_no_finite_numbers_is_an_error() -> None:
    given, arms = Given(np.full(9, np.inf), np.ones(9)), space(9)
    with pytest.raises(ValueError, match="expected finite values, got inf"):
        arms.best(given, np.zeros(0, np.int64), every(arms))


def test_fields_of_a_search_that_would_have_no_effect_are_refused() -> None:
    with pytest.raises(TypeError, match="Late: expected SearchFields before GPAgent among its bases"):
        type("Late", (UCBAgent, SearchFields), {})
    class_ = type("Early", (SearchFields, UCBAgent), {})
    own: Any = type("Own", (class_,), {"search": lambda _: Search(7, 7, 7)})
    assert own.search is not SearchFields.search
