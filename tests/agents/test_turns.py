"""The turns of an agent: who is asked, what is open, and when feedback arrives."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Actions, Agent, Capabilities, Evaluation, Feedback, Pending
from gpbandit_envs.problem import Problem

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


def begun(problem: Problem = ARMS) -> Notes:
    agent = Notes()
    agent.reset(problem, np.random.default_rng(0))
    return agent


def test_an_agent_ends_its_own_batches_on_request() -> None:
    agent = begun()
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
    agent = begun()
    for evaluation in agents.turns(agent, ARMS, "delay:2", horizon=4):
        evaluation.tell(None if evaluation.ticket == 1 else 1.0, failed=evaluation.ticket == 1)
    observed = [heard[1] for heard in agent.heard if heard[0] == "observe"]
    assert observed == [[0], [1], [2], [3]]
    assert [heard[2] for heard in agent.heard if heard[0] == "select"] == [[], [0], [0, 1], [1, 2]]
    assert np.isnan([heard[2] for heard in agent.heard if heard[:2] == ("observe", [1])]).all()


def test_offers_come_before_each_select_of_one_action() -> None:
    problem = replace(ARMS, contexts=True)
    agent = begun(problem)
    for evaluation in agents.turns(agent, problem, horizon=2):
        evaluation.tell(0.0, offered=np.array([evaluation.ticket]))
    heard = [(heard[0], heard[1]) for heard in agent.heard]
    assert heard == [("select", 1), ("offer", [0]), ("select", 1), ("offer", [1]), ("observe", [0, 1])]


def test_the_state_between_two_turns_goes_on() -> None:
    def play(stop: int) -> list[Any]:
        agent = begun()
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
    turns = agents.turns(begun(), ARMS)
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
