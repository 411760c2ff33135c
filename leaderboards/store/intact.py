"""Is a file of a results folder what was written, and what happens to it if not?

A digest in the file shows that none of its bits has changed since it was written. It is the SHA-256 of all its other
bytes: in JSON the key `sha256` of the outermost object, in parquet 32 bytes before the footer, where every reader skips
them.

What a stranger may have made is refused before it fills the memory:

| limit | value | reason |
|---|---|---|
| `MOST_JSON` | 64 MiB | a hundred times the suite of a board; parsed, JSON takes about 20 times its size |
| `MOST_VALUES` | 2^27 | 1 GiB of numbers in one file: 20 columns of six million evaluations |

What a spec or a suite may ask for is bounded in `leaderboards.play.spec`.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gpbandit_envs.atomic import written_whole

MOST_JSON = 2**26
MOST_VALUES = 2**27

_DIGEST = "sha256"
_SIZE = 32


class StoreError(Exception):
    """A results folder cannot serve a request; the text says what to do."""


class SealError(ValueError):
    """A file is not what was written; the text says how that shows."""


def read_limited(path: Path) -> bytes:
    """The content of a file of at most `MOST_JSON` bytes; `ValueError` if it is longer, or a device or a pipe."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("expected a file, got a device, a pipe or a folder")
    with path.open("rb") as file:
        content = file.read(MOST_JSON + 1)
    if len(content) > MOST_JSON:
        raise ValueError(f"expected at most {MOST_JSON:,} bytes, got more")
    return content


def write_whole(path: Path, content: bytes | str, lasting: bool = True) -> Path:
    """Write a file whole or not at all, text as UTF-8, see `written_whole`; returns its path."""
    with written_whole(path, lasting) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def seal_json(values: Mapping[str, Any], indent: int | None = None) -> bytes:
    """JSON text of `values` with its digest as the first key."""
    blank = "0" * 2 * _SIZE
    text = json.dumps({_DIGEST: blank, **values}, indent=indent) + "\n"
    return text.replace(blank, hashlib.sha256(text.replace(blank, "", 1).encode()).hexdigest(), 1).encode()


def open_json(text: bytes) -> dict[str, Any]:
    """The values that `seal_json` was given; `SealError` if the text is not the same any more, or no JSON object."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SealError(f"it is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise SealError(f"expected a JSON object, got {type(values).__name__}")
    digest = values.pop(_DIGEST, None)
    # Half a surrogate pair, which JSON may hold, has no bytes of its own.
    stated = digest.encode(errors="replace") if isinstance(digest, str) else b""
    if hashlib.sha256(text.replace(stated, b"", 1)).hexdigest() != digest:
        raise SealError("its content does not match its digest")
    return values


def seal_parquet(content: bytes) -> bytes:
    """A parquet file with its digest."""
    start = _footer_start(content)
    return b"".join((content[:start], hashlib.sha256(content).digest(), content[start:]))


def check_parquet(content: bytes) -> None:
    """Raise a `SealError` if a parquet file is not what `seal_parquet` gave."""
    start = _footer_start(content)
    digest = hashlib.sha256(memoryview(content)[: max(start - _SIZE, 0)])
    digest.update(memoryview(content)[max(start, 0) :])
    if start < _SIZE or digest.digest() != content[start - _SIZE : start]:
        raise SealError("its content does not match its digest")


def _footer_start(content: bytes) -> int:
    """Where the footer begins: its length, and `PAR1`, close the file."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def own_folder(folder: Path) -> Path:
    """`folder`, made if it is not there; `StoreError` if it is a link, as in a results folder that a stranger made.

    Files are written to it and deleted from it.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link to {folder.readlink()}, and nothing is written through it: remove it")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def set_aside(path: Path, reason: str) -> str:
    """Give a damaged file the ending `.damaged`, so that nothing reads it again; returns what was done, in words."""
    aside = path.with_name(path.name + ".damaged")
    if path.parent.is_symlink():  # a stranger's folder may be one to files of this user's, which are none of ours
        return f"{path} is damaged ({reason}), and nothing is renamed through the link {path.parent}"
    try:
        os.replace(path, aside)
    except FileNotFoundError:
        pass  # another process was faster
    except OSError as error:
        return f"{path} was damaged ({reason}; it could not be renamed: {error.strerror})"
    return f"{aside} was damaged and is set aside ({reason})"
