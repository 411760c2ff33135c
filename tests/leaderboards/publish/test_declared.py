"""What is declared of rows: that authors have confirmed them, and what they were tuned on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from leaderboards.archive.read import Board, board
from leaderboards.play.suite import load_suite
from leaderboards.publish import sign_offs
from leaderboards.publish.sign_offs import SignOff, confirmed_rows, sign_off
from leaderboards.show.build import build_page
from leaderboards.store.store import Store

MADE_UP = SignOff("the authors of <nothing>", "https://example.org/1?a=b&c=d")


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_offs, "sign_offs", lambda: {"small": {"Uniform": MADE_UP}})


@pytest.mark.usefixtures("made_up")
def test_an_entry_belongs_to_one_row_of_one_board() -> None:
    assert sign_off("small", "Uniform") == MADE_UP
    assert sign_off("small", "EpsGreedy") is None
    assert sign_off("large", "Uniform") is None


@pytest.mark.usefixtures("made_up")
def test_the_page_of_the_row_says_so_and_no_other(made: tuple[Store, Board], tmp_path: Path) -> None:
    shutil.copytree(made[0].directory, tmp_path / "results")
    build_page(tmp_path / "results", theory=False, confirmed=confirmed_rows(made[1].suite()))
    pages = {path.name: path.read_text() for path in tmp_path.rglob("agent-*.html")}
    assert len(pages) > 1
    link = '<dt>Checked by</dt><dd><a href="https://example.org/1?a=b&amp;c=d">the authors of &lt;nothing&gt;</a></dd>'
    assert [name for name, text in pages.items() if link in text] == ["agent-uniform.html"]
    assert [name for name, text in pages.items() if "Checked by" in text] == ["agent-uniform.html"]


@pytest.mark.parametrize(("by", "link", "named"), [("", "https://a.b", "by"), ("x", "http://a.b", "link")])
def test_an_entry_without_a_name_or_a_link_is_refused(by: str, link: str, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}: expected .*, got "):
        SignOff(by, link)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["core-v2", "boxes-v2"])
def test_every_row_of_the_newest_boards_declares_what_it_was_tuned_on(name: str) -> None:
    declared = {entry.ref.label: entry.tuned for entry in load_suite(name).agents}
    assert all(declared.values())
    assert {entry.ref.label: entry.tuned for entry in board(name).suite().agents} == declared
