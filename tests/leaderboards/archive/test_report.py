"""The page on an agent: what it says is what the site says, on one page, and LaTeX takes every name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leaderboards.archive.read import Board
from leaderboards.cli.app import play
from leaderboards.cli.errors import UserError
from leaderboards.score.criteria import board_scores
from leaderboards.score.rankings import task_classes
from leaderboards.score.summary import summarise
from leaderboards.show import report_page
from leaderboards.show.paper import paper_style
from leaderboards.show.report import AgentReport, agent_report
from leaderboards.show.report_latex import write_latex
from leaderboards.show.report_page import write_pdf

AGENT = "GP-UCB, width 2"


@pytest.fixture(scope="module")
def found(made: tuple[object, Board]) -> AgentReport:
    return agent_report(made[1], AGENT)


def test_the_ranking_is_that_of_the_board(made: tuple[object, Board], found: AgentReport) -> None:
    summary = summarise(made[1])
    scores = board_scores(summary, task_classes(summary)[0].tasks, "cumulative_regret")
    assert scores is not None
    assert [row.agent for row in found.rivals] == list(scores.ordered)
    for row in found.rivals:
        i = scores.agents.index(row.agent)
        assert row.score.estimate == scores.narrow[i].estimate
        assert row.wins == scores.wins[i]
    assert found.of == len(scores.agents)


def test_shares_of_targets_grow_and_those_of_the_agent_are_there(found: AgentReport) -> None:
    assert next(iter(found.targets)) == AGENT
    for share in found.targets.values():
        assert share.shape == found.evaluations.shape
        assert (np.diff(share) >= 0).all()
        assert 0 <= share[0] <= share[-1] <= 1
    assert found.evaluations[-1] == 100


def test_bounds_are_on_tasks_with_the_true_model(found: AgentReport) -> None:
    assert [row.task for row in found.proven] == ["d = 1", "d = 2"]
    assert "tuned" in found.band
    for row in found.proven:
        assert row.bound is not None
        assert 0 < row.measured < row.bound


def test_it_says_how_it_was_run(made: tuple[object, Board], found: AgentReport) -> None:
    facts = dict(found.facts)
    assert facts["settings"] == '{"width": 2.0}'
    assert facts["runs"] == "12 done"
    assert facts["tuned on"] == "not declared"
    assert made[1].sha256 in facts["suite"]
    run = next(iter(made[1].entries().values()))
    assert f"NumPy {run.origin.libraries['numpy']}".lower() in facts["played with"].lower()
    assert str(run.origin.lock) in facts["played with"]


def test_it_is_one_page_and_the_same_bytes_again(found: AgentReport, tmp_path: Path) -> None:
    pdf, again, tex = tmp_path / "page.pdf", tmp_path / "again.pdf", tmp_path / "page.tex"
    write_pdf(found, pdf)
    write_pdf(found, again)
    write_latex(found, tex)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) == 1
    assert pdf.read_bytes() == again.read_bytes()
    text = tex.read_text()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 2
    assert r"\textbf{GP-UCB, width 2}" in text
    for row in found.rivals:
        assert f"{row.score.estimate:.1f}" in text


def test_nothing_leaves_the_page_or_covers_what_is_below(found: AgentReport) -> None:
    rivals = tuple(replace(found.rivals[0], agent=f"{i} {'long name ' * 6}") for i in range(13))
    proven = tuple(replace(found.proven[0], task=f"{i} {'long task ' * 6}", t=1_000_000) for i in range(16))
    facts = (*found.facts, ("source", "A paper, A theorem; " * 40))
    for report in (found, replace(found, rivals=rivals, proven=proven, facts=facts)):
        with paper_style():
            figure = report_page._page(report)
            figure.set_dpi(72)
            figure.draw_without_rendering()
            page = figure.bbox
            boxes = [text.get_window_extent() for text in figure.texts]
            boxes += [box for ax in figure.axes if (box := ax.get_tightbbox()) is not None]
        assert len(boxes) == len(figure.axes) + len(figure.texts)
        for box in boxes:
            assert page.x0 <= box.x0 < box.x1 <= page.x1
            assert page.y0 <= box.y0 < box.y1 <= page.y1
        assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_only_known_bounds_are_drawn_and_listed(found: AgentReport, tmp_path: Path) -> None:
    unknown = replace(found, proven=tuple(replace(row, bound=None) for row in found.proven))
    texts = []
    for report in (found, unknown):
        write_latex(report, tmp_path / "page.tex")
        texts.append((tmp_path / "page.tex").read_text())
    assert ["Proven" in text for text in texts] == [True, False]
    with paper_style():
        assert len(report_page._page(found).axes) == len(report_page._page(unknown).axes) + 1


def test_names_are_no_commands(found: AgentReport, tmp_path: Path) -> None:
    wild = r"$x_$ \input{a} 50% & #1"
    rows = tuple(replace(row, agent=wild if row.agent == AGENT else row.agent) for row in found.rivals)
    tex = tmp_path / "wild.tex"
    write_latex(replace(found, agent=wild, rivals=rows), tex)
    assert r"\input" not in tex.read_text()
    assert r"\$x\_\$ \textbackslash{}input\{a\} 50\% \& \#1" in tex.read_text()


def test_without_anything_to_show_it_says_so(found: AgentReport, tmp_path: Path) -> None:
    bare = replace(found, rivals=(), profile=(), targets={}, band="", proven=())
    pdf, tex = tmp_path / "bare.pdf", tmp_path / "bare.tex"
    write_pdf(bare, pdf)
    write_latex(bare, tex)
    assert pdf.stat().st_size > 0
    assert "It states no confidence width. No regret bound is stated" in tex.read_text()


def test_the_command(own: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(["report", AGENT, "small", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.glob("gp-ucb*")} == {"gp-ucb-width-2-small.pdf", "gp-ucb-width-2-small.tex"}
    with pytest.raises(UserError, match=r"AGENT: no finished run of 'GP-UBC'"):
        play(["report", "GP-UBC", "small", "--out", str(tmp_path)])
