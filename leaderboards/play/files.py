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
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leaderboards.play.origin import origin
from leaderboards.play.record import STATUSES, RunRecord
from leaderboards.play.spec import RunSpec
from leaderboards.play.streams import env_seed

__all__ = ["SCHEMA", "SUFFIX", "TEMPORARY", "FileError", "NewerFileError", "read_columns", "read_runs", "write_file"]

SCHEMA = 2
SUFFIX = ".parquet"
TEMPORARY = ".tmp"
_METADATA = b"gpbandit"


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
    table = pa.table(columns).replace_schema_metadata({_METADATA: json.dumps(metadata).encode()})
    # A name of its own for every writer: two harnesses may finish the same run at the same time.
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
    try:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_runs(path: Path) -> list[dict[str, Any]]:
    """What the file's metadata says of its runs, with the file's `origin` beside each.

    Raises:
        FileError: if the file is damaged, foreign, or of a schema that this version cannot read.
        FileNotFoundError: if it has gone.
    """
    try:
        footer = pq.read_metadata(path)
    except pa.ArrowInvalid as error:
        raise FileError(f"not a whole parquet file ({str(error).splitlines()[0][:120]})") from None
    raw = (footer.metadata or {}).get(_METADATA)
    if raw is None:
        raise FileError("a parquet file without the gpbandit metadata: not written by this harness")
    try:
        metadata = json.loads(raw)
        if metadata["schema"] > SCHEMA:
            raise NewerFileError(
                f"schema {metadata['schema']} is newer than this version's {SCHEMA}: upgrade gpbandit-envs"
            )
        for schema in range(metadata["schema"], SCHEMA):
            _MIGRATIONS[schema](metadata)
        for run in metadata["runs"]:
            _check(run, footer.num_rows)
            run["origin"] = metadata["origin"]
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"metadata does not describe its runs ({type(error).__name__}: {error})") from None
    runs: list[dict[str, Any]] = metadata["runs"]
    return runs


def read_columns(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of all rows.

    Raises:
        FileError: if the data do not match their checksums or cannot be decoded.
        FileNotFoundError: if the file has gone.
    """
    try:
        return pq.ParquetFile(path, page_checksum_verification=True).read(columns=list(columns), use_threads=False)
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowInvalid) as error:
        raise FileError(f"data cannot be read ({str(error).splitlines()[0][:120]})") from None


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


def _check(run: dict[str, Any], rows: int) -> None:
    spec = RunSpec.from_dict(run["spec"])
    if spec.key != run["key"]:
        raise ValueError(f"key {run['key']} does not belong to its spec, whose key is {spec.key}")
    if run["status"] not in STATUSES:
        raise ValueError(f"unknown status {run['status']!r}")
    if not 0 <= run["start"] <= run["stop"] <= rows:
        raise ValueError(f"rows {run['start']} to {run['stop']} of {rows}")
    if run["status"] == "done" and run["stop"] - run["start"] != spec.horizon:
        raise ValueError(f"done with {run['stop'] - run['start']} rows, horizon {spec.horizon}")
