"""Digests by which a file shows that none of its bits has changed since it was written.

- Parquet: between the last page and the footer, where every reader skips them, stand `_MARK`, the SHA-256 of all bytes
  before it, and the SHA-256 of the footer with what follows. So a footer is checked without reading the pages. The
  footer's key `gpbandit-sealed` says that there must be a mark.
- JSON: the key `sha256` of the outermost object, of the text without these 64 digits.

Files of versions that wrote no digest are read without this check; of parquet the checksums of pages still count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = [
    "SEALED",
    "TAIL",
    "SealError",
    "check_parquet",
    "footer_of",
    "is_sealed",
    "open_json",
    "seal_json",
    "seal_parquet",
    "tail_size",
]

SEALED = b"gpbandit-sealed"
"""Key in the footer of a parquet file with digests."""

_MARK = b"gpbandit"
_SIZE = 32
_SEAL = len(_MARK) + 2 * _SIZE
_END = 8  # length of the footer, and the closing `PAR1`
_DIGEST = "sha256"

TAIL = 16_384
"""Bytes at the end of a parquet file that hold the footer of nearly every one."""


class SealError(ValueError):
    """A file is not what was written; the text says how that shows."""


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
