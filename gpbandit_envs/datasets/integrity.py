"""Hashes of files, and writing so that a reader sees a whole file or none."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.datasets.errors import IntegrityError

__all__ = ["check_file", "copy_checked", "sha256_of", "write_whole"]

_CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def check_file(path: Path, sha256: str, remedy: str) -> None:
    """Compare a file with its pinned hash.

    Raises:
        IntegrityError: if they differ; the message ends with `remedy`.
    """
    found = sha256_of(path)
    if found != sha256:
        raise IntegrityError(f"{path}: expected sha256 {sha256}, got {found} ({path.stat().st_size} bytes). {remedy}")


def copy_checked(stream: IO[bytes], to: Path, *, sha256: str, size: int, what: str) -> None:
    """Copy `stream` to the file `to`, which appears only if its bytes are the pinned ones.

    Args:
        stream: Source, read in pieces.
        to: Destination.
        sha256: Pinned hash.
        size: Pinned length in bytes; reading stops beyond it, whatever the stream claims to hold.
        what: Name of the source for messages.

    Raises:
        IntegrityError: if length or hash differ.
    """

    def write(out: IO[bytes]) -> None:
        digest, length = hashlib.sha256(), 0
        while piece := stream.read(min(_CHUNK, size + 1 - length)):
            digest.update(piece)
            length += len(piece)
            if length > size:
                raise IntegrityError(f"{what}: expected {size} bytes, got more")
            out.write(piece)
        if length != size or digest.hexdigest() != sha256:
            raise IntegrityError(
                f"{what}: expected {size} bytes with sha256 {sha256}, got {length} bytes with {digest.hexdigest()}"
            )

    write_whole(to, write)


def write_whole(to: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file under a temporary name and rename it; a process killed in between leaves no file named `to`."""
    with written_whole(to) as temporary, temporary.open("xb") as out:
        write(out)
        out.flush()
        os.fsync(out.fileno())
