"""Which runs of a results folder came from elsewhere, and which have been played again with the same result."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from leaderboards.play.files import TEMPORARY, StoreError, is_submitted

__all__ = ["Provenance", "Standing"]

Standing = Literal["local", "submitted", "verified"]


class Provenance:
    """The file `provenance.json` of a results folder.

    A run is `"local"` if it was played by whoever keeps the folder, `"submitted"` if it was added from elsewhere, and
    `"verified"` once it was played again here and its trace agreed. All of these are said of one record of the run,
    never of its key: another record of the same run may come in, or be played here. The name of its file tells where
    a record came from; `provenance.json` keeps what was verified, and from which archive the others came.

    Args:
        directory: The results folder.

    Raises:
        StoreError: if the file is damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "provenance.json"
        self._data: dict[str, dict[str, dict[str, Any]]] = {"submitted": {}, "verified": {}}
        try:
            data = json.loads(self._path.read_text())
            for name, entries in self._data.items():
                entries.update({key: dict(entry) for key, entry in data.get(name, {}).items()})
        except FileNotFoundError:
            pass
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise StoreError(
                f"{self._path} cannot be read ({type(error).__name__}: {error}): delete it; what it says is verified "
                "then has to be verified again"
            ) from None

    def standing(self, run: Mapping[str, Any]) -> Standing:
        """How far a record is to be trusted: an entry of the index, with `key`, `file` and `finished`."""
        if self._verified(run) is not None:
            return "verified"
        return "submitted" if is_submitted(run["file"], run["key"]) else "local"

    def submitted(self, keys: Iterable[str], source: str) -> None:
        """These runs were added from `source`."""
        for key in keys:
            self._data["submitted"][key] = {"from": source, "added": time.time()}
        self._write()

    def verified(self, runs: Iterable[Mapping[str, Any]]) -> None:
        """These records were played again and agreed."""
        now = time.time()
        for run in runs:
            self._data["verified"][run["key"]] = {"when": now, "file": run["file"], "finished": run["finished"]}
        self._write()

    def adopt(self, other: Provenance, runs: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
        """Say of records that were copied here what `other` says of them.

        Args:
            other: That of the folder they come from.
            runs: Each record as it was there, and as it is here.
        """
        found = False
        for theirs, ours in runs:
            key = ours["key"]
            source, verified = other._data["submitted"].get(key), other._verified(theirs)
            if source is not None and is_submitted(ours["file"], key):
                found |= self._data["submitted"].setdefault(key, source) is source
            if verified is not None and self._verified(ours) is None:
                mark = {"when": verified["when"], "file": ours["file"], "finished": ours["finished"]}
                self._data["verified"][key] = mark
                found = True
        if found:
            self._write()

    def _verified(self, run: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What is said of the verification of this very record."""
        entry = self._data["verified"].get(run["key"])
        if entry is None:
            return None
        if "file" not in entry:  # as it was before records had one: it spoke of what was there then
            return entry if run["finished"] <= entry["when"] else None
        return entry if (entry["file"], entry["finished"]) == (run["file"], run["finished"]) else None

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f"{self._path.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
        try:
            temporary.write_text(json.dumps(self._data, indent=1))
            os.replace(temporary, self._path)
        finally:
            temporary.unlink(missing_ok=True)
