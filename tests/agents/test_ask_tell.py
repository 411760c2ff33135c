"""Optimisers with ask and tell as policies: one written here, and those of the libraries that are installed."""

from __future__ import annotations

import copy
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from agents.adapters import AskTell
from gpbandit_envs.domain import Dimension, Domain
from gpbandit_envs.problem import InitialData, Problem


class Climber:
    """Steps away at random from the best point so far: its state depends on everything that it was asked and told."""

    def __init__(self, dim: int, seed: int) -> None:
        self.rng, self.best, self.least = np.random.default_rng(seed), np.full(dim, 0.5), np.inf
        self.told, self.asked = 0, 0

    def ask(self) -> np.ndarray:
        self.asked += 1
        return np.clip(self.best + 0.2 * self.rng.standard_normal(len(self.best)), 0, 1)

    def tell(self, x: Any, loss: float) -> None:
        self.told += 1
        if loss < self.least:
            self.best, self.least = np.asarray(x, float), loss


class Climb(AskTell):
    def start(self, seed: int) -> Any:
        return Climber(self.problem.dim, seed)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        optimizer.tell(candidate, loss)


GUIDE = (Path(__file__).parents[2] / "docs/guides/from-others.md").read_text()


def test_a_wrapper_says_how_it_asks() -> None:
    class Mute(AskTell):
        def start(self, seed: int) -> None: ...

        def tell(self, optimizer: Any, candidate: Any, loss: float) -> None: ...

    with pytest.raises(NotImplementedError, match="Mute: expected a method `ask` or `ask_many`, got neither"):
        Mute().ask_many(None, 2)


def test_a_wrapper_keeps_the_protocol() -> None:
    agents.check_agent(Climb, horizon=12, show=None)


@pytest.mark.filterwarnings("ignore")
def test_that_of_the_guide_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python no-run: it needs scikit-optimize\n(.*?)```", GUIDE, re.S)
    if find_spec("skopt") is None:

        class Optimizer:  # what the guide asks of scikit-optimize's
            def __init__(self, box: list[tuple[float, float]], random_state: int) -> None:
                self.rival = Climber(len(box), random_state)
                self.ask, self.tell = self.rival.ask, self.rival.tell

        monkeypatch.setitem(sys.modules, "skopt", SimpleNamespace(Optimizer=Optimizer))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"agents": agents}
    exec(code, names)  # which checks it
    assert issubclass(names["Skopt"], AskTell)


PROBLEM = Problem(name="bowl", dim=2, horizon=40)


def played(agent: AskTell, n: int, problem: Problem = PROBLEM, fails: tuple[int, ...] = ()) -> np.ndarray:
    agent.reset(problem, np.random.default_rng(0))
    return carried_on(agent, 0, n, problem, fails)


def carried_on(agent: AskTell, start: int, n: int, problem: Problem, fails: tuple[int, ...] = ()) -> np.ndarray:
    points = []
    for t in range(start, start + n):
        x = agent.select(1, Pending.empty(problem))
        failed = np.array([t in fails])
        y = np.where(failed, np.nan, -np.square(x - 0.3).sum(axis=1))
        agent.observe(Feedback(np.array([t]), x, y, np.ones(1), failed))
        points.append(x[0])
    return np.array(points)


def test_it_plays_what_the_optimiser_asks_for() -> None:
    agent = Climb()
    points = played(agent, 12)
    alone = Climber(2, agent._seed)
    for x in points:
        asked = alone.ask()
        np.testing.assert_array_equal(asked, x)
        alone.tell(asked, float(np.square(x - 0.3).sum()))


def test_asking_again_before_it_is_told_gives_the_same_point_and_a_copy_goes_on_as_it_would() -> None:
    agent = Climb()
    played(agent, 6)
    twin = copy.deepcopy(agent)
    first = agent.select(1, Pending.empty(PROBLEM))
    np.testing.assert_array_equal(agent.select(1, Pending.empty(PROBLEM)), first)
    np.testing.assert_array_equal(carried_on(agent, 6, 5, PROBLEM), carried_on(twin, 6, 5, PROBLEM))
    assert agent._live is not None
    assert agent._live.n_told == 10  # the last one is told at the next question


def test_a_failure_is_told_as_the_worst_so_far() -> None:
    agent = Climb()
    played(agent, 9, fails=(0, 4))
    agent.select(1, Pending.empty(PROBLEM))
    assert agent._live is not None
    assert agent._live.n_told == 9
    assert np.isfinite(agent._live.optimizer.least)


def test_existing_data_and_levels_are_told_as_they_are() -> None:
    domain = Domain((Dimension(1, 4, integer=True), Dimension(0, 1)))
    initial = InitialData(points=np.array([[0.125, 0.3], [0.875, 0.9]]), rewards=np.array([1.0, 0.0]))
    problem = Problem(name="levels", dim=2, notes={"domain": domain.to_spec()}, initial=initial)
    agent = Climb()
    points = played(agent, 6, problem)
    np.testing.assert_array_equal(points, domain.snap(points))
    agent.select(1, Pending.empty(problem))
    assert agent._live is not None
    np.testing.assert_array_equal(agent._live.optimizer.best, initial.actions[0])
    assert agent._live.optimizer.told == 8


ARMS = np.random.default_rng(1).random((40, 3)) * [1.0, 20.0, 3.0]
TABLE = Problem(name="table", dim=3, arms=ARMS)


def plates(agent: AskTell, n: int, start: int = 0) -> np.ndarray:
    """Arms of plates of five, of which the fourth arm of each fails."""
    found = []
    for plate in range(start, start + n):
        arms = agent.select(5, Pending.empty(TABLE))
        failed = np.arange(5) == 3
        rewards = np.where(failed, np.nan, -np.square(ARMS[arms] / [1.0, 20.0, 3.0] - 0.3).sum(axis=1))
        agent.observe(Feedback(5 * plate + np.arange(5), arms, rewards, np.ones(5), failed))
        found.append(arms)
    return np.array(found)


def test_on_a_table_each_candidate_is_played_once_in_plates_and_told_as_it_is() -> None:
    agent = Climb()
    agent.reset(TABLE, np.random.default_rng(0))
    assert agent.recommend() == 0
    arms = plates(agent, 8)
    assert sorted(arms.ravel().tolist()) == list(range(40))
    again = agent.select(5, Pending.empty(TABLE))  # none is left: they come again
    assert len(again) == 5
    assert agent._live is not None
    optimizer = agent._live.optimizer
    assert (optimizer.asked, optimizer.told) == (45, 40)
    known = arms[:, [0, 1, 2, 4]].ravel()
    best = known[np.argmin(np.square(ARMS[known] / [1.0, 20.0, 3.0] - 0.3).sum(axis=1))]
    assert agent.recommend() == best
    span = np.ptp(ARMS, axis=0)
    np.testing.assert_allclose(optimizer.best, (ARMS[best] - ARMS.min(axis=0)) / span)


def test_plates_are_replayed_in_the_order_in_which_they_were_asked_for() -> None:
    one, whole = Climb(), Climb()
    for agent in (one, whole):
        agent.reset(TABLE, np.random.default_rng(0))
    plates(one, 3)
    twin = copy.deepcopy(one)
    restored = Climb()
    restored.reset(TABLE, np.random.default_rng(5))
    restored.load_state_dict(one.state_dict())
    rest = plates(one, 3, 3)
    assert np.array_equal(rest, plates(twin, 3, 3))
    assert np.array_equal(rest, plates(restored, 3, 3))
    assert np.array_equal(rest, plates(whole, 6)[3:])


def test_a_plate_may_be_asked_for_one_by_one_and_answered_late() -> None:
    one, whole = Climb(), Climb()
    for agent in (one, whole):
        agent.reset(TABLE, np.random.default_rng(0))
    plate = whole.select(4, Pending.empty(TABLE))
    pending = Pending.empty(TABLE)
    for t in range(4):
        pending = Pending(np.arange(t + 1), np.append(pending.actions, one.select(1, pending)))
    assert np.array_equal(pending.actions, plate)
    one.observe(Feedback.of([2], plate[2:3], np.array([1.0])))
    left = Pending(np.array([0, 1, 3]), plate[[0, 1, 3]])
    assert set(one.select(2, left).tolist()).isdisjoint(plate.tolist())
    other = next(arm for arm in range(40) if arm not in plate)
    one.observe(Feedback.of([0], np.array([other]), np.array([2.0])))  # which it did not ask for
    assert one.recommend() == other


def test_existing_data_of_a_table_are_told() -> None:
    initial = InitialData(arms=np.array([3, 5]), rewards=np.array([-1.0, 0.5]))
    agent = Climb()
    agent.reset(Problem(name="table", dim=3, arms=ARMS, initial=initial), np.random.default_rng(0))
    assert agent.recommend() == 5
    assert not {3, 5} & set(agent.select(38, Pending.empty(TABLE)).tolist())
