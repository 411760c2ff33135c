"""Move results between folders: merge shards, pack a folder for another machine, add a packed folder.

The audit of a run goes with its record: DIR/audit/<key>.parquet, which `leaderboards.audit.store` writes and reads.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpbandit_envs.atomic import written_whole
from leaderboards.play.record import Status
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.store.intact import MOST_JSON, StoreError, open_json, write_whole
from leaderboards.store.origin import origin
from leaderboards.store.run_file import (
    SUBMITTED,
    SUFFIX,
    FileError,
    RunEntry,
    content_of,
    open_table,
    read_traced,
    rows_in,
)
from leaderboards.store.store import AUDITS, Store, best, by_file
from leaderboards.store.union import noted, write_note
from leaderboards.text import visible

_LIST = "submission.json"
_SUITE = "suite.json"
_SCHEMA = 1
_LONGEST_REASON = 200  # characters of what is wrong with an archive, which may quote it


@dataclass(frozen=True)
class MergeResult:
    """What a merge or an added archive changed in a folder.

    Attributes:
        runs: Number of runs that are new, or newly done.
        known: Number of runs that the folder had already; they stay as they are.
        rejected: Files that were rejected, with the reason.
    """

    runs: int
    known: int
    rejected: tuple[str, ...] = ()


def merge(sources: Iterable[Path], target: Path) -> MergeResult:
    """Copy the files of `sources`, shards of one suite, into `target`, with audits and the board they name.

    Files are named after what they hold. One of a name that is there stays, and of several records of a run one counts,
    see `leaderboards.store.store.best`.

    Raises:
        StoreError: if a source holds no results, or those of another suite, or not all folders name the same board.
        OSError: if a file cannot be read, or `target` cannot be written.
    """
    stores, store = [Store(source) for source in sources], Store(target)
    for source in stores:
        if not source.runs_directory.is_dir():
            raise StoreError(
                f"{source.directory} holds no results: expected a folder that `gpbandit run SUITE --out` was given"
            )
    before = store.entries()
    against = _one_board([*stores, store] if before or noted(target) is not None else stores)
    for source in stores:
        _adopt_suite(source.suite(), store)
    if against is not None:  # before any run, so that a merge that was interrupted can go on
        write_note(target, against)
    for source in stores:
        for name, runs in by_file(source.entries().values()).items():
            source.kept(runs[0].key)  # reads the file: a damaged one is not copied
            if not (store.runs_directory / name).exists():
                with written_whole(store.runs_directory / name) as temporary:
                    shutil.copyfile(source.runs_directory / name, temporary)
    store.write_cache()
    here = store.entries()
    new = {key for key, run in here.items() if _improves(run, before.get(key))}
    for key in new:
        (target / _audit(key)).unlink(missing_ok=True)  # of an earlier record
    for source in stores:
        for key in source.entries():
            # An audit belongs to one record: it is adopted only where that is the one that counts here.
            if (audit := source.directory / _audit(key)).exists() and _is_same(source, store, key):
                _put_audit(target, key, audit.read_bytes())
    found = {key for source in stores for key in source.entries()}
    return MergeResult(len(new), len(found - new))


def pack(directory: Path, archive: Path, *statuses: Status) -> int:
    """Pack the runs of `directory` that ended so, or all, for `add` on another machine; returns their number.

    Their audits are packed with them, and a hash of every file.

    Raises:
        StoreError: if there is nothing to pack, or a file turns out to be damaged.
        OSError: if the archive cannot be written.
    """
    store = Store(directory)
    runs = store.keys(*statuses)
    if not runs:
        raise StoreError(f"{directory} holds no readable run to pack")
    store.suite()  # a damaged one is not packed
    listed: dict[str, str] = {}
    with (
        written_whole(archive) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as packed,
    ):

        def put(name: str, content: bytes) -> None:
            listed[name] = hashlib.sha256(content).hexdigest()
            packed.writestr(zipfile.ZipInfo(name), content)  # with a fixed date: a clock may have one that it lacks

        for rows in store.rows(store.entry(key) for key in sorted(runs)):
            put(rows[0].entry.file, content_of(rows))
        for name in [_SUITE, *(_audit(key) for key in sorted(runs))]:
            if (directory / name).exists():
                put(name, (directory / name).read_bytes())
        listing = {"schema": _SCHEMA, "origin": origin().model_dump(), "files": listed}
        packed.writestr(zipfile.ZipInfo(_LIST), json.dumps(listing, indent=1))
    return len(runs)


def _put_audit(target: Path, key: str, content: bytes | None) -> None:
    """Write the audit of a run whose record a folder has; one that is there stays."""
    path = target / _audit(key)
    if content is not None and not path.exists():
        write_whole(path, content)


def _audit(key: str) -> str:
    """The audit of a run, as a folder and an archive name it."""
    return f"{AUDITS}/{key}{SUFFIX}"


def add(archive: Path, directory: Path) -> MergeResult:
    """Add the runs that another machine packed, with their audits; they count as submitted.

    A run of the archive replaces one of the folder only if it is done and that one is not. Nothing of the archive is
    executed or imported, and it chooses no file name: each member is read on its own, must be listed, must match its
    hash and must be a results file, or the audit of a run that is added. Members are stored as they are, so that no
    archive is larger inside than outside.

    Raises:
        StoreError: if the archive is not one that `pack` made, or belongs to another suite.
        OSError: if `directory` cannot be written.
    """
    store = Store(directory)
    before = store.entries()
    with tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        suite, files, audits, rejected = _opened(archive, Path(scratch))
        _adopt_suite(suite, store)
        found = best(files.values())
        new = {key: run for key, run in found.items() if _improves(run, before.get(key))}
        for key in new:  # first, so that no run comes without its audit if this is interrupted
            (directory / _audit(key)).unlink(missing_ok=True)  # of an earlier record
            _put_audit(directory, key, audits.get(_audit(key)))
        for name, runs in by_file(new.values()).items():
            # Under a name that follows from their content, so that they replace no others.
            content = content_of(rows_in(Path(scratch) / name, runs))
            digest = hashlib.sha256(content).hexdigest()[:32]
            write_whole(store.runs_directory / f"{SUBMITTED}{digest}{SUFFIX}", content)
    if new:
        store.write_cache()
    return MergeResult(len(new), len(found) - len(new), tuple(rejected))


def _opened(
    archive: Path, scratch: Path
) -> tuple[Suite | None, dict[str, list[RunEntry]], dict[str, bytes], list[str]]:
    """The suite of an archive, its runs by the results file in `scratch`, its audits, and what of it is rejected.

    Raises:
        StoreError: if it is no archive that `pack` made.
    """
    files: dict[str, list[RunEntry]] = {}
    audits: dict[str, bytes] = {}
    rejected = []
    try:
        if not archive.is_file() and archive.exists():  # a pipe would never end
            raise ValueError("expected a file, got a device, a pipe or a folder")
        with zipfile.ZipFile(archive) as packed:
            check_members(packed, archive.stat().st_size)
            listed = _hashes(_json_of(packed, _LIST))
            suite = parse_suite(_json_of(packed, _SUITE)) if _SUITE in listed else None
            rejected += [f"{name!r}: it is not listed" for name in packed.namelist() if name not in {*listed, _LIST}]
            for number, (name, expected) in enumerate(sorted(listed.items())):
                if name == _SUITE:
                    continue
                content = packed.read(name)
                if hashlib.sha256(content).hexdigest() != expected:
                    rejected.append(f"{name!r}: its content does not have the hash that the archive states")
                    continue
                path = scratch / f"{number}{SUFFIX}"
                path.write_bytes(content)
                try:
                    if name.startswith(f"{AUDITS}/"):
                        with open_table(path):
                            audits[name] = content
                    else:
                        files[path.name] = read_traced(path)
                        rows_in(path, files[path.name])  # all of it can be read
                except FileError as error:
                    rejected.append(f"{name!r}: {error}")
    except FileNotFoundError:
        raise StoreError(f"no archive {archive}") from None
    except (*_NO_ARCHIVE, OSError) as error:
        # Of a damaged end zipfile looks for the beginning of the archive before that of the file.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        reason = visible(" ".join(str(error).split()))[:_LONGEST_REASON]
        raise StoreError(f"{archive} is no archive of `gpbandit submit` ({type(error).__name__}: {reason})") from None
    return suite, files, audits, rejected


def check_members(packed: zipfile.ZipFile, size: int) -> None:
    """Check that an archive of `size` bytes holds no more than that, uncompressed, and every name once.

    Raises:
        ValueError: naming what is wrong.
    """
    members = packed.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1 for member in members):
        raise ValueError("expected members without compression and encryption, as `gpbandit` writes them")
    total = sum(member.file_size for member in members)
    if total > size:  # two members may be one and the same part of the archive
        raise ValueError(f"its members state {total:,} bytes, and it has {size:,}")
    twice = [name for name, n in Counter(packed.namelist()).items() if n > 1]
    if twice:
        raise ValueError(f"it holds {twice[0]!r} twice")


def _json_of(packed: zipfile.ZipFile, name: str) -> Any:
    if packed.getinfo(name).file_size > MOST_JSON:
        raise ValueError(f"{name}: expected at most {MOST_JSON:,} bytes, got more")
    return open_json(packed.read(name)) if name == _SUITE else json.loads(packed.read(name))


def _hashes(listing: Any) -> dict[str, str]:
    """SHA-256 of every member by name, from the listing of an archive.

    Raises:
        ValueError: if it is of another form.
    """
    listed = listing["files"]
    if not isinstance(listed, dict) or not all(isinstance(expected, str) for expected in listed.values()):
        raise ValueError(f"{_LIST}: expected a hash for every file")
    return listed


_NO_ARCHIVE = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, AttributeError, RuntimeError, EOFError)


def _improves(run: RunEntry, known: RunEntry | None) -> bool:
    return known is None or (run.status == "done" and known.status != "done")


def _is_same(source: Store, store: Store, key: str) -> bool:
    """Whether both folders have the same record of a run."""
    (one, kept), (other, kept_here) = ((folder.entry(key), folder.kept(key)) for folder in (source, store))
    if (one.status, one.finished) != (other.status, other.finished):
        return False
    return (kept and kept.digest) == (kept_here and kept_here.digest)


def _one_board(stores: Sequence[Store]) -> str | None:
    """The board that all of these folders were played against; None for none.

    Raises:
        StoreError: if they differ, or a note is damaged.
    """
    notes = {noted(store.directory): store.directory for store in stores}
    if len(notes) > 1:
        got = " and ".join(f"{folder} against {board or 'no board'}" for board, folder in notes.items())
        raise StoreError(f"expected folders that were played against the same board, got {got}")
    return next(iter(notes), None)


def _adopt_suite(theirs: Suite | None, target: Store) -> None:
    ours = target.suite()
    if theirs is None or ours is None:
        if theirs is not None:
            target.write_suite(theirs)
        return
    facts = [(suite.name, suite.horizon, suite.seed, suite.feedback) for suite in (ours, theirs)]
    tasks = [{task.key for task in suite.tasks} for suite in (ours, theirs)]
    if facts[0] != facts[1] or tasks[0] != tasks[1]:
        differ = [f"{one!r} and not {other!r}" for one, other in zip(*facts) if one != other] or ["other tasks"]
        raise StoreError(
            f"{target.directory} holds another suite, with {', '.join(differ)}: give a folder of the same suite"
        )
