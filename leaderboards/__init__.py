"""Leaderboards of Gaussian-process bandits: agents play environments, runs are stored, scored and shown."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from leaderboards import own_agents

if TYPE_CHECKING:
    from leaderboards.api.results import Results
    from leaderboards.api.run_suite import run_suite
    from leaderboards.archive.read import Board, board, board_names
    from leaderboards.play.record import RunRecord
    from leaderboards.play.run import run
    from leaderboards.play.suite import Suite
    from leaderboards.score.frames import rank
    from leaderboards.store.store import Store

__all__ = ["Board", "Results", "RunRecord", "Store", "Suite", "board", "board_names", "rank", "run", "run_suite"]

_MODULES = {
    "Board": "leaderboards.archive.read",
    "Results": "leaderboards.api.results",
    "RunRecord": "leaderboards.play.record",
    "Store": "leaderboards.store.store",
    "Suite": "leaderboards.play.suite",
    "board": "leaderboards.archive.read",
    "board_names": "leaderboards.archive.read",
    "rank": "leaderboards.score.frames",
    "run": "leaderboards.play.run",
    "run_suite": "leaderboards.api.run_suite",
}

own_agents.check()


def __dir__() -> list[str]:
    """The public names too that no one has used yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name at first use, so that the command line starts without importing everything."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = found
    return found
