"""What a board keeps when it is written again: every run once, under its own agent."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.publish.boards import Board, board_of, pack_board
from leaderboards.publish.make import _forget_stale, _note, file_names, write_board
from leaderboards.publish.submission import Submission, SubmittedAgent, accept
from leaderboards.store.store import Store
from leaderboards.verify.verify import FEWEST, SETTLED, Verdict, judged
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.publish.boards import REPORT, small_suite


def tiny(agents: list[dict[str, Any]], repetitions: int = 2) -> Suite:
    environments = [{"id": "GPBandit/RKHS-v0", "kwargs": {"n_arms": 20}}]
    return parse_suite(
        {"name": "tiny", "horizon": 6, "repetitions": repetitions, "environments": environments, "agents": agents}
    )


def play(suite: Suite, store: Store) -> Store:
    run_missing(list(suite.specs()), store, SerialExecutor())
    store.write_suite(suite)
    _note(store, suite)
    return store


def regrets(board: Board) -> dict[tuple[str, int], float]:
    """Final regret by the agent's id and the repetition."""
    found = {}
    for key, run in board.entries().items():
        kept = board.kept(key)
        assert kept is not None
        found[run.spec.agent.id, run.spec.repetition] = kept.finals["cumulative_regret"]
    return found


def test_a_row_that_is_renamed_keeps_its_runs(tmp_path: Path) -> None:
    store = play(tiny([{"id": "Uniform", "label": "Baseline"}]), Store(tmp_path / "res"))
    write_board(tiny([{"id": "Uniform", "label": "Baseline"}]), tmp_path / "board", store)
    suite = tiny([{"id": "Uniform", "label": "Baseline (uniform)"}, {"id": "EpsGreedy", "label": "Baseline"}])
    board = write_board(suite, tmp_path / "board", play(suite, store))
    assert {file.agent: file.runs for file in board.index.files.values()} == {"Baseline (uniform)": 2, "Baseline": 2}
    runs = store.entries().values()
    played = {(run.spec.agent.id, run.spec.repetition): store.trace(run.key)["regret"].sum() for run in runs}
    assert regrets(board) == pytest.approx(played)
    assert [
        run.spec.agent.label for run in Board(board.directory).entries().values() if run.spec.agent.id == "Uniform"
    ] == ["Baseline (uniform)"] * 2


def test_a_board_is_whole_whenever_its_writer_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before every change of a name in the folder: the old board or the new one, and the same call goes on."""
    old = tiny([{"id": "Uniform"}, {"id": "EpsGreedy"}])
    new = tiny([{"id": "Uniform"}, {"id": "EpsGreedy", "label": "Greedy"}, {"id": "Random"}], 3)
    store = play(old, Store(tmp_path / "res"))
    first = write_board(old, tmp_path / "old", store)
    play(new, store)
    shutil.copytree(first.directory, tmp_path / "whole")
    whole = write_board(new, tmp_path / "whole", store)
    contents = {path.name: path.read_bytes() for path in whole.directory.rglob("*.*")}
    assert any(name.startswith("greedy-") for name in contents)
    assert not any(name.startswith("epsgreedy-") for name in contents)
    changes = iter(range(0))

    def counted(change: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if next(changes) == 0:
                raise KeyboardInterrupt
            return change(*args, **kwargs)

        return wrapped

    stopped, seen = 0, set()
    while True:
        folder = tmp_path / f"stopped {stopped}"
        shutil.copytree(first.directory, folder)
        changes = itertools.count(-stopped)
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", counted(os.replace))
            patched.setattr(Path, "unlink", counted(Path.unlink))
            try:
                write_board(new, folder, store)
            except KeyboardInterrupt:
                pass
            else:
                break
        found = Board(folder)
        assert regrets(found) in (regrets(first), regrets(whole))
        seen.add(found.sha256)
        pack_board(found, tmp_path / "packed.zip")
        with zipfile.ZipFile(tmp_path / "packed.zip") as packed:
            packed.extractall(tmp_path / f"packed {stopped}")
        assert regrets(Board(tmp_path / f"packed {stopped}")) == regrets(found)
        write_board(new, folder, store)
        assert {path.name: path.read_bytes() for path in folder.rglob("*.*")} == contents
        stopped += 1
    assert seen == {first.sha256, whole.sha256}
    assert stopped > 3 + 1


def test_labels_of_one_name_have_files_of_their_own(tmp_path: Path) -> None:
    refs = [Ref("Uniform", {}, "GP-UCB (0.5)"), Ref("EpsGreedy", {}, "GP-UCB 0.5"), Ref("Random", {}, "π")]
    names = file_names(refs)
    assert len(set(names.values())) == 3
    assert names[refs[0].key] == "gp-ucb-0.5"
    assert all(names.values())
    suite = tiny([{"id": ref.id, "label": ref.label} for ref in refs], 1)
    board = write_board(suite, tmp_path / "board", play(suite, Store(tmp_path / "res")))
    assert len(regrets(board)) == 3


def test_what_failed_stays_until_it_is_played_again(tmp_path: Path) -> None:
    suite = tiny([{"id": "Uniform"}, {"id": "Random"}])
    store = Store(tmp_path / "res")
    specs = list(suite.specs())
    failed = next(spec for spec in specs if spec.agent.id == "Random")
    store.write(RunRecord(failed, "crashed", reason="boom"))
    run_missing([spec for spec in specs if spec.key != failed.key], store, SerialExecutor())
    store.write_suite(suite)
    _note(store, suite)
    assert write_board(suite, tmp_path / "board", store).entry(failed.key).status == "crashed"
    board = write_board(suite, tmp_path / "board")
    assert board.entry(failed.key).status == "crashed"
    assert len(board.entries()) == 4
    again = play(suite, Store(tmp_path / "again"))
    assert write_board(suite, tmp_path / "board", again).entry(failed.key).status == "done"


def test_a_submitted_row_of_a_registered_agent_stays(tmp_path: Path) -> None:
    suite = tiny([{"id": "Uniform"}])
    write_board(suite, tmp_path / "board", play(suite, Store(tmp_path / "res")))
    mine = tiny([{"id": "EpsGreedy", "label": "mine", "kwargs": {"epsilon": 0.3}}])
    results = play(mine, Store(tmp_path / "mine"))
    agent = SubmittedAgent(id="EpsGreedy", kwargs={"epsilon": 0.3}, label="mine")
    accept(Submission(tmp_path, "tiny", (agent,), results, ()), tmp_path / "board", results, REPORT, by="x", code="y")
    board = write_board(suite, tmp_path / "board", Store(tmp_path / "res"))
    assert {file.agent: (file.runs, file.source.by) for file in board.index.files.values()} == {
        "mine": (2, "x"),
        "Uniform": (2, "gpbandit-envs"),
    }


def test_no_second_record_of_a_stale_run_is_left(tmp_path: Path) -> None:
    store = play(tiny([{"id": "Uniform"}]), Store(tmp_path / "res"))
    for path in list(store.runs_directory.iterdir()):
        shutil.copy(path, path.with_name(f"copy-{path.name}"))
    notes = tmp_path / "res" / "fingerprints.json"
    notes.write_text(json.dumps(dict.fromkeys(json.loads(notes.read_text()), "old")))
    _forget_stale(Store(tmp_path / "res"))
    assert not Store(tmp_path / "res").entries()


def test_no_more_is_played_again_than_a_verdict_needs(tmp_path: Path) -> None:
    suite = tiny([{"id": "Uniform"}], 12)
    board = write_board(suite, tmp_path / "board", play(suite, Store(tmp_path / "res")))
    keys = sorted(board.entries())
    same = dict.fromkeys(SETTLED, 1.0)

    def parted(keys: Sequence[str]) -> list[Verdict]:
        return [Verdict(key, "agrees", False, "", (same, same), parted=True) for key in keys]

    found = [judged(board.entries(), keys[:known], parted) for known in range(1, 9)]
    assert [len(verdicts) for verdicts in found] == [max(known, FEWEST) for known in range(1, 9)]
    further = [
        {verdict.key for verdict in verdicts[1:]}
        for verdicts in (judged(board.entries(), [key], parted) for key in keys)
    ]
    assert len({frozenset(some) for some in further}) > 1, "they follow from the run, which cannot be known beforehand"


def test_a_path_is_that_board_and_not_the_one_of_the_package(own: Board, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(own.directory, mine)
    part = small_suite("part", repetitions=2).model_copy(update={"part_of": "small"})
    assert board_of(str(mine), part).directory == mine
