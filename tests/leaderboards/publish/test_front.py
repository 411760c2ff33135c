"""The site of several boards: its front page, what leads from it, and what its boards share."""

from __future__ import annotations

import hashlib
import html
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from markupsafe import Markup

import leaderboards
from leaderboards.audit.bands import study
from leaderboards.publish import front as front_page
from leaderboards.publish.boards import Board
from leaderboards.publish.front import build_front
from leaderboards.show.table import Row
from tests.browser import Open
from tests.leaderboards.publish.boards import small_suite


@pytest.mark.slow
def test_the_front_page_leads_to_boards_and_files(own: Board, tmp_path: Path) -> None:
    front = build_front(tmp_path / "site")
    text = front.read_text()
    assert "36 of 36 runs played, 3 agents, 2 tasks" in text
    assert "GP-UCB, width 2" in text
    for link in (
        "board/small/index.html",
        "board/small/files/scores.csv",
        "board/small/files/papers.bib",
        "board/small/files/small.zip",
    ):
        assert f'href="{link}"' in text
        assert (front.parent / link).is_file()
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
    monkeypatch.setattr(front_page, "board_parts", lambda: dict.fromkeys(("boxes-v2", "feedback-v1"), ()))
    front = build_front(tmp_path, workers=2)
    for name in ("boxes-v2", "feedback-v1"):
        assert f"SHA-256 of the index: {leaderboards.board(name).sha256}" in front.read_text()
        assert (tmp_path / "board" / name / "index.html").is_file()


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
