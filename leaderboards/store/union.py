"""A results folder together with one that was published: what was played here, among all that was played before.

The note of a folder, `against.json`, says which board its runs are compared with.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from leaderboards.play.suite import Suite
from leaderboards.store.intact import StoreError, read_limited, write_whole
from leaderboards.store.kept import KeptRun
from leaderboards.store.provenance import TrustLevel
from leaderboards.store.run_file import Row, RunEntry
from leaderboards.store.store import Store
from leaderboards.text import visible

_NOTE = "against.json"

_log = logging.getLogger("gpbandit")


class Joined(Store):
    """A results folder together with a published one; of a run that both have, the folder's counts if it is done.

    Agents that are not of this project are told apart by their names alone, which two authors may choose alike. So none
    of the published runs of such an agent counts if the folder has any under that name, with these settings.

    Args:
        store: The folder.
        board: The published one.
        against: What `--against` takes for it; by default its folder.
    """

    def __init__(self, store: Store, board: Store, against: str | None = None) -> None:
        super().__init__(store.directory)
        self.store, self.board = store, board
        self._against = str(board.directory) if against is None else against
        files = {} if board.manifest is None else board.manifest.files
        self._foreign = {name for name, file in files.items() if file.source.fingerprint is None}
        self._said: set[str] = set()
        self._here: Mapping[str, RunEntry] | None = None  # the folder's, when the two were last joined

    def suite(self) -> Suite | None:
        return self.store.suite() or self.board.suite()

    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run by key; when published runs of an agent are left out, a warning says so once."""
        here = self.store.entries()
        if here is self._here:
            return self._known
        own = {run.spec.agent.key for run in here.values()}
        joined = dict(self.board.entries())
        for key in [key for key, run in joined.items() if run.file in self._foreign and run.spec.agent.key in own]:
            agent = joined.pop(key).spec.agent
            if agent.key not in self._said:
                self._said.add(agent.key)
                _log.warning(
                    "%s: the board's runs of %r, perhaps another author's, are left out beside those of %s: to be "
                    "ranked with both, name your module or class otherwise",
                    agent.label,
                    agent.id,
                    self.directory,
                )
        joined |= {key: run for key, run in here.items() if run.status == "done" or key not in joined}
        self._here, self._known = here, joined
        return joined

    def standings(self) -> Callable[[RunEntry], TrustLevel]:
        stated = {id(store): store.standings() for store in (self.store, self.board)}
        return lambda run: stated[id(self._of(run))](run)

    def path(self, run: RunEntry) -> Path:
        return self._of(run).path(run)

    def traces(
        self, columns: Sequence[str], keys: Collection[str] | None = None
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        if keys is None:
            return self.store.traces(columns)
        return self.store.traces(columns, [key for key in keys if self._of(self.entry(key)) is self.store])

    def trace(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        return self._of(self.entry(key)).trace(key, columns)

    def rows(self, runs: Iterable[RunEntry]) -> Iterator[list[Row]]:
        chosen = list(runs)
        for store in (self.store, self.board):
            yield from store.rows(run for run in chosen if self._of(run) is store)

    def kept(self, key: str) -> KeptRun | None:
        return self._of(self.entry(key)).kept(key)

    def rivals(self) -> frozenset[str]:
        return self.board.rivals() - {run.spec.agent.key for run in self.store.entries().values()}

    def against(self) -> str:
        return self._against

    def _check_writable(self) -> None:
        raise StoreError(f"{self.directory} is joined with a board here: write to the folder itself")

    def _of(self, run: RunEntry) -> Store:
        return self.board if self.board.entries().get(run.key) is run else self.store


def write_note(directory: Path, against: str) -> None:
    """Note in a results folder what it is compared with.

    Args:
        directory: The folder.
        against: The name of a board, or an absolute path.

    Raises:
        OSError: if the folder cannot be written.
    """
    write_whole(directory / _NOTE, json.dumps({"against": against}) + "\n")


def noted(directory: Path) -> str | None:
    """What a results folder is compared with; None for nothing but itself.

    Raises:
        StoreError: if the note is damaged.
    """
    try:
        return str(json.loads(read_limited(directory / _NOTE))["against"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{directory / _NOTE} is damaged ({visible(str(error))[:80]}): remove it, or give --against again"
        ) from None
