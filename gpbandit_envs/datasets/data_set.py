"""A card with the function that reads its files into a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpbandit_envs.datasets.card import Card, DataFile
from gpbandit_envs.datasets.table import Table

__all__ = ["DataSet"]


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """How a data set is read.

    Attributes:
        card: What it is and where it comes from.
        read: Makes the table from the raw files by name and the options.
        needs: Names of the raw files that given options need; None if always all of them.
        revision: Raised whenever `read` returns something else for the same files, so that cached tables are remade.
    """

    card: Card
    read: Callable[[Mapping[str, Path], Mapping[str, object]], Table]
    needs: Callable[[Mapping[str, object]], tuple[str, ...]] | None = None
    revision: int = 1

    def choose(self, options: Mapping[str, object]) -> dict[str, object]:
        """All options, with defaults for those not given.

        Raises:
            TypeError: if an option does not exist, or its value is of another type than the default.
            ValueError: if a value is not among the allowed ones.
        """
        allowed = self.card.options
        for name, value in options.items():
            if name not in allowed:
                takes = ", ".join(allowed) or "no options"
                raise TypeError(f"{self.card.name}: unknown option {name!r}; it takes {takes}")
            if type(value) is not type(allowed[name][0]):
                wanted = type(allowed[name][0]).__name__
                raise TypeError(f"{name}: expected a value of type {wanted}, got {value!r}")
            if len(allowed[name]) > 1 and value not in allowed[name]:
                raise ValueError(f"{name}: expected one of {', '.join(map(str, allowed[name]))}, got {value!r}")
        return {name: options.get(name, values[0]) for name, values in allowed.items()}

    def files(self, options: Mapping[str, object]) -> tuple[DataFile, ...]:
        """The raw files that the given options need."""
        if self.needs is None:
            return self.card.files
        names = self.needs(options)
        return tuple(file for file in self.card.files if file.name in names)
