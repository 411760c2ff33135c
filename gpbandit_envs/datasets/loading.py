"""All data sets by name, and the way from a name to a table: the cache, a file by hand, or a download."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from gpbandit_envs.datasets import cache
from gpbandit_envs.datasets.card import FOLDER, Card, read_card
from gpbandit_envs.datasets.download import copy_user_files, fetch_file
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.table import Table


@lru_cache(maxsize=1)
def _paths() -> dict[str, Path]:
    """Where the card of every data set is, by its name in lower case."""
    return {path.stem.casefold(): path for path in sorted(FOLDER.glob("*.toml"))}


def find(name: str) -> Card:
    """The card of a data set, by its name in any case.

    Raises:
        TypeError: if the name is no text.
        ValueError: if there is none; the message lists them all.
    """
    if not isinstance(name, str):
        raise TypeError(f"name: expected the name of a data set, got {name!r}")
    path = _paths().get(name.casefold())
    if path is None:
        known = ", ".join(path.stem for path in _paths().values())
        raise ValueError(f"name: expected one of {known}, got {name!r}")
    return read_card(path)


def cards() -> Mapping[str, Card]:
    """The card of every data set, by name."""
    return MappingProxyType({path.stem: read_card(path) for path in _paths().values()})


def load(name: str, *, file: str | os.PathLike[str] | None = None, **options: object) -> Table:
    """A table of arms and measured values.

    The first call fetches the raw files, checks them against their pinned hashes, converts them once and keeps both;
    later calls need no network.

    Args:
        name: Name of a data set, in any case; see `cards`.
        file: The raw file, a folder that holds the raw files by name, or the pinned archive; None to use the cache or
            fetch. What is given must match the pinned hashes too, and is kept in the cache. A file with no published
            hash is checked by its content, and only its table is kept.
        **options: Options of the data set, such as `dataset="cifar10"`; see its card.

    Raises:
        ValueError: if the name or the value of an option does not exist.
        TypeError: if an option does not exist.
        FileNotFoundError: if `file` does not exist, or is one of several files and the cache lacks others.
        FetchError: if no source can deliver; the message lists them and says how to supply the file by hand.
        IntegrityError: if bytes differ from the pinned ones. A damaged file of the cache is made anew.
    """
    card = find(name)
    chosen = card.choose(options)
    files = card.files_of(chosen)
    if file is not None and any(item.sha256 is None for item in files):
        return _load_without_hash(card, chosen, Path(file))
    if file is not None:
        copy_user_files(card, files, Path(file))

    def convert() -> Table:
        return card.read({item.name: fetch_file(card, item, cards().values()) for item in files}, chosen)

    return convert() if card.here else _cached(_table_path(card, chosen), convert)


def fetch(name: str, *, file: str | os.PathLike[str] | None = None) -> Path:
    """Make sure that all raw files of a data set are in the cache.

    Args:
        name: Name of a data set, in any case.
        file: Where to take them from, as in `load`; None to fetch what the cache lacks.

    Returns:
        The folder that holds them; for a file with no published hash, the folder of its converted table.

    Raises:
        ValueError: if there is no such data set.
        FileNotFoundError: if `file` does not exist, or is one of several files and the cache lacks others.
        FetchError: if no source can deliver.
        IntegrityError: if bytes differ from the pinned ones.
    """
    card = find(name)
    if any(item.sha256 is None for item in card.files):
        if file is not None:
            load(name, file=file)
        path = _table_path(card, card.choose({}))
        return path.parent if path.exists() else fetch_file(card, card.files[0])
    if file is not None:
        copy_user_files(card, card.files, Path(file))
    paths = [fetch_file(card, item, cards().values()) for item in card.files]
    return paths[0].parent


def _load_without_hash(card: Card, options: Mapping[str, object], given: Path) -> Table:
    """The table of a file with no published hash, which the reader checks by its content; the file is not copied.

    With the default options its table also becomes the one that `load` serves without a file.
    """
    (item,) = card.files_of(options)
    if not given.is_file():
        raise FileNotFoundError(f"file: expected an existing file for {card.name}, got {given}")
    sha256 = cache.sha256_of(given)

    def convert() -> Table:
        table = card.read({item.name: given}, options)
        return replace(table, notes={**table.notes, "file": given.name, "sha256": sha256})

    table = _cached(_table_path(card, options, sha256), convert)
    if options == card.choose({}):
        cache.write_table(_table_path(card, options), table)
    return table


def _cached(path: Path, make: Callable[[], Table]) -> Table:
    """The table in the cache, which `make` gives if it is not there or damaged."""
    if path.exists():
        try:
            return cache.read_table(path)
        except IntegrityError:
            cache.discard(path)
    cache.write_table(path, make())
    return cache.read_table(path)


def _table_path(card: Card, options: Mapping[str, object], given: str | None = None) -> Path:
    identity = {file.name: file.sha256 or given for file in card.files_of(options)}
    return cache.table_path(card.name, options, {"files": identity, "revision": card.revision})
