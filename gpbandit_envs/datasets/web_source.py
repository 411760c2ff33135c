"""Files at public addresses, fetched with pooch and checked by hash."""

from __future__ import annotations

import logging
from pathlib import Path

from gpbandit_envs.datasets.card import DataFile, WebAddress
from gpbandit_envs.datasets.errors import IntegrityError, SourceUnavailableError

__all__ = ["download_file"]

_TIMEOUT_S = 30


def download_file(file: DataFile, source: WebAddress, folder: Path) -> Path:
    """Download a file into an existing folder.

    Raises:
        SourceUnavailableError: if the address cannot be reached.
        IntegrityError: if it serves other bytes than the pinned ones.
    """
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    try:
        found = pooch.retrieve(
            source.url,
            known_hash=f"sha256:{file.sha256}",
            fname=file.name,
            path=folder,
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT_S),
        )
    except (requests.RequestException, OSError) as failure:
        raise SourceUnavailableError(f"{type(failure).__name__}: {failure}") from failure
    except ValueError as mismatch:
        raise IntegrityError(f"{source.url}: expected {file.name} with sha256 {file.sha256}: {mismatch}") from mismatch
    return Path(found)
