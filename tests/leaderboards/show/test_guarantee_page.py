"""The two rankings of a board of guarantees: in numbers, as text and on its page."""

from __future__ import annotations

import html
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from leaderboards.api.run_suite import run_suite
from leaderboards.audit.bands import study
from leaderboards.audit.guarantees import GuaranteeBoard, guarantee_board, kept_words
from leaderboards.audit.store import kept_audits
from leaderboards.cli.app import app
from leaderboards.play.suite import parse_suite
from leaderboards.publish import front as front_page
from leaderboards.publish.front import build_front
from leaderboards.publish.make import play_board, write_board
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show import guarantee_page as guarantee_module
from leaderboards.store.store import Store
from tests.browser import DESKTOP, Open

TASKS = [f"norm {i}" for i in range(1, 9)]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight tasks that decide and one that does not, at a delta of 0.5, which few runs confirm."""
    directory = tmp_path_factory.mktemp("guarantees")
    tasks = [*TASKS, "aside"]
    envs = [
        {"id": "GPBandit/RKHS-v0", "label": label, "kwargs": {"n_arms": 12, "dim": 1, "norm": float(1 + i)}}
        for i, label in enumerate(tasks)
    ]
    suite = parse_suite(
        {
            "name": "word",
            "horizon": 10,
            "repetitions": 2,
            "audit": {"delta": 0.5, "checkpoints": 5, "groups": {"first": TASKS[:3], "others": TASKS[3:]}},
            "environments": envs,
            "agents": [
                {"id": "Uniform"},
                {"id": "GP-EI"},
                {"id": "GP-UCB", "label": "AMM", "kwargs": {"width": "amm", "delta": 0.1}},
                {"id": "GP-UCB", "label": "DMM", "kwargs": {"width": "dmm", "delta": 0.1}},
                {"id": "GP-UCB", "label": "point", "kwargs": {"width": 0.0, "delta": 0.1}},
                {"id": "GP-UCB", "label": "wide", "kwargs": {"width": 50.0, "delta": 0.1}},
                {"id": "GP-UCB", "label": "narrow", "kwargs": {"width": 2.5, "delta": 0.1}},
            ],
        }
    )
    play_board(suite, Store(directory), None, native=True)
    return directory


@pytest.fixture(scope="module")
def board(played: Path) -> GuaranteeBoard:
    store = Store(played)
    suite = store.suite()
    assert suite is not None
    assert suite.audit is not None
    return guarantee_board(store, summarise(store), suite.audit)


@pytest.mark.no_cover
def test_valid_rows_are_ranked_and_all_others_are_below_with_a_reason(board: GuaranteeBoard) -> None:
    assert [row.agent for row in board.valid] == ["AMM", "DMM"]
    assert [(one.name, one.tasks) for one in board.lists] == [
        ("first", tuple(TASKS[:3])),
        ("others", tuple(TASKS[3:])),
    ]
    for one in board.lists:
        assert {row.row.agent for row in one.rows} == {"AMM", "DMM"}
        means = [row.mean_rank for row in one.rows]
        assert means == sorted(means)
        assert sum(means) == pytest.approx(3), "two rows are ranked among themselves"
        for row in one.rows:
            assert row.regret == pytest.approx(np.mean([row.row.regret[task] for task in one.tasks]))
            assert row.row.mean_slack(one.tasks) > 1
    assert {row.agent: row.verdict.category for row in board.below} == {
        "Uniform": "no band",
        "GP-EI": "no band",
        "point": "fails",
        "wide": "holds, no theorem",
        "narrow": "not confirmed",
    }, "GP-EI shows its beliefs, and states no width"
    regrets = [row.mean_regret(board.tasks) for row in board.below]
    assert regrets == sorted(regrets)
    assert all(row.reason for row in board.below)
    assert board.unlisted == ()
    words = "2 of 5 rows with a band keep their word (1 not confirmed, 1 without a theorem, 1 failing)"
    assert kept_words(board.rows) == words


@pytest.mark.slow
def test_slack_is_never_averaged_over_violated_runs(board: GuaranteeBoard, played: Path) -> None:
    audits = kept_audits(Store(played), Store(played).done_keys())
    specs = {key: Store(played).spec(key) for key in audits}
    for row in board.rows:
        for task, cell in row.cells.items():
            runs = [
                audits[key] for key, spec in specs.items() if (spec.agent.label, spec.env.label) == (row.agent, task)
            ]
            for value, held in ((cell.slack, True), (cell.shortfall, False)):
                logs = [-np.log(run.required_scaling) for run in runs if run.held == held]
                np.testing.assert_allclose(value, np.exp(np.mean(logs)) if logs else np.nan, rtol=1e-12)
                assert not value < 1 if held else not value >= 1
    rows = {row.agent: row for row in board.rows}
    point, wide = rows["narrow"], rows["wide"]
    assert 0 < point.verdict.violated < point.verdict.runs, "some runs of each kind"
    counts = [
        (cell.count.runs - cell.count.violated, cell.slack) for task, cell in point.cells.items() if task in TASKS
    ]
    held, slacks = np.array([one for one in counts if one[0]]).T
    assert point.mean_slack(TASKS) == pytest.approx(np.exp(held @ np.log(slacks) / held.sum()))
    assert point.mean_shortfall(TASKS) < 1 < point.mean_slack(TASKS)
    assert np.isnan(wide.mean_shortfall(TASKS))


def test_the_command_prints_both_rankings(played: Path, board: GuaranteeBoard) -> None:
    done = CliRunner().invoke(app, ["ranking", str(played), "--valid"])
    assert done.exit_code == 0, done.output
    above, below = done.output.split(" no guarantee ")
    assert above.startswith(kept_words(board.rows))
    for text in ("first: 3 environments, 2 valid rows", "others: 5 environments, 2 valid rows"):
        assert text in above
    assert "AMM: held in 16 of 16 runs on 8 claimed tasks, at least 82.9%" in above
    assert "Uniform: states no band" in below
    assert "point: held in 0 of 16 runs; a tuned width has no guarantee" in below
    assert "wide: held in 16 of 16 runs; a tuned width has no guarantee" in below


def test_a_suite_without_a_plan_has_no_valid_rows(tmp_path: Path) -> None:
    env = {"id": "GPBandit/RKHS-v0", "kwargs": {"n_arms": 5}}
    suite = parse_suite(
        {"name": "s", "horizon": 3, "repetitions": 1, "environments": [env], "agents": [{"id": "Uniform"}]}
    )
    run_suite(suite, out=tmp_path)
    done = CliRunner().invoke(app, ["ranking", str(tmp_path), "--valid"])
    assert "--valid: expected runs of a suite with the key audit" in str(done.exception)
    build_page(tmp_path, theory=False)
    assert not (tmp_path / "site" / "guarantees.html").exists()


def test_the_page_shows_both_rankings_and_the_matrix(played: Path, board: GuaranteeBoard) -> None:
    index = build_page(played, theory=False)
    assert f'<a href="site/guarantees.html">{kept_words(board.rows)}</a>' in index.read_text()
    page = (played / "site" / "guarantees.html").read_text()
    assert f"{kept_words(board.rows)}." in page
    assert (
        page.index('id="valid-1"') < page.index('id="valid-2"') < page.index('id="below"') < page.index('id="matrix"')
    )
    below = page[page.index('id="below"') : page.index('id="matrix"')]
    assert re.findall(r'data-sort="(\w[\w-]*)"><svg', below) == [row.agent for row in board.below]
    for row in board.below:
        assert row.reason in below
    assert "measured after every evaluation in 0 of 16 runs" in page
    assert "After every evaluation of all runs" not in page, "of no row"
    matrix = page[page.index('id="matrix"') :]
    marks = {name: re.findall(r'class="mark (\w+)"', line) for name, line in _lines(matrix).items()}
    kinds = {"AMM": "claimed", "DMM": "claimed", "point": "held", "wide": "held", "narrow": "held"}
    assert marks == {name: [kind] * 9 for name, kind in kinds.items()}, "two runs of a task refute nothing"
    assert _lines(matrix)["point"].count("○−2<") == 9
    assert "(aside)" in matrix, "decides nothing"
    assert len(re.findall('circle class="valid"', page)) == 2
    assert len(re.findall('circle class="hollow"', page)) == 2
    slack = {row.agent: _slack(below, row.agent) for row in board.below}
    assert slack["point"] == ["0"], "in red alone, as no run held"
    assert len(slack["narrow"]) == 2
    assert slack["Uniform"] == []


@pytest.mark.slow
@pytest.mark.browser
def test_rankings_are_folded_and_sorted_and_saved_whole(
    played: Path, monkeypatch: pytest.MonkeyPatch, open_page: Open
) -> None:
    monkeypatch.setattr(guarantee_module, "FIRST", 2)
    build_page(played, theory=False)
    with open_page(played / "site" / "guarantees.html", DESKTOP) as page:
        assert page.locator("#below").bounding_box()["y"] < 800, "on the first screen of 1,280 x 800"
        below = page.locator(".no-guarantee")
        rows, summary = below.locator("tbody tr:visible"), below.locator("summary")
        assert (rows.count(), summary.inner_text()) == (2, "3 more rows without a guarantee")
        first = rows.first.inner_text()
        below.locator("button.sort", has_text="Regret").click()
        assert rows.count() == 2
        assert first == rows.first.inner_text(), "the order of regret"
        below.locator("button.sort", has_text="Regret").click()
        assert first != rows.first.inner_text(), "rows that were folded away take part"
        with page.expect_download() as saved:
            below.get_by_role("button", name="CSV").click()
        assert len(Path(saved.value.path()).read_text().splitlines()) == 1 + 5
        summary.click()
        assert (rows.count(), summary.inner_text()) == (5, "the first 2 alone")
        page.emulate_media(media="print")
        summary.click()
        assert rows.count() == 5, "paper has no buttons"
    for width in (1280, 390):
        with open_page(played / "site" / "guarantees.html", (width, 844)) as page:
            assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.slow
def test_the_front_page_leads_to_bands_and_choices(
    played: Path, board: GuaranteeBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = Store(played).suite()
    assert suite is not None
    found = write_board(suite, tmp_path / "word", Store(played))
    monkeypatch.setattr(front_page, "board_parts", lambda: {"word": ()})
    monkeypatch.setattr(front_page, "board", {"word": found}.__getitem__)
    text = build_front(tmp_path / "site").read_text()
    bands = study()
    assert f'<a href="guarantees.html">{bands.sentence}</a>' in html.unescape(text)
    page = html.unescape((tmp_path / "site" / "guarantees.html").read_text())
    assert f"{bands.sentence}." in page
    assert f"{bands.controls[0]} of {bands.controls[1]} controls" in page
    for row in bands.bands:
        assert re.search(f">{re.escape(row.band)}</th><td>{row.verdict}<", page), row
    for rule in bands.choices["known"]:
        assert f">{rule.rule}</th>" in page


def _slack(table: str, agent: str) -> list[str]:
    return re.findall(r">×([\d.e−-]+)<", _lines(table.replace("\n", "").replace("<tr>", "\n<tr>"))[agent])


def _lines(table: str) -> dict[str, str]:
    return {
        name: line
        for line in table.splitlines()
        for name in re.findall(r'<tr><th scope="row".*?data-sort="([\w-]+)"', line)
    }
