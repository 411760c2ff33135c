"""The note of a results folder, `against.json`: which board its runs are compared with."""

from __future__ import annotations

import json
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from leaderboards.store.intact import StoreError, read_limited
from leaderboards.text import visible

__all__ = ["noted", "write_note"]

_NOTE = "against.json"


def write_note(directory: Path, against: str) -> None:
    """Note in a results folder what it is compared with.

    Args:
        directory: The folder.
        against: The name of a board, its web address, or an absolute path.

    Raises:
        OSError: if the folder cannot be written.
    """
    with written_whole(directory / _NOTE) as temporary:
        temporary.write_text(json.dumps({"against": against}) + "\n", encoding="utf-8")


def noted(directory: Path) -> str | None:
    """What a results folder is compared with; None for nothing but itself.

    Raises:
        StoreError: if the note is damaged.
    """
    try:
        return str(json.loads(read_limited(directory / _NOTE))["against"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{directory / _NOTE} is damaged ({visible(str(error))[:80]}): remove it, or give --against again"
        ) from None
