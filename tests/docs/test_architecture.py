"""The map names modules that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    path.name: path
    for top in ("gpbandit_envs", "agents", "leaderboards")
    for path in (ROOT / top).iterdir()
    if path.is_dir()
}


def test_the_modules_of_the_walks_exist() -> None:
    walks = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Two walks")[2]
    names = re.findall(
        rf"\b({'|'.join(ROOMS)})\.([a-z_]+)", "\n".join(re.findall(r"```text\n(.*?)```", walks, re.DOTALL))
    )
    assert len(names) > 20
    for room, module in names:
        where = ROOMS[room] / module
        assert where.is_dir() or where.with_suffix(".py").is_file(), f"{room}.{module}"
