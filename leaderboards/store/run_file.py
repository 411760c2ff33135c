"""One results file: a parquet table with one row a run.

| columns | what |
|---|---|
| `key`, `spec`, `status`, ... | the entry of the run, see `RunEntry`; what is nested is JSON |
| `t`, `cumulative_regret`, ... | lists: what is kept of a run that is done, see `leaderboards.store.kept` |
| `final_cumulative_regret`, ... | the same at the horizon, in double precision |
| `trace_t`, `trace_reward`, ... | lists: the trace; null where a run lacks the column |

A file holds one run, several short ones, or, if it was published, all runs of an agent without their traces. A file
appears under its name only when it is whole, and a digest shows that no bit of it has changed since, see
`leaderboards.store.intact`. What reads one raises `FileError` if it is damaged or none of ours, `FileNotFoundError` if
it has gone, and another `OSError` if the system does not give it, which says nothing of the file.
"""

from __future__ import annotations

import functools
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, Field, FiniteFloat, PlainSerializer, PlainValidator, ValidationError, model_validator

from leaderboards.play.record import InstanceData, RunRecord, Status, Text
from leaderboards.play.spec import LONGEST_NAME, RunSpec, env_seed
from leaderboards.store.intact import MOST_JSON, MOST_VALUES, SealError, check_parquet, seal_parquet, write_whole
from leaderboards.store.kept import KEPT, KeptRun, keep
from leaderboards.store.origin import Origin, Stored, origin
from leaderboards.text import visible

SUFFIX = ".parquet"
TRACE = "trace_"
"""Begins the names of the columns of traces."""

SUBMITTED = "submitted-"
"""Begins the names of files that came from elsewhere; no run that is played here is written under such a name."""

_SCHEMA = 3
_METADATA = b"gpbandit"
_LATEST = 253_402_300_799.0  # the last second of the year 9999, after which there are no dates
_MOST_RUNS = 2**20
_FINAL = "final_"
_NESTED = ("spec", "seeds", "facts", "data", "origin")
_ENTRY = {
    "key": pa.string(),
    "spec": pa.string(),
    "status": pa.string(),
    "reason": pa.string(),
    "error": pa.string(),
    "seconds": pa.float64(),
    "tries": pa.int64(),
    "resumed": pa.int64(),
    "finished": pa.float64(),
    "seeds": pa.string(),
    "facts": pa.string(),
    "data": pa.string(),
    "columns": pa.list_(pa.string()),
    "rows": pa.int64(),
    "origin": pa.string(),
}
_KEPT = {
    "t": pa.list_(pa.int32()),
    **{name: pa.list_(pa.float32()) for name in KEPT},
    **{_FINAL + name: pa.float64() for name in KEPT},
    "best_mean": pa.float64(),
    "digest": pa.string(),
}


class FileError(Exception):
    """A results file is damaged or is none of ours; the text says what is wrong with it."""


class NewerFileError(FileError):
    """A results file is sound, but of a schema that only a newer version knows."""


# ---- entries of runs ----


def _to_spec(value: Any) -> RunSpec:
    return value if isinstance(value, RunSpec) else RunSpec.from_dict(value)


class RunEntry(Stored):
    """What is known of a run beside its trace and its scores.

    Attributes:
        key: Hash of the spec.
        spec: What was run.
        status: How it ended.
        reason: Why it is not done, in one line.
        error: Traceback of a crash.
        seconds: Wall-clock time.
        tries: How often it was tried.
        resumed: How often it went on from a checkpoint.
        finished: Seconds since 1970.
        seeds: The root of all streams, and that with which the environment was reset: `root`, `env`.
        facts: Certified numbers of the instance.
        data: Where the instance comes from.
        columns: Names of the columns of its trace.
        rows: Number of evaluations in its trace.
        origin: What played it.
        file: Name of the file; "" until it is known.
        traced: Whether its trace is in the file, as one without evaluations always is.
    """

    key: str = Field(pattern=r"^[0-9a-f]{32}$")
    spec: Annotated[RunSpec, PlainValidator(_to_spec), PlainSerializer(RunSpec.to_dict)]
    status: Status
    reason: Text | None
    error: Text | None
    seconds: FiniteFloat
    tries: int
    resumed: int
    finished: FiniteFloat = Field(ge=0, le=_LATEST)
    seeds: dict[str, int]
    facts: dict[Text, float]
    data: InstanceData
    columns: list[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]]
    rows: int = Field(ge=0)
    origin: Origin
    file: str = ""
    traced: bool = True

    @model_validator(mode="after")
    def _consistent(self) -> RunEntry:
        hidden = [name for name in self.columns if not name.isprintable()]
        if hidden:
            raise ValueError(f"column {hidden[0]!r}: expected no invisible characters")
        if self.spec.key != self.key:
            raise ValueError(f"key {self.key} does not belong to its spec, whose key is {self.spec.key}")
        if self.status == "done" and self.rows != self.spec.horizon:
            raise ValueError(f"done with {self.rows} rows, horizon {self.spec.horizon}")
        return self

    @property
    def submitted(self) -> bool:
        """Whether the record was added from elsewhere."""
        # Not a list of keys says so: a run that is played here later has a record of its own.
        return self.file.startswith(SUBMITTED)


def first_error(error: Exception) -> str:
    """The first thing that is wrong with data read from a file: where, what was expected, and what came."""
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return " ".join((f"{where}: {message}, got {first['input']!r:.80}" if where else message).splitlines())


# ---- writing ----


@dataclass(frozen=True)
class Row:
    """A row of a file.

    Attributes:
        entry: The entry of its run.
        kept: What is kept of it; None if it is not done, or its numbers make no sense.
        trace: Its trace; None for a row without.
    """

    entry: RunEntry
    kept: KeptRun | None
    trace: pd.DataFrame | None = None


def now() -> float:
    """Seconds since 1970, as a record states them: of a clock that is far off, the nearest that a date exists for."""
    return min(max(time.time(), 0.0), _LATEST)


def row_of(record: RunRecord) -> Row:
    """The row of a run that was played here, now."""
    entry = RunEntry(
        key=record.spec.key,
        spec=record.spec,
        status=record.status,
        reason=None if record.reason is None else visible(record.reason),
        error=None if record.error is None else visible(record.error),
        seconds=record.seconds,
        tries=record.tries,
        resumed=record.resumed,
        finished=now(),
        seeds={"root": record.spec.seed, "env": env_seed(record.spec)},
        facts=record.facts,
        data=record.data,
        columns=list(record.trace.columns),
        rows=len(record.trace),
        origin=origin(),
    )
    return Row(entry, keep(record.spec, record.trace) if record.status == "done" else None, record.trace)


def content_of(rows: Sequence[Row], *, small: bool = False) -> bytes:
    """The content of a file of `rows`; with `small` it takes the time to be small."""
    table = entry_table([row.entry for row in rows])
    kept = [None if row.kept is None else _kept_values(row.kept) for row in rows]
    for name, kind in _KEPT.items():
        table = table.append_column(name, pa.array([values and values[name] for values in kept], kind))
    traces: list[Any] = [{} if row.trace is None or not len(row.trace) else row.trace for row in rows]
    for name in dict.fromkeys(str(name) for trace in traces for name in trace):
        parts = [trace[name].to_numpy() if name in trace else None for trace in traces]
        kind = pa.from_numpy_dtype(np.result_type(*(part.dtype for part in parts if part is not None)))
        table = table.append_column(TRACE + name, pa.array(parts, pa.list_(kind)))
    return _packed(table.replace_schema_metadata({_METADATA: str(_SCHEMA).encode()}), small)


def entry_table(entries: Sequence[RunEntry]) -> pa.Table:
    """The columns of the entries of runs."""
    dumped = [entry.model_dump(mode="json") for entry in entries]
    for values in dumped:
        values |= {name: json.dumps(values[name]) for name in _NESTED}
    return pa.table({name: pa.array([values[name] for values in dumped], kind) for name, kind in _ENTRY.items()})


def _kept_values(run: KeptRun) -> dict[str, Any]:
    return {
        "t": run.t,
        **run.curves,
        **{_FINAL + name: value for name, value in run.finals.items()},
        "best_mean": run.best_mean,
        "digest": run.digest,
    }


def write_table(path: Path, table: pa.Table) -> None:
    """Write `table` to `path`, whole or not at all, with its digest; an `OSError` leaves `path` as it was."""
    write_whole(path, _packed(table))


def _packed(table: pa.Table, small: bool = False) -> bytes:
    content = pa.BufferOutputStream()
    options: dict[str, Any] = {"compression": "zstd"}
    if small:
        curves = [f"{name}.list.element" for name in KEPT]
        leaves = [field.name + (".list.element" if pa.types.is_list(field.type) else "") for field in table.schema]
        coded = [leaf for leaf in leaves if leaf not in curves]
        options = {"compression": "brotli", "compression_level": 11}
        options |= {"use_byte_stream_split": curves, "use_dictionary": coded}
        options["write_statistics"] = False  # least and largest values of columns, which nobody asks for: 6 % of a file
    # Without the schema that Arrow would keep beside its own, in every file of a short run.
    with pq.ParquetWriter(content, table.schema, store_schema=False, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(dict(table.schema.metadata or {}))
    return seal_parquet(content.getvalue().to_pybytes())


# ---- reading ----


def read_runs(path: Path) -> list[RunEntry]:
    """The entries of the runs in a file; `NewerFileError` if it is of a schema that this version cannot read."""
    with open_table(path) as file:
        schema, traced = file.schema_arrow, [name for name in file.schema_arrow.names if name.startswith(TRACE)]
        version = (file.metadata.metadata or {}).get(_METADATA, b"").decode(errors="replace")
        if not version.isdecimal():
            raise FileError("a parquet file without the gpbandit metadata: not written by this harness")
        if int(version) > _SCHEMA:
            raise NewerFileError(f"schema {version} is newer than this version's {_SCHEMA}: upgrade gpbandit-envs")
        for name in traced:
            kind = schema.field(name).type
            element = kind.value_type if pa.types.is_list(kind) else kind
            if not (pa.types.is_integer(element) or pa.types.is_floating(element) or pa.types.is_boolean(element)):
                raise FileError(f"column {name.removeprefix(TRACE)}: expected numbers, got {element}")
        table = file.read(columns=list(_ENTRY), use_threads=False)
    runs = entries_of(table, [path.name] * len(table), bool(traced))
    for run in runs:
        missing = [name for name in run.columns if traced and run.rows and TRACE + name not in schema.names]
        if missing:
            raise FileError(f"no column {missing[0]!r} in the file")
    if len({run.key for run in runs}) < len(runs):
        raise FileError("it holds a run twice")
    return runs


def read_traced(path: Path) -> list[RunEntry]:
    """The same of a file that was not published: all runs have their traces."""
    runs = read_runs(path)
    if not all(run.traced for run in runs):
        raise FileError("a run without its trace, as published ones are")
    return runs


def entries_of(table: pa.Table, files: Sequence[str], traced: bool = True) -> list[RunEntry]:
    """The entries of runs, from their columns, the files that they are in, and whether these hold traces."""
    try:
        _check_texts(table)
        values = table.select([name for name in _ENTRY if name in table.column_names]).to_pylist()
        return [_entry({**one, "file": file, "traced": traced or not one["rows"]}) for one, file in zip(values, files)]
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"a row does not describe its run ({first_error(error)})") from None


def _entry(values: dict[str, Any]) -> RunEntry:
    nested: dict[str, Any] = {name: _loaded(values[name]) for name in ("seeds", "facts") if name in values}
    nested["spec"] = json.loads(values["spec"])
    shared = {"data": _shared(InstanceData, values["data"]), "origin": _shared(Origin, values["origin"])}
    return RunEntry.model_validate({**values, **nested, **shared})


_loaded = functools.lru_cache(maxsize=4096)(json.loads)


@functools.lru_cache(maxsize=4096)
def _shared(kind: type[BaseModel], text: str) -> BaseModel:
    """What many runs have in common: the instance of all agents, the machine of all runs."""
    return kind.model_validate(json.loads(text))


def _check_texts(table: pa.Table) -> None:
    """Check that the texts of a table, of which a file may hold one for many rows, are not too long together."""
    size = 0
    for column in table.columns:
        for chunk in column.chunks if pa.types.is_dictionary(column.type) else ():
            size += pc.sum(pc.take(pc.binary_length(chunk.dictionary), chunk.indices)).as_py() or 0
    if size > MOST_JSON:
        raise ValueError(f"expected at most {MOST_JSON:,} bytes of text, got {size:,}")


def read_kept(path: Path) -> dict[str, KeptRun]:
    """What is kept of the runs in a file, by key; runs that are not done are left out."""
    with open_table(path) as file:
        table = file.read(columns=["key", "rows", *_KEPT], use_threads=False)
    try:
        _check_texts(table)
        scalars = ["key", "rows", "best_mean", "digest", *(_FINAL + name for name in KEPT)]
        lists = {name: _vectors(table, name, np.float64 if name != "t" else np.int64) for name in ("t", *KEPT)}
        return {
            values["key"]: _kept(values, {name: vectors(i) for name, vectors in lists.items()})
            for i, values in enumerate(table.select(scalars).to_pylist())
            if values["digest"] is not None
        }
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"what it keeps of a run makes no sense ({type(error).__name__}: {error})") from None


def _kept(values: Mapping[str, Any], curves: dict[str, np.ndarray]) -> KeptRun:
    t = curves.pop("t")
    if not len(t) or t[-1] != values["rows"] or (np.diff(t) <= 0).any() or {*map(len, curves.values())} != {len(t)}:
        raise ValueError("the kept evaluations of a run do not end at its horizon")
    for name, curve in curves.items():
        curve[-1] = values[_FINAL + name]
    best = values["best_mean"]
    return KeptRun(t, curves, math.nan if best is None else float(best), str(values["digest"]))


def read_traces(
    path: Path, runs: Sequence[RunEntry], columns: Sequence[str]
) -> Iterator[tuple[RunEntry, dict[str, np.ndarray]]]:
    """Columns of the traces of `runs`, entries that `read_runs` gave of the file; NaN where a run lacks one."""
    there = [name for name in columns if any(name in run.columns for run in runs)]
    with open_table(path) as file:
        table = file.read(columns=["key", *(TRACE + name for name in there)], use_threads=False)
    at = {key: i for i, key in enumerate(table.column("key").to_pylist())}
    vectors = {name: _vectors(table, TRACE + name) for name in there if TRACE + name in table.column_names}
    for run in runs:
        found = {
            name: vectors[name](at[run.key]) if run.rows and name in run.columns else np.full(run.rows, np.nan)
            for name in columns
        }
        wrong = [name for name, values in found.items() if len(values) != run.rows]
        if wrong:
            raise FileError(f"{len(found[wrong[0]])} rows of column {wrong[0]!r}, expected {run.rows}")
        yield run, found


def _vectors(table: pa.Table, name: str, kind: type | None = None) -> Callable[[int], np.ndarray]:
    """The function that gives the list in a row of a column; empty where that is null."""
    array = table.column(name).combine_chunks()
    ends, values = array.offsets.to_numpy(), array.values.to_numpy(zero_copy_only=False)
    values = values if kind is None else values.astype(kind)
    return lambda i: values[ends[i] : ends[i + 1]]


def rows_in(path: Path, runs: Sequence[RunEntry]) -> list[Row]:
    """Whole rows of a file, of `runs`, entries that `read_runs` gave of it; a row without a trace has None for it."""
    kept, traced = read_kept(path), [run for run in runs if run.traced]
    columns = list(dict.fromkeys(name for run in traced for name in run.columns))
    traces = {
        run.key: pd.DataFrame({name: trace[name] for name in run.columns})
        for run, trace in read_traces(path, traced, columns)
    }
    return [Row(run, kept.get(run.key), traces.get(run.key)) for run in runs]


@contextmanager
def open_table(path: Path) -> Iterator[pq.ParquetFile]:
    """A file that `write_table` wrote, with all its data in memory and checked; errors of Arrow are damage too."""
    try:
        if path.exists() and not path.is_file():
            raise SealError("expected a file, got a device, a pipe or a folder")
        content = path.read_bytes()
        check_parquet(content)
        footer = pq.read_metadata(pa.BufferReader(content))
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        values = sum(group.column(j).num_values for group in groups for j in range(group.num_columns))
        if footer.num_rows > _MOST_RUNS or values > MOST_VALUES:
            limits = f"expected at most {_MOST_RUNS:,} and {MOST_VALUES:,}"
            raise SealError(f"{footer.num_rows:,} rows and {values:,} values: {limits}")
        texts = [field.name for field in footer.schema.to_arrow_schema() if field.type == pa.string()]
        yield pq.ParquetFile(pa.BufferReader(content), metadata=footer, read_dictionary=texts)
    except (SealError, OSError, pa.ArrowException, UnicodeDecodeError) as error:
        # What the system refused has a number, such as a missing file, no permission or too many open files.
        if (isinstance(error, OSError) and error.errno is not None) or isinstance(
            error, pa.ArrowMemoryError | pa.ArrowCancelled
        ):
            raise
        raise FileError((str(error).splitlines() or [type(error).__name__])[0][:120]) from None


def results_in(folder: Path) -> list[Path]:
    """The results files in `folder`, by name; none if there is no such folder."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        return []
