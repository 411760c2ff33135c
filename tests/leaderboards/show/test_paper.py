from __future__ import annotations

import sys
from pathlib import Path

import pytest

from leaderboards.play.spec import Ref
from leaderboards.show import make_figures
from tests.leaderboards.folders import AGENTS, folder

MAGIC = {".pdf": b"%PDF", ".svg": b"<?xml"}


@pytest.mark.slow
def test_a_folder_becomes_figures_and_tables_and_the_same_ones_again(tmp_path: Path) -> None:
    odd = Ref("x:Odd", label="50 % & $x_1$ | <b>")
    folder(tmp_path, agents=[*AGENTS, odd], repetitions=4)
    files = make_figures(tmp_path, tmp_path / "out", ("pdf", "svg"))
    names = {path.name for path in files}
    stems = ("cumulative_regret", "simple_regret", "inference_regret", "regret_ratio", "ranks", "profiles")
    assert names == {f"{stem}{suffix}" for stem in stems for suffix in MAGIC} | {"scores.md", "scores.tex"}
    for path in files:
        if path.suffix in MAGIC:
            assert path.read_bytes().startswith(MAGIC[path.suffix])
    first = {path: path.read_bytes() for path in files}
    make_figures(tmp_path, tmp_path / "out", ("svg",))
    assert {path: path.read_bytes() for path in files} == first
    markdown = (tmp_path / "out" / "scores.md").read_text().splitlines()
    assert markdown[0] == "| Agent | GPSample | RKHS |"
    assert sum(line.startswith("| Uniform | 1.00 | 1.00 |") for line in markdown) == 1
    assert any(r"\$x\_1\$ \| \<b\>" in line for line in markdown)
    latex = (tmp_path / "out" / "scores.tex").read_text()
    assert r"50 \% \& \$x\_1\$ | <b>" in latex
    assert latex.count(r"\\") == 1 + len(AGENTS) + 1


def test_what_has_no_numbers_has_no_figure(tmp_path: Path) -> None:
    folder(tmp_path, agents=[Ref("GP-UCB")], repetitions=1)
    names = {path.name for path in make_figures(tmp_path)}
    assert "cumulative_regret.pdf" in names
    assert not any(name.startswith(("regret_ratio", "ranks", "profiles")) for name in names)
    assert (tmp_path / "figures" / "scores.md").is_file()


def test_an_empty_folder_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="directory: expected a results folder with finished runs"):
        make_figures(tmp_path)


@pytest.mark.slow
def test_figures_leave_pyplot_alone(tmp_path: Path) -> None:
    import matplotlib as mpl

    folder(tmp_path, agents=AGENTS[:2], repetitions=2)
    before = dict(mpl.rcParams)
    make_figures(tmp_path, formats=("png",))
    assert dict(mpl.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()
