"""The README is short and true: it names everything, its links lead somewhere; its code is run by `test_code`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpbandit_envs.registry import ENVIRONMENTS

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_policies_is_current() -> None:
    # In a process of its own: other tests register agents of theirs.
    subprocess.run([sys.executable, ROOT / "docs" / "policies.py", "--check"], check=True)


def test_every_environment_and_policy_is_named() -> None:
    ids = re.findall(
        r"^\| `?([A-Za-z0-9+-]+)`", (ROOT / "docs" / "policies.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(ids) > 40
    environments = [row.name for row in ENVIRONMENTS if row.group != "tables in this package"]  # a contributor's own
    missing = [name for name in [*environments, *ids] if f"`{name}`" not in README]
    assert missing == []


def test_it_is_short() -> None:
    assert len(README.split()) <= 1500


def test_links_and_the_figure_exist() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", README) if not target.startswith("http")]
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
