"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

TEMPORARY = ".tmp"
"""Ends the names of files that are being written."""


@contextmanager
def written_whole(path: Path, lasting: bool = True) -> Iterator[Path]:
    """Yield a new name beside `path` to write to, and rename it to `path` at the end of the block.

    A reader sees the old file or the new one. If the block raises, the temporary file is removed and `path` is as it
    was; a process that is killed leaves at most the temporary file. Folders that are missing are made.

    Args:
        path: The file; replaced if it exists.
        lasting: Whether the content is on the disk before the name is, so that a machine that loses power has the old
            file or the new one too; it costs some milliseconds. Not for what can be made again, such as pages.

    Raises:
        OSError: if the folder cannot be written or the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A separate name for every writer: two processes may write the same file at the same time.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(6)}{TEMPORARY}")
    try:
        yield temporary
        if lasting:
            with temporary.open("rb+") as written:
                os.fsync(written.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # the first error says more
            temporary.unlink(missing_ok=True)
        raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """A block that one process at a time enters for a folder, for what reads a file of it and then replaces it.

    The lock is on the folder itself: nothing is left behind. Where the system has none, as Windows and some network
    drives, the block is entered all the same.

    Raises:
        OSError: if the folder cannot be read.
    """
    if sys.platform == "win32":
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    opened = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
