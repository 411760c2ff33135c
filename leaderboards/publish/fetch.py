"""Boards whose runs are left out of the wheel: fetched once, or taken from a file, and kept in the cache.

The wheel has the manifest of each board, which has the hash of every file. So what is fetched needs no other key: a
file that the manifest does not name is not unpacked, and one with another hash is refused.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

from gpbandit_envs.datasets import cache
from gpbandit_envs.version import ADDRESS, __version__
from leaderboards.store.intact import StoreError, read_limited
from leaderboards.store.provenance import MANIFEST, read_manifest

_SECONDS = 60.0  # without a byte
_MOST = 50_000_000  # bytes of an archive, and of a file in it


def kept_folder(package: Path) -> Path:
    """Where the runs of a board are kept, of which the package has the manifest alone: by its hash."""
    digest = hashlib.sha256(read_limited(package / MANIFEST)).hexdigest()
    return cache.root() / "boards" / f"{package.name}-{digest[:16]}"


def address_of(name: str) -> str:
    """Where the packed board of this version is published."""
    return f"{ADDRESS}/releases/download/v{__version__}/{name}.zip"


def fetch_board(package: Path, archive: Path | None = None) -> Path:
    """Fetch the runs of a board, of which the package has the manifest, unless they are kept already.

    Args:
        package: The folder in the package.
        archive: The packed board, as `gpbandit board pack` makes it; None to download it.

    Returns:
        The folder in which they are kept.

    Raises:
        ValueError: if there is no such board, or no address to fetch it from.
        StoreError: if the archive is not that of the board.
        OSError: if it cannot be fetched, read or written.
    """
    manifest = read_manifest(package)
    if manifest is None:
        raise ValueError(f"board: expected the name of a board of the package, got {package.name!r}")
    to = kept_folder(package)
    if to.is_dir():
        return to
    names = {f"runs/{name}": file.sha256 for name, file in manifest.files.items()}
    cache.writable_root()
    to.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        if archive is None:
            archive = _downloaded(package.name, Path(folder) / "archive.zip")
        whole = Path(folder) / "board"
        (whole / "runs").mkdir(parents=True)
        shutil.copy(package / MANIFEST, whole)
        try:
            with zipfile.ZipFile(archive) as packed:
                for name, sha256 in names.items():
                    with packed.open(name) as file:
                        content = file.read(_MOST)
                    if hashlib.sha256(content).hexdigest() != sha256:
                        raise StoreError(f"{archive}: {name} is not that of the board {package.name!r} of this version")
                    (whole / name).write_bytes(content)
        except (KeyError, zipfile.BadZipFile) as error:
            raise StoreError(f"{archive}: expected the packed board {package.name!r}: {error}") from None
        os.replace(whole, to)
    return to


def _downloaded(name: str, to: Path) -> Path:
    if ".invalid/" in f"{ADDRESS}/":
        raise ValueError(f"board: no public address is stated yet; give the packed board {name!r} with --file")
    try:
        with urllib.request.urlopen(address_of(name), timeout=_SECONDS) as answer:
            content = answer.read(_MOST)
    except urllib.error.URLError as error:
        raise OSError(f"{address_of(name)} could not be fetched ({error.reason}); --file takes it by hand") from None
    to.write_bytes(content)
    return to
