"""The lock file of boards: what it pins, and what a record says of it."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

from leaderboards.store import origin as lock
from leaderboards.store.origin import LOCK, lock_differences, lock_note, locked_versions, origin

ROOT = Path(__file__).resolve().parents[3]


def test_it_pins_all_that_the_package_needs() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[>=~<\[]", need)[0] for need in needed}
    assert names <= set(locked_versions())


def test_it_names_no_index_and_every_hash() -> None:
    text = (ROOT / "leaderboards" / LOCK).read_text()
    assert "://" not in text
    assert "index-url" not in text
    for pin in re.split(r"\n(?=\S)", text.strip()):
        assert "--hash=sha256:" in pin


def test_a_record_says_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    here = importlib.metadata.version("numpy")
    monkeypatch.setattr(
        lock, "_text", lambda: f"numpy=={here} \\\n    --hash=sha256:00\nscipy==0.0.1\nno-such-thing==1.0\n"
    )
    assert lock_differences() == {"scipy": importlib.metadata.version("scipy"), "no-such-thing": None}
    note = lock_note.__wrapped__()
    assert re.fullmatch(
        rf"{LOCK} [0-9a-f]{{12}} but scipy {importlib.metadata.version('scipy')}, no-such-thing missing", note
    )


def test_what_agrees_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_text", lambda: f"numpy=={importlib.metadata.version('numpy')}\n")
    assert re.fullmatch(rf"{LOCK} [0-9a-f]{{12}}", lock_note.__wrapped__())


def test_records_have_it() -> None:
    assert origin().lock == lock_note()
