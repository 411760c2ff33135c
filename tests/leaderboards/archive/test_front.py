"""The site of several boards: its front page, what leads from it, and what its boards share."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboards.play.board import Board
from leaderboards.show.front import build_front
from tests.browser import Open


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
    assert "docs/index.html" not in text
    (front.parent / "docs").mkdir()
    (front.parent / "docs" / "index.html").write_text("")
    assert 'href="docs/index.html"' in build_front(tmp_path / "site").read_text()


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
