"""The format of a results file: parquet, with what was run as JSON in its metadata.

A file holds one run or several short ones, one after the other. Its metadata under the key `gpbandit`:

    {"schema": 2, "origin": {versions, commit, machine},
     "runs": [{"key", "spec", "status", "reason", "error", "seconds", "tries", "resumed", "finished", "seeds",
               "facts", "data", "columns", "start", "stop"}, ...]}

`start` and `stop` are the rows of the run. A file appears under its name only when it is whole: it is written beside it
and renamed.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leaderboards.play.metadata import FIELDS, check_origin, check_run
from leaderboards.play.origin import origin
from leaderboards.play.record import RunRecord
from leaderboards.play.spec import RunSpec
from leaderboards.play.streams import env_seed

__all__ = [
    "SCHEMA",
    "SUBMITTED",
    "SUFFIX",
    "TEMPORARY",
    "FileError",
    "NewerFileError",
    "StoreError",
    "copy_runs",
    "is_submitted",
    "read_columns",
    "read_runs",
    "write_file",
    "write_table",
]

SCHEMA = 2
SUFFIX = ".parquet"
TEMPORARY = ".tmp"
SUBMITTED = "submitted-"
"""Begins the names of files that came from elsewhere; no run that is played here is written under such a name."""

_METADATA = b"gpbandit"
_ADDED_BEFORE = re.compile(r"[0-9a-f]{32}(-[0-9a-f]{8})?" + re.escape(SUFFIX))  # once `add` named files by hash alone


class StoreError(Exception):
    """A results folder cannot serve a request; the text says what to do."""


class FileError(Exception):
    """A results file is damaged or is none of ours; the text says what is wrong with it."""


class NewerFileError(FileError):
    """A results file is sound, but of a schema that only a newer version knows."""


def write_file(path: Path, records: Sequence[RunRecord]) -> None:
    """Write `records` to `path`, whole or not at all.

    Raises:
        OSError: if the folder cannot be written or the disk is full; `path` is then as it was.
    """
    rows = np.cumsum([0, *(len(record.trace) for record in records)]).tolist()
    names = list(dict.fromkeys(itertools.chain.from_iterable(record.trace.columns for record in records)))
    columns = {
        name: np.concatenate([_column(record, name) for record in records if len(record.trace)] or [np.zeros(0)])
        for name in names
    }
    runs = [_describe(record, start, stop) for record, start, stop in zip(records, rows, rows[1:])]
    metadata = {"schema": SCHEMA, "origin": origin(), "runs": runs}
    _write(path, pa.table(columns), metadata)


def copy_runs(source: Path, target: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    """Write to `target` only those `runs` of the file `source`, entries that `read_runs` gave of it.

    Raises:
        FileError: if the data of `source` cannot be read.
        OSError: if `target` cannot be written.
    """
    table = read_columns(source, list(dict.fromkeys(itertools.chain.from_iterable(run["columns"] for run in runs))))
    rows = np.cumsum([0, *(run["stop"] - run["start"] for run in runs)]).tolist()
    parts = [table.slice(run["start"], run["stop"] - run["start"]) for run in runs]
    entries = [
        {name: run[name] for name in FIELDS} | {"start": start, "stop": stop}
        for run, start, stop in zip(runs, rows, rows[1:])
    ]
    _write(target, pa.concat_tables(parts), {"schema": SCHEMA, "origin": runs[0]["origin"], "runs": entries})


def is_submitted(file: str, key: str) -> bool:
    """Whether the record of the run `key` in `file` was added from elsewhere.

    The name says so, and not a list of keys: a run that is played here later has a record of its own, in another file.
    """
    # Before, files that were added had the first half of their hash as name, where a run has its key.
    return file.startswith(SUBMITTED) or (_ADDED_BEFORE.fullmatch(file) is not None and not file.startswith(key))


def read_runs(path: Path) -> list[dict[str, Any]]:
    """What the file's metadata says of its runs, with the file's `origin` beside each.

    Raises:
        FileError: if the file is damaged, foreign, or of a schema that this version cannot read.
        FileNotFoundError: if it has gone.
        OSError: if the system does not give it, which says nothing of the file.
    """
    with _damage("not a whole parquet file"):
        footer = pq.read_metadata(path)
        schema = footer.schema.to_arrow_schema()
        raw = (footer.metadata or {}).get(_METADATA)
    if raw is None:
        raise FileError("a parquet file without the gpbandit metadata: not written by this harness")
    try:
        metadata = json.loads(raw)
        if metadata["schema"] > SCHEMA:
            raise NewerFileError(
                f"schema {metadata['schema']} is newer than this version's {SCHEMA}: upgrade gpbandit-envs"
            )
        for old in range(metadata["schema"], SCHEMA):
            _MIGRATIONS[old](metadata)
        check_origin(metadata["origin"])
        for run in metadata["runs"]:
            check_run(run, footer.num_rows, schema)
            run["origin"] = metadata["origin"]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"metadata does not describe its runs ({type(error).__name__}: {error})") from None
    runs: list[dict[str, Any]] = metadata["runs"]
    return runs


def read_columns(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of all rows.

    Raises:
        FileError: if the data do not match their checksums or cannot be decoded.
        FileNotFoundError: if the file has gone.
        OSError: if the system does not give it, which says nothing of the file.
    """
    with _damage("data cannot be read"):
        return pq.ParquetFile(path, page_checksum_verification=True).read(columns=list(columns), use_threads=False)


_NO_DAMAGE = (pa.ArrowMemoryError, pa.ArrowCancelled)


@contextmanager
def _damage(text: str) -> Iterator[None]:
    """Turn what Arrow makes of damaged bytes, which are many kinds of errors, into a `FileError`."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        # What the system refused has a number, such as a missing file, no permission or too many open files.
        if (isinstance(error, OSError) and error.errno is not None) or isinstance(error, _NO_DAMAGE):
            raise
        raise FileError(f"{text} ({(str(error).splitlines() or [type(error).__name__])[0][:120]})") from None


def write_table(path: Path, table: pa.Table) -> None:
    """Write `table` to `path`, whole or not at all.

    Raises:
        OSError: if the folder cannot be written or the disk is full; `path` is then as it was.
    """
    # A name of its own for every writer: two harnesses may finish the same run at the same time.
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
    try:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, table: pa.Table, metadata: Mapping[str, Any]) -> None:
    write_table(path, table.replace_schema_metadata({_METADATA: json.dumps(metadata).encode()}))


def _from_1(metadata: dict[str, Any]) -> None:
    """Schema 1 knew no checkpoints and no hashes of data, and left seeds to be derived from the spec."""
    for run in metadata["runs"]:
        spec = RunSpec.from_dict(run["spec"])
        run.update(resumed=0, data={}, seeds={"root": spec.seed, "env": env_seed(spec)})


_MIGRATIONS = {1: _from_1}
"""By schema, what brings the metadata of a file, in place, to the next one."""


def _column(record: RunRecord, name: str) -> np.ndarray:
    if name in record.trace:
        return record.trace[name].to_numpy()
    return np.full(len(record.trace), np.nan)


def _describe(record: RunRecord, start: int, stop: int) -> dict[str, Any]:
    return {
        "key": record.spec.key,
        "spec": record.spec.to_dict(),
        "status": record.status,
        "reason": record.reason,
        "error": record.error,
        "seconds": record.seconds,
        "tries": record.tries,
        "resumed": record.resumed,
        "finished": time.time(),
        "seeds": {"root": record.spec.seed, "env": env_seed(record.spec)},
        "facts": record.facts,
        "data": record.data,
        "columns": list(record.trace.columns),
        "start": start,
        "stop": stop,
    }
