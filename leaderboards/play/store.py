"""A results folder: one parquet file per run, or per group of short runs, and the suite that asked for them.

DIR/suite.json         the suite as it was run
DIR/runs/*.parquet     the runs; files there are the only truth about what has been done
DIR/manifest.json      what the files say, in one file; a cache
DIR/provenance.json    which runs were submitted from elsewhere, and which verified
DIR/checkpoints/       states of long runs in progress
DIR/quarantine/        files that could not be read, moved out of the way and named
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaderboards.play.files import SUFFIX, TEMPORARY, FileError, StoreError, read_columns, write_file
from leaderboards.play.gather import gather
from leaderboards.play.index import Index, Quarantined
from leaderboards.play.provenance import Provenance
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.run_table import run_table
from leaderboards.play.spec import RunSpec, labels_of

__all__ = ["SCRATCH", "Quarantined", "Store", "StoreError"]

SCRATCH = ".scratch-"
"""Begins the names of folders in which harnesses keep notes while they run."""

_NOT_DONE = "-failed"  # ends the names of files of single runs that are not done
_STALE_SECONDS = 86_400.0  # a temporary file this old belongs to a writer that was killed


class Store:
    """The results folder `directory`.

    Many processes may write to one folder: files appear whole, and the same run gives the same rows whoever played it.
    A file that is damaged or foreign is moved to `quarantine/`, named in `quarantined` and in a log message; its runs
    count as not done.

    Args:
        directory: The folder; it is made when something is first written.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._index = Index(self.directory)

    @property
    def quarantined(self) -> list[Quarantined]:
        """What this object has moved to `quarantine/`."""
        return self._index.quarantined

    @property
    def runs_directory(self) -> Path:
        """Where the files of the runs are."""
        return self.directory / "runs"

    def checkpoint(self, key: str) -> Path:
        """Where a run in progress saves its state."""
        return self.directory / "checkpoints" / f"{key}.pickle"

    # ---- writing ----

    def write(self, *records: RunRecord) -> Path:
        """Write one run, or several short ones that share a file; returns the file.

        A run that is not done never replaces one that is, and counts until there is one.

        Raises:
            OSError: if the folder cannot be written or the disk is full; what was there before stays.
        """
        if not records:
            raise ValueError("records: expected at least one, got none")
        self.runs_directory.mkdir(parents=True, exist_ok=True)
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
        """The records of these runs were played again and agreed.

        Raises:
            KeyError: if there is no such run.
            StoreError: if `provenance.json` is damaged.
            OSError: if the folder cannot be written.
        """
        Provenance(self.directory).verified([self._entry(key) for key in keys])

    def write_suite(self, suite: Mapping[str, Any]) -> None:
        """Freeze the suite that is run here in `suite.json`."""
        self.directory.mkdir(parents=True, exist_ok=True)
        temporary = self.directory / f"suite.json.{os.getpid()}{TEMPORARY}"
        temporary.write_text(json.dumps(suite, indent=2) + "\n")
        os.replace(temporary, self.directory / "suite.json")

    def write_manifest(self) -> None:
        """Write the manifest, from which the folder opens faster.

        Raises:
            OSError: if the folder cannot be written.
        """
        if self.runs_directory.is_dir():
            self._index.write_manifest()

    def sweep(self) -> None:
        """Remove what killed harnesses left behind a day ago or longer: temporary files and notes."""
        for path in [*self.runs_directory.glob(f"*{TEMPORARY}"), *self.directory.glob(f"{SCRATCH}*")]:
            try:
                if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            except OSError:
                pass  # its writer was alive after all, or the folder is read-only: both are harmless here

    # ---- reading ----

    def suite(self) -> dict[str, Any] | None:
        """The suite in `suite.json`; None if there is none.

        Raises:
            StoreError: if the file is damaged.
        """
        path = self.directory / "suite.json"
        try:
            suite: dict[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StoreError(f"{path} cannot be read ({error}): delete it and run the suite again") from None
        return suite

    def keys(self, *statuses: Status) -> set[str]:
        """Keys of the runs with one of `statuses`, or of all runs."""
        return {key for key, run in self._index.entries().items() if not statuses or run["status"] in statuses}

    def done_keys(self) -> set[str]:
        """Keys of the runs that are done: not those that crashed, timed out or were skipped."""
        return self.keys("done")

    def runs(self) -> pd.DataFrame:
        """One row per run, sorted by environment, agent and repetition; the index is the key.

        Columns: `env`, `agent` (labels), `repetition`, `horizon`, `status`, `reason` (missing where done), `seconds`;
        then `env_id`, `agent_id`, `seed`, `feedback`, `evaluations` (rows of the trace), `tries`, `finished` (seconds
        since 1970), `error` (traceback of a crash) and `standing` (local, submitted or verified). Labels are those of
        `suite.json` where it names the run's environment or agent, else those the run was written with.

        Raises:
            StoreError: if `suite.json` or `provenance.json` is damaged.
        """
        labels = labels_of(self.suite() or {})
        return run_table(self._index.entries(), labels, Provenance(self.directory))

    def metadata(self, key: str) -> dict[str, Any]:
        """All that is known of a run besides its trace: the entry of its file, and `origin` (versions, machine).

        Raises:
            KeyError: if there is no such run.
        """
        return {name: value for name, value in self._entry(key).items() if name != "file"}

    def entries(self) -> dict[str, dict[str, Any]]:
        """The `metadata` of every run, by key; the folder is looked through once, not once a run."""
        return {
            key: {name: value for name, value in run.items() if name != "file"}
            for key, run in self._index.entries().items()
        }

    def spec(self, key: str) -> RunSpec:
        """What was run.

        Raises:
            KeyError: if there is no such run.
        """
        return RunSpec.from_dict(self.metadata(key)["spec"])

    def place(self, key: str) -> dict[str, Any]:
        """Where a run's rows are: `path` of the file, `start` and `stop`.

        Raises:
            KeyError: if there is no such run.
        """
        run = self._entry(key)
        return {"path": str(self.runs_directory / run["file"]), "start": run["start"], "stop": run["stop"]}

    def trace(self, key: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """One row per evaluation, see `leaderboards.play.record.TRACE_COLUMNS`; all columns or those named.

        Raises:
            KeyError: if there is no such run, or it has no such column.
            StoreError: if its file has gone, or turns out to be damaged and has been moved to `quarantine/`.
        """
        run = self._entry(key)
        wanted = list(run["columns"] if columns is None else columns)
        if run["start"] == run["stop"]:
            return pd.DataFrame({name: np.zeros(0) for name in wanted})
        missing = [name for name in wanted if name not in run["columns"]]
        if missing:
            raise KeyError(f"run {key} has no column {missing[0]!r}; it has {', '.join(run['columns'])}")
        path = self.runs_directory / run["file"]
        try:
            table = read_columns(path, wanted)
        except FileNotFoundError:
            raise StoreError(f"{path} has gone: run the suite again") from None
        except FileError as error:
            self._index.set_aside(run["file"], str(error))
            raise StoreError(f"{path} was damaged ({error}) and is in quarantine: run the suite again") from None
        frame: pd.DataFrame = table.slice(run["start"], run["stop"] - run["start"]).to_pandas()
        return frame[wanted]

    def traces(self, columns: Sequence[str], keys: Collection[str] | None = None) -> pd.DataFrame:
        """Rows of many runs below each other: a categorical column `key`, then `columns`, NaN where a run lacks one.

        Args:
            columns: Which columns.
            keys: Which runs; by default all that are done.

        Raises:
            KeyError: if a run does not exist.
        """
        keys = sorted(self.done_keys()) if keys is None else list(keys)
        runs = {key: self._entry(key) for key in keys}
        return gather(self.runs_directory, runs, columns, self._index.set_aside)

    def _entry(self, key: str) -> dict[str, Any]:
        try:
            return self._index.entry(key)
        except KeyError:
            raise KeyError(f"no run {key} in {self.directory}") from None
