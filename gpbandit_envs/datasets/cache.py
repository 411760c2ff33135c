"""The folder where raw files and converted tables are kept.

```
<root>/raw/<data set>/<file>           raw files, hash-checked
<root>/tables/<data set>-...-<key>.npz converted tables
<root>/locks, <root>/partial           one lock and one scratch folder for each archive being fetched
```
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import platformdirs

from gpbandit_envs.datasets.errors import DataError, IntegrityError
from gpbandit_envs.datasets.integrity import write_whole
from gpbandit_envs.datasets.table import Table

__all__ = ["ENVIRONMENT_VARIABLE", "raw_path", "read_table", "root", "table_path", "writable_root", "write_table"]

ENVIRONMENT_VARIABLE = "GPBANDIT_DATA"

_FORMAT = 1
_ARRAYS = ("features", "values", "costs", "labels", "neighbours")


def root() -> Path:
    """The cache folder: `GPBANDIT_DATA`, or the user's cache folder of this platform."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("gpbandit-envs")


def writable_root() -> Path:
    """The cache folder, made if it does not exist.

    Raises:
        DataError: if it cannot be made or written to; the message says how to choose another.
    """
    folder = root()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError("no permission to write there")
    except OSError as fault:
        raise DataError(
            f"the cache folder {folder} cannot be written ({fault}). "
            f"Set the environment variable {ENVIRONMENT_VARIABLE} to a folder that can."
        ) from fault
    return folder


def raw_path(name: str, file: str) -> Path:
    """Where a raw file of the data set `name` is kept."""
    return root() / "raw" / name / file


def table_path(name: str, options: Mapping[str, object], identity: Mapping[str, object]) -> Path:
    """Where the table of a data set with some options is kept.

    Args:
        name: Name of the data set.
        options: Chosen options.
        identity: Whatever else the table depends on: hashes of the raw files, revision of the reader.
    """
    key = json.dumps([_FORMAT, name, dict(options), dict(identity)], sort_keys=True)
    words = [name, *(re.sub(r"[^A-Za-z0-9]+", "", str(value)) for value in options.values())]
    return root() / "tables" / f"{'-'.join(filter(None, words))}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.npz"


def write_table(path: Path, table: Table) -> None:
    """Store a table, uncompressed, with the hash of each array.

    Raises:
        DataError: if the cache folder cannot be written.
    """
    writable_root()
    arrays: dict[str, np.ndarray] = {}
    for name in _ARRAYS:
        value = getattr(table, name)
        if value is not None:
            # Labels as bytes: fixed-width text would take four bytes a character.
            arrays[name] = np.array([label.encode() for label in value]) if name == "labels" else value
    facts = {
        "format": _FORMAT,
        "name": table.name,
        "feature_names": table.feature_names,
        "notes": dict(table.notes),
        "sha256": {name: _digest(array) for name, array in arrays.items()},
    }
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)

    def write(out: IO[bytes]) -> None:
        np.savez(out, allow_pickle=False, **arrays)

    write_whole(path, write)


def read_table(path: Path) -> Table:
    """Load a stored table and check every array against its hash.

    Raises:
        IntegrityError: if the file is damaged; it can be deleted, for it is made again from the raw files.
    """
    try:
        # NumPy leaves a file that it opened itself open when the archive is damaged.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            facts: dict[str, Any] = json.loads(stored["facts"].tobytes())
            if facts["format"] != _FORMAT:
                raise ValueError(f"expected format {_FORMAT}, got {facts['format']}")
            arrays: dict[str, np.ndarray] = {}
            for name, sha256 in facts["sha256"].items():
                arrays[name] = stored[name]
                if _digest(arrays[name]) != sha256:
                    raise ValueError(f"the array {name} differs from its hash")
                arrays[name].flags.writeable = False
    except Exception as damage:  # from damaged bytes zipfile, zlib, tokenize and NumPy raise nearly anything
        raise IntegrityError(f"{path}: damaged ({damage}). Delete it; it is made again at the next load.") from damage
    labels = arrays.pop("labels", None)
    return Table(
        name=facts["name"],
        feature_names=tuple(facts["feature_names"]),
        labels=None if labels is None else tuple(label.decode() for label in labels.tolist()),
        notes=facts["notes"],
        **arrays,
    )


def _digest(array: np.ndarray) -> str:
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + hashlib.sha256(np.ascontiguousarray(array).data).digest()).hexdigest()
