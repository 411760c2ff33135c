"""Limits on files that a stranger may have made: what is beyond them is refused before it fills the memory.

| limit | value | reason |
|---|---|---|
| `MOST_JSON` | 64 MiB | ten times the manifest of 10,000 runs; parsed, JSON takes about 20 times its size |
| `MOST_VALUES` | 2^27 | 1 GiB of numbers in one file: 20 columns of six million evaluations |
| `MOST_RUNS` | 1,000,000 | the keys of so many runs of a suite take half a minute |
| `LONGEST_NAME` | 200 | characters of a label or a column's name, which stands in hundreds of places of the pages |
| `LARGEST_COUNT` | 2^31 - 1 | horizons and repetitions; beyond it no run ends |
"""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = [
    "LARGEST_COUNT",
    "LONGEST_NAME",
    "MOST_JSON",
    "MOST_RUNS",
    "MOST_VALUES",
    "StoreError",
    "own_folder",
    "read_limited",
]

MOST_JSON = 2**26
MOST_VALUES = 2**27
MOST_RUNS = 1_000_000
LONGEST_NAME = 200
LARGEST_COUNT = 2**31 - 1


class StoreError(Exception):
    """A results folder cannot serve a request; the text says what to do."""


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
