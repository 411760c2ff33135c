"""Provenance: which runs of a results folder were submitted from elsewhere, and which have been verified."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from gpbandit_envs.atomic import written_whole
from leaderboards.store.intact import open_json, read_limited, seal_json, set_aside
from leaderboards.store.run_file import RunEntry, first_error
from leaderboards.text import visible

__all__ = ["Provenance", "TrustLevel"]

_log = logging.getLogger("gpbandit")

TrustLevel = Literal["local", "submitted", "verified"]
"""How far a record is to be trusted."""


_CONTENT = TypeAdapter(dict[Literal["submitted", "verified"], dict[str, dict[str, str | float]]])


class Provenance:
    """The file `provenance.json` of a results folder.

    A record is `"local"` if the run was played for this folder, `"submitted"` if it was added from an archive, and
    `"verified"` once the run was played again here with an equal trace. Provenance belongs to one record and not to the
    run's key: another record of the same run may be added or played later. The file name says whether a record was
    submitted; `provenance.json` names the archive, and the records that were verified. Without it nothing counts as
    verified: a damaged one is set aside.

    Args:
        directory: The results folder.

    Raises:
        OSError: if the system does not give the file, which says nothing of it.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "provenance.json"
        # By key of the run: the archive and when it was added; when a record was verified, its file and when it ended.
        self._content: Any = {"submitted": {}, "verified": {}}
        try:
            self._content |= _CONTENT.validate_python(open_json(read_limited(self._path)))
        except FileNotFoundError:
            pass
        except ValueError as error:
            reason = first_error(error) if isinstance(error, ValidationError) else str(error)
            said = set_aside(self._path, reason)
            _log.warning("%s: what it said is verified has to be verified again", said)

    def standing(self, run: RunEntry) -> TrustLevel:
        """Trust level of a record."""
        found = self._content["verified"].get(run.key, {})
        if (found.get("file"), found.get("finished")) == (run.file, run.finished):
            return "verified"
        return "submitted" if run.submitted else "local"

    def add_submitted(self, keys: Iterable[str], archive: str) -> None:
        """Record that these runs were added from `archive`."""
        self._content["submitted"] |= {key: {"archive": visible(archive), "added": time.time()} for key in keys}
        self._write()

    def add_verified(self, runs: Iterable[RunEntry]) -> None:
        """Record that these records were verified."""
        now = time.time()
        self._content["verified"] |= {
            run.key: {"when": now, "file": run.file, "finished": run.finished} for run in runs
        }
        self._write()

    def adopt(self, other: Provenance, runs: Iterable[tuple[RunEntry, RunEntry]]) -> None:
        """Take over from `other` the provenance of records that were copied here.

        Args:
            other: That of the folder they come from.
            runs: Each record as it was there, and as it is here.
        """
        submitted, verified = self._content["submitted"], self._content["verified"]
        for theirs, ours in runs:
            if ours.submitted and ours.key in other._content["submitted"]:
                submitted.setdefault(ours.key, other._content["submitted"][ours.key])
            if other.standing(theirs) == "verified" != self.standing(ours):
                here = {"file": ours.file, "finished": ours.finished}
                verified[ours.key] = other._content["verified"][ours.key] | here
        if submitted or verified:
            self._write()

    def _write(self) -> None:
        with written_whole(self._path) as temporary:
            temporary.write_bytes(seal_json(self._content, indent=1))
