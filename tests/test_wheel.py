"""The wheel has what the pages draw with, and is no larger than `GOVERNANCE.md` says."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

import pytest

from leaderboards.publish.boards import board_folder, board_parts

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 12e6  # bytes; PyPI takes 100 MB a file
STATIC = "leaderboards/show/static"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pip builds one, but without its isolated environment; in a copy, since the build writes to its sources."""
    sources, built = tmp_path_factory.mktemp("wheel") / "sources", tmp_path_factory.mktemp("built")
    for package in ("agents", "gpbandit_envs", "leaderboards"):
        left = shutil.ignore_patterns("__pycache__", "*.min.js")
        shutil.copytree(ROOT / package, sources / package, ignore=left)
    for file in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, sources)
    build = [sys.executable, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", str(built)]
    subprocess.run(build, cwd=sources, check=True, capture_output=True)
    (found,) = built.iterdir()
    return found


def test_it_has_all_boards_and_what_pages_draw_with_and_is_small(wheel: Path) -> None:
    theirs = resources.files("plotly") / "package_data" / "plotly.min.js"
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
        assert archive.read(f"{STATIC}/plotly.min.js") == theirs.read_bytes()
    assert {f"{STATIC}/page.js", f"{STATIC}/style.css"} <= files
    assert board_parts()
    for name in board_parts():
        paths = [path.relative_to(board_folder(name)) for path in board_folder(name).rglob("*.*")]
        there = {f"leaderboards/boards/{name}/{path.as_posix()}" for path in paths}
        shipped = {file for file in files if file.startswith(f"leaderboards/boards/{name}/")}
        assert shipped == there
    assert wheel.stat().st_size <= LARGEST
