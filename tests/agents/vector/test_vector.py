"""Vectorised policies play as single ones do, and know when they might not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents.vector.doubt import DoubtfulAgent, Faithful
from agents.vector.lockstep import Lockstep
from agents.vector.make import make_vec
from agents.vector.posterior import VectorPosterior
from agents.vector.protocol import VectorAgent, VectorChoice, VectorFeedback
from agents.vector.rows import SharedRows
from gpbandit_envs.gp import SE, Matern
from gpbandit_envs.gp.exact_arms import ExactArmPosterior
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import InitialData, Problem
from tests.agents.play import play
from tests.reference.posterior import dense

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


def play_alone(id: str, problem: Problem, means: np.ndarray = MEANS, **kwargs: Any) -> list[list[list[int]]]:
    found = []
    for i, rng in enumerate(rngs(len(means))):
        noise = iter(NOISE[:, i].tolist())
        feedback = lambda arms, i=i, noise=noise: means[i, arms] + np.array([next(noise) for _ in arms])  # noqa: E731
        found.append(play(agents.make(id, **kwargs), problem, feedback, rng))
    return found


FORMS: list[tuple[str, dict[str, Any]]] = [
    ("Uniform", {}),
    ("EpsGreedy", {}),
    ("EpsGreedy", {"epsilon": 0.3}),
    ("GP-UCB", {}),
    ("GP-UCB", {"width": "practical", "lam": 0.5}),
    ("GP-UCB", {"width": 0.5}),
    ("GP-AUCB", {}),
    ("GP-AUCB", {"rule": "sum", "c": 4.0, "width": "practical"}),
    ("GP-AUCB", {"width": 0.3, "c": 50.0, "lam": 1.0}),
]


class TestSameAsAlone:
    @pytest.mark.parametrize(("id", "kwargs"), FORMS)
    def test_policies_with_a_form_of_their_own(self, id: str, kwargs: dict[str, Any]) -> None:
        agent = make_vec(id, **kwargs)
        assert not isinstance(agent, Lockstep)
        assert play_all(agent, PROBLEM) == play_alone(id, PROBLEM, **kwargs)
        if isinstance(agent, Faithful):
            assert not agent.handed.any()

    @pytest.mark.parametrize("id", ["Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB", "BBKB"])
    def test_with_data_from_before_the_first_step(self, id: str) -> None:
        arms = np.random.default_rng(2).integers(120, size=40)
        card = replace(PROBLEM, initial=InitialData(arms=arms, rewards=MEANS[0, arms]), horizon=30)
        agent = make_vec(id)
        assert play_all(agent, card) == play_alone(id, card)
        if isinstance(agent, Faithful):
            assert agent.handed.all()
        assert play_all(agent, replace(card, initial=None)) == play_alone(id, replace(card, initial=None))

    @pytest.mark.parametrize("id", [id for id in agents.registered() if id in ("BBKB", "BKB", "GP-BUCB", "ASYNC-TS")])
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
        assert isinstance(agent, Faithful)
        assert agent._fast.posterior.lam == 0.25  # type: ignore[attr-defined]
        assert play_all(agent, PROBLEM) == play_alone(id, PROBLEM)

    @pytest.mark.parametrize("id", ["Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB", "BBKB", "MAP-UCB"])
    def test_before_the_first_feedback_they_believe_the_data_of_the_card(self, id: str) -> None:
        arms = np.random.default_rng(2).integers(120, size=40)
        card = replace(PROBLEM, initial=InitialData(arms=arms, rewards=MEANS[0, arms]), horizon=30)
        many = make_vec(id)
        many.reset(card, rngs(2))
        facts = many.diagnostics()
        for i, rng in enumerate(rngs(2)):
            alone = agents.make(id)
            alone.reset(card, rng)
            assert many.recommend()[i] == alone.recommend()
            assert {name: values[i] for name, values in facts.items()} == dict(alone.diagnostics())

    def test_one_arm(self) -> None:
        one = replace(PROBLEM, arms=X[:1], horizon=5)
        for id in ("Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB"):
            assert play_all(make_vec(id), one, MEANS[:, :1]) == play_alone(id, one, MEANS[:, :1])


class TestDoubt:
    @pytest.mark.parametrize("id", ["GP-UCB", "GP-AUCB"])
    def test_duplicated_arms_are_left_to_single_policies(self, id: str) -> None:
        twins = replace(PROBLEM, arms=X[np.arange(60) // 2], horizon=40)
        means = np.repeat(MEANS[:, :30], 2, axis=1)
        agent = make_vec(id)
        assert play_all(agent, twins, means) == play_alone(id, twins, means)
        assert isinstance(agent, Faithful)
        assert agent.handed.all()

    def test_only_some_repetitions_are_handed_over(self) -> None:
        agent = make_vec("GP-AUCB", width="practical")
        assert isinstance(agent, Faithful)
        doubted = _DoubtsAt(agent._fast, {1: 20, 3: 55})
        faithful = Faithful(doubted, agent._make)
        assert play_all(faithful, PROBLEM) == play_alone("GP-AUCB", PROBLEM, width="practical")
        assert np.flatnonzero(faithful.handed).tolist() == [1, 3]

    def test_a_departure_is_no_secret(self) -> None:
        agent = make_vec("GP-UCB", width=1.0)
        assert isinstance(agent, Faithful)
        faithful = Faithful(_DoubtsAt(agent._fast, {2: 10}), lambda: agents.make("GP-UCB", width=3.0))
        with pytest.raises(RuntimeError, match="repetition 2: evaluation"):
            play_all(faithful, PROBLEM)

    @pytest.mark.parametrize("kernel", [SE(0.05), SE(0.5), Matern(0.2)], ids=repr)
    @pytest.mark.parametrize("lam", [1e-6, 1e-4, 1e-2, 1.0])
    def test_posteriors_differ_by_less_than_is_allowed_for(self, kernel: Kernel, lam: float) -> None:
        rng = np.random.default_rng(0)
        arms = np.linspace(0, 1, 300)[:, None]
        f = np.linalg.cholesky(kernel(arms, arms) + 1e-9 * np.eye(300)) @ rng.standard_normal(300)
        many, one = VectorPosterior(SharedRows(kernel, arms), lam, 1, 150), ExactArmPosterior(kernel, arms, lam)
        for t in range(150):
            arm = np.array([np.argmax(one.mean + 2 * np.sqrt(one.variance))])
            reward = f[arm] + np.sqrt(lam) * rng.standard_normal(1)
            many.pull(arm)
            many.tell(VectorFeedback(np.zeros(1, int), np.array([t]), arm, reward, np.ones(1)))
            one.update(arm, np.ones(1), reward)
            assert np.abs(np.maximum(many.v[0], 0) - one.variance).max() < 0.5 * many.variance_error()[0]
            assert np.abs(many.mean[0] - one.mean).max() < 0.5 * many.mean_error()[0]
            assert abs(many.information_gain[0] - one.information_gain) < 0.5 * many.sum_error()[0]
            assert abs(many.effective_dimension()[0] - one.effective_dimension()) < 0.5 * many.sum_error()[0]


class _DoubtsAt(DoubtfulAgent):
    """Another policy that doubts a repetition after so many evaluations."""

    def __init__(self, fast: DoubtfulAgent, when: dict[int, int]) -> None:
        self.fast, self.when = fast, when

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        self.fast.reset(problem, rngs)
        self.t, self.doubtful = 0, np.zeros(len(rngs), bool)

    def release(self, repetition: int) -> None:
        self.fast.release(repetition)

    def select(self, left: int) -> VectorChoice:
        choice = self.fast.select(left)
        self.t += 1
        self.doubtful = np.array([self.when.get(i, -1) == self.t for i in range(len(choice.arms))])
        return choice

    def observe(self, feedback: VectorFeedback) -> None:
        self.fast.observe(feedback)
        self.doubtful = np.zeros(len(self.doubtful), bool)

    def recommend(self) -> np.ndarray:
        return self.fast.recommend()


class TestPosterior:
    def test_against_the_textbook_with_open_pulls_and_few_arms(self) -> None:
        """30 arms and 200 pulls: rows are computed anew, in the middle of batches too."""
        arms, lam, rng = X[:30], 0.04, np.random.default_rng(3)
        K = SE(0.3)(arms, arms)
        posterior = VectorPosterior(SharedRows(SE(0.3), arms), lam, 2, 20)
        pulled: list[np.ndarray] = []
        rewards = rng.standard_normal((200, 2))
        first = np.zeros(2, int)
        for t in range(200):
            pulled.append(rng.integers(30, size=2))
            posterior.pull(pulled[-1])
            told = np.array([True, t % 7 == 6])
            rows = [(i, s, pulled[s][i], rewards[s, i]) for i in np.flatnonzero(told) for s in range(first[i], t + 1)]
            who, tickets, a, y = (np.array(column) for column in zip(*rows))
            posterior.tell(VectorFeedback(who, tickets, a, y, np.ones(len(who))))
            first[told] = t + 1
            if t % 20 in (6, 13):
                for i in range(2):
                    mine = np.array(pulled)[:, i]
                    known = first[i]
                    np.testing.assert_allclose(posterior.v[i], dense(K, mine, rewards[: t + 1, i], lam)[1], atol=1e-12)
                    mean = dense(K, mine[:known], rewards[:known, i], lam)[0]
                    np.testing.assert_allclose(posterior.mean[i], mean, atol=1e-10)
        assert posterior._t < 200

    def test_rows_are_those_of_the_kernel(self) -> None:
        rows = SharedRows(Matern(0.2), X)
        for arms in (np.array([5, 5, 3]), np.arange(120), np.array([7])):
            np.testing.assert_array_equal(rows.of(arms), Matern(0.2)(X, X)[arms])
        assert rows.serves(Matern(0.2), X.copy())
        assert not rows.serves(Matern(0.3), X)
