"""Results from one folder to another: merge shards, pack a folder for others, add what others packed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import uuid
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leaderboards.play.files import SUFFIX, TEMPORARY, FileError, read_columns, read_runs
from leaderboards.play.origin import origin
from leaderboards.play.provenance import Provenance
from leaderboards.play.store import Store, StoreError

__all__ = ["Received", "add", "merge", "pack"]

_LIST = "submission.json"
_SUITE = "suite.json"
_SCHEMA = 1


@dataclass(frozen=True)
class Received:
    """What came into a folder.

    Attributes:
        runs: Number of runs that were not there before.
        known: Number of runs that were, and stay as they are.
        rejected: Files that were left out, with the reason.
    """

    runs: int
    known: int
    rejected: tuple[str, ...] = ()


def merge(sources: Iterable[Path], target: Path) -> Received:
    """Copy the runs of `sources`, shards of one suite, into `target`.

    Raises:
        StoreError: if a source holds no results, or those of another suite.
        OSError: if `target` cannot be written.
    """
    store = Store(target)
    before = store.keys()
    found, rejected = 0, []
    for source in sources:
        if not (source / "runs").is_dir():
            raise StoreError(f"{source} holds no results: expected a folder that `gpbandit run SUITE --out` was given")
        _adopt_suite(Store(source), store)
        for path in sorted((source / "runs").glob(f"*{SUFFIX}")):
            try:
                found += len(read_runs(path))
            except FileError as error:
                rejected.append(f"{path}: {error}")
                continue
            _copy(path.read_bytes(), path.name, store)
    store.write_manifest()
    new = len(store.keys() - before)
    return Received(new, found - new, tuple(rejected))


def pack(directory: Path, archive: Path) -> int:
    """Pack the results of `directory`, with a hash of every file, for `add` on another machine; returns their number.

    Raises:
        StoreError: if there is nothing to pack.
        OSError: if the archive cannot be written.
    """
    store = Store(directory)
    runs = store.keys()
    if not runs:
        raise StoreError(f"{directory} holds no readable run to pack")
    paths = [*sorted(store.runs_directory.glob(f"*{SUFFIX}")), directory / _SUITE]
    listed = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.exists()}
    archive.parent.mkdir(parents=True, exist_ok=True)
    temporary = archive.with_name(f"{archive.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as packed:
            packed.writestr(_LIST, json.dumps({"schema": _SCHEMA, "origin": origin(), "files": listed}, indent=1))
            for path in paths:
                if path.name in listed:
                    packed.write(path, path.name)
        os.replace(temporary, archive)
    finally:
        temporary.unlink(missing_ok=True)
    return len(runs)


def add(archive: Path, directory: Path) -> Received:
    """Add the runs that another machine packed; they count as submitted until they are verified.

    A run that is there already stays as it is. Nothing of the archive is executed or written under a name that it
    chose: members are read one by one, must be listed, agree with their hash and be results files.

    Raises:
        StoreError: if the archive is not one that `pack` made, or belongs to another suite.
        OSError: if `directory` cannot be written.
    """
    store = Store(directory)
    before = store.keys()
    found: set[str] = set()
    rejected = []
    try:
        with zipfile.ZipFile(archive) as packed, tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
            listed = json.loads(packed.read(_LIST))["files"]
            if _SUITE in listed:
                source = Store(scratch)
                (source.directory / _SUITE).write_bytes(packed.read(_SUITE))
                _adopt_suite(source, store)
            for name, expected in sorted(listed.items()):
                if name == _SUITE:
                    continue
                content = packed.read(name)
                if hashlib.sha256(content).hexdigest() != expected:
                    rejected.append(f"{name}: its content does not have the hash that the archive states")
                    continue
                try:
                    keys = _keys_in(content, Path(scratch) / "file.parquet")
                except FileError as error:
                    rejected.append(f"{name}: {error}")
                    continue
                found |= keys
                if keys - before:
                    _copy(content, f"{hashlib.sha256(content).hexdigest()[:32]}{SUFFIX}", store)
    except FileNotFoundError:
        raise StoreError(f"no archive {archive}") from None
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError) as error:
        raise StoreError(f"{archive} is no archive of `gpbandit submit` ({type(error).__name__}: {error})") from None
    new = found - before
    if new:
        Provenance(directory).submitted(new, archive.name)
        store.write_manifest()
    return Received(len(new), len(found & before), tuple(rejected))


def _keys_in(content: bytes, scratch: Path) -> set[str]:
    """Keys of the runs in a results file, all of whose data can be read."""
    scratch.write_bytes(content)
    runs = read_runs(scratch)
    read_columns(scratch, sorted({name for run in runs for name in run["columns"]}))
    return {run["key"] for run in runs}


def _copy(content: bytes, name: str, store: Store) -> None:
    """Write a results file; if another of that name is there, both stay, and the better result of each run counts."""
    store.runs_directory.mkdir(parents=True, exist_ok=True)
    target = store.runs_directory / name
    if target.exists():
        if target.read_bytes() == content:
            return
        target = target.with_name(f"{target.stem}-{hashlib.sha256(content).hexdigest()[:8]}{SUFFIX}")
    temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _adopt_suite(source: Store, target: Store) -> None:
    theirs, ours = source.suite(), target.suite()
    if theirs is None:
        return
    if ours is None:
        target.write_suite(theirs)
    elif ours.get("name") != theirs.get("name"):
        raise StoreError(
            f"{target.directory} holds suite {ours.get('name')!r} and not {theirs.get('name')!r}: "
            "give a folder of the same suite"
        )
