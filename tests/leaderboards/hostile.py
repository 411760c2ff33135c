"""What a stranger might send: results files with rewritten entries, and archives that `pack` never made."""

from __future__ import annotations

import contextlib
import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.run_file import _ENTRY, write_table
from leaderboards.store.store import Store
from tests.leaderboards.folders import record

ENV = Ref("GPBandit/RKHS-v0", {"n_arms": 20})

CANARY = (
    "</script><script>window.owned=1</script><img src=x onerror=window.owned=1><svg onload=window.owned=1>"
    "\"'><a href=javascript:window.owned=1>x</a>"
)
"""Sets `window.owned` wherever it is read as HTML."""

ENTRY = list(_ENTRY)

Change = Callable[[dict[str, Any]], None]


def rewrite(path: Path, change: Change, columns: Mapping[str, Sequence[Any]] | None = None) -> None:
    """Rewrite the entries of a results file, and columns of the trace of its first run; keys belong to the specs.

    Args:
        path: The file.
        change: Changes `{"schema": ..., "origin": ..., "runs": [...]}`, the entries with what is nested.
        columns: New values of columns.
    """
    table = pq.read_table(path)
    nested = ("spec", "seeds", "facts", "data", "origin")
    runs = [{**row, **{name: json.loads(row[name]) for name in nested}} for row in table.select(ENTRY).to_pylist()]
    schema, origin = table.schema.metadata[b"gpbandit"].decode(), runs[0]["origin"]
    metadata: dict[str, Any] = {"schema": schema, "origin": origin, "runs": runs}
    change(metadata)
    for run in runs:
        run["origin"] = metadata["origin"]
        # A wrong spec has no key, and is refused for itself.
        with contextlib.suppress(TypeError, ValueError, RecursionError, AttributeError):
            run["key"] = RunSpec.from_dict(run["spec"]).key
        run |= {name: json.dumps(run[name]) for name in nested if name in run}
    arrays: dict[str, Any] = {name: table.column(name) for name in table.column_names if name not in ENTRY}
    arrays |= {name: _array([run[name] for run in runs]) for name in runs[0]}
    arrays |= {f"trace_{name}": pa.array([values]) for name, values in (columns or {}).items()}
    written = pa.table(arrays).replace_schema_metadata({b"gpbandit": str(metadata["schema"]).encode()})
    write_table(path, written)


def _array(values: list[Any]) -> pa.Array:
    if all(value is None for value in values):
        return pa.array(values, pa.string())
    return pa.array(values)


def results_file(
    folder: Path,
    change: Change,
    columns: Mapping[str, Sequence[Any]] | None = None,
    agent: str = "Uniform",
    T: int = 20,
) -> Path:
    """A results file of one run, rewritten."""
    path = Store(folder).write(record(ENV, Ref(agent), 0, T))
    rewrite(path, change, columns)
    return path


def archive(path: Path, contents: Mapping[str, bytes], listed: Mapping[str, str] | None = None, **options: Any) -> Path:
    """An archive of these members; `listed` replaces the hashes that are stated of them."""
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    with zipfile.ZipFile(path, "w", **options) as packed:
        packed.writestr("submission.json", json.dumps({"schema": 1, "files": {**hashes, **(listed or {})}}))
        for name, content in contents.items():
            packed.writestr(name, content)
    return path
