"""Leaderboards of Gaussian-process bandits: agents play environments, runs are stored, scored and shown."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from leaderboards import own_agents

if TYPE_CHECKING:
    from leaderboards.api.results import Results
    from leaderboards.api.run_suite import run_suite
    from leaderboards.api.simulate import Simulation, simulate
    from leaderboards.audit.report import audit_band
    from leaderboards.play.record import RunRecord
    from leaderboards.play.run import run
    from leaderboards.play.suite import Suite
    from leaderboards.publish.boards import Board, board, board_names
    from leaderboards.score.frames import rank
    from leaderboards.score.metrics import Metric, register_metric
    from leaderboards.show.chart import chart
    from leaderboards.store.store import Store

__all__ = [
    "Board",
    "Metric",
    "Results",
    "RunRecord",
    "Simulation",
    "Store",
    "Suite",
    "audit_band",
    "board",
    "board_names",
    "chart",
    "rank",
    "register_metric",
    "run",
    "run_suite",
    "simulate",
]

_MODULES = {
    "Board": "leaderboards.publish.boards",
    "Metric": "leaderboards.score.metrics",
    "Results": "leaderboards.api.results",
    "RunRecord": "leaderboards.play.record",
    "Simulation": "leaderboards.api.simulate",
    "Store": "leaderboards.store.store",
    "Suite": "leaderboards.play.suite",
    "audit_band": "leaderboards.audit.report",
    "board": "leaderboards.publish.boards",
    "board_names": "leaderboards.publish.boards",
    "chart": "leaderboards.show.chart",
    "rank": "leaderboards.score.frames",
    "register_metric": "leaderboards.score.metrics",
    "run": "leaderboards.play.run",
    "run_suite": "leaderboards.api.run_suite",
    "simulate": "leaderboards.api.simulate",
}

own_agents.check_first()


def __dir__() -> list[str]:
    """The public names too that no one has used yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name at first use; `gpbandit_envs.lazy` does the same and would load Gymnasium for `--help`."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = found
    return found
