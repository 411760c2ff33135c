"""A results folder: one parquet file per run, or per group of short runs, and their suite.

DIR/suite.json         the suite as it was run
DIR/runs/*.parquet     the runs; files there are the only truth about what has been done
DIR/entries.cache      the entries of all runs, in one file; a cache
DIR/checkpoints/       states of long runs in progress

A folder that somebody published, such as a board, has a manifest in place of the first, and runs without their traces;
nothing writes to it:

DIR/manifest.json      the suite, and the files of the runs with their hashes, see `leaderboards.store.provenance`
DIR/runs/*.parquet     the runs, a file an agent
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from gpbandit_envs.version import __version__
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.store.intact import StoreError, open_json, read_limited, seal_json, set_aside, write_whole
from leaderboards.store.kept import KeptRun
from leaderboards.store.provenance import Manifest, TrustLevel, read_manifest
from leaderboards.store.run_file import (
    SUFFIX,
    FileError,
    NewerFileError,
    Row,
    RunEntry,
    content_of,
    entries_of,
    entry_table,
    open_table,
    read_kept,
    read_runs,
    read_traced,
    read_traces,
    results_in,
    row_of,
    rows_in,
    write_table,
)

__all__ = ["AUDITS", "Store", "StoreError", "SuiteLostError", "best", "by_file", "counts_before"]

AUDITS = "audit"
"""Folder of the audits of a results folder, one file a run."""

_CACHE = "entries.cache"
_CACHED = ("file", "size", "changed")  # its columns beside those of the entries
_NOT_DONE = "-failed"  # ends the names of files of single runs that are not done
_log = logging.getLogger("gpbandit")

Stamp = tuple[int, int]
"""Size and time of change of a file: as long as they stay, so does its content."""

_Files = dict[str, tuple[Stamp, tuple[RunEntry, ...]]]
"""The entries of files by name, valid while the stamp is the same."""


class SuiteLostError(StoreError):
    """The suite of a folder is damaged: which runs belong to it cannot be told until it is run again."""


class Store:
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
        self._files: _Files | None = None  # until the folder is scanned
        self._cached: _Files = {}
        self._known: dict[str, RunEntry] = {}
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
        self._check_writable()
        # What is done has a name that nothing else may take: another harness may have finished the run meanwhile.
        names = [record.spec.key + ("" if record.status == "done" else _NOT_DONE) for record in records]
        # A group is named after all its members: no other group may replace it.
        name = names[0] if len(names) == 1 else "group-" + hashlib.sha256("".join(names).encode()).hexdigest()[:32]
        path = self.runs_directory / f"{name}{SUFFIX}"
        write_whole(path, content_of([row_of(record) for record in records]))
        for record in records:
            if record.status == "done":
                (self.runs_directory / f"{record.spec.key}{_NOT_DONE}{SUFFIX}").unlink(missing_ok=True)
        return path

    def write_suite(self, suite: Suite) -> None:
        """Write the suite to `suite.json`, with every default written out.

        Raises:
            OSError: if the folder cannot be written.
            StoreError: if the folder was published.
        """
        self._check_writable()
        write_whole(self.root / "suite.json", seal_json(suite.frozen().model_dump(mode="json"), indent=2))

    def write_cache(self) -> None:
        """Write the entries of all runs to one file, from which the folder opens faster, unless that says so already.

        Raises:
            OSError: if the folder cannot be written.
        """
        if not self.runs_directory.is_dir() or self.manifest is not None:
            return
        self.entries()
        files = {name: file for name, file in (self._files or {}).items() if file[1]}
        if files == self._cached:
            return
        rows = [(name, *stamp, run) for name, (stamp, runs) in files.items() for run in runs]
        table = entry_table([run for *_, run in rows])
        for place, column in enumerate(_CACHED):
            table = table.append_column(column, pa.array([row[place] for row in rows]))
        write_table(self.root / _CACHE, table)
        self._cached = files

    def _check_writable(self) -> None:
        if self.manifest is not None:
            raise StoreError(f"{self.directory} was published, and nothing is written to it: give another folder")

    # ---- reading ----

    def suite(self) -> Suite | None:
        """The suite of the folder; None if there is none.

        Raises:
            SuiteLostError: if its file is damaged.
            StoreError: if it is whole and not understood, as one of another version.
            OSError: if the system does not give the file, which says nothing of it.
        """
        if self.manifest is not None:
            return self.manifest.suite
        named = self.directory / "suite.json"
        try:
            values = open_json(read_limited(self.root / named.name))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise SuiteLostError(
                f"{named} is damaged ({error}): run the suite again with --out {self.directory}, which writes it anew, "
                "or remove it to see the results without one"
            ) from None
        try:
            return parse_suite(values)
        except (ValueError, TypeError) as error:
            raise StoreError(
                f"{named} is as it was written, and gpbandit-envs {__version__} does not understand it: "
                f"{error}. Use the version that wrote it, or another folder"
            ) from None

    def rivals(self) -> frozenset[str]:
        """Keys of the agents whose runs are published, so that whoever plays in this folder does not play them."""
        suite = None if self.manifest is None else self.suite()
        return frozenset() if suite is None else frozenset(entry.ref.key for entry in suite.agents)

    def standings(self) -> Callable[[RunEntry], TrustLevel]:
        """The function that says how far a record is to be trusted: by the manifest, or by the name of its file."""
        if self.manifest is None:
            return lambda run: "submitted" if run.submitted else "local"
        files = self.manifest.files
        return lambda run: files[run.file].source.standing

    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run, all but its trace, by key; scans the folder for new and changed files."""
        if self.manifest is not None:
            if self._files is None:
                self._know({name: ((0, 0), self._published(self.manifest, name)) for name in self.manifest.files})
            return self._known
        found = dict(self._scan())
        before = self._read_cache() if self._files is None else self._files
        if self._files is None or {name: stamp for name, (stamp, _) in before.items()} != found:
            self._know(
                {
                    name: before[name] if name in before and before[name][0] == stamp else (stamp, self._runs_of(name))
                    for name, stamp in found.items()
                }
            )
        return self._known

    def entry(self, key: str) -> RunEntry:
        """Entry of a run, all but its trace, as it was last read; for a key not seen so far the folder is scanned.

        Raises:
            KeyError: if there is no such run.
        """
        try:
            return self._known[key] if key in self._known else self.entries()[key]
        except KeyError:
            raise KeyError(f"no run {key} in {self.directory}") from None

    def keys(self, *statuses: Status) -> set[str]:
        """Keys of the runs with one of `statuses`, or of all runs."""
        return {key for key, run in self.entries().items() if not statuses or run.status in statuses}

    def done_keys(self) -> set[str]:
        """Keys of the runs that are done: not those that crashed, timed out or were skipped."""
        return self.keys("done")

    def spec(self, key: str) -> RunSpec:
        """What was run.

        Raises:
            KeyError: if there is no such run.
        """
        return self.entry(key).spec

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

    def against(self) -> str | None:
        """The board that these runs are seen among, as `--against` takes it; None for none."""
        return None

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
        file = run.file, (self._files or {})[run.file][0]
        if file not in self._kept:
            with self._reading(run.file):
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
        with self._reading(run.file):
            ((_, trace),) = read_traces(self.path(run), [run], wanted)
        return pd.DataFrame(trace)

    def rows(self, runs: Iterable[RunEntry]) -> Iterator[list[Row]]:
        """Whole rows of runs, those of a file together.

        Raises:
            StoreError: if a file has gone, or turns out to be damaged and has been set aside.
        """
        for file, chosen in by_file(runs).items():
            with self._reading(file):
                yield rows_in(self.runs_directory / file, chosen)

    def traces(
        self, columns: Sequence[str], keys: Collection[str] | None = None
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        """Runs with columns of their traces, NaN where a run lacks one; runs that share a file come together.

        Left out are runs of which no trace is kept, and those of a file that has gone or turns out to be damaged, which
        is set aside.

        Args:
            columns: Which columns.
            keys: Which runs; by default all that are done.

        Raises:
            KeyError: if a run does not exist.
        """
        runs = [self.entry(key) for key in (sorted(self.done_keys()) if keys is None else keys)]
        return self._traces(columns, [run for run in runs if run.traced])

    def _traces(
        self, columns: Sequence[str], runs: Sequence[RunEntry]
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        for file, chosen in by_file(runs).items():
            try:
                yield from list(read_traces(self.runs_directory / file, chosen, columns))
            except FileNotFoundError:
                continue
            except FileError as error:
                _log.warning("%s: its runs count as not played", self._set_aside(file, str(error)))

    @contextmanager
    def _reading(self, file: str) -> Iterator[None]:
        """Turn what is wrong with a file of runs into an error that says what to do."""
        path = self.directory / "runs" / file
        try:
            yield
        except FileNotFoundError:
            raise StoreError(f"{path} has gone: run the suite again") from None
        except FileError as error:
            if self.manifest is not None:
                raise StoreError(f"{path}: {error}") from None
            raise StoreError(f"{self._set_aside(file, str(error))}: run the suite again") from None

    # ---- files ----

    def _know(self, files: _Files) -> None:
        self._files, self._known = files, best(runs for _, runs in files.values())

    def _set_aside(self, file: str, reason: str) -> str:
        """Set a file of runs aside, which count as not done from now on; returns what was done, in words."""
        if self._files is not None and file in self._files:
            self._know({**self._files, file: (self._files[file][0], ())})
        return set_aside(self.runs_directory / file, reason)

    def _scan(self) -> Iterable[tuple[str, Stamp]]:
        for path in results_in(self.runs_directory):
            with suppress(FileNotFoundError):
                found = path.stat()
                if stat.S_ISREG(found.st_mode):
                    yield path.name, (found.st_size, found.st_mtime_ns)

    def _runs_of(self, file: str) -> tuple[RunEntry, ...]:
        path = self.runs_directory / file
        try:
            return tuple(read_traced(path))
        except FileNotFoundError:
            pass
        except NewerFileError as error:
            _log.warning("%s is left as it is: %s", path, error)
        except FileError as error:
            _log.warning("%s: its runs count as not played", set_aside(path, str(error)))
        return ()

    def _published(self, manifest: Manifest, file: str) -> tuple[RunEntry, ...]:
        path = self.runs_directory / file
        try:
            if hashlib.sha256(path.read_bytes()).hexdigest() != manifest.files[file].sha256:
                raise FileError("it does not have the hash that the manifest states: fetch the folder again")
            return tuple(read_runs(path))
        except FileError as error:
            raise StoreError(f"{path}: {error}") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be read ({error.strerror}), which the manifest names") from None

    def _read_cache(self) -> _Files:
        """What the cache says of files, which counts while their stamps are the same."""
        try:
            with open_table(self.root / _CACHE) as opened:
                table = opened.read(use_threads=False)
            files, *stamps = (table.column(name).to_pylist() for name in _CACHED)
            for run, stamp in zip(entries_of(table, files), zip(*stamps)):
                before = self._cached[run.file][1] if run.file in self._cached else ()
                self._cached[run.file] = stamp, (*before, run)
        except OSError:
            pass  # the files themselves say the same, only more slowly
        except (FileError, KeyError) as error:
            self._cached = {}
            _log.warning("%s: the files of the runs say the same", set_aside(self.root / _CACHE, str(error)))
        return self._cached


def by_file(runs: Iterable[RunEntry]) -> dict[str, list[RunEntry]]:
    """Runs by the name of their file."""
    files: dict[str, list[RunEntry]] = {}
    for run in runs:
        files.setdefault(run.file, []).append(run)
    return files


def best(files: Iterable[Sequence[RunEntry]]) -> dict[str, RunEntry]:
    """The entry that counts of every run, by key, from the entries in each file."""
    found: dict[str, RunEntry] = {}
    for run in sorted((run for runs in files for run in runs), key=lambda run: run.file):
        if counts_before(run, found.get(run.key)):
            found[run.key] = run
    return found


def counts_before(run: RunEntry, other: RunEntry | None) -> bool:
    """Whether an entry of a run counts, and not another: a done one, then one that was played here, then the latest.

    When a run from elsewhere finished is what its submitter says.
    """
    one, two = ((each.status != "done", each.submitted, -each.finished) if each else () for each in (run, other))
    return not two or one < two
