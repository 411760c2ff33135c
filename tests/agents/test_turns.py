"""The turns of an agent: who is asked, what is open, and when feedback arrives."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import agents
from agents import Actions, Agent, Capabilities, Evaluation, Feedback, Pending
from gpbandit_envs.gp import SE, ActiveDims
from gpbandit_envs.problem import Problem
from tests.agents.play import begun
from tests.reference.posterior import dense

ARMS = Problem(name="arms", dim=1, arms=np.arange(5.0)[:, None], horizon=6)


class Notes(Agent):
    """Pulls arms in turn, several at a time if it may, and notes what it hears."""

    capabilities = Capabilities(frozenset({"finite"}), batch="adaptive", delayed=True, contexts=True)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.heard: list[Any] = []

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending) >= 3:
            return np.zeros(0, np.int64)
        self.heard.append(("select", n, pending.tickets.tolist()))
        return np.arange(min(n, 2))

    def observe(self, feedback: Feedback) -> None:
        self.heard.append(("observe", feedback.tickets.tolist(), feedback.rewards.tolist(), feedback.costs.tolist()))

    def offer(self, arms: np.ndarray) -> None:
        self.heard.append(("offer", arms.tolist()))

    def recommend(self) -> int:
        return 0


def notes(problem: Problem = ARMS) -> Notes:
    agent = Notes()
    agent.reset(problem, np.random.default_rng(0))
    return agent


def test_an_agent_ends_its_own_batches_on_request() -> None:
    agent = notes()
    for evaluation in agents.turns(agent, ARMS):
        evaluation.tell(10.0 + evaluation.ticket, cost=2.0)
    assert agent.heard == [
        ("select", 6, []),
        ("select", 4, [0, 1]),
        ("observe", [0, 1, 2, 3], [10.0, 11.0, 12.0, 13.0], [2.0] * 4),
        ("select", 2, []),
        ("observe", [4, 5], [14.0, 15.0], [2.0] * 2),
    ]


def test_late_feedback_and_failures() -> None:
    agent = notes()
    for evaluation in agents.turns(agent, ARMS, "delay:2", horizon=4):
        evaluation.tell(None if evaluation.ticket == 1 else 1.0, failed=evaluation.ticket == 1)
    observed = [heard[1] for heard in agent.heard if heard[0] == "observe"]
    assert observed == [[0], [1], [2], [3]]
    assert [heard[2] for heard in agent.heard if heard[0] == "select"] == [[], [0], [0, 1], [1, 2]]
    assert np.isnan([heard[2] for heard in agent.heard if heard[:2] == ("observe", [1])]).all()


def test_offers_come_before_each_select_of_one_action() -> None:
    problem = replace(ARMS, contexts=True)
    agent = notes(problem)
    for evaluation in agents.turns(agent, problem, horizon=2):
        evaluation.tell(0.0, offered=np.array([evaluation.ticket]))
    heard = [(heard[0], heard[1]) for heard in agent.heard]
    assert heard == [("select", 1), ("offer", [0]), ("select", 1), ("offer", [1]), ("observe", [0, 1])]


def test_the_state_between_two_turns_goes_on() -> None:
    def play(stop: int) -> list[Any]:
        agent = notes()
        turns = agents.turns(agent, ARMS, "geometric:2", rng=np.random.default_rng(3))
        for evaluation in turns:
            evaluation.tell(float(evaluation.ticket))
            if turns.t == stop:
                state = pickle.loads(pickle.dumps(turns.state_dict()))
                again = agents.turns(copy.deepcopy(agent), ARMS, "geometric:2")
                again.load_state_dict(state)
                for further in again:
                    further.tell(float(further.ticket))
                assert isinstance(again.agent, Notes)
                return again.agent.heard
        return agent.heard

    assert play(0) == play(2) == play(5)


def test_a_result_is_told_once_and_in_order() -> None:
    turns = agents.turns(notes(), ARMS)
    first: Evaluation = next(turns)
    with pytest.raises(RuntimeError, match="evaluation 0 has no result yet"):
        next(turns)
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="reward: expected a finite number unless failed"):
            first.tell(wrong)
    with pytest.raises(ValueError, match="cost: expected a finite number >= 0, got -1"):
        first.tell(1.0, cost=-1.0)
    first.tell(1.0)
    with pytest.raises(ValueError, match="tell: expected the result of evaluation 1, got that of 0"):
        first.tell(1.0)


def test_an_agent_that_selects_nothing_although_nothing_is_open() -> None:
    class Idle(Notes):
        def select(self, n: int, pending: Pending) -> Actions:
            return np.zeros(0, np.int64)

    agent = Idle()
    agent.reset(ARMS, np.random.default_rng(0))
    with pytest.raises(ValueError, match="select: expected an action, got none while no feedback is open"):
        next(agents.turns(agent, ARMS))
    with pytest.raises(ValueError, match="horizon: expected a number of evaluations"):
        agents.turns(agent, replace(ARMS, horizon=None))
    with pytest.raises(ValueError, match="channel: expected 'on_request'"):
        agents.turns(agent, ARMS, "sometimes")
    with pytest.raises(ValueError, match=r"channel: the agent cannot act under delayed feedback \(delay:3\)"):
        agents.turns(agents.make("GP-UCB"), ARMS, "delay:3")
    with pytest.raises(TypeError, match="agent: expected an agent after `reset`, got 'GP-UCB'"):
        agents.turns("GP-UCB", ARMS)  # type: ignore[arg-type]


# ---- policies that are told what a step offers, against textbook forms and their plain forms ----


RNG = np.random.default_rng(3)
FEATURES = RNG.random((40, 2))
PROBLEM = Problem(
    name="forty arms",
    dim=2,
    arms=FEATURES,
    kernel=ActiveDims(SE(0.3), (0,)) * ActiveDims(SE(0.5), (1,)),
    noise_std=0.1,
    norm_bound=2.0,
    horizon=60,
    contexts=True,
)
MEAN = np.sin(5 * FEATURES[:, 0]) + FEATURES[:, 1]
OFFERS = [np.sort(RNG.choice(40, RNG.integers(1, 12), replace=False)) for _ in range(60)]


def play(agent: agents.Agent, steps: int = 60) -> tuple[list[int], np.ndarray]:
    noise = np.random.default_rng(8).normal(0, 0.1, steps)
    agent.reset(PROBLEM, np.random.default_rng(0))
    arms: list[int] = []
    for t in range(steps):
        agent.offer(OFFERS[t])
        picked = agent.select(1, Pending.empty(PROBLEM))
        arms.append(int(picked[0]))
        agent.observe(Feedback.of([t], picked, MEAN[picked] + noise[t]))
    return arms, MEAN[arms] + noise


def known(arms: list[int], y: np.ndarray, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and variance of all arms given the first `t` evaluations, by the t x t formula."""
    K = PROBLEM.kernel(FEATURES, FEATURES)  # type: ignore[misc]
    if t == 0:
        return np.zeros(40), np.diagonal(K).copy()
    return dense(K, np.array(arms[:t]), y[:t], 0.01)


def test_contextual_gp_ucb_is_the_textbook() -> None:
    """CGP-UCB (Krause and Ong 2011, eq. 4): the largest upper bound among the arms offered."""
    arms, y = play(agents.make("GP-UCB", width=1.7))
    for t, arm in enumerate(arms):
        mean, var = known(arms, y, t)
        ucb = (mean + 1.7 * np.sqrt(np.maximum(var, 0)))[OFFERS[t]]
        assert arm in OFFERS[t]
        assert ucb[np.searchsorted(OFFERS[t], arm)] >= ucb.max() - 1e-9


def test_contextual_gp_ei_improves_on_the_best_evaluated_arm_that_is_offered() -> None:
    arms, y = play(agents.make("GP-EI"))
    transferred = 0
    for t, arm in enumerate(arms):
        offered, (mean, var) = OFFERS[t], known(arms, y, t)
        seen = offered[np.isin(offered, arms[:t])]
        incumbent = 0.0 if t == 0 else mean[seen if len(seen) else offered].max()
        transferred += t > 0 and len(seen) == 0
        sd = np.sqrt(np.maximum(var[offered], 1e-300))
        z = (mean[offered] - incumbent) / sd
        improvement = sd * (norm.pdf(z) + z * norm.cdf(z))
        assert improvement[np.searchsorted(offered, arm)] >= improvement.max() * (1 - 1e-6) - 1e-12
    assert transferred >= 2, "the case that none of them was evaluated has to occur"


def test_thompson_sampling_draws_among_what_is_offered() -> None:
    """Two arms of equal and independent posteriors are chosen equally often, whatever a third that is asleep does."""
    problem = Problem(name="3", dim=1, arms=np.array([[0.0], [50], [99]]), kernel=SE(0.1), noise_std=0.1, contexts=True)
    agent = begun(problem, "GP-TS")
    agent.observe(Feedback.of([0], [2], [5.0]))
    agent.offer(np.array([0, 1]))
    picks = np.array([agent.select(1, Pending.empty(problem))[0] for _ in range(1_000)])
    assert set(picks.tolist()) == {0, 1}
    assert abs((picks == 1).mean() - 0.5) < 5 * 0.5 / np.sqrt(1_000)


@pytest.mark.parametrize(("id", "n_start"), [("GP-UCB", 400), ("BKB", 400), ("Uniform", None)])
def test_the_initial_design_is_uniform_on_what_is_offered(id: str, n_start: int | None) -> None:
    agent = agents.make(id, **({} if n_start is None else {"n_start": n_start}))
    problem = Problem(
        name="ten", dim=1, arms=np.linspace(0, 1, 10)[:, None], kernel=SE(0.2), noise_std=0.1, contexts=True
    )
    agent.reset(problem, np.random.default_rng(5))
    picks = []
    for _ in range(400):
        agent.offer(np.array([1, 4, 5, 8]))
        picks.append(int(agent.select(1, Pending.empty(problem))[0]))
    shares = np.array([picks.count(arm) for arm in (1, 4, 5, 8)]) / 400
    assert set(picks) == {1, 4, 5, 8}
    assert np.abs(shares - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 400)


def test_eps_greedy_is_greedy_among_what_is_offered() -> None:
    agent = begun(PROBLEM, "EpsGreedy", epsilon=0.0)
    agent.offer(np.array([7, 9]))
    assert agent.recommend() == 7, "the first of them before any feedback"
    agent.observe(Feedback.of([0, 1, 2], [3, 9, 12], [2.0, 0.5, 1.0]))
    assert agent.select(3, Pending.empty(PROBLEM)).tolist() == [9, 9, 9]
    agent.offer(np.array([12, 30]))
    assert agent.recommend() == 12
    agent.offer(np.arange(40))
    assert agent.recommend() == 3
