"""The plotting library of the pages is in the package when that is built, and Plotly need not be installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from leaderboards.show import plotting_library

ROOT = Path(__file__).resolve().parents[3]
THEIRS = resources.files("plotly") / "package_data" / "plotly.min.js"


def test_ours_before_that_of_plotly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plotting_library, "_OURS", tmp_path / "plotly.min.js")
    assert plotting_library.plotting_library() == THEIRS
    (tmp_path / "plotly.min.js").write_text("ours")
    assert plotting_library.plotting_library() == tmp_path / "plotly.min.js"


def test_without_either_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plotting_library, "_OURS", tmp_path / "plotly.min.js")
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"pages draw with plotly.min.js, .* pip install -e \. in the checkout"):
        plotting_library.plotting_library()


@pytest.mark.slow
def test_a_build_puts_it_beside_the_other_scripts(tmp_path: Path) -> None:
    """As pip builds a wheel, but without its isolated environment; in a copy, since the build writes to its sources."""
    sources, built = tmp_path / "sources", tmp_path / "built"
    shutil.copytree(
        ROOT / "leaderboards", sources / "leaderboards", ignore=shutil.ignore_patterns("results", "*.min.js")
    )
    for package in ("agents", "gpbandit_envs"):
        shutil.copytree(ROOT / package, sources / package)
    for file in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, sources)
    build = [sys.executable, "setup.py", "--quiet", "build_py", "--build-lib", str(built)]
    subprocess.run(build, cwd=sources, check=True, capture_output=True)
    static = built / "leaderboards" / "show" / "static"
    assert (static / "plotly.min.js").read_bytes() == THEIRS.read_bytes()
    assert {"page.js", "style.css"} <= {path.name for path in static.iterdir()}
