"""The files of audits: written whole, read back, and left out with a warning where they cannot be read."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from leaderboards.audit.run_audit import AuditFacts, RunAudit
from leaderboards.audit.store import AuditStore
from leaderboards.store.run_file import write_table

FACTS = AuditFacts(
    width="theory", no_guarantee="", delta=0.1, no_band="", no_sketch="", points=2, on_box=False, sampled=2, differs=""
)


def audit(key: str = "a" * 32) -> RunAudit:
    return RunAudit(key, FACTS, pd.DataFrame({"t": [1, 5], "required_scaling": [0.5, np.nan]}))


def test_audits_are_kept_beside_the_results_and_read_back(tmp_path: Path) -> None:
    files = AuditStore(tmp_path)
    assert files.keys() == set()
    assert files.read(["b" * 32]) == {}
    path = files.write(audit())
    assert path.parent == tmp_path / "audit"
    assert files.keys() == {"a" * 32}
    found = files.read(["a" * 32, "b" * 32])["a" * 32]
    assert found.facts == audit().facts
    pd.testing.assert_frame_equal(found.checkpoints, audit().checkpoints)
    assert [p.name for p in path.parent.iterdir()] == [path.name], "no temporary file is left"


def test_a_damaged_or_foreign_audit_counts_as_none_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = AuditStore(tmp_path)
    good = files.write(audit())
    files.path("b" * 32).write_bytes(good.read_bytes())
    files.path("c" * 32).write_bytes(good.read_bytes()[:100])
    pd.DataFrame({"t": [1]}).to_parquet(files.path("d" * 32))
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert files.read([letter * 32 for letter in "abcd"]).keys() == {"a" * 32}
    assert len(caplog.messages) == 3
    assert all("was damaged and is set aside (" in message for message in caplog.messages)
    assert all(message.endswith("gpbandit audit makes it again") for message in caplog.messages)
    assert files.keys() == {"a" * 32}, "which `gpbandit audit` then finds missing"
    assert len(list(tmp_path.rglob("*.damaged"))) == 3


def test_an_audit_of_a_newer_schema_is_left_where_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = AuditStore(tmp_path)
    path = files.write(audit())
    metadata = json.dumps({"schema": 99, "key": "a" * 32}).encode()
    write_table(path, pa.table({"t": [1]}).replace_schema_metadata({b"gpbandit-audit": metadata}))
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert files.read(["a" * 32]) == {}
    assert "is left as it is: its schema is newer, upgrade gpbandit-envs" in caplog.text
    assert path.exists()
