"""The files of a board: one parquet file per agent with what is kept of its runs, and an index with their hashes.

DIR/index.json        the suite, the files with their sizes and SHA-256, and where each comes from
DIR/instances.json.gz certified facts of every instance, which are the same for all agents
DIR/AGENT.parquet     a row per kept evaluation of a run: `run`, `t` and the columns of `leaderboards.store.kept.KEPT`

A writer puts new contents beside the files, as AGENT.parquet.new, then writes the index, which states their hashes, and
then gives them their names: whenever it is stopped, one of the two files of a name is the one that the index states.

Metadata of a parquet file under the key `gpbandit-board` are compressed JSON that says what each run is.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpbandit_envs.atomic import written_whole
from leaderboards.play.record import InstanceData
from leaderboards.play.spec import Ref, RunSpec, canonical_json, task_key
from leaderboards.play.streams import env_seed
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.store.intact import MOST_JSON, StoreError, read_limited
from leaderboards.store.kept import KEPT, KeptRun
from leaderboards.store.kept_audit import KeptAudit
from leaderboards.store.run_file import Origin, RunEntry, Seeds, first_error

__all__ = [
    "INDEX",
    "INSTANCES",
    "AgentFile",
    "BoardIndex",
    "RunPlace",
    "Source",
    "pending",
    "read_agent",
    "read_index",
    "run_place",
    "settle",
    "stated_content",
    "write_agent",
    "write_index",
]

INDEX = "index.json"
INSTANCES = "instances.json.gz"
SCHEMA = 1
_METADATA = b"gpbandit-board"
_BITS = {"policy_seconds": 8}
_MOST_BITS = 16  # of the mantissa: a relative error of 2^-17, beyond what a chart shows; it halves the size of a file


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(_Strict):
    """Where the runs of an agent come from, and who has played them again.

    Attributes:
        standing: `"verified"`: played, or played again with equal traces, by those who keep the board; `"submitted"`:
            by its author alone.
        by: Who played or verified them.
        version: Version of the package with which that was done.
        fingerprint: Of the agent's code, see `leaderboards.verify.fingerprint`; None for agents of other packages.
        code: Where the code of an agent of another package is; "" for those of this project.
        seconds: `"alone"` if policy times were measured with nothing else running; they are not comparable otherwise.
    """

    standing: Literal["submitted", "verified"]
    by: str
    version: str
    fingerprint: str | None = None
    code: str = ""
    seconds: Literal["alone", "not comparable"] = "not comparable"


class AgentFile(_Strict):
    """A file of the index.

    Attributes:
        agent: Label of its agent.
        sha256: Of its content.
        bytes: Its size.
        runs: How many runs it holds.
        source: Where they come from.
    """

    agent: str
    sha256: str
    bytes: int
    runs: int
    source: Source


class BoardIndex(_Strict):
    """The index of a board.

    Attributes:
        suite: The suite, with every default written out.
        instances: SHA-256 of the file of instances.
        files: The files of the agents by name.
    """

    schema_: int = Field(SCHEMA, alias="schema")
    suite: Suite
    instances: str
    files: dict[str, AgentFile]


_NEW = ".new"


def pending(path: Path) -> Path:
    """Where the new content of a file of a board is written, until the index states it."""
    return path.with_name(path.name + _NEW)


def settle(folder: Path) -> None:
    """Give new files their names where the index states them, and remove the others, which a stopped writer left.

    Raises:
        StoreError: if the folder holds a damaged index.
        OSError: if the folder cannot be written.
    """
    stated: dict[str, str] = {}
    if (folder / INDEX).is_file():
        index, _ = read_index(folder)
        stated = {INSTANCES: index.instances} | {name: file.sha256 for name, file in index.files.items()}
    for path in sorted(folder.glob(f"*{_NEW}")):
        name = path.name.removesuffix(_NEW)
        if stated.get(name) == hashlib.sha256(path.read_bytes()).hexdigest():
            os.replace(path, folder / name)
        else:
            path.unlink()


def stated_content(path: Path, sha256: str, read: Callable[[Path], bytes]) -> bytes:
    """The content of a file of a board: its own, or that of the new file beside it, whichever the index states.

    Raises:
        StoreError: if neither has that hash.
        OSError: if there is no such file.
    """
    for place in (path, pending(path), path):  # a writer may have moved the new one meanwhile
        with suppress(FileNotFoundError):
            content = read(place)
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
    read(path)  # an error if there is none
    raise StoreError(f"{path} does not have the hash that the index states: fetch the board again")


RunPlace = tuple[str, int, int, str]
"""Task, seed, repetition and member of a run, "" for none; all agents share it."""


def run_place(task: str, seed: int, repetition: int, member: Mapping[str, Any]) -> RunPlace:
    """The place of a run, from the fields of its spec, which need not be made for it."""
    return task, seed, repetition, canonical_json(member) if member else ""


Instances = Mapping[str, Mapping[str, Any]]
"""Facts and data of the instances, by the key of the task and the repetition, as "TASK 3"."""


def instance_key(spec: RunSpec) -> str:
    """The key of a run's instance."""
    return f"{spec.task} {spec.repetition}"


def write_index(folder: Path, suite: Suite, files: Mapping[str, AgentFile], instances: Instances) -> None:
    """Write the index and the instances; from then on the board has the files that are `pending`.

    Raises:
        OSError: if the folder cannot be written.
    """
    content = gzip.compress(json.dumps(instances, sort_keys=True, allow_nan=True).encode(), mtime=0)
    with written_whole(pending(folder / INSTANCES)) as temporary:
        temporary.write_bytes(content)
    index = {
        "schema": SCHEMA,
        "suite": suite.frozen().model_dump(mode="json"),
        "instances": hashlib.sha256(content).hexdigest(),
        "files": {name: files[name].model_dump(mode="json") for name in sorted(files)},
    }
    with written_whole(folder / INDEX) as temporary:
        temporary.write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    settle(folder)


def read_index(folder: Path) -> tuple[BoardIndex, Instances]:
    """The index and the instances of a board.

    Raises:
        StoreError: if there is no board in the folder, it is damaged, or a newer version wrote it.
    """
    try:
        values = json.loads(read_limited(folder / INDEX))
        if values["schema"] > SCHEMA:
            raise StoreError(f"{folder}: a board of schema {values['schema']}, which only a newer version can read")
        index = BoardIndex.model_validate({**values, "suite": parse_suite(values["suite"])})
        instances = json.loads(_gunzip(stated_content(folder / INSTANCES, index.instances, read_limited)))
    except FileNotFoundError as error:
        raise StoreError(f"{folder} holds no board: expected the file {Path(error.filename).name}") from None
    except ValidationError as error:
        raise StoreError(f"{folder / INDEX} is damaged: {first_error(error)}") from None
    except (ValueError, KeyError, TypeError, EOFError, zlib.error) as error:
        raise StoreError(f"{folder} holds a damaged board ({type(error).__name__}: {error})") from None
    return index, instances


def write_agent(path: Path, runs: Sequence[tuple[RunEntry, KeptRun | None]], source: Source) -> AgentFile:
    """Write the runs of one agent; the bytes depend on the runs alone. Returns its line of the index.

    Raises:
        OSError: if the folder cannot be written.
    """
    runs = sorted(runs, key=lambda run: (run[0].spec.task, run[0].spec.repetition))
    origins = list(dict.fromkeys(entry.origin.model_dump_json() for entry, _ in runs))
    tasks = list(dict.fromkeys(entry.spec.task for entry, _ in runs))
    first = {entry.spec.task: entry.spec for entry, _ in reversed(runs)}
    members: dict[str, dict[str, Any]] = {}  # by task and repetition, of those that are families
    for entry, _ in runs:
        if entry.spec.member:
            members.setdefault(entry.spec.task, {})[str(entry.spec.repetition)] = dict(entry.spec.member)
    kept = [run for _, run in runs if run is not None]
    lengths = [0 if run is None else len(run.t) for _, run in runs]
    columns: dict[str, Any] = {
        "run": np.repeat(np.arange(len(runs), dtype=np.int32), lengths),
        "t": np.concatenate([run.t for run in kept] or [np.zeros(0)]).astype(np.int32),
    }
    for name in KEPT:
        values = np.concatenate([run.curves[name] for run in kept] or [np.zeros(0)])
        columns[name] = _rounded(values, _BITS.get(name, _MOST_BITS))
    header = {
        "schema": SCHEMA,
        "agent": first[tasks[0]].agent.to_dict(),
        "origins": [json.loads(text) for text in origins],
        "tasks": [
            {"env": spec.env.to_dict(), "horizon": spec.horizon, "feedback": spec.feedback, "seed": spec.seed}
            | ({"members": members[task]} if task in members else {})
            for task, spec in first.items()
        ],
        "runs": [
            _run_to_json(entry, run, list(first).index(entry.spec.task), origins.index(entry.origin.model_dump_json()))
            for entry, run in runs
        ],
    }
    table, content = pa.table(columns), pa.BufferOutputStream()
    # Metadata of the file and not of the table's schema, of which Arrow keeps a copy: that would hold it a second time.
    with pq.ParquetWriter(
        content,
        table.schema,
        compression="zstd",
        compression_level=19,
        use_dictionary=["run", "t"],
        use_byte_stream_split=list(KEPT),
        write_page_checksum=True,
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_METADATA: zlib.compress(json.dumps(header).encode(), 9)})
    data = content.getvalue().to_pybytes()
    with written_whole(path) as temporary:
        temporary.write_bytes(data)
    label = first[tasks[0]].agent.label
    return AgentFile(
        agent=label, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data), runs=len(runs), source=source
    )


def read_agent(
    folder: Path, name: str, file: AgentFile, instances: Instances, wanted: Container[RunPlace] | None = None
) -> list[tuple[RunEntry, KeptRun | None]]:
    """The runs of one agent.

    Args:
        folder: Folder of the board.
        name: Name of the agent's file.
        file: Its line of the index.
        instances: The instances of the board.
        wanted: Of which tasks and repetitions runs are read; None for all.

    Raises:
        StoreError: if the file is not the one of the index, or makes no sense.
    """
    path = folder / name
    try:
        content = stated_content(path, file.sha256, Path.read_bytes)
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}), which the index of the board names") from None
    try:
        parquet = pq.ParquetFile(pa.BufferReader(content))
        header = json.loads(_inflate((parquet.metadata.metadata or {})[_METADATA]))
        columns = {
            field: column.to_numpy() for field, column in zip(parquet.schema_arrow.names, parquet.read().columns)
        }
        # Of all runs at once; each is then a part of it, whose last value is still to be put in double precision.
        columns |= {name: columns[name].astype(np.float64) for name in KEPT} | {"t": columns["t"].astype(np.int64)}
        agent, origins = Ref(**header["agent"]), [Origin.model_validate(value) for value in header["origins"]]
        members = [task.pop("members", {}) for task in header["tasks"]]
        tasks = [{**task, "env": _shared_env(json.dumps(task["env"]))} for task in header["tasks"]]
        keys = [task_key(task["env"], task["horizon"], task["feedback"]) for task in tasks]
        ends = np.searchsorted(columns["run"], np.arange(len(header["runs"]) + 1))
        runs = []
        for values, start, stop in zip(header["runs"], ends, ends[1:]):
            task, repetition = values["task"], values["repetition"]
            member = members[task].get(str(repetition), {})
            # Before the spec is made, which is most of the time of a run that a part leaves out.
            place = run_place(keys[task], tasks[task]["seed"], repetition, member)
            if wanted is not None and place not in wanted:
                continue
            spec = RunSpec(**tasks[task], agent=agent, repetition=repetition, member=member)
            entry = _run_from_json(values, spec, instances.get(instance_key(spec), {}), origins[values["origin"]], name)
            runs.append(
                (entry, _kept_from_json(values, {field: column[start:stop] for field, column in columns.items()}))
            )
    except ValidationError as error:
        raise StoreError(f"{path} does not describe its runs ({first_error(error)})") from None
    except (pa.ArrowException, ValueError, KeyError, TypeError, IndexError, zlib.error) as error:
        raise StoreError(f"{path} is no file of a board ({type(error).__name__}: {error})") from None
    return runs


@functools.lru_cache(maxsize=1024)
def _shared_env(text: str) -> Ref:
    """The environment with this JSON form, which all agents of a board share."""
    return Ref(**json.loads(text))


@functools.lru_cache(maxsize=4096)
def _shared_data(text: str) -> InstanceData:
    """Where an instance with this JSON form comes from, which all agents of a board share."""
    return InstanceData.model_validate(json.loads(text))


_SAME = ("status", "reason", "seconds", "tries", "resumed", "finished")
"""Fields of an entry that are kept as they are; of an error only the reason is."""


def _run_to_json(entry: RunEntry, kept: KeptRun | None, task: int, origin: int) -> dict[str, Any]:
    values: dict[str, Any] = {"task": task, "repetition": entry.spec.repetition, "origin": origin, "rows": entry.rows}
    values |= {name: getattr(entry, name) for name in _SAME}
    values["seconds"], values["finished"] = round(entry.seconds, 3), round(entry.finished)
    values["actions"] = [name for name in entry.columns if name == "action" or name.startswith("action_")]
    if kept is not None:
        values["digest"] = kept.digest
        values["finals"] = [_json_number(kept.finals[name]) for name in KEPT]
        values["best_mean"] = _json_number(kept.best_mean)
        if kept.audit is not None:
            values["audit"] = kept.audit.to_dict()
    return values


def _run_from_json(
    values: Mapping[str, Any], spec: RunSpec, instance: Mapping[str, Any], origin: Origin, name: str
) -> RunEntry:
    return RunEntry.model_validate(
        {
            "key": spec.key,
            "spec": spec,
            **{field: values[field] for field in _SAME},
            "finished": float(values["finished"]),
            "error": None,
            "seeds": Seeds(root=spec.seed, env=env_seed(spec)),
            "facts": instance.get("facts", {}),
            "data": _shared_data(json.dumps(instance.get("data", {}))),
            "columns": ["t", *values["actions"]] if values["rows"] else [],
            "start": 0,
            "stop": values["rows"],
            "origin": origin,
            "file": name,
        }
    )


def _kept_from_json(values: Mapping[str, Any], columns: Mapping[str, np.ndarray]) -> KeptRun | None:
    if "digest" not in values:
        return None
    finals = {name: math.nan if value is None else float(value) for name, value in zip(KEPT, values["finals"])}
    curves, t = {name: columns[name] for name in KEPT}, columns["t"]
    if not len(t) or t[-1] != values["rows"] or (np.diff(t) <= 0).any():
        raise ValueError("the kept evaluations of a run do not end at its horizon")
    for name, final in finals.items():
        curves[name][-1] = final  # in double precision
    best = values["best_mean"]
    audit = KeptAudit.from_dict(values["audit"]) if "audit" in values else None
    return KeptRun(t, curves, finals, math.nan if best is None else float(best), str(values["digest"]), audit)


def _json_number(x: float) -> float | None:
    return None if math.isnan(x) else float(x)


def _rounded(x: np.ndarray, bits: int) -> np.ndarray:
    """Single precision with so many bits of the mantissa, to nearest; not a number stays one."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits).astype(np.float32)


def _inflate(content: bytes) -> bytes:
    """Decompress at most `MOST_JSON` bytes."""
    expand = zlib.decompressobj()
    text = expand.decompress(content, MOST_JSON)
    if expand.unconsumed_tail:
        raise ValueError(f"expected at most {MOST_JSON:,} bytes of JSON, got more")
    return text


def _gunzip(content: bytes) -> bytes:
    expand = zlib.decompressobj(wbits=31)
    text = expand.decompress(content, MOST_JSON)
    if expand.unconsumed_tail:
        raise ValueError(f"expected at most {MOST_JSON:,} bytes of JSON, got more")
    return text
