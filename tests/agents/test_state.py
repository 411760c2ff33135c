"""The default `state_dict`: exact, with shared references and views, and without the problem."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Actions, Agent, Capabilities, Feedback, Pending
from gpbandit_envs.gp import SE
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
