"""A new agent, played from Python against a board."""

from __future__ import annotations

from pathlib import Path

import pytest

import leaderboards
from leaderboards.cli.app import play
from leaderboards.cli.errors import UserError
from leaderboards.play.board import Board, Joined
from leaderboards.play.store import Store
from leaderboards.play.suite import SuiteError
from leaderboards.score.summary import summarise, unfinished_runs
from tests.leaderboards.archive.boards import REPETITIONS, small_suite


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
    del board._entries[left_out], board._kept[left_out]
    gaps = unfinished_runs(summarise(Joined(Store(out), board)))
    reasons: dict[str, str] = dict(zip(gaps["agent"], gaps["reason"]))
    assert gaps["n"].tolist() == [1] * len(gaps)
    assert reasons["EpsGreedy"].startswith("not on the board")
    assert reasons["mine"].startswith("not played yet: the command that ran the suite goes on")
    assert unfinished_runs(summarise(board))["reason"].tolist() == [reasons["EpsGreedy"]]


def test_against_needs_a_new_agent_and_a_board(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuiteError, match="expected one or more that suite 'small' does not list"):
        leaderboards.run_suite(small_suite(), out=tmp_path / "res", against="board")
    with pytest.raises(ValueError, match="no board of suite 'other'"):
        leaderboards.run_suite(small_suite("other"), ["GP-EI"], out=tmp_path / "res", against="board")
    with pytest.raises(UserError, match="--against: expected --agent with it"):
        play(["run", "quick", "--against", "board"])
    with pytest.raises(UserError, match="--against: no board of suite 'quick' comes with the package"):
        play(["run", "quick", "--agent", "GP-EI", "--against", "board"])
    assert not (tmp_path / "res").exists()
    assert not (tmp_path / "results").exists()
