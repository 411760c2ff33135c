"""File names of pages."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["file_names"]


def file_names(kind: str, names: Iterable[str]) -> dict[str, str]:
    """A file name for each name: plain lower-case ASCII, unique whatever the names are.

    Args:
        kind: First word of every file name.
        names: What the pages are about; they may hold any character.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        stem = "-".join([kind, *re.findall(r"[a-z0-9]+", name.lower())])[:80]
        number, file = 2, stem
        while file in taken:
            file, number = f"{stem}-{number}", number + 1
        taken.add(file)
        found[name] = f"{file}.html"
    return found
