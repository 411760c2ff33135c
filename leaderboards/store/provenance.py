"""Provenance: which runs of a results folder were submitted from elsewhere, and which have been verified."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpbandit_envs.atomic import written_whole
from leaderboards.store.intact import open_json, read_limited, seal_json, set_aside
from leaderboards.store.run_file import RunEntry, first_error
from leaderboards.text import visible

__all__ = ["Provenance", "TrustLevel"]

_log = logging.getLogger("gpbandit")

TrustLevel = Literal["local", "submitted", "verified"]
"""How far a record is to be trusted."""


class _Source(BaseModel):
    """Where a run was added from, and when (seconds since 1970)."""

    archive: str
    added: float


class _Verification(BaseModel):
    """When a record was verified, and which record: the name of its file and when it finished."""

    when: float
    file: str
    finished: float


class _Content(BaseModel):
    """The content of `provenance.json`, by key of the run."""

    model_config = ConfigDict(extra="forbid")

    submitted: dict[str, _Source] = Field(default_factory=dict)
    verified: dict[str, _Verification] = Field(default_factory=dict)


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
        try:
            self._content = _Content.model_validate(open_json(read_limited(self._path)))
            return
        except FileNotFoundError:
            pass
        except ValueError as error:
            reason = first_error(error) if isinstance(error, ValidationError) else str(error)
            said = set_aside(self._path, reason)
            _log.warning("%s: what it said is verified has to be verified again", said)
        self._content = _Content()

    def standing(self, run: RunEntry) -> TrustLevel:
        """Trust level of a record."""
        if self._verification(run) is not None:
            return "verified"
        return "submitted" if run.submitted else "local"

    def add_submitted(self, keys: Iterable[str], archive: str) -> None:
        """Record that these runs were added from `archive`."""
        for key in keys:
            self._content.submitted[key] = _Source(archive=visible(archive), added=time.time())
        self._write()

    def add_verified(self, runs: Iterable[RunEntry]) -> None:
        """Record that these records were verified."""
        now = time.time()
        for run in runs:
            self._content.verified[run.key] = _Verification(when=now, file=run.file, finished=run.finished)
        self._write()

    def adopt(self, other: Provenance, runs: Iterable[tuple[RunEntry, RunEntry]]) -> None:
        """Take over from `other` the provenance of records that were copied here.

        Args:
            other: That of the folder they come from.
            runs: Each record as it was there, and as it is here.
        """
        changed = False
        for theirs, ours in runs:
            source, verification = other._content.submitted.get(ours.key), other._verification(theirs)
            if source is not None and ours.submitted and ours.key not in self._content.submitted:
                self._content.submitted[ours.key] = source
                changed = True
            if verification is not None and self._verification(ours) is None:
                here = _Verification(when=verification.when, file=ours.file, finished=ours.finished)
                self._content.verified[ours.key] = here
                changed = True
        if changed:
            self._write()

    def _verification(self, run: RunEntry) -> _Verification | None:
        """The verification of this very record."""
        found = self._content.verified.get(run.key)
        if found is None or (found.file, found.finished) != (run.file, run.finished):
            return None
        return found

    def _write(self) -> None:
        with written_whole(self._path) as temporary:
            temporary.write_bytes(seal_json(self._content.model_dump(mode="json"), indent=1))
