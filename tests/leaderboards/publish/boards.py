"""A small board, played for the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from leaderboards.play.suite import Suite, parse_suite
from leaderboards.publish import make
from leaderboards.publish.boards import Board
from leaderboards.publish.make import play_board, write_board
from leaderboards.store.provenance import Manifest, Report, write_manifest
from leaderboards.store.run_file import Row
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


REPORT = Report(when=0.0, sandbox="bubblewrap", figures={"identical": 12}, seed="7", holdout=("it agrees",), screen=())
"""Of a submission that was verified."""

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


def republished(board: Board, change: Callable[[Row], Row]) -> Board:
    """The board with every row changed, published anew in its folder."""
    board, files = Board(board.directory), {}  # as its manifest is now
    for name, file in board.index.files.items():
        runs = [run for run in board.entries().values() if run.file == name]
        rows = [change(Row(run, board.kept(run.key))) for run in runs]
        stem = name.rpartition("-")[0]
        new, listed = make._write_agent(board.runs_directory, stem, rows, file.source)
        files[new] = listed
    write_manifest(board.root, Manifest(suite=board.index.suite, files=files))
    return Board(board.directory)


def file_of(board: Board, agent: str) -> str:
    """The name of the file of an agent, by its label."""
    return next(name for name, file in board.index.files.items() if file.agent == agent)
