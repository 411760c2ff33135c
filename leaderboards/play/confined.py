"""A process that can neither open, change nor remove anything in some folders, nor look into other processes.

On Linux, by Landlock (kernel 5.13; `man 7 landlock`), which needs no rights and can never be taken back. Landlock knows
only what is allowed: everything beside the folders on the way to them. So nothing new can be written *right in* one
of those either, such as `/tmp`; a process that is confined gets a folder of its own for temporary files.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

__all__ = ["can_confine", "confine"]

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # system calls, of one number on every architecture
_VERSION, _BENEATH, _NO_NEW_PRIVS = 1, 1, 38
# Reading a folder's list of names is not among the rights that are taken away: an import does so.
_WRITE, _READ, _TRUNCATE, _REFER = 1 << 1, 1 << 2, 1 << 14, 1 << 13
_MAKE_AND_REMOVE = sum(1 << bit for bit in range(4, 13))
_OTHERS_SIGNALS = 1 << 1


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def can_confine() -> bool:
    """Whether this system has Landlock."""
    return _version() > 0


def confine(hidden: Iterable[Path]) -> bool:
    """Take from this process, for good, what is in the folders `hidden`; returns whether the system could.

    Other processes, but those that it starts, cannot be looked into either, through `/proc` or otherwise; from Linux
    6.12 on no signal can be sent to them.
    """
    version = _version()
    if not version:
        return False
    rights = _WRITE | _READ | _MAKE_AND_REMOVE
    rights |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    libc = ctypes.CDLL(None, use_errno=True)
    rules = _Ruleset(rights, 0, _OTHERS_SIGNALS)
    size = ctypes.sizeof(rules) if version >= 6 else 8
    ruleset = _checked(libc.syscall(_CREATE, ctypes.byref(rules), size, 0))
    for path in _beside([folder.resolve() for folder in hidden]):
        try:
            there = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        kind = os.fstat(there).st_mode
        if not stat.S_ISLNK(kind):  # what it leads to has a rule of its own
            allowed = rights if stat.S_ISDIR(kind) else rights & (_WRITE | _READ | _TRUNCATE)
            rule = _Beneath(allowed, there)
            libc.syscall(_ADD, ruleset, _BENEATH, ctypes.byref(rule), 0)  # where it fails there is less, never more
        os.close(there)
    _checked(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    return True


def _version() -> int:
    if sys.platform != "linux":
        return 0
    return max(int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, _VERSION)), 0)


def _beside(hidden: list[Path]) -> Iterator[Path]:
    """Everything that is in no folder of `hidden`, each folder of which none is inside as a whole."""
    above = {parent for folder in hidden for parent in folder.parents}
    if not above:
        yield Path("/")
    for folder in above:
        try:
            inside = list(folder.iterdir())
        except OSError:
            continue
        yield from (path for path in inside if path not in above and path not in hidden)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer
