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
    "api.results": ("Results",),
    "api.run_suite": ("run_suite",),
    "api.simulate": ("Simulation", "simulate"),
    "audit.report": ("audit_band",),
    "play.record": ("RunRecord",),
    "play.run": ("run",),
    "play.suite": ("Suite",),
    "publish.boards": ("Board", "board", "board_names"),
    "score.frames": ("rank",),
    "score.metrics": ("Metric", "register_metric"),
    "show.chart": ("chart",),
    "store.store": ("Store",),
}

own_agents.check_first()


def __dir__() -> list[str]:
    """The public names too that no one has used yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name at first use; `gpbandit_envs.lazy` does the same and would load Gymnasium for `--help`."""
    for module, names in _MODULES.items():
        if name in names:
            globals()[name] = found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
