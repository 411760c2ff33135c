"""Agents whose file was edited after their runs were played: those runs stay, since the spec names the class alone."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from leaderboards.play.make import named_agents
from leaderboards.play.run_file import RunEntry

__all__ = ["edited_agents"]


def edited_agents(runs: Iterable[RunEntry]) -> list[str]:
    """A sentence for each file of agents that is younger than done runs of theirs, by its date.

    Looked at are the modules of classes that are named `module:Class` and that this process has imported, and not what
    those import.
    """
    older: Counter[str] = Counter()
    for run in runs:
        for id in named_agents([run.spec]):
            file = getattr(sys.modules.get(id.partition(":")[0]), "__file__", None)
            if run.status == "done" and file is not None and Path(file).is_file():
                older[file] += run.finished < Path(file).stat().st_mtime
    return [
        f"{Path(file).name} was changed after {n} of these runs were played, which stay as they are; another folder "
        "(--out, out=) has all of them played anew"
        for file, n in older.items()
        if n
    ]
