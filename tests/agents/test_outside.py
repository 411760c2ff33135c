"""Optimisers of other libraries on tables of candidates and in plates, where they are installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import agents
from agents import Pending
from agents.adapters import AskTell
from gpbandit_envs.problem import Problem
from leaderboards.play.build import load_class
from leaderboards.play.suite import SuiteError, expanded, load_suite
from tests.agents.test_ask_tell import Climber

ARMS = np.random.default_rng(3).random((40, 2)) * [10.0, 1.0]
TABLE = Problem(name="table", dim=2, arms=ARMS, horizon=24)
TOOLS = {
    "optuna_study:OptunaStudy": ("optuna", {"sampler": "tpe"}),
    "optuna_study:OptunaStudy ": ("optuna", {"sampler": "gp"}),
    "botorch_table:BoTorchTable": ("botorch", {}),
    "baybe_campaign:BayBE": ("baybe", {}),
    "ax_client:Ax": ("ax", {}),
}


def _made(name: str, kwargs: dict[str, Any]) -> Any:
    made: Any = load_class(f"agents.adapters.{name.strip()}")
    return made(**kwargs)


def _played(agent: Any, plates: int, fails: frozenset[int] = frozenset()) -> list[int]:
    agent.reset(TABLE, np.random.default_rng(0))
    played: list[int] = []
    for _ in range(plates):
        plate = agent.select(8, Pending.empty(TABLE))
        failed = np.array([len(played) + i in fails for i in range(8)])
        rewards = np.where(failed, np.nan, -np.square(ARMS[plate] / [10.0, 1.0] - 0.5).sum(axis=1))
        tickets = np.arange(len(played), len(played) + 8)
        agent.observe(agents.Feedback(tickets, plate, rewards, np.ones(8), failed))
        played += plate.tolist()
    return played


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TOOLS)
def test_they_play_plates_of_a_table_and_repeat_no_candidate(name: str) -> None:
    package, kwargs = TOOLS[name]
    pytest.importorskip(package, reason=f"{package} is not installed")
    if kwargs.get("sampler") == "gp":
        pytest.importorskip("torch", reason="Optuna's Gaussian process needs PyTorch")
    agent = _made(name, kwargs)
    played = _played(agent, 3, fails=frozenset({1}))
    assert len(set(played)) == 24
    assert agent.recommend() == max(
        (arm for i, arm in enumerate(played) if i != 1), key=lambda arm: -np.square(ARMS[arm] / [10, 1] - 0.5).sum()
    )
    assert _played(_made(name, kwargs), 2, fails=frozenset({1})) == played[:16]


@pytest.mark.parametrize("name", TOOLS)
def test_without_the_library_the_error_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package, kwargs = TOOLS[name]
    for module in (package, f"{package}.api.client"):  # Ax is not imported as a whole
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'is not installed: pip install "gpbandit-envs\[{package}\]"'):
        _made(name, kwargs)


class Plates(AskTell):
    """Asks a `Climber` for a plate at once, and counts what was not played."""

    def start(self, seed: int) -> Any:
        self.dropped = self.asked_at_once = 0
        return Climber(self.problem.dim, seed)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def ask_many(self, optimizer: Any, n: int) -> list[Any]:
        self.asked_at_once = max(self.asked_at_once, n)
        return [optimizer.ask() for _ in range(n)]

    def drop(self, optimizer: Any, candidate: Any) -> None:
        self.dropped += 1

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        optimizer.tell(candidate, loss)


def test_a_plate_is_asked_for_at_once_and_what_is_not_played_is_dropped() -> None:
    agent = Plates()
    assert len(set(_played(agent, 3))) == 24
    agent.select(1, Pending.empty(TABLE))
    assert (agent.asked_at_once, agent.dropped) == (8, 24)  # no point that it asks for is an arm


def test_the_suite_of_outside_optimisers_has_the_functions_of_the_laboratory() -> None:
    whole, outside = load_suite("lab-v1"), load_suite("lab-outside")
    assert [task.key for task in outside.tasks] == [task.key for task in whole.tasks]
    assert outside.agents[: len(whole.agents)] == whole.frozen().agents
    named = [entry.id.removeprefix("agents.adapters.") for entry in outside.agents[len(whole.agents) :]]
    assert named == [name.strip() for name in TOOLS if not name.startswith("ax_client")]  # hours, see docs/lab.md
    assert (outside.repetitions, outside.part_of, outside.headline) == (5, "", "recommended")
    with pytest.raises(SuiteError, match=r"part of a suite: expected the keys name, .*, got name, tasks"):
        expanded({"name": "mine", "tasks": []})
