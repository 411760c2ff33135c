"""Delayed policies, saved and restored while tickets are open, and what they do about evaluations that fail."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from agents.core.widths import FiniteBayes
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import Problem
from tests.agents.play import begun

X = np.random.default_rng(0).random((40, 2))
MEAN = np.sin(4 * X[:, 0]) + X[:, 1]
PROBLEM = Problem(name="forty", dim=2, arms=X, kernel=SE(0.4), noise_std=0.1, norm_bound=2.0, horizon=24)
DELAYED: list[tuple[str, dict[str, Any]]] = [
    ("UncertaintySampling", {}),
    ("GP-BUCB", {"batch_size": 5}),
    ("GP-BUCB", {"batch_size": 4, "t_init": 6, "width": 2.0}),
    ("ASYNC-TS", {"batch_size": 5}),
    ("BPE", {"width": FiniteBayes()}),
    ("EpsGreedy", {"c": 10.0}),
]


def pending(opened: list[tuple[int, int]]) -> Pending:
    return Pending(np.array([t for t, _ in opened], np.int64), np.array([arm for _, arm in opened], np.int64))


def feedback(arrived: list[tuple[int, int]], fail_every: int) -> Feedback:
    tickets, arms = (np.array(column, np.int64) for column in zip(*arrived, strict=True))
    failed = tickets % fail_every == 1 if fail_every else np.zeros(len(arms), bool)
    noise = np.array([np.random.default_rng(ticket).standard_normal() for ticket in tickets.tolist()])
    return Feedback(tickets, arms, np.where(failed, np.nan, MEAN[arms] + 0.1 * noise), np.ones(len(arms)), failed)


def arms_of(make: Callable[[], agents.Agent], seed: int, fail_every: int, save_at: int = -1) -> tuple[list[int], int]:
    """All pulls, in batches of chance sizes whose feedback comes by chance; and how many moments there were to save."""
    chance = np.random.default_rng(seed)
    agent, moment = make(), 0
    opened: list[tuple[int, int]] = []
    pulled: list[int] = []
    agent.reset(PROBLEM, np.random.default_rng(5))

    def maybe_saved(agent: agents.Agent) -> agents.Agent:
        nonlocal moment
        moment += 1
        if moment - 1 != save_at:
            return agent
        state, fresh = copy.deepcopy(agent.state_dict()), make()
        fresh.reset(PROBLEM, np.random.default_rng(77))
        fresh.load_state_dict(state)
        return fresh

    while len(pulled) < 24 or opened:
        n, wanted = min(int(chance.integers(1, 5)), 24 - len(pulled)), int(chance.integers(4))
        order = chance.random(80)
        if n:
            arms = agent.select(n, pending(opened)).tolist()
            opened += list(enumerate(arms, len(pulled)))
            pulled += arms
            agent = maybe_saved(agent)  # with these tickets open
            wanted = max(wanted, int(not arms))
        else:
            wanted = len(opened)
        here = sorted(np.argsort(order[: len(opened)])[:wanted].tolist())
        if here:
            agent.observe(feedback([opened[i] for i in here], fail_every))
            opened = [ticket for i, ticket in enumerate(opened) if i not in here]
            agent = maybe_saved(agent)
    return pulled, moment


@pytest.mark.parametrize("fail_every", [0, 3])
@pytest.mark.parametrize(("id", "kwargs"), DELAYED, ids=str)
def test_restored_at_any_moment_play_is_the_same(id: str, kwargs: dict[str, Any], fail_every: int) -> None:
    expected, moments = arms_of(lambda: agents.make(id, **kwargs), 1, fail_every)
    assert moments > 12
    for save_at in range(moments):
        assert arms_of(lambda: agents.make(id, **kwargs), 1, fail_every, save_at)[0] == expected, save_at


@pytest.mark.parametrize(("id", "kwargs"), [("UncertaintySampling", {}), ("GP-BUCB", {"batch_size": 6, "width": 2.0})])
class TestFailures:
    def test_what_failed_and_is_not_pending_counts_for_nothing(self, id: str, kwargs: dict[str, Any]) -> None:
        agent, other = (begun(PROBLEM, id, **kwargs) for _ in range(2))
        lost = agent.select(2, pending([]))
        agent.observe(feedback([(1, int(lost[0])), (4, int(lost[1]))], 3))
        np.testing.assert_array_equal(agent.select(4, pending([])), other.select(4, pending([])))

    def test_those_still_pending_count(self, id: str, kwargs: dict[str, Any]) -> None:
        agent = begun(PROBLEM, id, **kwargs)
        opened = list(enumerate(agent.select(3, pending([])).tolist()))
        agent.observe(feedback([opened.pop(1)], 3))  # ticket 1 fails
        posterior = ExactPosterior(SE(0.4), X, 0.01)
        for _, arm in opened:
            posterior.update(np.array([arm]), np.ones(1), np.zeros(1))
        # Nothing is known, so the score is the variance given the two that are open.
        assert agent.select(1, pending(opened)).tolist() == [int(np.argmax(posterior.variance))]

    def test_a_place_that_a_failure_leaves_is_taken(self, id: str, kwargs: dict[str, Any]) -> None:
        agent = begun(PROBLEM, id, **kwargs)
        opened = list(enumerate(agent.select(6, pending([])).tolist()))
        agent.observe(feedback([opened.pop(1)], 3))
        assert len(agent.select(1, pending(opened))) == 1
