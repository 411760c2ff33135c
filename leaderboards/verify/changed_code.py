"""Agents whose file was edited after their runs were played: those runs stay, since the spec names the class alone."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from gpbandit_envs.code_digest import is_installed
from leaderboards.play.build import named_agents
from leaderboards.play.spec import RunSpec
from leaderboards.store.store import Store
from leaderboards.verify.fingerprint import imported_files, module_root


def changed_agents(store: Store, specs: Iterable[RunSpec]) -> list[str]:
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
        changed = changed_since(_own_files(Path(file), module), times)
        if changed is not None:
            found.append(f"{changed}, which stay as they are; another folder (--out, out=) has all of them played anew")
    return found


def changed_since(files: Iterable[Path], finished: Iterable[float]) -> str | None:
    """Which of the files is younger than runs that were `finished` then, and than how many; None if none is.

    Dates are all that is known: a copy or a checkout makes a file younger too.
    """
    newest = max(files, key=lambda path: path.stat().st_mtime)
    n = sum(time < newest.stat().st_mtime for time in finished)
    return f"{newest.name} was changed after {n} of these runs were played" if n else None


def _own_files(file: Path, module: str) -> list[Path]:
    return [file] if is_installed(file) else imported_files(file, module_root(module, file))
