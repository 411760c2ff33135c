"""Policies side by side play as they do alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents.many import VectorAgent, VectorFeedback, make_vec
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.problem import InitialData, Problem
from tests.agents.play import play

R, T, XI = 5, 90, 0.1
X = np.random.default_rng(0).random((120, 2))
MEANS = np.sin(5 * X[:, 0] + np.arange(R)[:, None]) * np.cos(3 * X[:, 1])
PROBLEM = Problem(name="test", dim=2, arms=X, kernel=SE(0.3), noise_std=XI, norm_bound=1.5, horizon=T)
NOISE = XI * np.random.default_rng(1).standard_normal((T, R))


def rngs(n: int = R) -> list[np.random.Generator]:
    return [np.random.default_rng((7, i)) for i in range(n)]


def play_all(agent: VectorAgent, problem: Problem, means: np.ndarray = MEANS) -> list[list[list[int]]]:
    """The arms of each batch of each repetition."""
    n, horizon = len(means), problem.horizon or 0
    agent.reset(problem, rngs(n))
    batches: list[list[list[int]]] = [[[]] for _ in range(n)]
    open_: list[list[tuple[int, int, float]]] = [[] for _ in range(n)]
    for t in range(horizon):
        choice = agent.select(horizon - t)
        told = choice.closes | (t + 1 == horizon)
        rows = []
        for i, arm in enumerate(choice.arms.tolist()):
            batches[i][-1].append(arm)
            open_[i].append((t, arm, means[i, arm] + NOISE[t, i]))
            if told[i]:
                rows += [(i, *row) for row in open_[i]]
                open_[i] = []
                batches[i].append([])
        none = np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), np.zeros(0)
        who, tickets, arms, rewards = (np.array(column) for column in zip(*rows)) if rows else none
        agent.observe(VectorFeedback(who, tickets, arms, rewards, np.ones(len(who))))
    return [b[:-1] for b in batches]


def feedback_of(i: int, means: np.ndarray = MEANS) -> Callable[[np.ndarray], np.ndarray]:
    """The feedback that repetition `i` gets, evaluation by evaluation."""
    noise = iter(NOISE[:, i].tolist())
    return lambda arms: means[i, arms] + np.array([next(noise) for _ in arms])


def play_alone(id: str, problem: Problem, means: np.ndarray = MEANS, **kwargs: Any) -> list[list[list[int]]]:
    found = []
    for i, rng in enumerate(rngs(len(means))):
        found.append(play(agents.make(id, **kwargs), problem, feedback_of(i, means), rng))
    return found


class TestSameAsAlone:
    @pytest.mark.parametrize(
        ("id", "kwargs"),
        [
            ("Uniform", {}),
            ("EpsGreedy", {"epsilon": 0.3}),
            ("GP-UCB", {}),
            ("GP-UCB", {"width": "dmm"}),
            ("GP-AUCB", {"n_start": 3}),
            ("GP-BUCB", {"batch_size": 7}),
            ("IRGP-UCB", {}),
            ("BBKB", {}),
            ("ASYNC-TS", {}),
            ("SM-UCB", {"batch_size": 5, "n_simulations": 4}),
        ],
    )
    @pytest.mark.parametrize("n_before", [0, 40])
    def test_batch_by_batch(self, id: str, kwargs: dict[str, Any], n_before: int) -> None:
        arms = np.random.default_rng(2).integers(120, size=n_before)
        initial = InitialData(arms=arms, rewards=MEANS[0, arms]) if n_before else None
        problem = replace(PROBLEM, initial=initial, horizon=40)
        assert play_all(make_vec(id, **kwargs), problem) == play_alone(id, problem, **kwargs)

    def test_again_on_the_same_and_on_other_arms(self) -> None:
        agent = make_vec("GP-UCB")
        first = play_all(agent, PROBLEM)
        other = replace(PROBLEM, arms=X[::-1].copy(), kernel=Matern(0.2))
        assert play_all(agent, other) == play_alone("GP-UCB", other)
        assert play_all(agent, PROBLEM, MEANS[:2]) == first[:2]

    def test_all_diagnostics(self) -> None:
        many = make_vec("GP-AUCB")
        play_all(many, PROBLEM)
        facts = many.diagnostics()
        for i, rng in enumerate(rngs()):
            alone = agents.make("GP-AUCB")
            play(alone, PROBLEM, feedback_of(i), rng)
            assert many.recommend()[i] == alone.recommend()
            assert {name: values[i] for name, values in facts.items()} == dict(alone.diagnostics())

    @pytest.mark.parametrize("id", ["EpsGreedy", "GP-AUCB", "BBKB", "MAP-UCB"])
    def test_before_the_first_feedback_they_believe_the_data_of_the_card(self, id: str) -> None:
        arms = np.random.default_rng(2).integers(120, size=40)
        problem = replace(PROBLEM, initial=InitialData(arms=arms, rewards=MEANS[0, arms]), horizon=30)
        many = make_vec(id)
        many.reset(problem, rngs(2))
        facts = many.diagnostics()
        for i, rng in enumerate(rngs(2)):
            alone = agents.make(id)
            alone.reset(problem, rng)
            assert many.recommend()[i] == alone.recommend()
            assert {name: values[i] for name, values in facts.items()} == dict(alone.diagnostics())


@pytest.mark.parametrize(("other", "what"), [({"arms": None}, "a box"), ({"contexts": True}, "one that offers some")])
def test_it_is_for_arms_that_are_all_offered(other: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=f"expected one with finite arms, all of them offered, got test, {what}"):
        make_vec("GP-UCB").reset(replace(PROBLEM, **other), rngs(1))


def test_bad_arguments_are_refused_before_the_first_episode() -> None:
    with pytest.raises(ValueError, match="batch_size"):
        make_vec("GP-BUCB", batch_size=0)
    with pytest.raises(TypeError, match="wdith"):
        make_vec("GP-UCB", wdith=2.0)
