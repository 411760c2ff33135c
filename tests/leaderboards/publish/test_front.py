"""The site of several boards: its front page, what leads from it, and what its boards share."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pandas as pd
import pytest
from markupsafe import Markup

import leaderboards
from leaderboards.audit.bands import study
from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.play.suite import AgentEntry, SuiteError, load_suite
from leaderboards.publish import front as front_page
from leaderboards.publish.boards import Board
from leaderboards.publish.front import build_front
from leaderboards.score.summary import Summary, summarise, unfinished_runs
from leaderboards.show.format import suite_command
from leaderboards.show.table import Row
from leaderboards.store.provenance import MANIFEST
from leaderboards.store.store import Store
from leaderboards.store.union import Joined
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.browser import Open
from tests.leaderboards.publish.boards import REPETITIONS, SMALL, file_of, small_suite


@pytest.mark.slow
def test_the_front_page_leads_to_boards_and_files(own: Board, tmp_path: Path) -> None:
    front = build_front(tmp_path / "site")
    text = front.read_text()
    assert "36 of 36 runs played, 3 agents, 2 tasks" in text
    assert "GP-UCB, width 2" in text
    for link in ("index.html", "files/scores.csv", "files/papers.bib", "files/small.zip"):
        assert f'href="board/small/{link}"' in text
        assert (front.parent / "board" / "small" / link).is_file()
    assert f"SHA-256 of the index: {own.sha256}" in text
    assert "docs/index.html" not in text
    (front.parent / "docs").mkdir()
    (front.parent / "docs" / "index.html").write_text("")
    assert 'href="docs/index.html"' in build_front(tmp_path / "site").read_text()


@pytest.mark.slow
def test_the_front_page_has_the_theme_of_the_others(own: Board, tmp_path: Path, open_page: Open) -> None:
    with open_page(build_front(tmp_path / "site")) as page:
        page.get_by_role("button", name="Switch to the dark theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.get_by_role("link", name="small", exact=True).first.click()
        page.get_by_role("button", name="Switch to the light theme").wait_for()


@pytest.mark.slow
def test_a_part_has_its_wholes_name_and_no_pages(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = small_suite("part", repetitions=2).model_copy(update={"part_of": "small"})
    monkeypatch.setattr(front_page, "board_parts", lambda: {"small": ("part",)})
    left = tmp_path / "site" / "board" / "small" / "files" / "part.zip"
    left.parent.mkdir(parents=True)
    left.write_text("of an older site")
    text = build_front(tmp_path / "site").read_text()
    assert [path.name for path in (tmp_path / "site" / "board").iterdir()] == ["small"]
    assert [path.name for path in (tmp_path / "site" / "board").rglob("*.zip")] == ["small.zip"]
    archive = tmp_path / "site" / "board" / "small" / "files" / "small.zip"
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert text.count("<section aria-labelledby") == 1
    assert "gpbandit run part --agent module:Class --against board" in text
    assert sha256 in text
    shutil.unpack_archive(archive, tmp_path / "unpacked")
    assert len(leaderboards.board(tmp_path / "unpacked", part).done_keys()) == 12


@pytest.mark.slow
def test_boards_are_written_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_page, "board_parts", lambda: dict.fromkeys(("lab-v1", "feedback-v1"), ()))
    front = build_front(tmp_path, workers=2)
    for name, is_counted in (("lab-v1", True), ("feedback-v1", False)):
        assert f"SHA-256 of the index: {leaderboards.board(name).sha256}" in front.read_text()
        page = (tmp_path / "board" / name / "index.html").read_text()
        assert ("Who is sure with reason?" in page) == is_counted


@pytest.mark.slow
def test_a_board_shows_what_it_has(own: Board, tmp_path: Path) -> None:
    pages = build_front(tmp_path / "site").parent / "board" / "small"
    environment = (pages / "site" / "env-d-1.html").read_text()
    theory = environment.split('aria-labelledby="theory"')[1].split("</table>")[0]
    assert "Fitted exponent" in theory
    # They are worked out from whole traces, which a board does not have.
    assert "Information gain" not in theory
    assert "Effective dimension" not in theory
    rows = re.findall(r"<tr>.*?</tr>", theory, re.DOTALL)
    assert {len(re.findall(r"<t[dh]\b", row)) for row in rows} == {len(re.findall(r"<th\b", rows[0]))}


class Page(HTMLParser):
    """The links of a page and the ids that links may lead to."""

    LINKS = ("href", "src", "data-script", "data-plotly", "data-repetitions", "data-file")

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in self.LINKS and value and not value.startswith("data:"):
                self.links.append(value)


@pytest.mark.slow
def test_every_link_of_a_site_leads_somewhere_and_every_page_is_reached(own: Board, tmp_path: Path) -> None:
    front = build_front(tmp_path / "site").resolve()
    pages = {path: Page(path) for path in front.parent.rglob("*.html")}
    reached, waiting = {front}, [front]
    while waiting:
        path = waiting.pop()
        for link in pages[path].links:
            address, fragment = urldefrag(link)
            target = (path.parent / unquote(address)).resolve() if address else path
            assert target.is_file(), f"{path.name} links to {link}"
            # What has a = is a choice that the script of the page reads.
            assert not fragment or "=" in fragment or fragment in pages[target].ids, f"{path.name} links to {link}"
            if target in pages and target not in reached:
                reached.add(target)
                waiting.append(target)
    assert reached == pages.keys()
    agents, tasks = ("epsgreedy", "gp-ucb-width-2", "uniform"), ("d-1", "d-2")
    assert {path.name for path in pages} == {
        "index.html",
        "guarantees.html",
        "compare.html",
        *(f"agent-{agent}.html" for agent in agents),
        *(f"env-{task}.html" for task in tasks),
    }
    for path in pages:
        assert front in {(path.parent / link).resolve() for link in pages[path].links}, f"no way back from {path.name}"


@pytest.mark.slow
def test_the_front_page_leads_to_bands_and_choices(own: Board, tmp_path: Path) -> None:
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


@pytest.mark.slow
@pytest.mark.browser
def test_boards_share_one_plotting_library(own: Board, tmp_path: Path, open_page: Open) -> None:
    board = tmp_path / "site" / "board" / "small"
    alone = board / "site" / "assets" / "plotly.min.js"
    alone.parent.mkdir(parents=True)
    alone.write_text("of an older site")
    front = build_front(tmp_path / "site")
    assert list(front.parent.rglob("plotly*.js")) == [front.parent / "plotly.min.js"]
    for name in ("index.html", "site/env-d-1.html", "site/compare.html"):
        with open_page(board / name) as page:
            page.locator("#chart-section").scroll_into_view_if_needed()
            page.locator("#plot .main-svg").first.wait_for()


def test_the_first_of_each_class_are_on_the_front_page() -> None:
    """Twelve told the kernel, one at a time, are better than three that batch and two that are told nothing."""
    kinds = [("told", "one")] * 12 + [("told", "batch")] * 3 + [("not told", "one")] * 2
    rows = [
        Row(str(i), "", Markup(""), [], entrant=kernel, batching=batching) for i, (kernel, batching) in enumerate(kinds)
    ]
    found = front_page._leaders(rows)
    assert [row.name for row, _, _ in found] == [str(i) for i in range(17) if i not in (10, 11)]
    assert [is_shown for _, _, is_shown in found] == [True] * 10 + [False] * 5
    by_agent = {row.name: json.loads(leads) for row, leads, _ in found}
    assert by_agent["9"] == [1, 1, 1, 1]
    assert by_agent["12"] == [0, 0, 1, 1], "the first of those that batch"
    assert by_agent["15"] == [0, 1, 0, 1], "the first of those that are told nothing"


# ---- a new agent, played from Python against a board ----


@pytest.mark.slow
def test_run_suite_plays_the_new_agent_alone(own: Board, tmp_path: Path) -> None:
    out = tmp_path / "res"
    results = leaderboards.run_suite(small_suite(), {"mine": "GP-EI"}, out=out, against="board", progress=False)
    assert results.report is not None
    assert sum(results.report.ended.values()) == 2 * REPETITIONS
    assert set(Store(out).runs()["agent"]) == {"mine"}
    assert sorted(results.ranking().index) == ["EpsGreedy", "GP-UCB, width 2", "Uniform", "mine"]
    assert results.ranking()["rank"].notna().all()
    assert len(results.curves()["t"].unique()) <= 60
    # The folder notes what it was played against, and another board can be named.
    assert len(leaderboards.Results(out).ranking()) == 4
    assert len(leaderboards.Results(out, against=own.directory).ranking()) == 4
    with pytest.raises(ValueError, match="expected one of 'small'"):
        leaderboards.Results(out, against="nothing")


def test_what_a_board_lacks_is_not_what_the_folder_has_yet_to_play(own: Board, tmp_path: Path) -> None:
    out = tmp_path / "res"
    leaderboards.run_suite(small_suite(), {"mine": "GP-EI"}, out=out, against="board", progress=False)
    store = Store(out)
    store.path(next(run for run in store.entries().values() if run.spec.repetition == 0)).unlink()
    board = Board(own.directory)
    left_out = next(key for key, run in board.entries().items() if run.spec.agent.id == "EpsGreedy")
    del board._known[left_out]
    gaps = unfinished_runs(summarise(Joined(Store(out), board)))
    reasons: dict[str, str] = dict(zip(gaps["agent"], gaps["reason"]))
    assert gaps["n"].tolist() == [1] * len(gaps)
    assert reasons["EpsGreedy"].startswith("the board does not have these runs")
    assert reasons["mine"].startswith("not played yet: the command that ran the suite goes on")
    assert unfinished_runs(summarise(board))["reason"].tolist() == [reasons["EpsGreedy"]]


@pytest.mark.no_cover
def test_the_page_has_the_command_that_was_played(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SMALL)

    def command(name: str, *play: object) -> str:
        results = leaderboards.run_suite("mine.toml", *play, out=f"res/{name}", against="board", progress=False)  # type: ignore[arg-type]
        page = results.page().read_text(encoding="utf-8")
        assert page.count("not on the board yet") == 0
        return unescape(page.partition('aria-label="Command that runs the suite"><code>')[2].partition("</code>")[0])

    assert command("plain", ["GP-EI", "GP-TS"]) == (
        "gpbandit run mine.toml --agent GP-EI --agent GP-TS --against board --out res/plain"
    )
    assert command("settings", {"wide": ("GP-UCB", {"width": 3.0}), "GP-TS": "GP-TS"}) == (
        "python -c 'from leaderboards import run_suite; "
        'run_suite("mine.toml", {"wide": ("GP-UCB", {"width": 3.0}), "GP-TS": "GP-TS"}, out="res/settings", '
        'against="board")\''
    )


def test_the_pages_show_ones_own_agent_first(own: Board, tmp_path: Path) -> None:
    results = leaderboards.run_suite(small_suite(), {"mine": "GP-EI"}, out=tmp_path, against="board", progress=False)
    page = results.page().read_text(encoding="utf-8")
    marked = re.findall(r'<tr class="own".*?</tr>', page, re.DOTALL)
    assert len(marked) == 1 + 4  # of the ranking, and of the scores by each criterion
    assert all(">mine</a><small>played here</small>" in row for row in marked)
    compared = (tmp_path / "site" / "compare.html").read_text(encoding="utf-8")
    best = next(name for name in results.ranking().index if name != "mine")
    assert re.findall(r"<option[^>]* selected>([^<]*)<", compared) == ["mine", best]
    assert re.findall(r'href="compare.html#[^"]*">([^<]*)</a>', compared) == [
        f"mine against {best}",
        "mine against Uniform",
    ]
    board_page = leaderboards.Results(own).page(out=tmp_path / "board").read_text(encoding="utf-8")
    assert 'class="own"' not in board_page
    compared = (tmp_path / "board" / "site" / "compare.html").read_text(encoding="utf-8")
    ranked = list(leaderboards.Results(own).ranking().index)
    assert re.findall(r"<option[^>]* selected>([^<]*)<", compared) == ranked[:2]


def test_rows_that_the_board_lacks_are_not_counted_as_not_played(own: Board, tmp_path: Path) -> None:
    leaderboards.run_suite(small_suite(), {"mine": "GP-EI"}, out=tmp_path, against="board", progress=False)
    board = Board(own.directory)
    for key in [key for key, run in board.entries().items() if run.spec.agent.id == "EpsGreedy"]:
        del board._known[key]
    results = leaderboards.Results(Joined(Store(tmp_path), board))
    page = results.page().read_text(encoding="utf-8")
    assert f"<dt>Runs not on the board yet</dt><dd>{2 * REPETITIONS}</dd>" in page
    assert "Runs not played" not in page
    assert '<span class="status missing">not on the board yet</span>' in page


def test_two_agents_of_one_name_are_not_one_row(own: Board, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As soon as the folder has a run of it, the board's runs of another package's agent are not taken for the same."""
    index = json.loads((own.directory / MANIFEST).read_text())
    for name in (file_of(own, "EpsGreedy"), file_of(own, "Uniform")):
        index["files"][name]["source"] |= {"by": "somebody", "fingerprint": None}
    (own.directory / MANIFEST).write_text(json.dumps(index))
    board, store = Board(own.directory), Store(tmp_path / "res")
    joined = Joined(store, board)
    assert len(joined.entries()) == len(board.entries())
    assert not caplog.records
    mine = [run.spec for run in board.entries().values() if run.spec.agent.id != "Uniform" and run.spec.repetition < 2]
    run_missing(mine, store, SerialExecutor())
    agents = Counter(run.spec.agent.id for run in joined.entries().values())
    assert agents == {"EpsGreedy": 4, "Uniform": 2 * REPETITIONS, "GP-UCB": 2 * REPETITIONS}
    assert {joined.path(run).parent for run in joined.entries().values() if run.spec.agent.id == "EpsGreedy"} == {
        store.runs_directory
    }
    rows = {row.entry.key: row for group in joined.rows(joined.entries().values()) for row in group}
    assert rows.keys() == joined.entries().keys()
    for key, row in rows.items():
        here = store.entries().get(key)
        assert (row.trace is not None) == (row.entry is here)
        kept = joined.kept(key)
        assert row.kept is not None
        assert kept is not None
        assert row.kept.digest == kept.digest
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "EpsGreedy: the board's runs of 'EpsGreedy', perhaps another author's, are left out beside those of "
    )
    ranked = leaderboards.Results(Joined(store, board)).ranking()
    assert set(ranked.index[ranked["rank"].notna()]) == {"GP-UCB, width 2", "Uniform"}


def test_an_agent_that_was_added_to_a_suite_of_the_package_is_in_the_command(tmp_path: Path) -> None:
    suite = load_suite("short-horizons")
    one = suite.model_copy(update={"agents": (*suite.agents, AgentEntry(id="Random"))})
    summary = Summary(one, {}, {entry.ref.label: entry.ref for entry in one.agents}, pd.DataFrame(), {}, [], {})
    assert suite_command(summary) == "gpbandit run short-horizons --agent Random --out results/short-horizons"
    plain = replace(summary, suite=suite)
    assert suite_command(plain) == "gpbandit run short-horizons --out results/short-horizons"


def test_against_needs_a_new_agent_and_a_board(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuiteError, match="expected one or more that suite 'small' does not list"):
        leaderboards.run_suite(small_suite(), out=tmp_path / "res", against="board")
    with pytest.raises(ValueError, match="no board of suite 'other'"):
        leaderboards.run_suite(small_suite("other"), ["GP-EI"], out=tmp_path / "res", against="board")
    with pytest.raises(UserError, match="--against: expected --agent with it"):
        execute(["run", "quick", "--against", "board"])
    with pytest.raises(UserError, match="--against: no board of suite 'quick' comes with the package"):
        execute(["run", "quick", "--agent", "GP-EI", "--against", "board"])
    assert not (tmp_path / "res").exists()
    assert not (tmp_path / "results").exists()
