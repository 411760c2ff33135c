"""One results file: parquet, with the entries of its runs as JSON in the metadata.

A file holds one run or several short ones, one after the other. Its metadata under the key `gpbandit` is a `_Footer`:

    {"schema": 2, "origin": {versions, commit, machine},
     "runs": [{"key", "spec", "status", "reason", "error", "seconds", "tries", "resumed", "finished", "seeds",
               "facts", "data", "columns", "start", "stop"}, ...]}

`RunEntry` says what the fields of a run mean. A file appears under its name only when it is whole, and digests show
that no bit of it has changed since, see `leaderboards.store.intact`.
"""

from __future__ import annotations

import functools
import importlib.metadata
import itertools
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    field_validator,
    model_validator,
)

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.version import __version__
from leaderboards.play.processor import loops
from leaderboards.play.record import InstanceData, RunRecord, Status, Text
from leaderboards.play.spec import LONGEST_NAME, RunSpec
from leaderboards.play.streams import env_seed
from leaderboards.store.intact import (
    MOST_JSON,
    MOST_VALUES,
    SEALED,
    TAIL,
    SealError,
    check_parquet,
    footer_of,
    seal_parquet,
    tail_size,
)
from leaderboards.store.lock import lock_note
from leaderboards.text import visible

__all__ = [
    "SCHEMA",
    "SUBMITTED",
    "SUFFIX",
    "FileError",
    "Machine",
    "NewerFileError",
    "Origin",
    "RunEntry",
    "Seeds",
    "copy_runs",
    "first_error",
    "open_table",
    "origin",
    "read_columns",
    "read_runs",
    "results_in",
    "write_file",
    "write_table",
]

SCHEMA = 2
SUFFIX = ".parquet"
SUBMITTED = "submitted-"
"""Begins the names of files that came from elsewhere; no run that is played here is written under such a name."""

_METADATA = b"gpbandit"
_LATEST = 253_402_300_799.0  # the last second of the year 9999, after which there are no dates
_LIBRARIES = ("numpy", "scipy", "gymnasium", "pandas", "pyarrow")
# What policies and environments of extras compute with.
_OF_EXTRAS = ("botorch", "gpytorch", "optuna", "scikit-learn", "torch", "xgboost", "xgboost-cpu")


class FileError(Exception):
    """A results file is damaged or is none of ours; the text says what is wrong with it."""


class NewerFileError(FileError):
    """A results file is sound, but of a schema that only a newer version knows."""


# ---- entries of runs ----


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, ser_json_inf_nan="constants")


class Machine(_Stored):
    """The computer on which a run was played.

    Attributes:
        system: Its operating system.
        arch: Its architecture.
        cpu: Its processor.
        cores: How many it has.
        loops: What the process computed with, see `leaderboards.play.processor`; None where nobody noted it.
    """

    system: Text
    arch: Text
    cpu: Text
    cores: int | None = None
    loops: list[Text] | None = None


class Origin(_Stored):
    """Versions, commit and machine of the process that wrote a file.

    Attributes:
        gpbandit_envs: Version of this package.
        commit: Commit of the checkout, with `+` if files differ from it; None for an installed package.
        python: Version of Python.
        libraries: Versions of libraries, NumPy and SciPy among them, and of those of extras that are installed.
        machine: The computer.
        lock: The lock file of boards, and what was installed in another version, see `leaderboards.store.lock`; None
            in records of earlier versions.
    """

    gpbandit_envs: Text
    commit: Text | None
    python: Text
    libraries: dict[Text, Text]
    machine: Machine
    lock: Text | None = None

    @field_validator("libraries")
    @classmethod
    def _complete(cls, libraries: dict[str, str]) -> dict[str, str]:
        missing = [name for name in ("numpy", "scipy") if name not in libraries]
        if missing:
            raise ValueError(f"expected the version of {missing[0]}")
        return libraries

    def rounds_as(self, other: Origin) -> bool:
        """Whether sums round alike, bit for bit, in the two: the same loops of the same libraries, on one kind of CPU.

        False where one of them did not note its loops, as records of earlier versions: two processors may be of one
        name and choose others. A library of an extra counts where both had it: what a run used is not known.
        """
        both = self.libraries.keys() & other.libraries.keys() & set(_OF_EXTRAS)
        return (
            self._rounding is not None
            and self._rounding == other._rounding
            and all(self.libraries[name] == other.libraries[name] for name in both)
        )

    @property
    def _rounding(self) -> tuple[object, ...] | None:
        machine = self.machine
        if machine.loops is None:
            return None
        return (
            machine.system,
            machine.arch,
            machine.cpu,
            machine.loops,
            self.libraries["numpy"],
            self.libraries["scipy"],
        )


class Seeds(_Stored):
    """Seeds of a run: the root of all streams, and the one that the environment was reset with."""

    root: int
    env: int


def _to_spec(value: Any) -> RunSpec:
    return value if isinstance(value, RunSpec) else RunSpec.from_dict(value)


class RunEntry(_Stored):
    """The entry of one run in a results file, and the rows of its trace.

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
        seeds: Root seed and the environment's.
        facts: Certified numbers of the instance.
        data: Where the instance comes from.
        columns: Names of the columns of its trace.
        start: First row of its trace in the file.
        stop: Row after the last.
        origin: What wrote the file.
        file: Name of the file; "" until it is known.
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
    seeds: Seeds
    facts: dict[Text, float]
    data: InstanceData
    columns: list[Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]]
    start: int = Field(ge=0)
    stop: int
    origin: Origin
    file: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> RunEntry:
        hidden = [name for name in self.columns if not name.isprintable()]
        if hidden:
            raise ValueError(f"column {hidden[0]!r}: expected no invisible characters")
        if not self.start <= self.stop:
            raise ValueError(f"rows {self.start} to {self.stop}")
        if self.status == "done" and self.rows != self.spec.horizon:
            raise ValueError(f"done with {self.rows} rows, horizon {self.spec.horizon}")
        return self

    @property
    def rows(self) -> int:
        """Number of evaluations in its trace."""
        return self.stop - self.start

    @property
    def submitted(self) -> bool:
        """Whether the record was added from elsewhere.

        The name of the file says so, and not a list of keys: a run that is played here later has a record of its own.
        """
        return self.file.startswith(SUBMITTED)

    def to_json(self) -> dict[str, Any]:
        """JSON form of the entry in the file."""
        return self.model_dump(mode="json", exclude={"origin", "file"})


def first_error(error: ValidationError) -> str:
    """The first thing that is wrong with data read from a file: where, what was expected, and what came."""
    first = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}, got {first['input']!r:.80}" if where else message


@functools.cache
def origin() -> Origin:
    """Versions, commit and machine of this process; found once."""
    machine = Machine(
        system=platform.system(), arch=platform.machine(), cpu=_cpu(), cores=os.cpu_count(), loops=list(loops())
    )
    return Origin(
        gpbandit_envs=__version__,
        commit=_commit(),
        python=platform.python_version(),
        libraries=dict(_versions()),
        machine=machine,
        lock=lock_note(),
    )


def _versions() -> Iterator[tuple[str, str]]:
    for name in _LIBRARIES:
        yield name, importlib.metadata.version(name)
    for name in _OF_EXTRAS:
        with suppress(importlib.metadata.PackageNotFoundError):
            yield name, importlib.metadata.version(name)


def _commit() -> str | None:
    """Commit of the checkout this package runs from, with `+` if files differ from it; None for an installed wheel."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None  # git is no dependency: a machine without it has no commit to state


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


# ---- writing ----


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
    entries = [_entry(record, start, stop) for record, start, stop in zip(records, rows, rows[1:])]
    _write(path, pa.table(columns), entries)


def copy_runs(source: Path, target: Path, runs: Sequence[RunEntry]) -> None:
    """Write to `target` only those `runs` of the file `source`, entries that `read_runs` gave of it.

    Raises:
        FileError: if the data of `source` cannot be read.
        OSError: if `target` cannot be written.
    """
    table = read_columns(source, list(dict.fromkeys(itertools.chain.from_iterable(run.columns for run in runs))))
    rows = np.cumsum([0, *(run.rows for run in runs)]).tolist()
    parts = [table.slice(run.start, run.rows) for run in runs]
    entries = [run.model_copy(update={"start": start, "stop": stop}) for run, start, stop in zip(runs, rows, rows[1:])]
    _write(target, pa.concat_tables(parts), entries)


def write_table(path: Path, table: pa.Table) -> None:
    """Write `table` to `path`, whole or not at all, with a checksum on every page and digests over all.

    Raises:
        OSError: if the folder cannot be written or the disk is full; `path` is then as it was.
    """
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), SEALED: b"1"})
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", write_page_checksum=True)
    with written_whole(path) as temporary:
        temporary.write_bytes(seal_parquet(content.getvalue().to_pybytes()))


def _write(path: Path, table: pa.Table, entries: Sequence[RunEntry]) -> None:
    metadata = {
        "schema": SCHEMA,
        "origin": entries[0].origin.model_dump(),
        "runs": [entry.to_json() for entry in entries],
    }
    write_table(path, table.replace_schema_metadata({_METADATA: json.dumps(metadata).encode()}))


def _column(record: RunRecord, name: str) -> np.ndarray:
    if name in record.trace:
        return record.trace[name].to_numpy()
    return np.full(len(record.trace), np.nan)


def _entry(record: RunRecord, start: int, stop: int) -> RunEntry:
    return RunEntry(
        key=record.spec.key,
        spec=record.spec,
        status=record.status,
        reason=None if record.reason is None else visible(record.reason),
        error=None if record.error is None else visible(record.error),
        seconds=record.seconds,
        tries=record.tries,
        resumed=record.resumed,
        finished=time.time(),
        seeds=Seeds(root=record.spec.seed, env=env_seed(record.spec)),
        facts=record.facts,
        data=record.data,
        columns=list(record.trace.columns),
        start=start,
        stop=stop,
        origin=origin(),
    )


# ---- reading ----


def read_runs(path: Path) -> list[RunEntry]:
    """The entries of the runs in a file.

    Raises:
        FileError: if it is damaged, foreign, or of a schema that this version cannot read.
        FileNotFoundError: if it has gone.
        OSError: if the system does not give it, which says nothing of the file.
    """
    with _damage("not a whole parquet file"):
        footer = _read_footer(path)
        schema = footer.schema.to_arrow_schema()
        raw = (footer.metadata or {}).get(_METADATA)
    if raw is None:
        raise FileError("a parquet file without the gpbandit metadata: not written by this harness")
    if len(raw) > MOST_JSON or footer.num_rows * max(footer.num_columns, 1) > MOST_VALUES:
        raise FileError(
            f"{footer.num_rows:,} rows of {footer.num_columns} columns and {len(raw):,} bytes of metadata: "
            f"expected at most {MOST_VALUES:,} values and {MOST_JSON:,} bytes"
        )
    try:
        metadata = json.loads(raw)
        if metadata["schema"] > SCHEMA:
            raise NewerFileError(
                f"schema {metadata['schema']} is newer than this version's {SCHEMA}: upgrade gpbandit-envs"
            )
        made_by = Origin.model_validate(metadata["origin"])
        runs = [RunEntry.model_validate({**run, "origin": made_by, "file": path.name}) for run in metadata["runs"]]
        for run in runs:
            _check_against_file(run, footer.num_rows, schema)
    except ValidationError as error:
        raise FileError(f"metadata does not describe its runs ({first_error(error)})") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"metadata does not describe its runs ({type(error).__name__}: {error})") from None
    return runs


def read_columns(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of all rows.

    Raises:
        FileError: if the data do not match their checksums or cannot be decoded.
        FileNotFoundError: if the file has gone.
        OSError: if the system does not give it, which says nothing of the file.
    """
    with open_table(path) as file:
        return file.read(columns=list(columns), use_threads=False)


@contextmanager
def open_table(path: Path) -> Iterator[pq.ParquetFile]:
    """A file that `write_table` wrote, with all its data in memory and checked.

    Errors of Arrow in the block are damage too.

    Raises:
        FileError: if the data do not match their digest or their checksums, or cannot be decoded.
        FileNotFoundError: if the file has gone.
        OSError: if the system does not give it, which says nothing of the file.
    """
    with _damage("data cannot be read"):
        content = path.read_bytes()
        sealed = check_parquet(content)
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=not sealed)
        if not sealed:
            _check_unsealed(file.metadata)
        yield file


def results_in(folder: Path) -> list[Path]:
    """The results files in `folder`, by name; none if there is no such folder.

    Raises:
        OSError: if the system does not list it.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read_footer(path: Path) -> pq.FileMetaData:
    """The footer of a file, read alone and checked.

    Raises:
        SealError: if it does not match its digest.
        Exception: whatever Arrow raises.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - TAIL, 0))
        tail = file.read()
        if len(tail) < min(size, tail_size(tail)):
            file.seek(max(size - tail_size(tail), 0))
            tail = file.read()
    footer = footer_of(tail)
    metadata = pq.read_metadata(pa.BufferReader(tail))
    if footer is None:
        _check_unsealed(metadata)
    return metadata


def _check_unsealed(footer: pq.FileMetaData) -> None:
    """Check that a file without digests was written without them."""
    if SEALED in (footer.metadata or {}):
        raise SealError("its digest is missing")


def _check_against_file(run: RunEntry, rows: int, schema: pa.Schema) -> None:
    """Check what `RunEntry` cannot know: that key and spec, rows and columns belong together.

    Raises:
        TypeError: if a column holds no numbers.
        ValueError: if something does not belong together.
    """
    if run.spec.key != run.key:
        raise ValueError(f"key {run.key} does not belong to its spec, whose key is {run.spec.key}")
    if run.stop > rows:
        raise ValueError(f"rows {run.start} to {run.stop} of {rows}")
    for name in run.columns:
        if schema.get_field_index(name) < 0:
            raise ValueError(f"no column {name!r} in the file")
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise TypeError(f"column {name}: expected numbers, got {kind}")


_NO_DAMAGE = (pa.ArrowMemoryError, pa.ArrowCancelled)


@contextmanager
def _damage(text: str) -> Iterator[None]:
    """Turn what Arrow makes of damaged bytes, which are many kinds of errors, into a `FileError`."""
    try:
        yield
    except (SealError, OSError, pa.ArrowException, UnicodeDecodeError) as error:
        # What the system refused has a number, such as a missing file, no permission or too many open files.
        if (isinstance(error, OSError) and error.errno is not None) or isinstance(error, _NO_DAMAGE):
            raise
        raise FileError(f"{text} ({(str(error).splitlines() or [type(error).__name__])[0][:120]})") from None
