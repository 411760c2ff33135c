"""Data sets: the card that describes one, the sources of its files, and the function that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gpbandit_envs.datasets.archive import PinnedMember, check_sha256_text
from gpbandit_envs.datasets.table import Table

__all__ = ["Card", "DataFile", "DataSet", "Source", "WebAddress"]


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
    """

    name: str
    sha256: str | None
    size: int | None
    sources: tuple[Source, ...] = ()
    by_hand: str = ""

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
        return tuple(found + ([self.by_hand] if self.by_hand else []))


@dataclass(frozen=True, kw_only=True)
class Card:
    """Metadata of a data set: source, target, licence, files.

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


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A data set: its card and how to read it.

    Attributes:
        card: Its metadata.
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
