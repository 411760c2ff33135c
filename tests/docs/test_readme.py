"""The README is true: its tables are current and its links lead somewhere; its code is run by `test_code`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_tables_are_current() -> None:
    # In a process of its own: other tests register agents of theirs.
    subprocess.run([sys.executable, ROOT / "docs" / "readme.py", "--check"], check=True)


def test_links_and_the_figure_exist() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if not target.startswith("http")]
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
