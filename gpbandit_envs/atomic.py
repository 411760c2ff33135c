"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TEMPORARY = ".tmp"
"""Ends the names of files that are being written."""


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a new name beside `path` to write to, and rename it to `path` at the end of the block.

    A reader sees the old file or the new one. If the block raises, the temporary file is removed and `path` is as it
    was; a process that is killed leaves at most the temporary file. Folders that are missing are made.

    Args:
        path: The file; replaced if it exists.

    Raises:
        OSError: if the folder cannot be written or the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A separate name for every writer: two processes may write the same file at the same time.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(6)}{TEMPORARY}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # the first error says more
            temporary.unlink(missing_ok=True)
        raise
