"""DIR/quarantine: damaged files of a results folder, moved out of the way and named once."""

from __future__ import annotations

import logging
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

from leaderboards.store.folder import StoreError, own_folder

__all__ = ["Quarantine", "Quarantined"]

_log = logging.getLogger("gpbandit")


@dataclass(frozen=True)
class Quarantined:
    """A file that was moved out of the way.

    Attributes:
        path: Where it is now.
        reason: What is wrong with it.
    """

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Quarantine:
    """The damaged files of the results folder `directory`.

    Args:
        directory: The results folder.

    Attributes:
        folder: Where they are.
        files: Those that this object has moved there.
    """

    def __init__(self, directory: Path) -> None:
        self.folder = directory / "quarantine"
        self.files: list[Quarantined] = []

    def set_aside(self, path: Path, reason: str, remedy: str) -> None:
        """Move a damaged file here, and say so in one warning.

        Args:
            path: The file.
            reason: What is wrong with it.
            remedy: What happens without it, or what to do.
        """
        found = self.move(path, reason)
        _log.warning("%s was damaged and is set aside (%s): %s", found.path, found.reason, remedy)

    def move(self, path: Path, reason: str) -> Quarantined:
        """Move a damaged file here; the caller says so."""
        target = self.folder / path.name
        try:
            own_folder(self.folder)
            if target.exists():
                target = target.with_name(f"{path.stem}-{uuid.uuid4().hex[:8]}{path.suffix}")
            os.replace(path, target)
        except FileNotFoundError:
            target = self.folder / path.name  # another process was faster
        except (OSError, StoreError) as error:
            why = getattr(error, "strerror", None) or str(error)
            target, reason = path, f"{reason}; it could not be moved to quarantine/ ({why})"
        found = Quarantined(target, reason)
        self.files.append(found)
        return found
