"""The cache: the folder of raw files and converted tables, each checked against a hash and written as a whole.

```
<root>/raw/<data set>/<file>           raw files, hash-checked
<root>/tables/<data set>-...-<key>.npz converted tables
<root>/locks, <root>/partial           one lock and one scratch folder for each archive being fetched
```
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Protocol, cast, runtime_checkable

import numpy as np
import platformdirs

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.datasets.errors import DataError, IntegrityError
from gpbandit_envs.datasets.table import Table

ENVIRONMENT_VARIABLE = "GPBANDIT_DATA"

_LOG = logging.getLogger(__name__)
_FORMAT = 1
_CHUNK = 1 << 20
_ARRAYS = ("features", "values", "costs", "labels", "neighbours")


@runtime_checkable
class ByteStream(Protocol):
    """Anything that bytes can be read from, such as an open file or an open member of an archive."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; all if it is negative."""


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
    """Store a table, uncompressed; the checksums of a zip file tell damage.

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
    }
    arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)

    def write(out: IO[bytes]) -> None:
        np.savez(out, **cast(Any, arrays))  # none holds objects; NumPy before 2.1 takes every keyword for an array

    write_whole(path, write)


def read_table(path: Path) -> Table:
    """Load a stored table.

    Raises:
        IntegrityError: if the file is damaged; it can be deleted, for it is made again from the raw files.
    """
    try:
        # NumPy leaves a file that it opened itself open when the archive is damaged.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            facts: dict[str, Any] = json.loads(stored["facts"].tobytes())
            if facts["format"] != _FORMAT:
                raise ValueError(f"expected format {_FORMAT}, got {facts['format']}")
            arrays: dict[str, Any] = {name: stored[name] for name in _ARRAYS if name in stored}
            for array in arrays.values():
                array.flags.writeable = False
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


def discard(path: Path) -> None:
    """Delete a damaged file of the cache, and say so in a warning."""
    path.unlink(missing_ok=True)
    _LOG.warning("%s was damaged and is made anew", path)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_file(path: Path, sha256: str, remedy: str) -> None:
    """Compare a file with its pinned hash.

    Raises:
        IntegrityError: if they differ; the message ends with `remedy`.
    """
    found = sha256_of(path)
    if found != sha256:
        raise IntegrityError(f"{path}: expected sha256 {sha256}, got {found} ({path.stat().st_size} bytes). {remedy}")


def copy_checked(stream: ByteStream, to: Path, *, sha256: str, size: int, what: str) -> None:
    """Copy `stream` to the file `to`, which appears only if its bytes are the pinned ones.

    Args:
        stream: Source, read in pieces.
        to: Destination.
        sha256: Pinned hash.
        size: Pinned length in bytes; reading stops beyond it, whatever the stream claims to hold.
        what: Name of the source for messages.

    Raises:
        IntegrityError: if length or hash differ.
    """

    def write(out: IO[bytes]) -> None:
        digest, length = hashlib.sha256(), 0
        while piece := stream.read(min(_CHUNK, size + 1 - length)):
            digest.update(piece)
            length += len(piece)
            if length > size:
                raise IntegrityError(f"{what}: expected {size} bytes, got more")
            out.write(piece)
        if length != size or digest.hexdigest() != sha256:
            raise IntegrityError(
                f"{what}: expected {size} bytes with sha256 {sha256}, got {length} bytes with {digest.hexdigest()}"
            )

    write_whole(to, write)


def write_whole(to: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file under a temporary name and rename it; a process killed in between leaves no file named `to`."""
    with written_whole(to) as temporary, temporary.open("xb") as out:
        write(out)
        out.flush()
        os.fsync(out.fileno())
