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
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np

FILE = Path(__file__).with_name("optima.json")

Found = tuple[float, tuple[float, ...], float, bool]
"""Largest value, where it is, bound on its error, and whether that reached the tolerance."""

FOUND: dict[str, Found] = {}
"""What this process has found, by key."""


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
    return FOUND.get(key) or shipped().get(key)


def remember(key: str | None, found: Found) -> None:
    """Keep what was found of the function with this key, if it has one."""
    if key is not None:
        FOUND[key] = found


@functools.cache
def shipped(path: Path = FILE) -> dict[str, Found]:
    """The maxima in a file, by default the one of this folder."""
    if not path.is_file():
        return {}
    lines = json.loads(path.read_text(encoding="utf-8"))
    return {key: (best, tuple(where), tol, done) for key, (best, where, tol, done) in lines.items()}
