"""A small board, played for the tests."""

from __future__ import annotations

from pathlib import Path

from leaderboards.archive.read import Board
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.publish.make import play_board, write_board
from leaderboards.store.store import Store

REPETITIONS = 6
HORIZON = 100


def small_suite(name: str = "small", repetitions: int = REPETITIONS) -> Suite:
    """Two tasks, three agents, a horizon beyond what is kept whole."""
    return parse_suite(
        {
            "name": name,
            "horizon": HORIZON,
            "repetitions": repetitions,
            "environments": [
                {"id": "GPBandit/RKHS-v0", "label": "d = 1", "kwargs": {"n_arms": 25}},
                {"id": "GPBandit/RKHS-v0", "label": "d = 2", "kwargs": {"n_arms": 25, "dim": 2}},
            ],
            "agents": [
                {"id": "Uniform"},
                {"id": "EpsGreedy"},
                {"id": "GP-UCB", "label": "GP-UCB, width 2", "kwargs": {"width": 2.0}},
            ],
        }
    )


SMALL = """
name = "small"
horizon = 100
repetitions = 6
environments = [
  { id = "GPBandit/RKHS-v0", label = "d = 1", kwargs = { n_arms = 25 } },
  { id = "GPBandit/RKHS-v0", label = "d = 2", kwargs = { n_arms = 25, dim = 2 } },
]
agents = [
  { id = "Uniform" },
  { id = "EpsGreedy" },
  { id = "GP-UCB", label = "GP-UCB, width 2", kwargs = { width = 2.0 } },
]
"""
"""`small_suite()` as a file."""


def played(directory: Path, suite: Suite | None = None) -> tuple[Store, Board]:
    """The results folder and the board of a suite, below `directory`."""
    suite = small_suite() if suite is None else suite
    store = Store(directory / "results")
    said: list[str] = []
    play_board(suite, store, None, say=said.append, native=True)  # in this process
    return store, write_board(suite, directory / "boards" / suite.name, store)
