"""What a board keeps when it is written again: every run once, under its own agent."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpbandit_envs.datasets import DataError
from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.play.processor import are_portable, portable_environment
from leaderboards.play.record import RunRecord, data_reason
from leaderboards.play.spec import Ref
from leaderboards.play.suite import AgentEntry, Suite, parse_suite
from leaderboards.publish.boards import Board, board_of, pack_board
from leaderboards.publish.check import check_board, renew_unchanged
from leaderboards.publish.make import _forget_stale, _note, file_names, play_board, write_board
from leaderboards.publish.submission import Submission, SubmittedAgent, accept
from leaderboards.store.kept import kept_times
from leaderboards.store.provenance import MANIFEST
from leaderboards.store.run_file import Row
from leaderboards.store.store import Store
from leaderboards.text import wall_time
from leaderboards.verify.choose import sample
from leaderboards.verify.verify import FEWEST, NOT_HERE, SETTLED, Verdict, judged, otherwise_ended
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.publish.boards import HORIZON, REPETITIONS, REPORT, republished, small_suite


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
        kept: Any = board.kept(key)
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


# ---- a board is checked: a sample is played again, and what differs is named ----


Made = tuple[Store, Board]


def changed_total(own: Board, factor: float, cpu: str | None, from_point: int = 30) -> Board:
    """The board with other regret from one kept evaluation on, for GP-UCB on the first task; from another CPU."""

    def change(row: Row) -> Row:
        entry, kept = row.entry, row.kept
        if entry.spec.agent.label != "GP-UCB, width 2":
            return row
        if cpu is not None:
            machine = entry.origin.machine.model_copy(update={"cpu": cpu})
            entry = entry.model_copy(update={"origin": entry.origin.model_copy(update={"machine": machine})})
        if entry.spec.env.label == "d = 1":
            assert kept is not None
            kept.curves["cumulative_regret"][from_point:] *= factor
            kept = replace(kept, digest="0" * 32)
        return Row(entry, kept)

    return republished(own, change)


def keys_of(board: Board, env: str, repetitions: int) -> list[str]:
    return [
        key
        for key, run in board.entries().items()
        if run.spec.agent.id == "GP-UCB" and run.spec.env.label == env and run.spec.repetition < repetitions
    ]


def test_the_sample_follows_from_the_commit(made: Made) -> None:
    keys = sorted(made[1].entries())
    one = sample(keys, "a", 0.2)
    assert one == sample(reversed(keys), "a", 0.2)
    assert one != sample(keys, "b", 0.2)
    assert len(one) == 8  # of 36
    assert len(sample(keys, "a", 0.0001)) == 1
    with pytest.raises(ValueError, match="share: expected a number above 0"):
        sample(keys, "a", 0.0)


def test_the_same_machine_gives_the_same_runs(made: Made, tmp_path: Path) -> None:
    _, board = made
    verdicts = check_board(board, sample(board.entries(), "a", 0.2), SerialExecutor())
    assert {verdict.level for verdict in verdicts} == {"identical"}
    assert board.stale() == {}


def test_another_number_on_the_same_machine_disagrees(own: Board, tmp_path: Path) -> None:
    board = changed_total(own, 1.01, None)
    t = kept_times(HORIZON)
    verdicts = check_board(board, [*keys_of(board, "d = 1", 1), *keys_of(board, "d = 2", 1)], SerialExecutor())
    assert [verdict.level for verdict in verdicts] == ["disagrees", "identical"]
    assert verdicts[0].text == (
        f"the same to evaluation {t[29]}, then apart, with the same loops of the same libraries"
    )


@pytest.mark.parametrize(("factor", "level"), [(1.02, "agrees"), (1.5, "disagrees")])
def test_on_another_machine_further_repetitions_judge(own: Board, tmp_path: Path, factor: float, level: str) -> None:
    board = changed_total(own, factor, "another")
    verdicts = check_board(board, keys_of(board, "d = 1", 1), SerialExecutor())
    assert [verdict.level for verdict in verdicts] == [level] * 5
    assert "over 5 repetitions cumulative regret differs most, by" in verdicts[0].text


@pytest.mark.parametrize(
    ("factor", "cpu", "is_the_same"),
    [(1.00005, "another", True), (1.00005, None, True), (1.02, "another", False), (1.02, None, False)],
)
def test_rounding_is_no_change_of_code(own: Board, factor: float, cpu: str | None, is_the_same: bool) -> None:
    board = changed_total(own, factor, cpu)
    name, source = next((name, one.source) for name, one in board.index.files.items() if one.agent == "GP-UCB, width 2")
    index = json.loads((own.directory / MANIFEST).read_text())
    index["files"][name]["source"]["fingerprint"] = "0" * 16
    (own.directory / MANIFEST).write_text(json.dumps(index))
    ((label, runs, other),) = renew_unchanged(Board(own.directory), "a", SerialExecutor())
    assert (label, runs, other is None) == ("GP-UCB, width 2", 2, is_the_same)
    now = Board(own.directory).index.files[name].source.fingerprint
    assert now == (source.fingerprint if is_the_same else "0" * 16)


def test_the_list_says_what_a_board_lacks(
    own: Board, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    further = own.suite().with_agents([AgentEntry(id="GP-EI")])
    one = next(key for key, run in own.entries().items() if run.spec.agent.id == "Uniform")
    left_out = {key: run for key, run in own.entries().items() if key != one}
    where, repetition = own.entry(one).spec.env.label, own.entry(one).spec.repetition
    monkeypatch.setattr(Board, "suite", lambda _: further)
    monkeypatch.setattr(Board, "entries", lambda _: left_out)
    assert execute(["board", "list"]) == 0
    first, took, *missing = capsys.readouterr().out.splitlines()
    assert first.startswith("small: 35 of 48 runs of 3 agents")
    assert took == f"  took {wall_time([run.seconds for run in left_out.values()])}"
    assert sorted(missing) == [
        f"  missing: 1 runs on {where} of Uniform",
        f"  missing: {2 * own.suite().repetitions} runs on all environments of GP-EI",
    ]
    assert own.missing()["Uniform"] == {where: [repetition]}


@pytest.mark.slow
def test_the_command_names_stale_rows_and_renews_them(own: Board, capsys: pytest.CaptureFixture[str]) -> None:
    index = json.loads((own.directory / MANIFEST).read_text())
    for name in index["files"]:
        index["files"][name]["source"]["fingerprint"] = "0" * 16
    (own.directory / MANIFEST).write_text(json.dumps(index))
    assert execute(["board", "list"]) == 0
    assert "36 of 36 runs of 3 agents; changed since: EpsGreedy, GP-UCB, width 2, Uniform" in capsys.readouterr().out
    assert execute(["board", "check", "small", "--native", "--seed", "a", "--share", "0.1"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("4 of 36 runs, chosen by a\n")
    assert "stale      GP-UCB, width 2: its code has changed since its runs were played" in said
    assert "4 identical, 0 agrees, 0 disagrees; 3 agents are stale" in said
    changed_total(own, 1.01, None)
    assert execute(["board", "renew", "small", "--native", "--seed", "a"]) == 1
    said = capsys.readouterr().out
    assert "the same   Uniform: 2 runs, one of each task, are the same but for rounding" in said
    assert "changed    GP-UCB, width 2, as on d = 1, repetition " in said
    assert list(Board(own.directory).stale().values()) == ["GP-UCB, width 2"]


@pytest.mark.slow
def test_the_command_ends_with_1_where_a_run_disagrees(own: Board, capsys: pytest.CaptureFixture[str]) -> None:
    changed_total(own, 1.01, None)
    assert execute(["board", "check", "small", "--native", "--seed", "a", "--share", "1"]) == 1
    assert f"30 identical, 0 agrees, {REPETITIONS} disagrees" in capsys.readouterr().out
    with pytest.raises(UserError, match="--share: expected"):
        execute(["board", "check", "small", "--native", "--seed", "a", "--share", "2"])
    with pytest.raises(UserError, match="expected one of 'small'"):
        execute(["board", "check", "nothing"])


def test_a_missing_extra_is_no_disagreement(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def build(ref: Ref) -> None:
        if ref.id == "EpsGreedy":
            raise ImportError("Eps is not installed:\npip install eps")

    monkeypatch.setattr("leaderboards.verify.verify.build_agent", build)
    keys = [key for key in own.done_keys() if own.spec(key).repetition == 0]
    verdicts = check_board(own, keys, SerialExecutor())
    found = {(own.spec(verdict.key).agent.id, verdict.level, verdict.text) for verdict in verdicts}
    assert found == {
        ("EpsGreedy", NOT_HERE, "Eps is not installed: pip install eps"),
        ("Uniform", "identical", "identical"),
        ("GP-UCB", "identical", "identical"),
    }


@pytest.mark.slow
def test_a_board_is_played_and_checked_with_loops_that_all_processors_have(
    own: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Nehalem")  # what this machine would choose otherwise
    store = Store(tmp_path / "r")
    play_board(small_suite(repetitions=2), store, None, say=lambda _: None)
    for run in store.entries().values():
        assert run.origin.machine.loops is not None
        assert are_portable(run.origin.machine.loops) == bool(portable_environment())
    shutil.rmtree(own.directory)  # its runs have this processor's loops
    write_board(small_suite(repetitions=2), own.directory, store)
    assert execute(["board", "check", "small", "--share", "1", "--seed", "a"]) == 0
    said = capsys.readouterr().out
    if portable_environment():
        assert "\n12 identical, 0 agrees, 0 disagrees" in said
    assert execute(["board", "check", "small", "--share", "1", "--seed", "a", "--native"]) == 0  # as Nehalem would
    assert ", 0 disagrees" in capsys.readouterr().out


def test_without_its_data_a_run_cannot_be_played_here(own: Board, tmp_path: Path) -> None:
    key = sorted(own.done_keys())[0]
    before = own.entry(key)
    skipped = RunRecord(before.spec, "skipped", reason=data_reason(DataError("no network")))
    store = Store(tmp_path / "r")
    store.write(skipped)
    found = otherwise_ended(before, store.entry(key))
    assert (found.level, found.agrees) == (NOT_HERE, None)
    assert "no network" in found.text
    store = Store(tmp_path / "s")
    store.write(RunRecord(before.spec, "crashed", reason="agent: ValueError: x"))
    assert otherwise_ended(before, store.entry(key)).level == "disagrees"
