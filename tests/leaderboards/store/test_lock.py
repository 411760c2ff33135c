"""The lock file of boards pins all that the package needs, by its hash."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "leaderboards" / "boards.lock").read_text()


def test_it_pins_all_that_the_package_needs() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[>=~<\[]", need)[0] for need in needed}
    assert names <= set(re.findall(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==", TEXT, re.MULTILINE))


def test_it_names_no_index_and_every_hash() -> None:
    assert "://" not in TEXT
    assert "index-url" not in TEXT
    for pin in re.split(r"\n(?=\S)", TEXT.strip()):
        assert "--hash=sha256:" in pin
