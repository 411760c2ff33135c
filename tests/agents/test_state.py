"""The default `state_dict`: exact, with shared references and views, and without the problem."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Actions, Agent, Capabilities, Feedback, Pending
from agents.core.widths import FiniteBayes
from gpbandit_envs.gp import SE
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.problem import Problem
from tests.agents.play import begun

X = np.random.default_rng(0).random((5_000, 4))
PROBLEM = Problem(name="many", dim=4, arms=X, kernel=SE(0.4), noise_std=0.1, horizon=30, notes={"unit": "m"})


class Keeper(Agent):
    """Keeps what the test puts into it."""

    capabilities = Capabilities(frozenset({"finite"}))
    not_saved = Agent.not_saved | {"features"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.features = 2 * np.asarray(problem.arms)

    def select(self, n: int, pending: Pending) -> Actions:
        return np.zeros(1, np.int64)

    def observe(self, feedback: Feedback) -> None: ...

    def recommend(self) -> int:
        return 0


def keeper(seed: int = 0, problem: Problem = PROBLEM, **attributes: Any) -> Any:
    agent = Keeper()
    agent.reset(problem, np.random.default_rng(seed))
    vars(agent).update(attributes)
    return agent


def restored(agent: Any) -> Any:
    """Another agent with the same state, as if in another process."""
    state = pickle.loads(pickle.dumps(agent.state_dict()))
    problem = pickle.loads(pickle.dumps(agent.problem))
    twin = keeper(1, problem, forgotten=0)
    twin.load_state_dict(state)
    return twin


def test_the_generator_goes_on_where_it_was_and_stays_shared() -> None:
    agent = keeper()
    agent.other = {"rng": agent.rng}
    agent.rng.random(7)
    twin = restored(agent)
    assert twin.rng is twin.other["rng"]
    np.testing.assert_array_equal(twin.rng.random(5), agent.rng.random(5))
    assert twin.rng.spawn(1)[0].random() == agent.rng.spawn(1)[0].random()


def test_views_stay_views_with_their_layout() -> None:
    buffer = np.random.default_rng(0).random((6, 8))
    agent = keeper(
        rows=buffer[:3, ::2], whole=buffer, turned=buffer.T, last=buffer[::-1][0], fortran=np.asfortranarray(buffer)
    )
    agent.inside = agent.fortran[1:, 2:]
    for twin in (restored(agent), restored(restored(agent))):
        for name in ("rows", "whole", "turned", "last", "fortran", "inside"):
            ours, theirs = getattr(agent, name), getattr(twin, name)
            np.testing.assert_array_equal(ours, theirs)
            assert ours.strides == theirs.strides
            assert ours.flags.writeable == theirs.flags.writeable
        twin.whole[0, 2] = -1.0
        twin.whole[5, 0] = -2.0
        twin.fortran[1, 2] = -3.0
        assert (twin.rows[0, 1], twin.turned[2, 0], twin.last[0], twin.inside[0, 0]) == (-1.0, -1.0, -2.0, -3.0)


def test_the_problem_is_linked_and_not_stored() -> None:
    agent = keeper(inner={"arms": PROBLEM.arms, "kernel": PROBLEM.kernel, "notes": PROBLEM.notes})
    agent.part = agent.problem.arms[10:20, 1:]
    agent.inner["features"] = agent.features
    assert len(agent.state_dict()["attributes"]) < 3_000
    twin = restored(agent)
    assert twin.problem is not agent.problem
    for name in ("arms", "kernel", "notes"):
        assert twin.inner[name] is getattr(twin.problem, name)
    assert twin.inner["features"] is twin.features
    assert np.shares_memory(twin.part, twin.problem.arms)
    np.testing.assert_array_equal(twin.part, agent.part)


def test_an_agent_without_its_problem_keeps_what_it_has() -> None:
    agent = keeper(arms=PROBLEM.arms)
    state = agent.state_dict()
    del agent.problem
    twin = keeper()
    del twin.problem
    twin.load_state_dict(agent.state_dict())
    np.testing.assert_array_equal(twin.arms, PROBLEM.arms)
    with pytest.raises(ValueError, match="state: expected one that was saved on a problem with the same arms"):
        twin.load_state_dict(state)


@pytest.mark.parametrize(
    "other",
    [
        {"arms": np.random.default_rng(1).random((9, 2))},
        {"kernel": SE(0.21)},
        {"noise_std": 0.3},
        {"norm_bound": 3.5},
        {"prior_mean": 0.5},
    ],
)
@pytest.mark.parametrize("id", ["GP-UCB", "EpsGreedy", "BPE"])
def test_a_state_is_of_one_problem(id: str, other: dict[str, Any]) -> None:
    problem = Problem(
        name="p", dim=2, arms=np.random.default_rng(0).random((20, 2)), kernel=SE(0.2), noise_std=0.1, horizon=50
    )
    agent, twin = agents.make(id), agents.make(id)
    agent.reset(problem, np.random.default_rng(0))
    agent.observe(Feedback.of([0], [17], [1.0]))
    twin.reset(replace(problem, **other), np.random.default_rng(0))
    with pytest.raises(ValueError, match="got that of another problem"):
        twin.load_state_dict(agent.state_dict())
    twin.reset(replace(problem, name="q"), np.random.default_rng(0))
    twin.load_state_dict(agent.state_dict())
    assert twin.recommend() == agent.recommend()


def test_references_to_the_agent_itself_are_its_own() -> None:
    agent = keeper()
    agent.child = {"parent": agent}
    twin = restored(agent)
    assert twin.child["parent"] is twin


def test_attributes_that_the_state_lacks_are_gone() -> None:
    assert not hasattr(restored(keeper()), "forgotten")


def test_an_attribute_that_cannot_be_saved_is_named() -> None:
    with pytest.raises(TypeError, match="attribute 'rule' of Keeper cannot be pickled"):
        keeper(rule=lambda x: x).state_dict()
    agents.check_agent(Keeper)

    class Unsaveable(Keeper):
        def reset(self, problem: Problem, rng: np.random.Generator) -> None:
            super().reset(problem, rng)
            self.rule = lambda x: x

    with pytest.raises(agents.AgentCheckError, match="resume: the state cannot be saved on twelve arms"):
        agents.check_agent(Unsaveable)


@pytest.mark.parametrize("id", ["GP-UCB", "GP-EI", "GP-TS", "Uniform", "REG-EVOLUTION", "MAP-UCB"])
def test_what_the_problem_determines_is_not_stored(id: str) -> None:
    """Kernel rows, factors of the prior and scaled features have the size of the arms or more."""
    problem = replace(PROBLEM, horizon=None)
    agent = begun(problem, id)
    for t in range(14):
        arms = agent.select(1, Pending.empty(problem))
        agent.observe(Feedback.of([t], arms, X[arms, 0]))
    vectors = 8 * len(X)
    assert len(pickle.dumps(agent.state_dict())) < 12 * vectors


# ---- delayed policies, saved and restored while tickets are open, and what they do about evaluations that fail ----


ARMS = np.random.default_rng(0).random((40, 2))
MEAN = np.sin(4 * ARMS[:, 0]) + ARMS[:, 1]
PLAYED = Problem(name="forty", dim=2, arms=ARMS, kernel=SE(0.4), noise_std=0.1, norm_bound=2.0, horizon=24)
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
    agent.reset(PLAYED, np.random.default_rng(5))

    def maybe_saved(agent: agents.Agent) -> agents.Agent:
        nonlocal moment
        moment += 1
        if moment - 1 != save_at:
            return agent
        state, fresh = copy.deepcopy(agent.state_dict()), make()
        fresh.reset(PLAYED, np.random.default_rng(77))
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
        agent, other = (begun(PLAYED, id, **kwargs) for _ in range(2))
        lost = agent.select(2, pending([]))
        agent.observe(feedback([(1, int(lost[0])), (4, int(lost[1]))], 3))
        np.testing.assert_array_equal(agent.select(4, pending([])), other.select(4, pending([])))

    def test_those_still_pending_count(self, id: str, kwargs: dict[str, Any]) -> None:
        agent = begun(PLAYED, id, **kwargs)
        opened = list(enumerate(agent.select(3, pending([])).tolist()))
        agent.observe(feedback([opened.pop(1)], 3))  # ticket 1 fails
        posterior = ExactPosterior(SE(0.4), ARMS, 0.01)
        for _, arm in opened:
            posterior.update(np.array([arm]), np.ones(1), np.zeros(1))
        # Nothing is known, so the score is the variance given the two that are open.
        assert agent.select(1, pending(opened)).tolist() == [int(np.argmax(posterior.variance))]

    def test_a_place_that_a_failure_leaves_is_taken(self, id: str, kwargs: dict[str, Any]) -> None:
        agent = begun(PLAYED, id, **kwargs)
        opened = list(enumerate(agent.select(6, pending([])).tolist()))
        agent.observe(feedback([opened.pop(1)], 3))
        assert len(agent.select(1, pending(opened))) == 1
