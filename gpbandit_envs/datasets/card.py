"""Cards of data sets: what one is, where its files come from, and how they become a table.

A card is a file `cards/<name>.toml`. Its keys are the attributes of `Card` and `DataFile`; a source is a `url`, or the
`member` of an `archive` that `archives.toml` pins, and a file without any lies beside the card.
"""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember, check_sha256_text
from gpbandit_envs.datasets.table import Table

FOLDER = Path(__file__).parent / "cards"
"""Holds the cards, and the tables that come with this package."""


@dataclass(frozen=True)
class WebAddress:
    """A file at a public address."""

    url: str

    def __str__(self) -> str:
        return self.url


Source = PinnedMember | WebAddress


@dataclass(frozen=True, kw_only=True)
class DataFile:
    """One raw file.

    Attributes:
        name: File name in the cache.
        sha256: Hash of the file, hexadecimal; None where no hash is published, and then there is no automatic source.
        size: Length in bytes; None if unknown. Nothing longer is ever written.
        sources: Where it comes from, in the order in which they are tried.
        by_hand: Address from which a person can get a file that has no automatic source.
        only: The value of an option that needs the file, by the name of the option; empty if all values do.
        here: Whether the file comes with this package.
    """

    name: str
    sha256: str | None
    size: int | None
    sources: tuple[Source, ...] = ()
    by_hand: str = ""
    only: Mapping[str, object] = field(default_factory=dict)
    here: bool = False

    def __post_init__(self) -> None:
        if self.sha256 is None:
            if self.sources:
                raise ValueError(f"sources: expected none for {self.name}, which has no hash to check them by")
        else:
            check_sha256_text(self.sha256)
            if self.size is None:
                raise ValueError(f"size: expected the length of {self.name}, whose hash is pinned, got None")

    @property
    def origins(self) -> tuple[str, ...]:
        """Archives and addresses that hold the file, for people."""
        found = [f"{s.member} in {s.archive.filename}" if isinstance(s, PinnedMember) else s.url for s in self.sources]
        return tuple(found + ([self.by_hand] if self.by_hand else []) + (["this package"] if self.here else []))


@dataclass(frozen=True, kw_only=True)
class Card:
    """A data set: source, target, licence, files, and how to read them.

    Attributes:
        name: Name that `load` takes.
        title: One line.
        shape: Number of arms and of features `(A, d)` with the default options.
        columns: Names of the features with the default options.
        target: What is maximised, with its unit.
        licence: Licence of the data.
        citation: Work to cite.
        files: Raw files.
        options: Keywords of `load`: for each, the allowed values with the default first; a single value means that
            others of its kind are allowed too.
        notes: Plain facts: replicates, costs, outliers, how the optimum is defined.
        reader: `module:function` that makes a `Table` of the card, the raw files by name and the options; a module of
            this package unless its name has a dot.
        measured: Arguments of `measured`, for the reader of a table of measurements.
        environment: What an environment on it states; see `gpbandit_envs.envs.tabular`.
        revision: Raised whenever the reader returns something else for the same files, so that cached tables are
            remade.
    """

    name: str
    title: str
    shape: tuple[int, int]
    columns: tuple[str, ...]
    target: str
    licence: str
    citation: str
    files: tuple[DataFile, ...]
    options: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    notes: str = ""
    reader: str = "measured:read"
    measured: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    @property
    def sources(self) -> tuple[str, ...]:
        """Every archive and address that the files come from."""
        return tuple(dict.fromkeys(origin for file in self.files for origin in file.origins))

    @property
    def sha256(self) -> Mapping[str, str | None]:
        """Hash of each raw file."""
        return MappingProxyType({file.name: file.sha256 for file in self.files})

    @property
    def here(self) -> bool:
        """Whether the data come with this package."""
        return all(file.here for file in self.files)

    def choose(self, options: Mapping[str, object]) -> dict[str, object]:
        """All options, with defaults for those not given.

        Raises:
            TypeError: if an option does not exist, or its value is of another type than the default.
            ValueError: if a value is not among the allowed ones.
        """
        allowed = self.options
        for name, value in options.items():
            if name not in allowed:
                takes = ", ".join(allowed) or "no options"
                raise TypeError(f"{self.name}: unknown option {name!r}; it takes {takes}")
            if type(value) is not type(allowed[name][0]):
                wanted = type(allowed[name][0]).__name__
                raise TypeError(f"{name}: expected a value of type {wanted}, got {value!r}")
            if len(allowed[name]) > 1 and value not in allowed[name]:
                raise ValueError(f"{name}: expected one of {', '.join(map(str, allowed[name]))}, got {value!r}")
        return {name: options.get(name, values[0]) for name, values in allowed.items()}

    def files_of(self, options: Mapping[str, object]) -> tuple[DataFile, ...]:
        """The raw files that the given options need."""
        return tuple(file for file in self.files if all(options[name] == value for name, value in file.only.items()))

    def read(self, paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
        """The table in the raw files, which are given by name."""
        module, _, function = self.reader.partition(":")
        found = importlib.import_module(module if "." in module else f"gpbandit_envs.datasets.{module}")
        table: Table = getattr(found, function)(self, paths, options)
        return table

    def table(
        self,
        features: np.ndarray,
        values: np.ndarray,
        *,
        names: tuple[str, ...] | None = None,
        notes: Mapping[str, object] | None = None,
        **others: Any,
    ) -> Table:
        """A table of this data set, for readers: `names` of the features in place of the card's, more notes."""
        return Table(
            name=self.name,
            features=features,
            feature_names=self.columns if names is None else names,
            values=values,
            notes={"target": self.target, "preprocessing": self.notes, **(notes or {})},
            **others,
        )


@lru_cache
def read_card(path: Path) -> Card:
    """The card in a file, named as the file is."""
    stated = tomllib.loads(path.read_text(encoding="utf-8"))
    columns = tuple(stated.pop("columns"))
    files = tuple(_file(**file) for file in stated.pop("files"))
    options = {name: tuple(values) for name, values in stated.pop("options", {}).items()}
    shape = stated.pop("arms"), len(columns)
    return Card(name=path.stem, columns=columns, shape=shape, files=files, options=options, **stated)


def _file(
    name: str,
    sha256: str | None = None,
    size: int | None = None,
    archive: str = "",
    member: str = "",
    url: str = "",
    **others: Any,
) -> DataFile:
    sources: list[Source] = [PinnedMember(_archives()[archive], member)] if archive else []
    sources += [WebAddress(url)] if url else []
    if not sources and sha256 is not None:
        return DataFile(name=name, sha256=sha256, size=(FOLDER / name).stat().st_size, here=True, **others)
    return DataFile(name=name, sha256=sha256, size=size, sources=tuple(sources), **others)


@lru_cache
def _archives() -> dict[str, PinnedArchive]:
    stated = tomllib.loads((FOLDER.parent / "archives.toml").read_text(encoding="utf-8"))
    return {requirement: PinnedArchive(requirement, **pin) for requirement, pin in stated.items()}
