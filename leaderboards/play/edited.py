"""Agents whose file was edited after their runs were played: those runs stay, since the spec names the class alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from leaderboards.play.fingerprint import imported_files, is_installed, module_root
from leaderboards.play.make import named_agents
from leaderboards.play.spec import RunSpec
from leaderboards.play.store import Store

__all__ = ["edited_agents"]


def edited_agents(store: Store, specs: Iterable[RunSpec]) -> list[str]:
    """A sentence for each file of agents that is younger than done runs of theirs among `specs`, by its date.

    Looked at are the modules of classes that are named `module:Class` and that this process has imported, with the
    files beside them that they import; of installed packages the module alone.
    """
    runs, finished = store.entries(), dict[str, list[float]]()
    for spec in specs:
        run = runs.get(spec.key)
        if run is not None and run.status == "done":
            for id in named_agents([run.spec]):
                finished.setdefault(id.partition(":")[0], []).append(run.finished)
    found = []
    for module, times in finished.items():
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is None or not Path(file).is_file():
            continue
        newest = max(_own_files(Path(file), module), key=lambda path: path.stat().st_mtime)
        if n := sum(time < newest.stat().st_mtime for time in times):
            found.append(
                f"{newest.name} was changed after {n} of these runs were played, which stay as they are; another "
                "folder (--out, out=) has all of them played anew"
            )
    return found


def _own_files(file: Path, module: str) -> list[Path]:
    return [file] if is_installed(file) else imported_files(file, module_root(module, file))
