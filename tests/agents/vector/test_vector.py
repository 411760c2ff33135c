"""Vectorised policies play as single ones do, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents.vector.lockstep import Lockstep
from agents.vector.make import make_vec
from agents.vector.protocol import VectorAgent, VectorFeedback
from agents.vector.ucb import VectorUCB
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.kernels import Kernel
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


FORMS: list[tuple[str, dict[str, Any]]] = [
    ("Uniform", {}),
    ("EpsGreedy", {}),
    ("EpsGreedy", {"epsilon": 0.3}),
    ("GP-UCB", {}),
    ("GP-UCB", {"width": "practical", "lam": 0.5}),
    ("GP-UCB", {"width": 0.5}),
    ("GP-UCB", {"width": "amm"}),
    ("GP-UCB", {"width": "dmm"}),
    ("GP-UCB", {"width": {"name": "dmm", "grid": [0.5, 20]}, "norm_bound": 0.1}),
    ("GP-AUCB", {}),
    ("GP-AUCB", {"rule": "sum", "c": 4.0, "width": "practical"}),
    ("GP-AUCB", {"width": 0.3, "c": 50.0, "lam": 1.0}),
    ("GP-BUCB", {"batch_size": 7}),
    ("EC-GP-UCB", {"misspecification": 0.05}),
    ("EC-GP-UCB", {"misspecification": 0.05, "width": 0.5}),
    ("RGP-UCB", {"corruption": 2.0, "width": "practical"}),
    ("IRGP-UCB", {}),
]


class TestSameAsAlone:
    @pytest.mark.parametrize(("id", "kwargs"), FORMS)
    def test_policies_with_a_form_of_their_own(self, id: str, kwargs: dict[str, Any]) -> None:
        agent = make_vec(id, **kwargs)
        assert not isinstance(agent, Lockstep)
        assert play_all(agent, PROBLEM) == play_alone(id, PROBLEM, **kwargs)

    @pytest.mark.parametrize(
        ("id", "kwargs"),
        [
            ("Uniform", {}),
            ("EpsGreedy", {}),
            ("GP-UCB", {}),
            ("GP-UCB", {"width": "dmm"}),
            ("GP-AUCB", {}),
            ("EC-GP-UCB", {"misspecification": 0.05}),
            ("IRGP-UCB", {}),
            ("BBKB", {}),
        ],
    )
    def test_with_data_from_before_the_first_step(self, id: str, kwargs: dict[str, Any]) -> None:
        arms = np.random.default_rng(2).integers(120, size=40)
        problem = replace(PROBLEM, initial=InitialData(arms=arms, rewards=MEANS[0, arms]), horizon=30)
        agent = make_vec(id, **kwargs)
        assert play_all(agent, problem) == play_alone(id, problem, **kwargs)
        without = replace(problem, initial=None)
        assert play_all(agent, without) == play_alone(id, without, **kwargs)

    @pytest.mark.parametrize("id", [id for id in agents.registered() if id in ("BBKB", "BKB", "ASYNC-TS")])
    def test_others_in_lockstep(self, id: str) -> None:
        short = replace(PROBLEM, horizon=30)
        agent = make_vec(id)
        assert isinstance(agent, Lockstep)
        assert play_all(agent, short) == play_alone(id, short)

    def test_a_start_goes_to_single_policies(self) -> None:
        agent = make_vec("GP-AUCB", n_start=3)
        assert isinstance(agent, Lockstep)
        assert play_all(agent, PROBLEM) == play_alone("GP-AUCB", PROBLEM, n_start=3)

    def test_again_on_the_same_and_on_other_arms(self) -> None:
        agent = make_vec("GP-UCB")
        first = play_all(agent, PROBLEM)
        other = replace(PROBLEM, arms=X[::-1].copy(), kernel=Matern(0.2))
        assert play_all(agent, other) == play_alone("GP-UCB", other)
        assert play_all(agent, PROBLEM, MEANS[:2]) == first[:2]

    @pytest.mark.parametrize("id", ["GP-UCB", "GP-AUCB"])
    @pytest.mark.parametrize("n", [R, 2])
    def test_again_with_other_noise(self, id: str, n: int) -> None:
        agent = make_vec(id)
        play_all(agent, replace(PROBLEM, horizon=20))
        louder = replace(PROBLEM, noise_std=0.5)
        assert play_all(agent, louder, MEANS[:n]) == play_alone(id, louder, MEANS[:n])
        assert isinstance(agent, VectorUCB)
        assert agent.posterior.lam == 0.25
        assert play_all(agent, PROBLEM) == play_alone(id, PROBLEM)

    @pytest.mark.parametrize("id", ["Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB", "IRGP-UCB", "BBKB", "MAP-UCB"])
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

    def test_one_arm(self) -> None:
        one = replace(PROBLEM, arms=X[:1], horizon=5)
        for id in ("Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB"):
            assert play_all(make_vec(id), one, MEANS[:, :1]) == play_alone(id, one, MEANS[:, :1])

    @pytest.mark.parametrize("id", ["GP-UCB", "GP-AUCB", "GP-BUCB"])
    def test_where_every_score_is_a_tie(self, id: str) -> None:
        twins = replace(PROBLEM, arms=X[np.arange(60) // 2], horizon=40)
        means = np.repeat(MEANS[:, :30], 2, axis=1)
        assert play_all(make_vec(id), twins, means) == play_alone(id, twins, means)

    @pytest.mark.parametrize("kernel", [SE(0.05), SE(0.5), Matern(0.2)], ids=repr)
    @pytest.mark.parametrize("noise_std", [1e-3, 1e-2, 1.0])
    @pytest.mark.parametrize("width", ["theory", "dmm"])
    def test_all_diagnostics_bit_for_bit(self, kernel: Kernel, noise_std: float, width: str) -> None:
        problem = replace(PROBLEM, kernel=kernel, noise_std=noise_std)
        many = make_vec("GP-UCB", width=width)
        play_all(many, problem)
        facts = many.diagnostics()
        for i, rng in enumerate(rngs()):
            alone = agents.make("GP-UCB", width=width)
            play(alone, problem, feedback_of(i), rng)
            assert {name: values[i] for name, values in facts.items()} == dict(alone.diagnostics())
