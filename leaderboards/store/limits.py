"""Limits on files that a stranger may have made: what is beyond them is refused before it fills the memory.

| limit | value | reason |
|---|---|---|
| `MOST_JSON` | 64 MiB | ten times the manifest of 10,000 runs; parsed, JSON takes about 20 times its size |
| `MOST_VALUES` | 2^27 | 1 GiB of numbers in one file: 20 columns of six million evaluations |

What a spec or a suite may ask for is bounded in `leaderboards.play.spec`.
"""

from __future__ import annotations

import stat
from pathlib import Path

__all__ = ["MOST_JSON", "MOST_VALUES", "read_limited"]

MOST_JSON = 2**26
MOST_VALUES = 2**27


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
