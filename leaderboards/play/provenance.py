"""Which runs of a results folder came from elsewhere, and which have been played again with the same result."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from leaderboards.play.files import TEMPORARY

__all__ = ["Provenance", "Standing"]

Standing = Literal["local", "submitted", "verified"]


class Provenance:
    """The file `provenance.json` of a results folder.

    A run is `"local"` if it was played by whoever keeps the folder, `"submitted"` if it was added from elsewhere, and
    `"verified"` once it was played again here and its trace agreed.

    Args:
        directory: The results folder.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "provenance.json"
        try:
            self._data: dict[str, dict[str, Any]] = json.loads(self._path.read_text())
        except FileNotFoundError:
            self._data = {"submitted": {}, "verified": {}}

    def standing(self, key: str) -> Standing:
        """How far the run `key` is to be trusted."""
        if key in self._data["verified"]:
            return "verified"
        return "submitted" if key in self._data["submitted"] else "local"

    def submitted(self, keys: Iterable[str], source: str) -> None:
        """These runs were added from `source`."""
        for key in keys:
            self._data["submitted"][key] = {"from": source, "added": time.time()}
        self._write()

    def verified(self, keys: Iterable[str]) -> None:
        """These runs were played again and agreed."""
        for key in keys:
            self._data["verified"][key] = {"when": time.time()}
        self._write()

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f"{self._path.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
        temporary.write_text(json.dumps(self._data, indent=1))
        os.replace(temporary, self._path)
