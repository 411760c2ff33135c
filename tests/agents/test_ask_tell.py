"""Optimisers with ask and tell as policies: one written here, and those of the libraries that are installed."""

from __future__ import annotations

import copy
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
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
        self.waiting, self.told = False, 0

    def ask(self) -> np.ndarray:
        assert not self.waiting, "it waits to be told"
        self.waiting = True
        return np.clip(self.best + 0.2 * self.rng.standard_normal(len(self.best)), 0, 1)

    def tell(self, x: Any, loss: float) -> None:
        self.waiting, self.told = False, self.told + 1
        if loss < self.least:
            self.best, self.least = np.asarray(x, float), loss


class Climb(AskTell):
    def start(self, seed: int) -> Any:
        return Climber(self.problem.dim, seed)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        optimizer.tell(candidate, loss)


class Skopt(AskTell):
    def start(self, seed: int) -> Any:
        import skopt

        return skopt.Optimizer([(0.0, 1.0)] * self.problem.dim, n_initial_points=5, random_state=seed)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        optimizer.tell(candidate, loss)


class Nevergrad(AskTell):
    def start(self, seed: int) -> Any:
        import nevergrad as ng

        box = ng.p.Array(init=np.full(self.problem.dim, 0.5)).set_bounds(0, 1)
        box.random_state.seed(seed)
        return ng.optimizers.NGOpt(box, budget=self.problem.horizon or 100)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def point(self, candidate: Any) -> Any:
        return candidate.value

    def candidate(self, optimizer: Any, x: np.ndarray) -> Any:
        return optimizer.parametrization.spawn_child(new_value=x)

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        optimizer.tell(candidate, loss)


def never_called(config: Any, seed: int) -> float:
    raise AssertionError("the optimiser is asked and told")


class SMAC(AskTell):
    def start(self, seed: int) -> Any:
        import smac
        from ConfigSpace import ConfigurationSpace

        space = ConfigurationSpace({f"x{j}": (0.0, 1.0) for j in range(self.problem.dim)})
        scenario = smac.Scenario(space, n_trials=100, deterministic=True, seed=seed, output_directory=Path(mkdtemp()))
        return smac.HyperparameterOptimizationFacade(scenario, never_called, overwrite=True, logging_level=False)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def point(self, candidate: Any) -> Any:
        return [candidate.config[f"x{j}"] for j in range(self.problem.dim)]

    def candidate(self, optimizer: Any, x: np.ndarray) -> Any:
        from ConfigSpace import Configuration
        from smac.runhistory.dataclasses import TrialInfo

        values = {f"x{j}": value for j, value in enumerate(x.tolist())}
        return TrialInfo(Configuration(optimizer.scenario.configspace, values), seed=0)

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        from smac.runhistory.dataclasses import TrialValue

        optimizer.tell(candidate, TrialValue(cost=loss))


def needs(module: str) -> Any:
    return pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "wrapper",
    [
        Climb,
        pytest.param(Skopt, marks=needs("skopt")),
        pytest.param(Nevergrad, marks=needs("nevergrad")),
        pytest.param(SMAC, marks=needs("smac")),
    ],
)
def test_wrappers_keep_the_protocol(wrapper: type[AskTell]) -> None:
    agents.check_agent(wrapper, horizon=12, show=None)


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
