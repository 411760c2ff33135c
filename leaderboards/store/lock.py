"""The lock file of boards: exact versions of all that they are played with, and whether these are installed."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import re
from importlib import resources

__all__ = ["LOCK", "lock_differences", "lock_note", "locked_versions"]

LOCK = "boards.lock"

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
_SHORT = 12


def locked_versions() -> dict[str, str]:
    """The version of each distribution that the lock file pins."""
    return dict(_PIN.findall(_text()))


def lock_differences() -> dict[str, str | None]:
    """The distributions that the lock file pins and of which another version is installed, or none (None)."""
    found: dict[str, str | None] = {}
    for name, version in locked_versions().items():
        try:
            here = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            here = None
        if here != version:
            found[name] = here
    return found


@functools.cache
def lock_note() -> str:
    """What a record states: the lock file by its hash, and which of its distributions are installed otherwise."""
    digest = hashlib.sha256(_text().encode()).hexdigest()[:_SHORT]
    others = ", ".join(f"{name} {version or 'missing'}" for name, version in lock_differences().items())
    return f"{LOCK} {digest}" + (f" but {others}" if others else "")


@functools.cache
def _text() -> str:
    return (resources.files("leaderboards") / LOCK).read_text(encoding="utf-8")
