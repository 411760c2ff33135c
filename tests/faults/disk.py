"""A disk that fails at a chosen operation: every access to files below some folders is counted, and one of them fails.

Python reaches files through `io.open` and the functions of `os`; both are replaced while a `Disk` is in force. Opened
files are read and written through a raw file whose every system call is one operation, below all buffers. PyArrow
and zipfile are given such files, or bytes. Operations on other folders, and all imports, pass uncounted.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch


class Died(BaseException):
    """The process is dead: nothing that it does from here on reaches the disk."""


@dataclass(frozen=True)
class Fault:
    """What happens at an operation.

    Attributes:
        name: For reports.
        number: Error number that the operation raises; None if the process dies in it.
        writing: Whether only operations that write can fail so.
        lasting: Whether all later operations that can fail so fail too.
    """

    name: str
    number: int | None
    writing: bool = False
    lasting: bool = False


FAULTS = (
    Fault("full", errno.ENOSPC, writing=True, lasting=True),
    Fault("EIO", errno.EIO),
    Fault("EACCES", errno.EACCES),
    Fault("cut", None),
)
"""A disk that is full from here on, two errors that come once, and a process that dies with half of a write done."""

_REAL_OPEN = io.open
_BY_PATH = ("stat", "lstat", "listdir", "scandir", "access", "unlink", "remove", "mkdir", "rmdir", "utime", "truncate")
_BY_TWO_PATHS = ("replace", "rename", "link", "symlink")
_BY_DESCRIPTOR = ("fsync", "read", "write", "ftruncate")
_WRITE = {"mkdir", "replace", "rename", "link", "symlink", "fsync", "write", "utime", "sendfile"}


class Disk:
    """Counts the operations below `folders`, and lets one of them fail.

    Args:
        folders: What is watched.
        at: Number of the operation that fails, from 0; None for none.
        fault: How it fails.
        among: Which operations are numbered, by their name and file; by default all.

    Attributes:
        operations: Name and file of every operation so far.
        failed: What failed; "" if nothing has.
    """

    def __init__(
        self,
        *folders: Path,
        at: int | None = None,
        fault: Fault = FAULTS[0],
        among: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._folders = tuple(f"{folder.resolve()}{os.sep}" for folder in folders)
        self._at, self._fault, self._among = at, fault, among
        self._numbered = 0
        self._dead = False
        self.operations: list[tuple[str, bool]] = []
        self.failed = ""

    def fails(self, name: str, path: str, writes: bool) -> bool:
        """Count an operation; whether the process dies in it.

        Raises:
            OSError: if it fails.
            Died: if the process is dead already.
        """
        if self._dead:
            raise Died
        self.operations.append((f"{name} {path}", writes))
        if not self._among(f"{name} {path}"):
            return False
        number, fault = self._numbered, self._fault
        self._numbered += 1
        if self._at is None or number < self._at or (number > self._at and not fault.lasting):
            return False
        if fault.writing and not writes:
            return False
        self.failed = self.failed or f"{name} {path}"
        if fault.number is not None:
            raise OSError(fault.number, os.strerror(fault.number), path)
        self._dead = True
        return True

    def passes(self, name: str, path: str, writes: bool) -> None:
        """Count an operation that happens whole or not at all."""
        if self.fails(name, path, writes):
            raise Died

    def watched(self, file: Any, folder: int | None = None) -> str | None:
        """The path of a file that is watched; None for others."""
        if isinstance(file, int):
            try:
                path = os.readlink(f"/proc/self/fd/{file}")
            except OSError:
                return None
        else:
            path = os.path.abspath(os.fsdecode(file))
            if folder is not None:
                path = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), os.fsdecode(file))
        return path if f"{path}{os.sep}".startswith(self._folders) else None

    @contextmanager
    def in_force(self) -> Iterator[Disk]:
        """Until the end of the block, operations are counted and fail."""
        replaced: list[tuple[Any, str, Any]] = [(builtins, "open", self._open), (io, "open", self._open)]
        for names, replacement in (
            (_BY_PATH, self._by_path),
            (_BY_TWO_PATHS, self._by_two_paths),
            (_BY_DESCRIPTOR, self._by_path),
        ):
            replaced += [(os, name, replacement(name, getattr(os, name))) for name in names]
        replaced += [(os, "open", self._os_open(os.open)), (os, "sendfile", self._sendfile(os.sendfile))]
        patches = [patch.object(module, name, function) for module, name, function in replaced]
        for each in patches:
            each.start()
        try:
            yield self
        finally:
            for each in patches:
                each.stop()

    def _by_path(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(file: Any = ".", *arguments: Any, dir_fd: int | None = None, **options: Any) -> Any:
            if dir_fd is not None:
                options["dir_fd"] = dir_fd
            path = self.watched(file, dir_fd)
            if path is None:
                return real(file, *arguments, **options)
            try:
                dies = self.fails(name, path, name in _WRITE)
            except OSError:
                if name == "access":
                    return False
                raise
            if dies:
                if name == "write":
                    real(file, arguments[0][: len(arguments[0]) // 2])
                raise Died
            return real(file, *arguments, **options)

        return operation

    def _by_two_paths(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(one: Any, other: Any, **options: Any) -> Any:
            path = self.watched(other) or self.watched(one)
            if path is not None:
                self.passes(name, path, name in _WRITE)
            return real(one, other, **options)

        return operation

    def _os_open(self, real: Callable[..., int]) -> Callable[..., int]:
        def operation(file: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            path = self.watched(file, dir_fd)
            if path is not None:
                self.passes("open", path, bool(flags & (os.O_WRONLY | os.O_RDWR)))
            return real(file, flags, mode, dir_fd=dir_fd)

        return operation

    def _sendfile(self, real: Callable[..., int]) -> Callable[..., int]:
        def operation(to: int, *arguments: Any, **options: Any) -> int:
            path = self.watched(to)
            if path is not None:
                self.passes("sendfile", path, True)
            return real(to, *arguments, **options)

        return operation

    def _open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        path = self.watched(file)
        if path is None:
            return _REAL_OPEN(file, mode, buffering, encoding, errors, newline, closefd, opener)
        self.passes("open", path, not set(mode).isdisjoint("wax+"))
        raw = _Raw(self, path, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if "b" in mode and buffering == 0:
            return raw
        kinds: dict[bool, Any] = {
            True: io.BufferedRandom,
            False: io.BufferedReader if "r" in mode else io.BufferedWriter,
        }
        buffered = kinds["+" in mode](raw)
        if "b" in mode:
            return buffered
        text: Any = io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)
        text.mode = mode
        return text


class _Raw(io.FileIO):
    """A file whose reads and writes are operations of a disk."""

    def __init__(self, disk: Disk, path: str, *arguments: Any) -> None:
        self._disk, self._path = disk, path
        super().__init__(*arguments)

    def read(self, size: int | None = -1, /) -> bytes:
        self._disk.passes("read", self._path, False)
        return super().read(-1 if size is None else size)

    def readall(self) -> bytes:
        self._disk.passes("read", self._path, False)
        return super().readall()

    def readinto(self, buffer: Any, /) -> int:
        self._disk.passes("read", self._path, False)
        return super().readinto(buffer)

    def write(self, content: Any, /) -> int:
        if self._disk.fails("write", self._path, True):
            super().write(memoryview(content)[: len(content) // 2])
            raise Died
        return super().write(content)
