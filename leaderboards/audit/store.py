"""Audit the runs of a results folder, and keep the audits: one small parquet file per run, beside the results.

DIR/audit/<key>.parquet holds one row per checkpoint, and under the metadata key `gpbandit-audit` what is true of the
run as a whole. A damaged file gets the ending `.damaged` and is named in a log message; `gpbandit audit` makes it
again.
"""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from leaderboards.audit.run_audit import CHECKPOINTS, SAMPLED, AuditFacts, RunAudit, audit_run
from leaderboards.play.build import load_plugins, not_here
from leaderboards.play.run import reason_of
from leaderboards.store.intact import set_aside
from leaderboards.store.run_file import SUFFIX, FileError, first_error, open_table, results_in, write_table
from leaderboards.store.store import AUDITS, Store, StoreError
from leaderboards.work.executors import in_processes

_SCHEMA = 2
_METADATA = b"gpbandit-audit"
_FACTS = TypeAdapter(AuditFacts)
_log = logging.getLogger("gpbandit")


class AuditStore:
    """The audits of the results folder `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory) / AUDITS

    def path(self, key: str) -> Path:
        """File of the audit of the run `key`."""
        return self.directory / f"{key}{SUFFIX}"

    def keys(self) -> set[str]:
        """Runs that have an audit.

        Raises:
            OSError: if the folder cannot be read.
        """
        return {path.name.removesuffix(SUFFIX) for path in results_in(self.directory)}

    def write(self, audit: RunAudit) -> Path:
        """Write one audit, whole or not at all.

        Raises:
            OSError: if the folder cannot be written.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.path(audit.key)
        metadata = {"schema": _SCHEMA, "key": audit.key, "about": asdict(audit.facts)}
        table = pa.Table.from_pandas(audit.checkpoints, preserve_index=False)
        table = table.replace_schema_metadata({_METADATA: json.dumps(metadata, allow_nan=False).encode()})
        write_table(path, table)
        return path

    def read(self, keys: Iterable[str]) -> dict[str, RunAudit]:
        """Existing audits of the runs `keys`, by key.

        Raises:
            OSError: if the system does not give a file, which says nothing of it.
        """
        existing = self.keys()
        audits = {key: self._read(key) for key in keys if key in existing}
        return {key: audit for key, audit in audits.items() if audit is not None}

    def _read(self, key: str) -> RunAudit | None:
        path = self.path(key)
        try:
            with open_table(path) as file:
                raw = (file.metadata.metadata or {}).get(_METADATA)
                if raw is None:
                    raise ValueError("a parquet file without the metadata of an audit")
                metadata = json.loads(raw)
                if metadata["schema"] > _SCHEMA:
                    _log.warning("%s is left as it is: its schema is newer, upgrade gpbandit-envs", path)
                    return None
                if metadata["key"] != key:
                    raise ValueError(f"it is the audit of run {metadata['key']}")
                table = file.read(use_threads=False).to_pandas(ignore_metadata=True)
                return RunAudit(key, _FACTS.validate_python(metadata["about"]), _checked(table))
        except FileNotFoundError:
            return None
        except (FileError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            reason = first_error(error) if isinstance(error, ValidationError) else str(error)
            _log.warning("%s: gpbandit audit makes it again", set_aside(path, reason))
            return None


def _checked(checkpoints: pd.DataFrame) -> pd.DataFrame:
    """The rows of an audit, checked.

    Raises:
        ValueError: if there are no times, a column holds no numbers, or the times do not increase.
    """
    if "t" not in checkpoints:
        raise ValueError("expected a column 't'")
    wrong = [(name, dtype) for name, dtype in checkpoints.dtypes.items() if dtype.kind not in "biuf"]
    if wrong:
        raise ValueError(f"column {wrong[0][0]!r}: expected numbers, got {wrong[0][1]}")
    t = checkpoints["t"].to_numpy(np.float64)
    if not len(t) or t[0] < 1 or not (np.diff(t) > 0).all():
        raise ValueError("t: expected increasing times from 1 on")
    return checkpoints


def audit_runs(
    store: Store,
    keys: Sequence[str],
    workers: int = 1,
    checkpoints: int = CHECKPOINTS,
    sampled: int = SAMPLED,
) -> Iterator[tuple[str, AuditFacts | str]]:
    """Audit the runs `keys` and keep the audits; yields what is true of each, or why it could not be audited.

    Args:
        store: The folder.
        keys: Runs that are done.
        workers: Processes; 1 works in this one.
        checkpoints: How many a run has.
        sampled: At how many arms variances are compared.

    Raises:
        OSError: if an audit cannot be written.
        ExecutorError: if a worker dies; what was audited before is kept.
    """
    audit = functools.partial(_audit_one, store.directory, checkpoints=checkpoints, sampled=sampled)
    return in_processes(audit, keys, workers, "audited a run")


def _audit_one(directory: Path, key: str, *, checkpoints: int, sampled: int) -> tuple[str, AuditFacts | str]:
    load_plugins()
    store = Store(directory)
    try:
        trace = store.trace(key)
    except (StoreError, KeyError) as error:
        return key, str(error)
    away = not_here(store.spec(key))
    if away is not None:
        return key, away
    try:
        audit = audit_run(store.spec(key), checkpoints, sampled, trace)
    except Exception as error:  # agents and environments of others may raise anything, and the other runs go on
        return key, reason_of(error)
    AuditStore(directory).write(audit)
    return key, audit.facts
