"""A results folder as such: the error of one that cannot serve a request, and the folders in it that are its own."""

from __future__ import annotations

from pathlib import Path

__all__ = ["StoreError", "own_folder"]


class StoreError(Exception):
    """A results folder cannot serve a request; the text says what to do."""


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
