"""All data sets, by name."""

from __future__ import annotations

from gpbandit_envs.datasets.abalone import ABALONE
from gpbandit_envs.datasets.data_set import DataSet

__all__ = ["CATALOGUE", "find"]

CATALOGUE: tuple[DataSet, ...] = (ABALONE,)


def find(name: str) -> DataSet:
    """The data set of that name, in any case.

    Raises:
        TypeError: if the name is no text.
        ValueError: if there is none; the message lists them all.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected the name of a data set, got {name!r}")
    for data_set in CATALOGUE:
        if data_set.card.name.casefold() == name.casefold():
            return data_set
    known = ", ".join(data_set.card.name for data_set in CATALOGUE)
    raise ValueError(f"name: expected one of {known}, got {name!r}")
