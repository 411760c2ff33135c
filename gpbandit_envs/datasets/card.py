"""The card of a data set: what it is, under which licence, and where its bytes come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

__all__ = ["Card", "DataFile", "PinnedArchive", "PinnedMember", "Source", "WebAddress"]

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class PinnedArchive:
    """One archive of the Python package index.

    Attributes:
        requirement: Exact pin, such as `"shapiq==1.4.1"`.
        filename: Name of the wheel or source archive.
        sha256: Hash of the archive, hexadecimal.
    """

    requirement: str
    filename: str
    sha256: str

    def __post_init__(self) -> None:
        _check_sha256(self.sha256)
        if "==" not in self.requirement:
            raise ValueError(f"requirement: expected an exact pin NAME==VERSION, got {self.requirement!r}")

    @property
    def is_wheel(self) -> bool:
        """Whether pip can fetch it without running any of its code."""
        return self.filename.endswith(".whl")


@dataclass(frozen=True)
class PinnedMember:
    """A file inside an archive of the package index."""

    archive: PinnedArchive
    member: str

    def __str__(self) -> str:
        return f"pip, {self.archive.requirement}"


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
            _check_sha256(self.sha256)
            if self.size is None:
                raise ValueError(f"size: expected the length of {self.name}, whose hash is pinned, got None")

    @property
    def origins(self) -> tuple[str, ...]:
        """Archives and addresses that hold the file, for people."""
        found = [f"{s.member} in {s.archive.filename}" if isinstance(s, PinnedMember) else s.url for s in self.sources]
        return tuple(found + ([self.by_hand] if self.by_hand else []))


@dataclass(frozen=True, kw_only=True)
class Card:
    """What a data set is.

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


def _check_sha256(text: str) -> None:
    if not _SHA256.fullmatch(text):
        raise ValueError(f"sha256: expected 64 hexadecimal digits in lower case, got {text!r}")
