"""From a name to a table: the cache, a file by hand, or the first source that delivers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gpbandit_envs.datasets import cache
from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.catalogue import CATALOGUE, find
from gpbandit_envs.datasets.data_set import DataSet
from gpbandit_envs.datasets.fetch import obtain, supply
from gpbandit_envs.datasets.table import Table

__all__ = ["cards", "fetch", "load"]


def cards() -> Mapping[str, Card]:
    """The card of every data set, by name."""
    return MappingProxyType({data_set.card.name: data_set.card for data_set in CATALOGUE})


def load(name: str, *, file: str | os.PathLike[str] | None = None, **options: object) -> Table:
    """A table of arms and measured values.

    The first call fetches the raw files, checks them against their pinned hashes, converts them once and keeps both;
    later calls need no network.

    Args:
        name: Name of a data set, in any case; see `cards`.
        file: The raw file, a folder that holds the raw files by name, or the pinned archive; None to use the cache or
            fetch. What is given must match the pinned hashes too, and is kept in the cache.
        **options: Options of the data set, such as `dataset="cifar10"`; see its card.

    Raises:
        ValueError: if the name or the value of an option does not exist.
        TypeError: if an option does not exist.
        FileNotFoundError: if there is nothing at `file`.
        FetchError: if no source can deliver; the message lists them and says how to supply the file by hand.
        IntegrityError: if bytes differ from the pinned ones, or the cache is damaged.
    """
    data_set = find(name)
    chosen = data_set.choose(options)
    files = data_set.files(chosen)
    path = _table_path(data_set, chosen)
    if file is not None:
        supply(data_set.card, files, Path(file))
    if not path.exists():
        raw = {item.name: obtain(data_set.card, item, cards().values()) for item in files}
        cache.write_table(path, data_set.read(raw, chosen))
    return cache.read_table(path)


def fetch(name: str, *, file: str | os.PathLike[str] | None = None) -> Path:
    """Make sure that all raw files of a data set are in the cache.

    Args:
        name: Name of a data set, in any case.
        file: Where to take them from, as in `load`; None to fetch what the cache lacks.

    Returns:
        The folder that holds them.

    Raises:
        ValueError: if there is no such data set.
        FileNotFoundError: if there is nothing at `file`.
        FetchError: if no source can deliver.
        IntegrityError: if bytes differ from the pinned ones.
    """
    card = find(name).card
    if file is not None:
        supply(card, card.files, Path(file))
    paths = [obtain(card, item, cards().values()) for item in card.files]
    return paths[0].parent


def _table_path(data_set: DataSet, options: Mapping[str, object]) -> Path:
    identity = {file.name: file.sha256 for file in data_set.files(options)}
    return cache.table_path(data_set.card.name, options, {"files": identity, "revision": data_set.revision})
