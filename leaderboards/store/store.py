"""A results folder: one parquet file per run, or per group of short runs, and their suite.

DIR/suite.json         the suite as it was run
DIR/runs/*.parquet     the runs; files there are the only truth about what has been done
DIR/entries.cache      the entries of all runs, in one file; a cache
DIR/provenance.json    which runs were submitted from elsewhere, and which verified
DIR/checkpoints/       states of long runs in progress

A folder that somebody published, such as a board, has a manifest in place of the first, and runs without their traces;
nothing writes to it:

DIR/manifest.json      the suite, and the files of the runs with their hashes, see `leaderboards.store.manifest`
DIR/runs/*.parquet     the runs, a file an agent
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import re
import shutil
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from gpbandit_envs.atomic import TEMPORARY, written_whole
from gpbandit_envs.version import __version__
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.store.intact import DAMAGED, StoreError, open_json, read_limited, seal_json, set_aside
from leaderboards.store.kept import KeptRun
from leaderboards.store.manifest import Manifest, read_manifest
from leaderboards.store.provenance import Provenance, TrustLevel
from leaderboards.store.run_file import (
    SUFFIX,
    FileError,
    NewerFileError,
    RunEntry,
    entries_of,
    entry_table,
    open_table,
    read_kept,
    read_runs,
    read_traces,
    results_in,
    row_of,
    write_rows,
    write_table,
)

__all__ = ["AUDITS", "SCRATCH", "Store", "StoreError", "StoreView", "SuiteLostError", "best"]

SCRATCH = ".scratch-"
"""Begins the names of folders in which harnesses keep notes while they run."""

AUDITS = "audit"
"""Folder of the audits of a results folder, one file a run."""

_NOT_DONE = "-failed"  # ends the names of files of single runs that are not done
_STALE_SECONDS = 86_400.0  # a temporary file this old belongs to a writer that was killed
# What is written in which folder, and so may be left there half written: the folder may hold the user's own files.
_WRITTEN = {
    "": r"(suite|manifest|provenance|against|fingerprints)\.json|entries\.cache",
    "runs": r".+\.parquet",
    AUDITS: r".+\.parquet",
    "checkpoints": r"[0-9a-f]{32}\.pickle",
}
_RANDOM = r"\.[0-9a-f]{12}"  # what `gpbandit_envs.atomic.written_whole` puts between the name and `TEMPORARY`
_SCRATCH = re.compile(re.escape(SCRATCH) + r"[a-z0-9_]{8}")  # as `tempfile` names folders
_log = logging.getLogger("gpbandit")

Stamp = tuple[int, int]
"""Size and time of change of a file: as long as they stay, so does its content."""


class SuiteLostError(StoreError):
    """The suite of a folder was damaged: which runs belong to it cannot be told until it is run again."""


class StoreView(ABC):
    """What can be read of results, wherever they are: a results folder, a board, or both together."""

    @property
    @abstractmethod
    def directory(self) -> Path:
        """The folder that is named to the user, and in which a page is built."""

    @abstractmethod
    def suite(self) -> Suite | None:
        """The suite of the results; None if there is none.

        Raises:
            SuiteLostError: if it was damaged.
        """

    @abstractmethod
    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run, all but its trace, by key."""

    @abstractmethod
    def standings(self) -> Callable[[RunEntry], TrustLevel]:
        """The function that says how far a record is to be trusted."""

    @abstractmethod
    def path(self, run: RunEntry) -> Path:
        """The file that holds a run."""

    @abstractmethod
    def traces(
        self, columns: Sequence[str], keys: Collection[str] | None = None
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        """Runs with columns of their traces, NaN where a run lacks one; without those of which no trace is kept.

        Args:
            columns: Which columns.
            keys: Which runs; by default all that are done.

        Raises:
            KeyError: if a run does not exist.
        """

    @abstractmethod
    def trace(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """One row per evaluation, see `leaderboards.play.record.TRACE_COLUMNS`; all columns or those named.

        Raises:
            KeyError: if there is no such run, or it has no such column.
            StoreError: if its trace is not there.
        """

    @abstractmethod
    def kept(self, key: str) -> KeptRun | None:
        """What is kept of a run besides its trace; None if it is not done, or its numbers make no sense.

        Raises:
            KeyError: if there is no such run.
            StoreError: if its file is damaged, or has gone.
        """

    def rivals(self) -> frozenset[str]:
        """Keys of the agents whose runs are published, so that whoever plays in this folder does not play them."""
        return frozenset()

    def against(self) -> str | None:
        """The board that these runs are seen among, as `--against` takes it; None for none."""
        return None

    def entry(self, key: str) -> RunEntry:
        """Entry of a run, all but its trace, as it was last read.

        Raises:
            KeyError: if there is no such run.
        """
        try:
            return self.entries()[key]
        except KeyError:
            raise KeyError(f"no run {key} in {self.directory}") from None

    def keys(self, *statuses: Status) -> set[str]:
        """Keys of the runs with one of `statuses`, or of all runs."""
        return {key for key, run in self.entries().items() if not statuses or run.status in statuses}

    def done_keys(self) -> set[str]:
        """Keys of the runs that are done: not those that crashed, timed out or were skipped."""
        return self.keys("done")

    def runs(self) -> pd.DataFrame:
        """One row per run, sorted by environment, agent and repetition; the index is the key.

        Columns: `env`, `agent` (labels), `repetition`, `horizon`, `status`, `reason` (missing where done), `seconds`;
        then `env_id`, `agent_id`, `seed`, `feedback`, `evaluations` (rows of the trace), `tries`, `finished` (seconds
        since 1970), `error` (traceback of a crash) and `standing` (local, submitted or verified). Labels are
        those of `suite.json` where it names the run's environment or agent, else those the run was written with.

        Raises:
            SuiteLostError: if `suite.json` is damaged.
        """
        suite, standing = self.suite(), self.standings()
        tasks = {} if suite is None else {task.key: task.env.label for task in suite.tasks}
        agents = {} if suite is None else {entry.ref.key: entry.ref.label for entry in suite.agents}
        entries = self.entries()
        runs = list(entries.values())
        frame = pd.DataFrame(
            {
                "env": [tasks.get(run.spec.task, run.spec.env.label) for run in runs],
                "agent": [agents.get(run.spec.agent.key, run.spec.agent.label) for run in runs],
                "repetition": [run.spec.repetition for run in runs],
                "horizon": [run.spec.horizon for run in runs],
                "status": [run.status for run in runs],
                "reason": [run.reason for run in runs],
                "seconds": [run.seconds for run in runs],
                "env_id": [run.spec.env.id for run in runs],
                "agent_id": [run.spec.agent.id for run in runs],
                "seed": [run.spec.seed for run in runs],
                "feedback": [run.spec.feedback for run in runs],
                "evaluations": [run.rows for run in runs],
                "tries": [run.tries for run in runs],
                "finished": [run.finished for run in runs],
                "error": [run.error for run in runs],
                "standing": [standing(run) for run in runs],
            },
            index=pd.Index(list(entries), name="key"),
        )
        return frame.sort_values(["env", "agent", "repetition", "horizon"], kind="stable")

    def spec(self, key: str) -> RunSpec:
        """What was run.

        Raises:
            KeyError: if there is no such run.
        """
        return self.entry(key).spec


class Store(StoreView):
    """The results folder `directory`.

    Many processes may write to one folder: files appear whole, and the same run gives the same rows in every process.
    A file that is damaged or foreign gets the ending `.damaged` and is named in a log message; its runs count as not
    done. A damaged file of a folder that was published is an error instead, and nothing is written there.

    Args:
        directory: The folder; it is made when something is first written.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        self._root = self._directory.absolute()
        self._index = _Index(self.root)
        self._kept: dict[tuple[str, Stamp], dict[str, KeptRun]] = {}

    @property
    def directory(self) -> Path:
        """The results folder, as it was given."""
        return self._directory

    @property
    def root(self) -> Path:
        """Where it is, whatever working folder an agent changes to."""
        return self._root

    @functools.cached_property
    def manifest(self) -> Manifest | None:
        """The manifest of a folder that somebody published; None for a folder that is played into.

        Raises:
            StoreError: if it is damaged.
        """
        return read_manifest(self.root)

    @property
    def runs_directory(self) -> Path:
        """Where the files of the runs are."""
        return self.root / "runs"

    def checkpoint(self, key: str) -> Path:
        """Where a run in progress saves its state."""
        return self.root / "checkpoints" / f"{key}.pickle"

    # ---- writing ----

    def write(self, *records: RunRecord) -> Path:
        """Write one run, or several short ones that share a file; returns the file.

        A run that is not done never replaces one that is, and counts until there is one.

        Raises:
            OSError: if the folder cannot be written or the disk is full; what was there before stays.
            StoreError: if the folder was published.
        """
        if not records:
            raise ValueError("records: expected at least one, got none")
        self._check_writable()
        # What is done has a name that nothing else may take: another harness may have finished the run meanwhile.
        names = [record.spec.key + ("" if record.status == "done" else _NOT_DONE) for record in records]
        # A group is named after all its members: no other group may replace it.
        name = names[0] if len(names) == 1 else "group-" + hashlib.sha256("".join(names).encode()).hexdigest()[:32]
        path = self.runs_directory / f"{name}{SUFFIX}"
        write_rows(path, [row_of(record) for record in records])
        for record in records:
            if record.status == "done":
                (self.runs_directory / f"{record.spec.key}{_NOT_DONE}{SUFFIX}").unlink(missing_ok=True)
        return path

    def mark_verified(self, keys: Iterable[str]) -> None:
        """Mark the records of these runs as verified: played again with equal traces.

        Raises:
            KeyError: if there is no such run.
            OSError: if the folder cannot be read or written.
        """
        Provenance(self.root).add_verified([self.entry(key) for key in keys])

    def write_suite(self, suite: Suite) -> None:
        """Write the suite to `suite.json`, with every default written out.

        Raises:
            OSError: if the folder cannot be written.
            StoreError: if the folder was published.
        """
        self._check_writable()
        with written_whole(self._suite_path) as temporary:
            temporary.write_bytes(seal_json(suite.frozen().model_dump(mode="json"), indent=2))
        self._suite_path.with_name(self._suite_path.name + DAMAGED).unlink(missing_ok=True)

    def write_cache(self) -> None:
        """Write the entries of all runs to one file, from which the folder opens faster.

        Raises:
            OSError: if the folder cannot be written.
        """
        if self.runs_directory.is_dir() and self.manifest is None:
            self._index.write_cache()

    def _check_writable(self) -> None:
        if self.manifest is not None:
            raise StoreError(f"{self.directory} was published, and nothing is written to it: give another folder")

    def sweep(self) -> None:
        """Remove what killed harnesses left behind a day ago or longer, by its names: half a file, and progress."""
        written = [
            path
            for folder, name in _WRITTEN.items()
            for path in (self.root / folder).glob(f"*{TEMPORARY}")
            if re.fullmatch(f"(?:{name})" + _RANDOM + re.escape(TEMPORARY), path.name) and path.is_file()
        ]
        scratch = [path for path in self.root.glob(f"{SCRATCH}*") if _SCRATCH.fullmatch(path.name)]
        for path in [*written, *(path for path in scratch if path.is_dir() and not path.is_symlink())]:
            try:
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            except OSError:
                pass  # its writer was alive after all, or the folder is read-only: both are harmless here

    # ---- reading ----

    def suite(self) -> Suite | None:
        """The suite of the folder; None if there is none.

        Raises:
            SuiteLostError: if its file is damaged, which sets it aside, or was and is not written anew yet.
            StoreError: if it is whole and not understood, as one of another version.
            OSError: if the system does not give the file, which says nothing of it.
        """
        if self.manifest is not None:
            return self.manifest.suite
        path = self._suite_path
        try:
            values = open_json(read_limited(path))
        except FileNotFoundError:
            aside = path.with_name(path.name + DAMAGED)
            if not aside.exists():
                return None
            raise SuiteLostError(
                f"{self.directory} has lost its suite, which was damaged: run the suite again with --out "
                f"{self.directory}, or remove {self._named(aside)} to see the results without one"
            ) from None
        except ValueError as error:
            said = set_aside(self._named(path), str(error))
            raise SuiteLostError(
                f"{said}: run the suite again with --out {self.directory}, which writes it anew"
            ) from None
        try:
            return parse_suite(values)
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{self._named(path)} is as it was written, and gpbandit-envs {__version__} does not understand it: "
                f"{error}. Use the version that wrote it, or another folder"
            ) from None

    def rivals(self) -> frozenset[str]:
        """Keys of the agents of a suite that was published with its runs; none of a folder that is played into."""
        if self.manifest is None:
            return frozenset()
        return frozenset(entry.ref.key for entry in self.manifest.suite.agents)

    def standings(self) -> Callable[[RunEntry], TrustLevel]:
        """The function that says how far a record is to be trusted: by the manifest, or by `provenance.json` now."""
        if self.manifest is None:
            return Provenance(self.root).standing
        files = self.manifest.files
        return lambda run: files[run.file].source.standing

    def _named(self, path: Path) -> Path:
        """A file of the folder, as messages name it."""
        return self.directory / path.relative_to(self.root)

    @property
    def _suite_path(self) -> Path:
        return self.root / "suite.json"

    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run, all but its trace, by key; scans the folder for new files."""
        return self._index.entries(self.manifest)

    def entry(self, key: str) -> RunEntry:
        """Entry of a run, all but its trace, as it was last read; for a key not seen so far the folder is scanned.

        Raises:
            KeyError: if there is no such run.
        """
        known = self._index.known
        return known[key] if key in known else super().entry(key)

    def path(self, run: RunEntry) -> Path:
        """The file that holds a run."""
        return self.runs_directory / run.file

    def kept(self, key: str) -> KeptRun | None:
        """What is kept of a run besides its trace; None if it is not done, or its numbers make no sense.

        Raises:
            KeyError: if there is no such run.
            StoreError: if its file is damaged, or has gone.
        """
        run = self.entry(key)
        file = run.file, self._index.stamp(run.file)
        if file not in self._kept:
            with self._reading(run):
                self._kept[file] = read_kept(self.path(run))
        return self._kept[file].get(key)

    def trace(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """One row per evaluation, see `leaderboards.play.record.TRACE_COLUMNS`; all columns or those named.

        Raises:
            KeyError: if there is no such run, or it has no such column.
            StoreError: if its file has gone, or turns out to be damaged and has been set aside, or has no traces.
        """
        run = self.entry(key)
        if not run.traced:
            raise StoreError(f"run {key} is of a board, which keeps no traces: play it again")
        wanted = list(run.columns if columns is None else columns)
        missing = [name for name in wanted if run.rows and name not in run.columns]
        if missing:
            raise KeyError(f"run {key} has no column {missing[0]!r}; it has {', '.join(run.columns)}")
        if not run.rows:
            return pd.DataFrame({name: np.zeros(0) for name in wanted})
        with self._reading(run):
            ((_, trace),) = read_traces(self.path(run), [run], wanted)
        return pd.DataFrame(trace)

    @contextmanager
    def _reading(self, run: RunEntry) -> Iterator[None]:
        """Turn what is wrong with the file of a run into an error that says what to do."""
        path = self._named(self.path(run))
        try:
            yield
        except FileNotFoundError:
            raise StoreError(f"{path} has gone: run the suite again") from None
        except FileError as error:
            if self.manifest is not None:
                raise StoreError(f"{path}: {error}") from None
            said = self._index.set_aside(run.file, str(error))
            raise StoreError(f"{said}: run the suite again") from None

    def traces(
        self, columns: Sequence[str], keys: Collection[str] | None = None
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        """Runs with columns of their traces, NaN where a run lacks one; runs that share a file come together.

        A file that turns out to be damaged is set aside; its runs are left out, as are those of a file that has gone,
        and those without a trace.

        Args:
            columns: Which columns.
            keys: Which runs; by default all that are done.

        Raises:
            KeyError: if a run does not exist.
        """
        files: dict[str, list[RunEntry]] = {}
        for key in sorted(self.done_keys()) if keys is None else keys:
            run = self.entry(key)
            if run.traced:
                files.setdefault(run.file, []).append(run)
        return self._read(columns, files)

    def _read(
        self, columns: Sequence[str], files: Mapping[str, Sequence[RunEntry]]
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        for file, runs in files.items():
            try:
                found = list(read_traces(self.runs_directory / file, runs, columns))
            except FileNotFoundError:
                continue
            except FileError as error:
                _log.warning("%s: its runs count as not played", self._index.set_aside(file, str(error)))
                continue
            yield from found


@dataclass(frozen=True)
class _File:
    """Entries of one file, valid while its stamp is the same."""

    stamp: Stamp
    runs: tuple[RunEntry, ...]


class _Index:
    """Entries of all runs of a results folder, by key; only new and changed files are read.

    The cache is a copy of the index in one file, so that a folder of thousands of files opens at once. What it says of
    a file counts only while the file's size and time of change are the same.

    Args:
        directory: The results folder.
    """

    def __init__(self, directory: Path) -> None:
        self._runs_directory = directory / "runs"
        self._cache = directory / "entries.cache"
        self._cached: dict[str, _File] = {}
        self._files: dict[str, _File] | None = None
        self.known: Mapping[str, RunEntry] = {}

    def entries(self, manifest: Manifest | None) -> Mapping[str, RunEntry]:
        """Entry of every run, by key; of a folder that was published, of the files of its manifest."""
        if manifest is not None:
            if self._files is None:
                self._files = {name: _File((0, 0), self._published(manifest, name)) for name in manifest.files}
                self.known = {run.key: run for file in self._files.values() for run in file.runs}
            return self.known
        found = dict(self._scan())
        before = self._read_cache() if self._files is None else self._files
        if self._files is None or {name: file.stamp for name, file in before.items()} != found:
            self._files = {
                name: before[name] if name in before and before[name].stamp == stamp else _File(stamp, self._read(name))
                for name, stamp in found.items()
            }
            self.known = best(file.runs for file in self._files.values())
        return self.known

    def stamp(self, name: str) -> Stamp:
        """The stamp that a file had when it was last looked at."""
        return (self._files or {})[name].stamp

    def set_aside(self, name: str, reason: str) -> str:
        """Set the file `name` aside, whose runs count as not done from now on; returns what was done, in words."""
        if self._files is not None and name in self._files:
            self._files = {**self._files, name: _File(self._files[name].stamp, ())}
            self.known = best(file.runs for file in self._files.values())
        return set_aside(self._runs_directory / name, reason)

    def write_cache(self) -> None:
        """Write what is there now, unless the cache says so already.

        Raises:
            OSError: if the folder cannot be written.
        """
        self.entries(None)
        files = {name: file for name, file in (self._files or {}).items() if file.runs}
        if files == self._cached:
            return
        runs = [(name, *file.stamp, run) for name, file in files.items() for run in file.runs]
        table = entry_table([run for *_, run in runs])
        for place, column in enumerate(("file", "size", "changed")):
            table = table.append_column(column, pa.array([run[place] for run in runs]))
        write_table(self._cache, table)
        self._cached = files

    def _read_cache(self) -> dict[str, _File]:
        try:
            with open_table(self._cache) as file:
                table = file.read(use_threads=False)
            names, sizes, times = (table.column(name).to_pylist() for name in ("file", "size", "changed"))
            found: dict[str, _File] = {}
            for name, size, changed, run in zip(names, sizes, times, entries_of(table)):
                before = found[name].runs if name in found else ()
                found[name] = _File((size, changed), (*before, run.model_copy(update={"file": name})))
        except OSError:
            return {}  # the files themselves say the same, only more slowly
        except (FileError, KeyError) as error:
            _log.warning("%s: the files of the runs say the same", set_aside(self._cache, str(error)))
            return {}
        self._cached = found
        return found

    def _read(self, name: str) -> tuple[RunEntry, ...]:
        path = self._runs_directory / name
        try:
            runs = read_runs(path)
            if any(run.rows and not run.traced for run in runs):
                raise FileError("a run without its trace, as published ones are")
            return tuple(runs)
        except FileNotFoundError:
            return ()
        except NewerFileError as error:
            _log.warning("%s is left as it is: %s", path, error)
        except FileError as error:
            _log.warning("%s: its runs count as not played", set_aside(path, str(error)))
        return ()

    def _published(self, manifest: Manifest, name: str) -> tuple[RunEntry, ...]:
        path = self._runs_directory / name
        try:
            if hashlib.sha256(path.read_bytes()).hexdigest() != manifest.files[name].sha256:
                raise FileError("it does not have the hash that the manifest states: fetch the folder again")
            return tuple(read_runs(path))
        except FileError as error:
            raise StoreError(f"{path}: {error}") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror}), which the manifest names") from None

    def _scan(self) -> Iterable[tuple[str, Stamp]]:
        for path in results_in(self._runs_directory):
            with suppress(FileNotFoundError):
                found = path.stat()
                if stat.S_ISREG(found.st_mode):
                    yield path.name, (found.st_size, found.st_mtime_ns)


def best(files: Iterable[Sequence[RunEntry]]) -> dict[str, RunEntry]:
    """The entry that counts of every run, by key, from the entries in each file.

    Of several entries for one run a done one counts, then one that was played here, then the latest: when a run from
    elsewhere finished is what its submitter says.
    """
    found: dict[str, RunEntry] = {}
    for run in sorted((run for runs in files for run in runs), key=lambda run: run.file):
        other = found.get(run.key)
        if other is None or _preference(run) < _preference(other):
            found[run.key] = run
    return found


def _preference(run: RunEntry) -> tuple[bool, bool, float]:
    return run.status != "done", run.submitted, -run.finished
