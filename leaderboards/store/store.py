"""A results folder: one parquet file per run, or per group of short runs, and their suite.

DIR/suite.json         the suite as it was run
DIR/runs/*.parquet     the runs; files there are the only truth about what has been done
DIR/manifest.json      what the files say, in one file; a cache
DIR/provenance.json    which runs were submitted from elsewhere, and which verified
DIR/checkpoints/       states of long runs in progress
DIR/quarantine/        files that could not be read, moved out of the way and named
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import ValidationError

from gpbandit_envs.atomic import TEMPORARY, written_whole
from gpbandit_envs.version import __version__
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.store.intact import (
    MOST_JSON,
    Quarantine,
    Quarantined,
    SealError,
    StoreError,
    is_sealed,
    open_json,
    read_limited,
    seal_json,
)
from leaderboards.store.kept import KeptRun
from leaderboards.store.provenance import Provenance, TrustLevel
from leaderboards.store.run_file import (
    SCHEMA,
    SUFFIX,
    FileError,
    NewerFileError,
    Origin,
    RunEntry,
    first_error,
    read_columns,
    read_runs,
    write_file,
)

__all__ = ["AUDITS", "SCRATCH", "Quarantined", "Store", "StoreError", "StoreView", "SuiteLostError", "best"]

SCRATCH = ".scratch-"
"""Begins the names of folders in which harnesses keep notes while they run."""

AUDITS = "audit"
"""Folder of the audits of a results folder, one file a run."""

_NOT_DONE = "-failed"  # ends the names of files of single runs that are not done
_STALE_SECONDS = 86_400.0  # a temporary file this old belongs to a writer that was killed
# What is written in which folder, and so may be left there half written: the folder may hold the user's own files.
_WRITTEN = {
    "": r"(suite|manifest|provenance|against|fingerprints)\.json",
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
    """What can be read of results, wherever they are kept: a results folder, a board, or both together."""

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

    def kept(self, key: str) -> KeptRun | None:
        """What is kept of a run in place of its trace; None if its trace is there."""
        return None

    def kept_times(self, task: str) -> np.ndarray | None:
        """At which evaluations the runs of a task are kept, by its `task_key`; None if all traces are whole."""
        return None

    def rivals(self) -> frozenset[str]:
        """Keys of the agents whose runs are a board's, so that whoever plays in this folder does not play them."""
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
    A file that is damaged or foreign is moved to `quarantine/`, named in `quarantined` and in a log message; its runs
    count as not done.

    Args:
        directory: The folder; it is made when something is first written.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._directory = Path(directory)
        self._root = self._directory.absolute()
        self._quarantine = Quarantine(self.root)
        self._index = _Index(self.root, self._quarantine)

    @property
    def directory(self) -> Path:
        """The results folder, as it was given."""
        return self._directory

    @property
    def root(self) -> Path:
        """Where it is, whatever working folder an agent changes to."""
        return self._root

    @property
    def quarantined(self) -> list[Quarantined]:
        """Files that this object has moved to `quarantine/`."""
        return self._quarantine.files

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
        """
        if not records:
            raise ValueError("records: expected at least one, got none")
        # What is done has a name that nothing else may take: another harness may have finished the run meanwhile.
        names = [record.spec.key + ("" if record.status == "done" else _NOT_DONE) for record in records]
        # A group is named after all its members: no other group may replace it.
        name = names[0] if len(names) == 1 else "group-" + hashlib.sha256("".join(names).encode()).hexdigest()[:32]
        path = self.runs_directory / f"{name}{SUFFIX}"
        write_file(path, records)
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
        """Write the suite to `suite.json`, with every default written out."""
        with written_whole(self._suite_path) as temporary:
            temporary.write_bytes(seal_json(suite.frozen().model_dump(mode="json"), indent=2))

    def write_manifest(self) -> None:
        """Write the manifest, from which the folder opens faster, unless it says already what is there.

        Raises:
            OSError: if the folder cannot be written.
        """
        if self.runs_directory.is_dir():
            self._index.write_manifest()

    def sweep(self) -> None:
        """Remove what killed harnesses left behind a day ago or longer, by its names: half a file, and progress."""
        written = [
            path
            for folder, name in _WRITTEN.items()
            for path in (self.root / folder).glob(f"*{TEMPORARY}")
            if re.fullmatch(name + _RANDOM + re.escape(TEMPORARY), path.name) and path.is_file()
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
        """The suite in `suite.json`; None if there is none.

        Raises:
            SuiteLostError: if the file is damaged, which moves it to `quarantine/`, or was and is not written anew yet.
            StoreError: if it is whole and not understood, as one of another version.
            OSError: if the system does not give the file, which says nothing of it.
        """
        whole = False
        try:
            text = read_limited(self._suite_path)
            values = open_json(text)
            whole = is_sealed(text)
            return parse_suite(values)
        except FileNotFoundError:
            aside = self._quarantine.folder / self._suite_path.name
            if not aside.exists():
                return None
            raise SuiteLostError(
                f"{self.directory} has lost its suite, which was damaged: run the suite again with --out "
                f"{self.directory}, or remove {self._named(aside)} to see the results without one"
            ) from None
        except (ValueError, TypeError) as error:
            if whole:
                raise StoreError(
                    f"{self._named(self._suite_path)} is as it was written, and gpbandit-envs {__version__} does not "
                    f"understand it: {error}. Use the version that wrote it, or another folder"
                ) from None
            found = self._quarantine.move(self._suite_path, str(error))
            raise SuiteLostError(
                f"{self._named(found.path)} was damaged and is set aside ({found.reason}): run the suite again with "
                f"--out {self.directory}, which writes it anew"
            ) from None

    def standings(self) -> Callable[[RunEntry], TrustLevel]:
        """The function that says how far a record is to be trusted, as `provenance.json` has it now."""
        return Provenance(self.root).standing

    def _named(self, path: Path) -> Path:
        """A file of the folder, as messages name it."""
        return self.directory / path.relative_to(self.root)

    @property
    def _suite_path(self) -> Path:
        return self.root / "suite.json"

    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run, all but its trace, by key; scans the folder for new files."""
        return self._index.entries()

    def entry(self, key: str) -> RunEntry:
        """Entry of a run, all but its trace, as it was last read.

        Raises:
            KeyError: if there is no such run.
        """
        try:
            return self._index.entry(key)
        except KeyError:
            raise KeyError(f"no run {key} in {self.directory}") from None

    def path(self, run: RunEntry) -> Path:
        """The file that holds a run."""
        return self.runs_directory / run.file

    def trace(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """One row per evaluation, see `leaderboards.play.record.TRACE_COLUMNS`; all columns or those named.

        Raises:
            KeyError: if there is no such run, or it has no such column.
            StoreError: if its file has gone, or turns out to be damaged and has been moved to `quarantine/`.
        """
        run = self.entry(key)
        wanted = list(run.columns if columns is None else columns)
        if not run.rows:
            return pd.DataFrame({name: np.zeros(0) for name in wanted})
        missing = [name for name in wanted if name not in run.columns]
        if missing:
            raise KeyError(f"run {key} has no column {missing[0]!r}; it has {', '.join(run.columns)}")
        path = self.path(run)
        try:
            table = read_columns(path, wanted)
        except FileNotFoundError:
            raise StoreError(f"{self._named(path)} has gone: run the suite again") from None
        except FileError as error:
            self._index.set_aside(run.file, str(error))
            raise StoreError(
                f"{self._named(path)} was damaged ({error}) and is in quarantine: run the suite again"
            ) from None
        frame: pd.DataFrame = table.slice(run.start, run.rows).to_pandas()
        return frame[wanted]

    def traces(
        self, columns: Sequence[str], keys: Collection[str] | None = None
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        """Runs with columns of their traces, NaN where a run lacks one; runs that share a file come together.

        A file that turns out to be damaged is set aside; its runs are left out, as are those of a file that has gone.

        Args:
            columns: Which columns.
            keys: Which runs; by default all that are done.

        Raises:
            KeyError: if a run does not exist.
        """
        files: dict[str, list[RunEntry]] = {}
        for key in sorted(self.done_keys()) if keys is None else keys:
            run = self.entry(key)
            files.setdefault(run.file, []).append(run)
        return self._read(columns, files)

    def _read(
        self, columns: Sequence[str], files: Mapping[str, Sequence[RunEntry]]
    ) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
        for file, runs in files.items():
            there = [name for name in columns if any(name in run.columns for run in runs)]
            try:
                table = read_columns(self.runs_directory / file, there)
            except FileNotFoundError:
                continue
            except FileError as error:
                self._index.set_aside(file, str(error))
                continue
            arrays = {name: table.column(name).to_numpy() for name in there}
            for run in runs:
                yield (
                    run,
                    {
                        name: arrays[name][run.start : run.stop] if name in run.columns else np.full(run.rows, np.nan)
                        for name in columns
                    },
                )


@dataclass(frozen=True)
class _File:
    """Entries of one file, valid while its stamp is the same."""

    stamp: Stamp
    runs: tuple[RunEntry, ...]


class _Index:
    """Entries of all runs of a results folder, by key; only new and changed files are read.

    The manifest is a copy of the index in one file, so that a folder of thousands of files opens at once. It is a
    cache: what it says of a file counts only while the file's size and time of change are the same.

    Args:
        directory: The results folder.
        quarantine: Where damaged files go.
    """

    def __init__(self, directory: Path, quarantine: Quarantine) -> None:
        self._runs_directory = directory / "runs"
        self._manifest = directory / "manifest.json"
        self._quarantine = quarantine
        self._in_manifest: dict[str, _File] | None = None
        self._files: dict[str, _File] | None = None
        self._entries: dict[str, RunEntry] = {}

    def entries(self) -> Mapping[str, RunEntry]:
        """Entry of every run, by key."""
        found = dict(self._scan())
        known = self._load_manifest() if self._files is None else self._files
        changed = self._files is None or known.keys() != found.keys()
        files: dict[str, _File] = {}
        for name, stamp in found.items():
            if name in known and known[name].stamp == stamp:
                files[name] = known[name]
            else:
                files[name] = _File(stamp, self._read(name))
                changed = True
        if changed:
            self._files = files
            self._entries = best(file.runs for file in files.values())
        return self._entries

    def entry(self, key: str) -> RunEntry:
        """Entry of the run `key`, as it was last read; the folder is looked at again only for a key not seen so far.

        Raises:
            KeyError: if there is no such run.
        """
        return self._entries[key] if key in self._entries else self.entries()[key]

    def set_aside(self, name: str, reason: str) -> None:
        """Move the file `name` to quarantine; its runs count as not done."""
        self._quarantine.set_aside(self._runs_directory / name, reason, "its runs count as not played")
        if self._files is not None and name in self._files:
            self._files[name] = _File(self._files[name].stamp, ())
            self._entries = best(file.runs for file in self._files.values())

    def write_manifest(self) -> None:
        """Write the manifest of what is there now; none if it would be longer than what is read.

        Raises:
            OSError: if the folder cannot be written.
        """
        self.entries()
        if self._files == self._in_manifest:
            return
        files = {
            name: {
                "stamp": file.stamp,
                "origin": file.runs[0].origin.model_dump() if file.runs else None,
                "runs": [run.to_json() for run in file.runs],
            }
            for name, file in (self._files or {}).items()
        }
        content = seal_json({"schema": SCHEMA, "files": files})
        if len(content) > MOST_JSON:
            self._manifest.unlink(missing_ok=True)
        else:
            with written_whole(self._manifest) as temporary:
                temporary.write_bytes(content)
        self._in_manifest = self._files

    def _load_manifest(self) -> dict[str, _File]:
        found: dict[str, _File] = {}
        try:
            manifest = open_json(read_limited(self._manifest))
            if manifest.keys() != {"schema", "files"}:
                raise ValueError(f"expected the keys schema and files, got {', '.join(manifest)}")
            if manifest["schema"] != SCHEMA:
                return {}
            for name, file in manifest["files"].items():
                written_by = None if file["origin"] is None else Origin.model_validate(file["origin"])
                runs = tuple(
                    RunEntry.model_validate({**run, "origin": written_by, "file": name}) for run in file["runs"]
                )
                found[name] = _File((file["stamp"][0], file["stamp"][1]), runs)
        except OSError:
            return {}  # the files themselves say the same, only more slowly
        except (SealError, ValidationError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            reason = first_error(error) if isinstance(error, ValidationError) else str(error)
            self._quarantine.set_aside(self._manifest, reason, "the files of the runs say the same")
            return {}
        self._in_manifest = found
        return found

    def _read(self, name: str) -> tuple[RunEntry, ...]:
        try:
            return tuple(read_runs(self._runs_directory / name))
        except FileNotFoundError:
            return ()
        except NewerFileError as error:
            _log.warning("%s is left as it is: %s", self._runs_directory / name, error)
        except FileError as error:
            self.set_aside(name, str(error))
        return ()

    def _scan(self) -> Iterable[tuple[str, Stamp]]:
        try:
            with os.scandir(self._runs_directory) as entries:
                for entry in entries:
                    if entry.name.endswith(SUFFIX) and entry.is_file():
                        stat = entry.stat()
                        yield entry.name, (stat.st_size, stat.st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            return


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
