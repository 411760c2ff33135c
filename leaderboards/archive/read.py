"""Boards: runs that come with the package, or from elsewhere, to be read like a results folder; nothing writes to them.

`--against BOARD` and `against=` join a results folder with a board: what was played here, among all that was played
before. The folder's `against.json` says which board, so that its page knows.
"""

from __future__ import annotations

import functools
import hashlib
import json
import logging
import os
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from gpbandit_envs.atomic import written_whole
from leaderboards.archive.files import (
    INDEX,
    INSTANCES,
    BoardIndex,
    Source,
    read_agent,
    read_index,
    run_place,
    stated_content,
)
from leaderboards.play.spec import Ref
from leaderboards.play.suite import Suite, load_suite, suite_names
from leaderboards.store.exchange import check_members
from leaderboards.store.intact import MOST_JSON, StoreError, read_limited
from leaderboards.store.kept import KeptRun
from leaderboards.store.note import noted, write_note
from leaderboards.store.provenance import TrustLevel
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store, StoreView
from leaderboards.text import visible
from leaderboards.verify.fingerprint import fingerprint

__all__ = [
    "BOARD",
    "Board",
    "Joined",
    "board",
    "board_folder",
    "board_names",
    "board_of",
    "board_parts",
    "note_board",
    "open_results",
    "pack_board",
    "rivals_of",
    "with_board",
]

BOARD = "board"
"""Stands for the board of the package that has the suite."""

_BOARDS = Path(__file__).resolve().parents[1] / "boards"
_FIRST = "core"  # what readers see first
_HASH = re.compile(r"\A(?P<where>.+)#sha256=(?P<sha256>[0-9a-f]{64})\Z")
_URL = ("https://", "http://")
_MOST_BYTES = 2**28  # of a board that is fetched
_log = logging.getLogger("gpbandit")


class Board(StoreView):
    """The runs of a board, or of that part of them which a suite asks for; read-only.

    A run that is done has, in place of its trace, what `leaderboards.store.kept` keeps of it: `kept` gives it, and
    `traces` leaves the run out.

    Args:
        directory: The folder of the board.
        suite: The suite; None for that of the board.

    Attributes:
        index: Its files, with their hashes and where they come from.
        sha256: SHA-256 of the index, which has those of all files.

    Raises:
        StoreError: if there is no board, or a file is not the one that the index states.
    """

    def __init__(self, directory: str | os.PathLike[str], suite: Suite | None = None) -> None:
        self._directory = Path(directory)
        self.index, instances = read_index(self._directory)
        self.sha256 = hashlib.sha256(read_limited(self._directory / INDEX)).hexdigest()
        self._suite = self.index.suite if suite is None else _with_labels(suite, self.index.suite)
        listed, wanted = self.index.suite.agents, None
        if suite is not None:
            of_one = suite.model_copy(update={"agents": listed[:1]}).specs()
            wanted = {run_place(spec.task, spec.seed, spec.repetition, spec.member) for spec in of_one}
        known = {agent.ref.key for agent in listed}
        self._entries: dict[str, RunEntry] = {}
        self._kept: dict[str, KeptRun] = {}
        for name, file in self.index.files.items():
            for entry, kept in read_agent(self._directory, name, file, instances, wanted):
                if suite is not None and entry.spec.agent.key not in known:
                    continue
                self._entries[entry.key] = entry
                if kept is not None:
                    self._kept[entry.key] = kept

    @property
    def directory(self) -> Path:
        """The folder of the board."""
        return self._directory

    def suite(self) -> Suite:
        """The suite of which these are the runs."""
        return self._suite

    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run by key; its columns are those that say what was done."""
        return self._entries

    def source(self, run: RunEntry) -> Source:
        """Where a run comes from."""
        return self.index.files[run.file].source

    def stale(self) -> dict[str, str]:
        """The agents whose code has changed since their runs were played: label by name of the file."""
        return {
            name: file.agent
            for name, file in self.index.files.items()
            if file.source.fingerprint is not None and self._current(name) != file.source.fingerprint
        }

    def missing(self) -> dict[str, list[str]]:
        """The environments on which an agent of the suite has runs that are not here, by its label."""
        return {agent: list(by_env) for agent, by_env in self._gaps().items()}

    def missing_repetitions(self) -> list[tuple[list[str], tuple[int, ...], tuple[str, ...]]]:
        """What is not here: the labels of agents, and the repetitions and environments that all of these lack."""
        found: dict[tuple[tuple[int, ...], tuple[str, ...]], list[str]] = {}
        for agent, by_env in self._gaps().items():
            for repetitions in dict.fromkeys(map(tuple, by_env.values())):
                envs = tuple(env for env, each in by_env.items() if tuple(each) == repetitions)
                found.setdefault((repetitions, envs), []).append(agent)
        return [(agents, *what) for what, agents in found.items()]

    def _gaps(self) -> dict[str, dict[str, list[int]]]:
        """The repetitions that are not here, by labels of agent and environment."""
        gaps: dict[str, dict[str, list[int]]] = {}
        there = self.entries()
        for spec in self.suite().specs():
            if spec.key not in there:
                gaps.setdefault(spec.agent.label, {}).setdefault(spec.env.label, []).append(spec.repetition)
        return gaps

    def _current(self, name: str) -> str | None:
        """The fingerprint that the agent of a file has as it is installed."""
        agent = self._agents.get(name)
        return self.index.files[name].source.fingerprint if agent is None else fingerprint(agent)

    @functools.cached_property
    def _agents(self) -> dict[str, Ref]:
        """The agent of each file that has runs."""
        return {run.file: run.spec.agent for run in self._entries.values()}

    def standings(self) -> Callable[[RunEntry], TrustLevel]:
        """As the index has it."""
        return lambda run: self.source(run).standing

    def path(self, run: RunEntry) -> Path:
        """The file that holds a run."""
        return self._directory / run.file

    def traces(
        self, columns: Sequence[str], keys: Collection[str] | None = None
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        """None: a board keeps no traces.

        Raises:
            KeyError: if a run does not exist.
        """
        for key in keys or ():
            self.entry(key)
        return iter(())

    def trace(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Nothing but an error: a board keeps no traces.

        Raises:
            KeyError: if there is no such run.
            StoreError: if there is.
        """
        self.entry(key)
        raise StoreError(f"run {key} is of a board, which keeps no traces: play it again")

    def kept(self, key: str) -> KeptRun | None:
        """What is kept of a run; None if it is not done."""
        return self._kept.get(key)

    def kept_times(self, task: str) -> np.ndarray | None:
        """At which evaluations the runs of a task are kept; None if there is none."""
        return self._times.get(task)

    def rivals(self) -> frozenset[str]:
        """Keys of all agents of the suite."""
        return frozenset(entry.ref.key for entry in self._suite.agents)

    @functools.cached_property
    def _times(self) -> dict[str, np.ndarray]:
        times: dict[str, np.ndarray] = {}
        for key, kept in self._kept.items():
            known = times.setdefault(self._entries[key].spec.task, kept.t)
            if not np.array_equal(known, kept.t):
                raise StoreError(f"{self.path(self._entries[key])}: its runs are kept at other evaluations than others")
        return times

    def __repr__(self) -> str:
        return f"Board({self._suite.name}: {len(self.done_keys())} runs of {len(self.index.files)} agents)"


class Joined(StoreView):
    """A results folder together with a board; of a run that both have, the folder's counts if it is done.

    Agents that are not of this project are told apart by their names alone, which two authors may choose alike. So none
    of the board's runs of such an agent counts if the folder has any under that name, with these settings.

    Args:
        store: The folder.
        board: The board.
        against: What `--against` takes for it; by default its folder.
    """

    def __init__(self, store: Store, board: Board, against: str | None = None) -> None:
        self.store, self.board = store, board
        self._against = str(board.directory) if against is None else against
        self._foreign = {name for name, file in board.index.files.items() if file.source.fingerprint is None}
        self._said: set[str] = set()
        self._here: Mapping[str, RunEntry] | None = None  # the folder's, when the two were last joined
        self._joined: dict[str, RunEntry] = {}

    @property
    def directory(self) -> Path:
        """The results folder."""
        return self.store.directory

    def suite(self) -> Suite | None:
        """The suite of the folder, or else the board's."""
        return self.store.suite() or self.board.suite()

    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run by key; when an agent's runs of the board are left out, a warning says so once."""
        here = self.store.entries()
        if here is self._here:
            return self._joined
        own = {run.spec.agent.key for run in here.values()}
        joined = dict(self.board.entries())
        for key in [key for key, run in joined.items() if run.file in self._foreign and run.spec.agent.key in own]:
            self._say(joined.pop(key).spec.agent)
        for key, run in here.items():
            if run.status == "done" or key not in joined:
                joined[key] = run
        self._here, self._joined = here, joined
        return joined

    def entry(self, key: str) -> RunEntry:
        """Entry of a run, all but its trace, as it was last read.

        Raises:
            KeyError: if there is no such run.
        """
        return self._joined[key] if key in self._joined else super().entry(key)

    def standings(self) -> Callable[[RunEntry], TrustLevel]:
        """That of the board for its runs, that of the folder for the others."""
        here, there = self.store.standings(), self.board.standings()
        return lambda run: there(run) if self._on_board(run) else here(run)

    def path(self, run: RunEntry) -> Path:
        """The file that holds a run."""
        return self.board.path(run) if self._on_board(run) else self.store.path(run)

    def traces(
        self, columns: Sequence[str], keys: Collection[str] | None = None
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        """The traces of the folder's runs."""
        if keys is None:
            return self.store.traces(columns)
        entries = self.entries()
        return self.store.traces(columns, [key for key in keys if not self._on_board(entries[key])])

    def trace(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The trace of a run of the folder.

        Raises:
            KeyError: if there is no such run, or it has no such column.
            StoreError: if it is a run of the board, or its file is damaged.
        """
        return (self.board if self._on_board(self.entry(key)) else self.store).trace(key, columns)

    def kept(self, key: str) -> KeptRun | None:
        """What the board keeps of a run that is not done in the folder."""
        return self.board.kept(key) if self._on_board(self.entry(key)) else None

    def kept_times(self, task: str) -> np.ndarray | None:
        """At which evaluations the runs of a task are kept on the board."""
        return self.board.kept_times(task)

    def rivals(self) -> frozenset[str]:
        """Keys of the board's agents that have no run of the folder's own."""
        return self.board.rivals() - {run.spec.agent.key for run in self.store.entries().values()}

    def against(self) -> str:
        """The board, as `--against` takes it."""
        return self._against

    def _say(self, agent: Ref) -> None:
        if agent.key not in self._said:
            self._said.add(agent.key)
            _log.warning(
                "%s: the board's runs of %r, perhaps another author's, are left out beside those of %s: to be ranked "
                "with both, name your module or class otherwise",
                agent.label,
                agent.id,
                self.directory,
            )

    def _on_board(self, run: RunEntry) -> bool:
        return self.board.entries().get(run.key) is run


def board_folder(name: str) -> Path:
    """The folder in which the package has the board `name`, or would have it."""
    return _BOARDS / name


def board_names() -> list[str]:
    """Names of the boards that come with the package, each with its parts."""
    return [name for one, parts in board_parts().items() for name in (one, *parts)]


def board_parts() -> dict[str, tuple[str, ...]]:
    """Names of the whole boards that come with the package, and those of their parts."""
    there = [folder.name for folder in _BOARDS.glob("*") if (folder / INDEX).is_file()]
    whole = sorted(there, key=lambda name: (not name.startswith(_FIRST), name))
    parts = {name: load_suite(name).part_of for name in suite_names()}
    return {one: tuple(part for part, of in parts.items() if of == one) for one in whole}


def board(name: str | os.PathLike[str], suite: Suite | None = None) -> Board:
    """A board, read-only; its hashes are checked.

    Args:
        name: One of `board_names()`, such as `"core-v2"`; or the path of a board's folder or of the archive that
            `gpbandit board pack` makes, or the address of such an archive. A path may end with `#sha256=` and the
            archive's (or the index's) SHA-256 in hexadecimal; an address must.
        suite: Which runs to read; None for all of the board, or those of the suite `name`.

    Raises:
        ValueError: if there is no board of that name, or an address comes without its hash.
        StoreError: if it is damaged, or not the one with that hash.
    """
    text = os.fspath(name)
    if text in suite_names() or (Path(text).name == text and (_BOARDS / text / INDEX).is_file()):
        home = load_suite(text) if text in suite_names() else None
        where = text if home is None else (home.part_of or text)
        if suite is None and home is not None and home.part_of:
            suite = home
        if not (_BOARDS / where / INDEX).is_file():
            raise ValueError(f"board: no board of {text!r} comes with the package; there are {_listed()}")
        return Board(_BOARDS / where, suite)
    stated = _HASH.match(text)
    where, sha256 = (stated["where"], stated["sha256"]) if stated else (text, None)
    if where.startswith(_URL):
        if sha256 is None:
            raise ValueError(
                f"board: expected the hash of the archive after its address, as {text}#sha256=..., got none"
            )
        return Board(_unpacked(_fetched(where, sha256), sha256), suite)
    path = Path(where)
    if not path.exists():
        raise ValueError(f"board: expected one of {_listed()}, a path or an address, got {text!r}")
    if path.is_file():
        return Board(_unpacked(path, sha256), suite)
    found_board = Board(path, suite)
    if sha256 not in (None, found_board.sha256):
        raise StoreError(f"{path}: its index has the SHA-256 {found_board.sha256}, and not the one that is stated")
    return found_board


def board_of(against: str | os.PathLike[str], suite: Suite) -> Board:
    """The board that `against` names, as far as it has the tasks of `suite`: `BOARD` is the one that the package has.

    Raises:
        ValueError: if there is none.
        StoreError: if it is damaged.
    """
    if os.fspath(against) != BOARD:
        return board(against, suite)
    name = suite.part_of or suite.name
    if not (_BOARDS / name / INDEX).is_file():
        raise ValueError(f"against: no board of suite {suite.name!r} comes with the package; there are {_listed()}")
    return Board(_BOARDS / name, suite)


def rivals_of(against: str | os.PathLike[str], suite: Suite) -> Board:
    """The same, which has to have runs of these tasks.

    Raises:
        ValueError: if there is no such board, or it has none.
        StoreError: if it is damaged.
    """
    found = board_of(against, suite)
    if not found.entries():
        raise ValueError(
            f"against: {os.fspath(against)!r} has no run of a task of suite {suite.name!r}; the same task has the same "
            "environment, settings, horizon and feedback, and the suite the same seed"
        )
    return found


def pack_board(found: Board, archive: Path) -> str:
    """Pack a board into an archive that `board` reads; returns its SHA-256.

    Raises:
        StoreError: if a file of the board is not the one that its index states.
        OSError: if the archive cannot be written.
    """
    with written_whole(archive) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as packed:
        hashes = {name: file.sha256 for name, file in sorted(found.index.files.items())}
        contents = {INDEX: (found.directory / INDEX).read_bytes()} | {
            name: stated_content(found.directory / name, sha256, Path.read_bytes)
            for name, sha256 in {INSTANCES: found.index.instances, **hashes}.items()
        }
        for name, content in contents.items():
            packed.writestr(zipfile.ZipInfo(name), content)  # a fixed date: the same board gives the same archive
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def note_board(directory: Path, against: str) -> None:
    """Note in a results folder which board it is compared with; a path is made absolute.

    Raises:
        OSError: if the folder cannot be written.
    """
    if against != BOARD and against not in board_names() and not against.startswith(_URL):
        against = os.path.abspath(against)
    write_note(directory, against)


def open_results(directory: str | os.PathLike[str], against: str | os.PathLike[str] | None = None) -> Store | Joined:
    """A results folder, joined with the board that it is compared with, if it is.

    Args:
        directory: The folder.
        against: A board, see `board`, or `"board"`; None for the one that the folder notes, if any.

    Raises:
        ValueError: if there is no such board, or the folder has no suite of which one could be found.
        StoreError: if the board is damaged.
    """
    return with_board(Store(directory), against)


def with_board(store: Store, against: str | os.PathLike[str] | None = None) -> Store | Joined:
    """The same of a folder that is open already; for the arguments and errors see `open_results`."""
    name = noted(store.directory) if against is None else os.fspath(against)
    if name is None:
        return store
    suite = store.suite()
    if suite is None:
        raise ValueError(f"against: expected the folder of a suite, got {store.directory}, which holds none")
    # A folder that notes a board is read whatever that has.
    return Joined(store, (board_of if against is None else rivals_of)(name, suite), name)


def _listed() -> str:
    return ", ".join(map(repr, board_names())) or "none"


def _with_labels(suite: Suite, theirs: Suite) -> Suite:
    """The suite with the agents of a board; those that it does not list are added."""
    known = {entry.ref.key for entry in suite.agents}
    return suite.with_agents(entry for entry in theirs.agents if entry.ref.key not in known)


def _cache() -> Path:
    import platformdirs

    return platformdirs.user_cache_path("gpbandit-envs") / "boards"


def _fetched(url: str, sha256: str) -> Path:
    """The archive at an address, fetched once."""
    import pooch

    try:
        return Path(pooch.retrieve(url, f"sha256:{sha256}", fname=f"{sha256}.zip", path=_cache(), progressbar=False))
    except (OSError, ValueError) as error:
        raise StoreError(f"{url} cannot be had ({' '.join(str(error).split())[:200]})") from None


def _unpacked(archive: Path, sha256: str | None) -> Path:
    """The folder of a packed board, unpacked once into the cache; only files that its index names are written."""
    if archive.stat().st_size > _MOST_BYTES:
        raise StoreError(f"{archive}: expected at most {_MOST_BYTES:,} bytes, got more")
    content = archive.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if sha256 not in (None, found):
        raise StoreError(f"{archive} has the SHA-256 {found}, and not the one that is stated")
    folder = _cache() / found
    if (folder / INDEX).is_file():
        return folder
    try:
        with zipfile.ZipFile(archive) as packed:
            check_members(packed, len(content))
            if packed.getinfo(INDEX).file_size > MOST_JSON:
                raise ValueError(f"{INDEX}: expected at most {MOST_JSON:,} bytes, got more")
            index = BoardIndex.model_validate(json.loads(packed.read(INDEX)))
            names = [INSTANCES, *index.files]
            if strange := [name for name in names if Path(name).name != name or name in ("", ".", "..")]:
                raise ValueError(f"expected plain names of files, got {strange[0]!r}")
            for name in names:
                with written_whole(folder / name) as temporary:
                    temporary.write_bytes(packed.read(name))
            # Last: a folder with an index is whole.
            with written_whole(folder / INDEX) as temporary:
                temporary.write_bytes(packed.read(INDEX))
    except (zipfile.BadZipFile, KeyError, ValueError, RuntimeError) as error:
        raise StoreError(
            f"{archive} is no board that `gpbandit board pack` made ({visible(str(error))[:120]})"
        ) from None
    return folder
