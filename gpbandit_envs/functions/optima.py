"""Maxima that were found before, by what the function is: whoever meets the same function again need not search.

A search over many coordinates takes longer than the policies that play on the function. What it found is kept for the
life of the process, and that of the functions which boards play in the file `optima.json` of this folder. The key is a
hash of all numbers of a function and of how it was searched: a function with other bits, as of another mathematical
library, is searched anew.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

from gpbandit_envs.atomic import written_whole

FILE = Path(__file__).with_name("optima.json")

Found = tuple[float, tuple[float, ...], float, bool]
"""Largest value, where it is, bound on its error, and whether that reached the tolerance."""

_found: dict[str, Found] = {}
_recorded: dict[str, Found] | None = None


def key_of(function: object, *how: object) -> str | None:
    """The key of a function that is a dataclass of arrays and of values whose text says what they are; else None."""
    if not is_dataclass(function):
        return None
    digest = hashlib.sha256(repr((type(function).__qualname__, *how)).encode())
    for field in fields(function):
        value = getattr(function, field.name)
        if isinstance(value, np.ndarray):
            digest.update(repr((field.name, value.shape, value.dtype.str)).encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        else:
            digest.update(repr((field.name, value)).encode())
    return digest.hexdigest()[:32]


def recall(key: str | None) -> Found | None:
    """What was found of the function with this key; None if nothing was, or it has none."""
    if key is None:
        return None
    found = _found.get(key) or _shipped().get(key)
    if found is not None and _recorded is not None:
        _recorded[key] = found
    return found


def remember(key: str | None, found: Found) -> None:
    """Keep what was found of the function with this key, if it has one."""
    if key is not None:
        _found[key] = found
        if _recorded is not None:
            _recorded[key] = found


@contextmanager
def recording() -> Iterator[dict[str, Found]]:
    """A block in which all that is found or recalled is gathered, as for the file."""
    global _recorded
    before, _recorded = _recorded, {}
    try:
        yield _recorded
    finally:
        _recorded = before


def write(found: dict[str, Found], path: Path = FILE) -> None:
    """Add to the file of maxima what was found, one line each, whole or not at all.

    Raises:
        OSError: if the folder cannot be written.
    """
    known = _read(path) | found
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known))
    with written_whole(path) as temporary:
        temporary.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    _shipped.cache_clear()


@functools.cache
def _shipped() -> dict[str, Found]:
    return _read(FILE)


def _read(path: Path) -> dict[str, Found]:
    if not path.is_file():
        return {}
    lines = json.loads(path.read_text(encoding="utf-8"))
    return {key: (best, tuple(where), tol, done) for key, (best, where, tol, done) in lines.items()}
