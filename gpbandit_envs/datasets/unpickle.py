"""Pickles of plain containers and numbers, with every class refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, NoReturn

from gpbandit_envs.datasets.errors import IntegrityError

__all__ = ["load_plain"]


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it refers to {module}.{name}, and only plain containers and numbers are allowed")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it refers to an object outside the file")


def load_plain(path: Path) -> Any:
    """Read a pickle made of dict, list, tuple, set, str, bytes, numbers, booleans and None.

    Raises:
        IntegrityError: if it names any class or function, or is damaged. Nothing of it has been run.
    """
    try:
        with path.open("rb") as stream:
            return _PlainUnpickler(stream).load()
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, AttributeError, TypeError) as refusal:
        raise IntegrityError(f"{path.name}: refused pickle: {refusal}") from refusal
