"""Boards: runs that come with the package, or from elsewhere, to be read like a results folder; nothing writes to them.

`--against BOARD` and `against=` join a results folder with a board: what was played here, among all that was played
before. The folder's `against.json` says which board, so that its page knows.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, load_suite, suite_names
from leaderboards.store.intact import StoreError, read_limited
from leaderboards.store.provenance import MANIFEST, Manifest, Source
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store
from leaderboards.store.union import Joined, noted, write_note
from leaderboards.verify.fingerprint import fingerprint

BOARD = "board"
"""Stands for the board of the package that has the suite."""

_BOARDS = Path(__file__).resolve().parents[1] / "boards"
_FIRST = "core"  # what readers see first


class Board(Store):
    """The runs of a board, or of that part of them which a suite asks for: a results folder that somebody published.

    A run that is done has no trace, but `kept` gives its scores, see `leaderboards.store.kept`.

    Args:
        directory: The folder of the board.
        suite: The suite; None for that of the board.

    Attributes:
        index: Its files, with their hashes and where they come from.
        sha256: SHA-256 of its manifest, which has those of all files.

    Raises:
        StoreError: if there is no board, or a file is not the one that the manifest states.
    """

    def __init__(self, directory: str | os.PathLike[str], suite: Suite | None = None) -> None:
        super().__init__(directory)
        if self.manifest is None:
            raise StoreError(f"{self.directory} holds no board: expected the file {MANIFEST}")
        self.index: Manifest = self.manifest
        self.sha256 = hashlib.sha256(read_limited(self.root / MANIFEST)).hexdigest()
        self._suite = self.index.suite
        there = self.entries()
        if suite is not None:
            listed, asked = self.index.suite.agents, {entry.ref.key for entry in suite.agents}
            self._suite = suite.with_agents(entry for entry in listed if entry.ref.key not in asked)
            of_one = suite.model_copy(update={"agents": listed[:1]}).specs()
            known, wanted = {agent.ref.key for agent in listed}, {_place(spec) for spec in of_one}
            self._known = {
                key: run for key, run in there.items() if run.spec.agent.key in known and _place(run.spec) in wanted
            }

    def suite(self) -> Suite:
        """The suite of which these are the runs."""
        return self._suite

    def source(self, run: RunEntry) -> Source:
        """Where a run comes from."""
        return self.index.files[run.file].source

    def stale(self) -> dict[str, str]:
        """The agents whose code has changed since their runs were played: label by name of the file."""
        agents = {run.file: run.spec.agent for run in self.entries().values()}
        stated = {name: self.index.files[name].source.fingerprint for name in agents}
        return {
            name: self.index.files[name].agent
            for name, agent in agents.items()
            if stated[name] is not None and fingerprint(agent) != stated[name]
        }

    def missing(self) -> dict[str, dict[str, list[int]]]:
        """The repetitions of the suite that are not here, by labels of agent and environment."""
        gaps: dict[str, dict[str, list[int]]] = {}
        there = self.entries()
        for spec in self.suite().specs():
            if spec.key not in there:
                gaps.setdefault(spec.agent.label, {}).setdefault(spec.env.label, []).append(spec.repetition)
        return gaps

    def __repr__(self) -> str:
        return f"Board({self._suite.name}: {len(self.done_keys())} runs of {len(self.index.files)} agents)"


def _place(spec: RunSpec) -> tuple[str, int, int, str]:
    """The task, seed, repetition and member of a run, which all agents share."""
    return spec.task, spec.seed, spec.repetition, spec.built.key


def board_folder(name: str) -> Path:
    """The folder in which the package has the board `name`, or would have it."""
    return _BOARDS / name


def board_names() -> list[str]:
    """Names of the boards that come with the package, each with its parts."""
    return [name for one, parts in board_parts().items() for name in (one, *parts)]


def board_parts() -> dict[str, tuple[str, ...]]:
    """Names of the whole boards that come with the package, and those of their parts."""
    there = [folder.name for folder in _BOARDS.glob("*") if (folder / MANIFEST).is_file()]
    whole = sorted(there, key=lambda name: (not name.startswith(_FIRST), name))
    parts = {name: load_suite(name).part_of for name in suite_names()}
    return {one: tuple(part for part, of in parts.items() if of == one) for one in whole}


def board(name: str | os.PathLike[str], suite: Suite | None = None) -> Board:
    """A board, read-only; its hashes are checked.

    Args:
        name: One of `board_names()`, such as `"core-v2"`; or the path of a board's folder.
        suite: Which runs to read; None for all of the board, or those of the suite `name`.

    Raises:
        ValueError: if there is no board of that name.
        StoreError: if it is damaged.
    """
    text = os.fspath(name)
    if text in suite_names() or (Path(text).name == text and (_BOARDS / text / MANIFEST).is_file()):
        home = load_suite(text) if text in suite_names() else None
        where = text if home is None else (home.part_of or text)
        if suite is None and home is not None and home.part_of:
            suite = home
        if not (_BOARDS / where / MANIFEST).is_file():
            raise ValueError(f"board: no board of {text!r} comes with the package; there are {_listed()}")
        return Board(board_folder(where), suite)
    path = Path(text)
    if not path.exists():
        raise ValueError(f"board: expected one of {_listed()}, or a path, got {text!r}")
    return Board(path, suite)


def board_of(against: str | os.PathLike[str], suite: Suite) -> Board:
    """The board that `against` names, as far as it has the tasks of `suite`: `BOARD` is the one that the package has.

    Raises:
        ValueError: if there is none.
        StoreError: if it is damaged.
    """
    if os.fspath(against) != BOARD:
        return board(against, suite)
    name = suite.part_of or suite.name
    if not (_BOARDS / name / MANIFEST).is_file():
        raise ValueError(f"against: no board of suite {suite.name!r} comes with the package; there are {_listed()}")
    return Board(board_folder(name), suite)


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
    """Pack a board into an archive, to be unpacked elsewhere; returns its SHA-256.

    Raises:
        StoreError: if a file of the board is not the one that its manifest states.
        OSError: if the archive cannot be written.
    """
    names = {MANIFEST: found.sha256} | {f"runs/{name}": file.sha256 for name, file in found.index.files.items()}
    with written_whole(archive) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as packed:
        for name, sha256 in sorted(names.items()):
            content = (found.root / name).read_bytes()
            if hashlib.sha256(content).hexdigest() != sha256:
                raise StoreError(f"{found.directory / name} does not have the hash that the manifest states")
            packed.writestr(zipfile.ZipInfo(name), content)  # a fixed date: the same board gives the same archive
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def note_board(directory: Path, against: str) -> None:
    """Note in a results folder which board it is compared with; a path is made absolute.

    Raises:
        OSError: if the folder cannot be written.
    """
    if against != BOARD and against not in board_names():
        against = os.path.abspath(against)
    write_note(directory, against)


def open_results(directory: str | os.PathLike[str], against: str | os.PathLike[str] | None = None) -> Store:
    """A results folder, joined with the board that it is compared with, if it is.

    Args:
        directory: The folder.
        against: A board, see `board`, or `"board"`; None for the one that the folder notes, if any.

    Raises:
        ValueError: if there is no such board, or the folder has no suite of which one could be found.
        StoreError: if the board is damaged.
    """
    store = Store(directory)
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
