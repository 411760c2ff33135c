"""Is a file of a results folder what was written, and where does it go if not?

By digests a file shows that none of its bits has changed since it was written:

- Parquet: between the last page and the footer, where every reader skips them, stand `_MARK`, the SHA-256 of all bytes
  before it, and the SHA-256 of the footer with what follows. So a footer is checked without reading the pages. The
  footer's key `gpbandit-sealed` says that there must be a mark.
- JSON: the key `sha256` of the outermost object, of the text without these 64 digits.

Files of versions that wrote no digest are read without this check; of parquet the checksums of pages still count.

What a stranger may have made is refused before it fills the memory:

| limit | value | reason |
|---|---|---|
| `MOST_JSON` | 64 MiB | ten times the manifest of 10,000 runs; parsed, JSON takes about 20 times its size |
| `MOST_VALUES` | 2^27 | 1 GiB of numbers in one file: 20 columns of six million evaluations |

What a spec or a suite may ask for is bounded in `leaderboards.play.spec`.

Damaged files go to DIR/quarantine, out of the way, and are named once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "MOST_JSON",
    "MOST_VALUES",
    "SEALED",
    "TAIL",
    "Quarantine",
    "Quarantined",
    "SealError",
    "StoreError",
    "check_parquet",
    "footer_of",
    "is_sealed",
    "open_json",
    "own_folder",
    "read_limited",
    "seal_json",
    "seal_parquet",
    "tail_size",
]

MOST_JSON = 2**26
MOST_VALUES = 2**27

SEALED = b"gpbandit-sealed"
"""Key in the footer of a parquet file with digests."""

TAIL = 16_384
"""Bytes at the end of a parquet file that hold the footer of nearly every one."""

_MARK = b"gpbandit"
_SIZE = 32
_SEAL = len(_MARK) + 2 * _SIZE
_END = 8  # length of the footer, and the closing `PAR1`
_DIGEST = "sha256"

_log = logging.getLogger("gpbandit")


class StoreError(Exception):
    """A results folder cannot serve a request; the text says what to do."""


class SealError(ValueError):
    """A file is not what was written; the text says how that shows."""


def read_limited(path: Path) -> bytes:
    """The content of a file of at most `MOST_JSON` bytes.

    Raises:
        ValueError: if it is longer, or no file but a device or a pipe.
        OSError: if it cannot be read.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError("expected a file, got a device, a pipe or a folder")
    with path.open("rb") as file:
        content = file.read(MOST_JSON + 1)
    if len(content) > MOST_JSON:
        raise ValueError(f"expected at most {MOST_JSON:,} bytes, got more")
    return content


def seal_json(values: Mapping[str, Any], indent: int | None = None) -> bytes:
    """JSON text of `values` with its digest as the first key."""
    blank = "0" * 2 * _SIZE
    text = json.dumps({_DIGEST: blank, **values}, indent=indent) + "\n"
    return text.replace(blank, _sha256(text.replace(blank, "", 1).encode()).hex(), 1).encode()


def open_json(text: bytes) -> dict[str, Any]:
    """The values that `seal_json` was given.

    The caller refuses unknown keys: a damaged name of the key of the digest is one.

    Raises:
        SealError: if the text is not the same any more, or no JSON object.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SealError(f"it is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise SealError(f"expected a JSON object, got {type(values).__name__}")
    digest = values.pop(_DIGEST, None)
    if digest is None:
        return values  # of a version that wrote none
    # Half a surrogate pair, which JSON may hold, has no bytes of its own.
    stated = digest.encode(errors="replace") if isinstance(digest, str) else b""
    if _sha256(text.replace(stated, b"", 1)).hex() != digest:
        raise SealError("its content does not match its digest")
    return values


def is_sealed(text: bytes) -> bool:
    """Whether JSON that `open_json` reads has a digest, so that it is what was written."""
    return _DIGEST in json.loads(text)


def seal_parquet(content: bytes) -> bytes:
    """A parquet file with digests of its pages and of its footer."""
    start = _footer_start(content)
    pages, footer = content[:start], content[start:]
    return b"".join((pages, _MARK, _sha256(pages), _sha256(footer), footer))


def tail_size(tail: bytes) -> int:
    """How many bytes at the end of a parquet file its footer and digests take, by the last of them."""
    return _SEAL + len(tail) - _footer_start(tail)


def footer_of(tail: bytes) -> bytes | None:
    """The checked footer in the last bytes of a parquet file; None if it has no digest, or `tail` is too short for it.

    Raises:
        SealError: if the footer does not match its digest.
    """
    start = _footer_start(tail)
    if start < _SEAL or not tail.startswith(_MARK, start - _SEAL):
        return None
    footer = tail[start:]
    if tail[start - _SIZE : start] != _sha256(footer):
        raise SealError("its footer does not match its digest")
    return footer


def check_parquet(content: bytes) -> bool:
    """Whether a parquet file has digests.

    Raises:
        SealError: if it does not match them.
    """
    if footer_of(content) is None:
        return False
    end = _footer_start(content) - _SEAL
    if content[end + len(_MARK) : end + len(_MARK) + _SIZE] != _sha256(content[:end]):
        raise SealError("its data do not match their digest")
    return True


def _footer_start(content: bytes) -> int:
    return len(content) - _END - int.from_bytes(content[-_END:-4], "little")


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def own_folder(folder: Path) -> Path:
    """`folder`, made if it is not there.

    Files are written to it and deleted from it; in a results folder that a stranger made, a link would lead elsewhere.

    Raises:
        OSError: if it cannot be made.
        StoreError: if it is a symbolic link.
    """
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link to {folder.readlink()}, and nothing is written through it: remove it")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(frozen=True)
class Quarantined:
    """A file that was moved out of the way.

    Attributes:
        path: Where it is now.
        reason: What is wrong with it.
    """

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Quarantine:
    """The damaged files of the results folder `directory`.

    Args:
        directory: The results folder.

    Attributes:
        folder: Where they are.
        files: Those that this object has moved there.
    """

    def __init__(self, directory: Path) -> None:
        self.folder = directory / "quarantine"
        self.files: list[Quarantined] = []

    def set_aside(self, path: Path, reason: str, remedy: str) -> None:
        """Move a damaged file here, and say so in one warning.

        Args:
            path: The file.
            reason: What is wrong with it.
            remedy: What happens without it, or what to do.
        """
        found = self.move(path, reason)
        _log.warning("%s was damaged and is set aside (%s): %s", found.path, found.reason, remedy)

    def move(self, path: Path, reason: str) -> Quarantined:
        """Move a damaged file here; the caller says so."""
        target = self.folder / path.name
        try:
            own_folder(self.folder)
            if target.exists():
                target = target.with_name(f"{path.stem}-{uuid.uuid4().hex[:8]}{path.suffix}")
            os.replace(path, target)
        except FileNotFoundError:
            target = self.folder / path.name  # another process was faster
        except (OSError, StoreError) as error:
            why = getattr(error, "strerror", None) or str(error)
            target, reason = path, f"{reason}; it could not be moved to quarantine/ ({why})"
        found = Quarantined(target, reason)
        self.files.append(found)
        return found
