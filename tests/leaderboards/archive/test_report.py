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
from leaderboards.show.report import AgentReport, agent_report, write_report

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
    pdf, tex = write_report(found, tmp_path / "a", "page")
    again, _ = write_report(found, tmp_path / "b", "page")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes())) == 1
    assert pdf.read_bytes() == again.read_bytes()
    text = tex.read_text()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 2
    assert r"\textbf{GP-UCB, width 2}" in text
    for row in found.rivals:
        assert f"{row.score.estimate:.1f}" in text


def test_names_are_no_commands(found: AgentReport, tmp_path: Path) -> None:
    wild = r"$x_$ \input{a} 50% & #1"
    rows = tuple(replace(row, agent=wild if row.agent == AGENT else row.agent) for row in found.rivals)
    _, tex = write_report(replace(found, agent=wild, rivals=rows), tmp_path, "wild")
    assert r"\input" not in tex.read_text()
    assert r"\$x\_\$ \textbackslash{}input\{a\} 50\% \& \#1" in tex.read_text()


def test_without_anything_to_show_it_says_so(found: AgentReport, tmp_path: Path) -> None:
    bare = replace(found, rivals=(), profile=(), targets={}, band="", proven=())
    pdf, tex = write_report(bare, tmp_path, "bare")
    assert pdf.stat().st_size > 0
    assert "It states no confidence width. No regret bound is stated" in tex.read_text()


def test_the_command(own: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert play(["report", AGENT, "small", "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.glob("gp-ucb*")} == {"gp-ucb-width-2-small.pdf", "gp-ucb-width-2-small.tex"}
    with pytest.raises(UserError, match=r"AGENT: no finished run of 'GP-UBC'"):
        play(["report", "GP-UBC", "small", "--out", str(tmp_path)])
