"""What the files of a results folder say, read once: the index behind the store, and its manifest."""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leaderboards.play.files import SCHEMA, SUFFIX, TEMPORARY, FileError, NewerFileError, is_submitted, read_runs

__all__ = ["Index", "Quarantined", "best"]

_log = logging.getLogger("gpbandit")

Stamp = tuple[int, int]
"""Size and time of change of a file: as long as they stay, so does its content."""


@dataclass(frozen=True)
class Quarantined:
    """A file that was moved out of the way.

    Attributes:
        path: Where it is now.
        reason: What is wrong with it.
    """

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Index:
    """Entries of all runs of a results folder, by key; only new and changed files are read.

    The manifest is a copy of the index in one file, so that a folder of thousands of files opens at once. It is a
    cache: what it says of a file counts only while the file's size and time of change are the same.

    Args:
        directory: The results folder.

    Attributes:
        quarantined: Files that were moved out of the way.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._runs_directory = directory / "runs"
        self.quarantined: list[Quarantined] = []
        self._files: dict[str, tuple[Stamp, list[dict[str, Any]]]] | None = None
        self._entries: dict[str, dict[str, Any]] = {}

    def entries(self) -> dict[str, dict[str, Any]]:
        """Entry of every run, by key, with the name of its file."""
        found = dict(self._scan())
        known = self._load_manifest() if self._files is None else self._files
        changed = self._files is None or known.keys() != found.keys()
        files: dict[str, tuple[Stamp, list[dict[str, Any]]]] = {}
        for name, stamp in found.items():
            if name in known and known[name][0] == stamp:
                files[name] = known[name]
            else:
                files[name] = (stamp, self._read(name))
                changed = True
        if changed:
            self._files = files
            self._entries = best({name: runs for name, (_, runs) in files.items()})
        return self._entries

    def entry(self, key: str) -> dict[str, Any]:
        """Entry of the run `key`, as it was last read; the folder is looked at again only for a key not seen so far.

        Raises:
            KeyError: if there is no such run.
        """
        return self._entries[key] if key in self._entries else self.entries()[key]

    def set_aside(self, name: str, reason: str) -> None:
        """Move the file `name` to quarantine; its runs count as not done."""
        path, place = self._runs_directory / name, self._directory / "quarantine"
        try:
            place.mkdir(parents=True, exist_ok=True)
            target = place / name
            if target.exists():
                target = place / f"{path.stem}-{uuid.uuid4().hex[:8]}{path.suffix}"
            os.replace(path, target)
        except OSError as error:
            target, reason = path, f"{reason}; it could not be moved to quarantine/ ({error.strerror})"
        if self._files is not None and name in self._files:
            self._files[name] = (self._files[name][0], [])
            self._entries = best({name: runs for name, (_, runs) in self._files.items()})
        self.quarantined.append(Quarantined(target, reason))
        _log.warning("%s is no readable results file and was set aside: %s", target, reason)

    def write_manifest(self) -> None:
        """Write the manifest of what is there now.

        Raises:
            OSError: if the folder cannot be written.
        """
        self.entries()
        files = {name: {"stamp": stamp, "runs": runs} for name, (stamp, runs) in (self._files or {}).items()}
        temporary = self._directory / f"manifest.json.{uuid.uuid4().hex[:12]}{TEMPORARY}"
        try:
            temporary.write_text(json.dumps({"schema": SCHEMA, "files": files}))
            os.replace(temporary, self._directory / "manifest.json")
        finally:
            temporary.unlink(missing_ok=True)

    def _load_manifest(self) -> dict[str, tuple[Stamp, list[dict[str, Any]]]]:
        try:
            manifest = json.loads((self._directory / "manifest.json").read_text())
            if manifest["schema"] != SCHEMA:
                return {}
            files: Mapping[str, Any] = manifest["files"]
            return {name: ((file["stamp"][0], file["stamp"][1]), file["runs"]) for name, file in files.items()}
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return {}  # the files themselves say the same, only more slowly

    def _read(self, name: str) -> list[dict[str, Any]]:
        try:
            return read_runs(self._runs_directory / name)
        except FileNotFoundError:
            return []
        except NewerFileError as error:
            _log.warning("%s is left as it is: %s", self._runs_directory / name, error)
        except FileError as error:
            self.set_aside(name, str(error))
        return []

    def _scan(self) -> Iterable[tuple[str, Stamp]]:
        try:
            with os.scandir(self._runs_directory) as entries:
                for entry in entries:
                    if entry.name.endswith(SUFFIX) and entry.is_file():
                        stat = entry.stat()
                        yield entry.name, (stat.st_size, stat.st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            return


def best(files: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Entry of every run, by key, with the name of its `file`, from the entries in each file.

    Of several entries for one run a done one counts, then one that was played here, then the latest: when a run from
    elsewhere finished is what its submitter says.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(files):
        for entry in files[name]:
            run = {**entry, "file": name}
            other = found.get(run["key"])
            if other is None or _preference(run) < _preference(other):
                found[run["key"]] = run
    return found


def _preference(run: Mapping[str, Any]) -> tuple[bool, bool, float]:
    return run["status"] != "done", is_submitted(run["file"], run["key"]), -run["finished"]
