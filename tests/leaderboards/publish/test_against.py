"""A new agent, played from Python against a board."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html import unescape
from pathlib import Path

import pandas as pd
import pytest

import leaderboards
from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.play.suite import AgentEntry, SuiteError, load_suite
from leaderboards.publish.boards import Board
from leaderboards.score.summary import Summary, summarise, unfinished_runs
from leaderboards.show.format import suite_command
from leaderboards.store.provenance import MANIFEST
from leaderboards.store.store import Store
from leaderboards.store.union import Joined
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.publish.boards import REPETITIONS, SMALL, file_of, small_suite


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
