"""The plotting library of the pages is the one that the package was built with, else that of Plotly."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import pytest

from leaderboards.show import build

THEIRS = resources.files("plotly") / "package_data" / "plotly.min.js"


def test_ours_before_that_of_plotly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_STATIC", tmp_path)
    assert build.plotting_library() == THEIRS
    (tmp_path / "plotly.min.js").write_text("ours")
    assert build.plotting_library() == tmp_path / "plotly.min.js"


def test_without_either_it_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_STATIC", tmp_path)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"pages draw with plotly.min.js, .* pip install -e \. in the checkout"):
        build.plotting_library()
