"""Where audits lie: one small parquet file per audited run, beside the results and never among them.

DIR/audit/<key>.parquet holds one row per look, and under the metadata key `gpbandit-audit` what is true of the run as a
whole. A file that cannot be read is named in a log message and counts as not there: `gpbandit audit` makes it again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from leaderboards.play.run_file import SUFFIX, write_table

__all__ = ["AuditFiles", "StoredAudit"]

_SCHEMA = 1
_METADATA = b"gpbandit-audit"
_log = logging.getLogger("gpbandit")


@dataclass(frozen=True)
class StoredAudit:
    """One audited run.

    Attributes:
        key: The run.
        about: What is true of the run as a whole; JSON values.
        looks: One row per look.
    """

    key: str
    about: dict[str, Any]
    looks: pd.DataFrame


class AuditFiles:
    """The audits of the results folder `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory) / "audit"

    def path(self, key: str) -> Path:
        """Where the audit of the run `key` lies."""
        return self.directory / f"{key}{SUFFIX}"

    def keys(self) -> set[str]:
        """Runs that have an audit."""
        return {path.name.removesuffix(SUFFIX) for path in self.directory.glob(f"*{SUFFIX}")}

    def write(self, audit: StoredAudit) -> Path:
        """Write one audit, whole or not at all.

        Raises:
            OSError: if the folder cannot be written.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.path(audit.key)
        metadata = {"schema": _SCHEMA, "key": audit.key, "about": audit.about}
        table = pa.Table.from_pandas(audit.looks, preserve_index=False)
        table = table.replace_schema_metadata({_METADATA: json.dumps(metadata, allow_nan=False).encode()})
        write_table(path, table)
        return path

    def read(self, keys: Iterable[str]) -> dict[str, StoredAudit]:
        """The audits of those of `keys` that have one, by key."""
        there = self.keys()
        found = {key: self._read(key) for key in keys if key in there}
        return {key: audit for key, audit in found.items() if audit is not None}

    def _read(self, key: str) -> StoredAudit | None:
        path = self.path(key)
        try:
            file = pq.ParquetFile(path, page_checksum_verification=True)
            metadata = json.loads((file.metadata.metadata or {})[_METADATA])
            if (metadata["schema"], metadata["key"]) != (_SCHEMA, key):
                raise ValueError(f"schema {metadata['schema']} of run {metadata['key']}")
            return StoredAudit(key, dict(metadata["about"]), file.read(use_threads=False).to_pandas())
        except (OSError, pa.ArrowInvalid, KeyError, TypeError, ValueError) as error:
            _log.warning("%s is no audit that this version can read, and is left out: %s", path, error)
            return None
