"""Suites with a plan for audits: what is measured while they are played is in the files of their boards."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leaderboards.api.run_suite import run_suite
from leaderboards.audit.guarantees import guarantee_rows
from leaderboards.audit.run_audit import audit_run
from leaderboards.audit.store import AuditStore, keep_audit, kept_audits
from leaderboards.play.suite import Suite, SuiteError, load_suite, parse_suite
from leaderboards.publish import make
from leaderboards.publish import make as make_module
from leaderboards.publish.boards import Board
from leaderboards.publish.check import check_board, other_audit
from leaderboards.publish.make import audit_near_limit, near_limit, play_board, write_board
from leaderboards.score.summary import summarise
from leaderboards.store import exchange
from leaderboards.store.kept import KeptAudit
from leaderboards.store.provenance import Source
from leaderboards.store.run_file import Row
from leaderboards.store.store import Store
from leaderboards.work.executors import SerialExecutor
from tests.leaderboards.publish.boards import republished

PLAN: dict[str, Any] = {"delta": 0.1, "checkpoints": 4, "every": 2, "groups": {"one": ["flat"], "two": ["steep"]}}


def audited(**plan: Any) -> Suite:
    return parse_suite(
        {
            "name": "audited",
            "horizon": 15,
            "repetitions": 3,
            "audit": PLAN | plan,
            "environments": [
                {"id": "GPBandit/RKHS-v0", "label": "flat", "kwargs": {"n_arms": 20}},
                {"id": "GPBandit/RKHS-v0", "label": "steep", "kwargs": {"n_arms": 20, "norm": 5.0}},
                {"id": "GPBandit/RKHS-v0", "label": "aside", "kwargs": {"n_arms": 10}},
            ],
            "agents": [
                {"id": "Uniform"},
                {"id": "GP-UCB", "label": "AMM", "kwargs": {"width": "amm", "delta": 0.1}},
                {"id": "GP-UCB", "label": "none", "kwargs": {"width": 0.0, "delta": 0.1}},
            ],
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Board]:
    folder = tmp_path_factory.mktemp("audited")
    play_board(audited(), Store(folder / "results"), None, native=True)
    store = Store(folder / "results")
    return store, write_board(audited(), folder / "board", store)


def test_a_board_keeps_what_was_measured_while_it_was_played(made: tuple[Store, Board]) -> None:
    store, board = made
    kept = kept_audits(board, board.entries())
    assert kept.keys() == board.done_keys()
    assert len(kept) == 27
    assert {key: audit.to_dict() for key, audit in kept.items()} == {
        key: audit.to_dict() for key, audit in kept_audits(store, store.entries()).items()
    }, "without the folder of results"
    for key, audit in kept.items():
        spec = board.spec(key)
        assert audit.times == (15 if spec.repetition % 2 == 0 else 4), "every second repetition at each evaluation"
        again = keep_audit(audit_run(spec, 15 if spec.repetition % 2 == 0 else 4))
        assert again.to_dict() == audit.to_dict(), "a second audit is the same"
        if spec.agent.label == "AMM":
            assert (audit.no_guarantee, audit.held, audit.delta) == ("", True, 0.1)
        elif spec.agent.label == "none":
            assert (audit.held, audit.first_violation, audit.required_scaling) == (False, 1, np.inf)
        else:
            assert (audit.held, audit.no_band) == (False, "the agent states no confidence band")


def test_a_board_that_is_written_again_keeps_its_audits(made: tuple[Store, Board], tmp_path: Path) -> None:
    store, board = made
    write_board(audited(), tmp_path / "again", store)
    again = write_board(audited(), tmp_path / "again")
    assert {name: file.sha256 for name, file in again.index.files.items()} == {
        name: file.sha256 for name, file in board.index.files.items()
    }
    assert again.suite().audit == audited().audit


def test_runs_that_end_while_a_board_is_written_come_with_their_audits_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command may play into the same folder."""
    suite, store = audited(), Store(tmp_path / "results")
    play_board(suite.model_copy(update={"repetitions": 2}), store, None, native=True)

    def and_then_a_third_is_played(*args: Any) -> dict[str, KeptAudit]:
        found = kept_audits(*args)
        play_board(suite, Store(store.directory), None, native=True)
        return found

    monkeypatch.setattr(make, "kept_audits", and_then_a_third_is_played)
    board = write_board(suite, tmp_path / "board", store)
    assert kept_audits(board, board.entries()).keys() == board.done_keys()
    monkeypatch.undo()
    board = write_board(suite, tmp_path / "board", store)
    assert len(kept_audits(board, board.entries())) == 27


def test_a_board_takes_the_audits_that_its_runs_lack(made: tuple[Store, Board], tmp_path: Path) -> None:
    store, board = made
    results = Store(shutil.copytree(store.directory, tmp_path / "results"))
    audits = AuditStore(results.directory)
    lacking = [key for key in board.done_keys() if board.spec(key).repetition == 1]
    kept = audits.read(lacking)
    for key in lacking:
        audits.path(key).unlink()
    less = write_board(audited(), tmp_path / "board", results)
    assert kept_audits(less, less.entries()).keys() == less.done_keys() - set(lacking)
    # Nobody saw that these bands held.
    plan = audited().audit
    assert plan is not None
    rows = {row.agent: row for row in guarantee_rows(less, summarise(less), plan)}
    amm, none = rows["AMM"], rows["none"]
    assert (amm.verdict.held, amm.verdict.runs, amm.cells["flat"].unaudited) == (4, 6, 1)
    assert "2 without an audit" in amm.reason
    assert amm.cells["flat"].slack > 1
    assert np.isnan(amm.mean_shortfall(["flat", "steep"]))
    assert (none.verdict.violated, none.cells["flat"].count.violated) == (6, 3)
    assert rows["Uniform"].reason == "states no band"
    for audit in kept.values():
        audits.write(audit)
    whole = write_board(audited(), tmp_path / "board", results)
    assert kept_audits(whole, whole.entries()) == kept_audits(board, board.entries())


def test_rows_near_the_limit_are_measured_after_every_turn(
    made: tuple[Store, Board], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six runs confirm nothing at 0.1: AMM, none violated, is within 5 of the limit, `none`, with 6, is not."""
    store, board = made
    due = near_limit(board)
    assert {(spec.agent.label, spec.env.label, spec.repetition) for spec in due} == {
        ("AMM", "flat", 1),
        ("AMM", "steep", 1),
    }, "repetitions 0 and 2 are by the plan, and the third task is not held against a row"
    results = Store(shutil.copytree(store.directory, tmp_path / "results"))
    said: list[str] = []
    audit_near_limit(board, results, SerialExecutor(), said.append)
    assert said == ["near the limit: 2 of 2 runs measured after every turn"]
    # A board that has the runs takes the audits, and keeps them without the folder.
    shutil.copytree(board.directory, tmp_path / "board")
    write_board(audited(), tmp_path / "board", results)
    again = write_board(audited(), tmp_path / "board")
    for key, audit in kept_audits(again, again.entries()).items():
        spec, before = again.spec(key), kept_audits(board, [key])[key]
        if spec in due:
            assert (before.times, before.every_turn) == (4, False)
            assert audit == keep_audit(audit_run(spec, 15))
            assert (audit.times, audit.every_turn) == (15, True)
        elif not audit.no_band:
            assert audit == before
    assert near_limit(again) == []
    plan = audited().audit
    assert plan is not None
    rows = {row.agent: row for row in guarantee_rows(again, summarise(again), plan)}
    assert [cell.throughout for cell in rows["AMM"].cells.values()] == [3, 3, 2]
    assert [cell.throughout for cell in rows["none"].cells.values()] == [2, 2, 2]
    # What has been begun is finished, though the row has left the limit meanwhile.
    (steep,) = [spec for spec in due if spec.env.label == "steep"]
    AuditStore(results.directory).path(steep.key).unlink()
    half = write_board(audited(), tmp_path / "half", store)
    monkeypatch.setattr(make_module, "is_near_limit", lambda *_: False)
    assert near_limit(half) == []
    write_board(audited(), tmp_path / "half", results)
    assert near_limit(Board(tmp_path / "half")) == [steep]


def test_a_check_measures_again_what_a_board_keeps_of_audits(made: tuple[Store, Board], tmp_path: Path) -> None:
    _, board = made
    keys = [key for key in board.done_keys() if board.spec(key).env.label == "flat"]
    (key,) = [one for one in keys if board.spec(one).agent.label == "AMM" and board.spec(one).repetition == 1]
    audit_near_limit(board, Store(tmp_path / "near"), SerialExecutor(), lambda _: None)
    board = write_board(audited(), Path(shutil.copytree(board.directory, tmp_path / "board")), Store(tmp_path / "near"))
    report = check_board(board, keys, SerialExecutor())
    assert {(verdict.level, verdict.text) for verdict in report} == {("identical", "identical, as is its audit")}, (
        "at every evaluation too"
    )
    changed = with_audit(board, key, None, half_width=2.0)
    (verdict,) = check_board(changed, [key], SerialExecutor())
    assert verdict.level == "disagrees"
    assert verdict.text.startswith("identical; its audit differs: half_width was 2.0, and is ")
    stated = kept_audits(board, [key])[key]
    near = with_audit(board, key, "another", half_width=stated.half_width * (1 + 1e-6))
    (verdict,) = check_board(near, [key], SerialExecutor())
    assert (verdict.level, verdict.text) == ("agrees", "identical; its audit within 0.001")


def with_audit(board: Board, key: str, cpu: str | None, **changed: Any) -> Board:
    """The board with another audit of a run, from another CPU."""

    def change(row: Row) -> Row:
        entry, kept = row.entry, row.kept
        if cpu is not None and entry.spec.agent == board.spec(key).agent:
            machine = entry.origin.machine.model_copy(update={"cpu": cpu})
            entry = entry.model_copy(update={"origin": entry.origin.model_copy(update={"machine": machine})})
        if entry.key == key:
            assert kept is not None
            assert kept.audit is not None
            kept = replace(kept, audit=replace(kept.audit, **changed))
        return Row(entry, kept)

    return republished(board, change)


HELD = KeptAudit(
    width="amm",
    kind="proven",
    theorem="source",
    no_guarantee="",
    no_band="",
    delta=0.1,
    times=9,
    first_violation=None,
    violations=0,
    required_scaling=0.9995,
    half_width=1.25,
    informative=0.5,
    regret_bound=30.0,
    regret_held=True,
)
LEFT = replace(HELD, first_violation=5, violations=1, required_scaling=1.0005)


@pytest.mark.parametrize(
    ("found", "exact", "parted", "text"),
    [
        (HELD, True, False, ""),
        (replace(HELD, every_turn=True), True, False, ""),
        (replace(HELD, informative=0.6), True, False, "informative was 0.5, and is 0.6"),
        (replace(HELD, informative=0.6), False, False, ""),
        (replace(HELD, half_width=1.2501), False, False, ""),
        (replace(HELD, half_width=1.26), False, False, "half_width was 1.25, and is 1.26"),
        (replace(HELD, half_width=1.26), False, True, ""),
        (replace(HELD, no_guarantee="heavy tails"), False, True, "no_guarantee was '', and is 'heavy tails'"),
        (LEFT, False, False, ""),
        (LEFT, True, False, "required_scaling"),
        (replace(LEFT, required_scaling=1.2), False, False, "required_scaling was 0.9995, and is 1.2"),
        (replace(HELD, regret_bound=None), False, False, "regret_bound was 30.0, and is None"),
    ],
)
def test_audits_differ_in_words_in_numbers_and_in_what_held(
    found: KeptAudit, exact: bool, parted: bool, text: str
) -> None:
    said = other_audit(HELD, found, exact=exact, parted=parted)
    assert (said == "") == (text == "")
    assert text in said


def test_a_band_that_holds_in_one_audit_alone_is_another_unless_both_are_at_the_edge() -> None:
    held, left = (replace(one, required_scaling=1.0009) for one in (HELD, LEFT))
    assert other_audit(held, left, exact=False) == ""
    held, left = (replace(one, required_scaling=1.002) for one in (HELD, LEFT))
    assert other_audit(held, left, exact=False) == "its audit differs: the band held, and failed at evaluation 5 now"


def test_a_run_that_plays_otherwise_keeps_its_audit(
    made: tuple[Store, Board], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, board = made
    monkeypatch.setattr(make_module, "trace_digest", lambda _: "of another trace")
    said: list[str] = []
    results = Store(tmp_path / "results")
    audit_near_limit(board, results, SerialExecutor(), said.append)
    assert said[0] == "near the limit: 0 of 2 runs measured after every turn"
    assert said[1].startswith("  not AMM on ")
    assert AuditStore(results.directory).keys() == set()


def test_a_row_of_which_runs_are_missing_waits(made: tuple[Store, Board], tmp_path: Path) -> None:
    store, _ = made
    more = audited().model_copy(update={"repetitions": 4})
    assert near_limit(write_board(more, tmp_path / "board", store)) == []


def test_a_suite_with_a_plan_is_audited_whoever_plays_it(tmp_path: Path) -> None:
    run_suite(audited(), out=tmp_path)
    store = Store(tmp_path)
    assert kept_audits(store, store.done_keys()).keys() == store.done_keys()


def test_a_suite_without_a_plan_is_written_as_before() -> None:
    assert "audit" not in load_suite("quick").frozen().model_dump(mode="json")
    plan = load_suite("guarantee-v1").audit
    assert plan is not None
    assert plan.among(["OERPlates"]) == plan.model_copy(
        update={"groups": {"misspecified, and real data": ("OERPlates",)}}
    )
    assert plan.among(["SE, d = 2, corrupted"]) is None


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ({"groups": {"one": ["flat", "unknown"]}}, "expected labels of environments in groups, got 'unknown'"),
        (
            {"groups": {"one": ["flat"], "two": ["flat"]}},
            "expected each environment in one group at most, got 'flat' twice",
        ),
        ({"groups": {}}, "audit.groups"),
        ({"delta": 1.0}, "audit.delta"),
        ({"checkpoints": 1}, "audit.checkpoints"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(plan: dict[str, Any], text: str) -> None:
    with pytest.raises(SuiteError, match=text):
        audited(**plan)


def test_numbers_that_are_none_survive_json() -> None:
    audit = replace(HELD, half_width=np.nan)
    assert audit.to_dict()["half_width"] is None
    assert np.isnan(KeptAudit.from_dict(audit.to_dict()).half_width)


def test_rows_say_what_they_claim_and_why_they_are_not_valid(made: tuple[Store, Board]) -> None:
    _, board = made
    plan = audited().audit
    assert plan is not None
    rows = {row.agent: row for row in guarantee_rows(board, summarise(board), plan)}
    assert list(rows) == ["Uniform", "AMM", "none"]
    assert (rows["Uniform"].verdict.category, rows["Uniform"].reason) == ("no band", "states no band")
    assert rows["Uniform"].regret == {"flat": 1.0, "steep": 1.0, "aside": 1.0}
    amm, none = rows["AMM"], rows["none"]
    assert amm.verdict.claimed == ("flat", "steep"), "the third task decides nothing"
    assert list(amm.cells) == ["flat", "steep", "aside"]
    assert all(cell.slack > 1 for cell in amm.cells.values())
    assert amm.reason == "held in 6 of 6 runs, too few to confirm it"
    assert (none.verdict.category, none.verdict.violated, none.verdict.runs) == ("fails", 6, 6)
    assert none.reason == "held in 0 of 6 runs; refuted on flat, steep; a tuned width has no guarantee"


def test_a_task_of_which_nobody_saw_a_run_counts_as_one_on_which_none_held(
    made: tuple[Store, Board], tmp_path: Path
) -> None:
    """Otherwise a row that fails would be one that holds by leaving out the audits of the task where it fails."""
    store, board = made
    results = Store(shutil.copytree(store.directory, tmp_path / "results"))
    plan, audits = audited().audit, AuditStore(results.directory)
    assert plan is not None

    def reasons() -> dict[str, str]:
        return {row.agent: row.reason for row in guarantee_rows(results, summarise(results), plan)}

    assert reasons()["AMM"].startswith("held in 6 of 6 runs")
    flat = [key for key in board.done_keys() if board.spec(key).env.label == "flat"]
    for key in flat:
        audits.path(key).unlink()
    assert reasons()["AMM"] == "held in 3 of 6 runs; 3 without an audit; refuted on flat"
    assert reasons()["Uniform"] == "states no band"
    for key in board.done_keys() - set(flat):
        audits.path(key).unlink()
    assert set(reasons().values()) == {"no run of it has been audited"}


@pytest.mark.parametrize("way", ["merge", "add"])
def test_audits_go_where_their_runs_go(way: str, made: tuple[Store, Board], tmp_path: Path) -> None:
    store, board = made
    target = tmp_path / "target"
    if way == "merge":
        exchange.merge([store.directory], target)
    else:
        exchange.pack(store.directory, tmp_path / "packed.zip")
        assert exchange.add(tmp_path / "packed.zip", target).rejected == ()

    def known(view: Store) -> dict[str, Any]:
        return {key: audit.to_dict() for key, audit in kept_audits(view, board.entries()).items()}

    assert known(Store(target)) == known(store)
    source = Source(standing="submitted", by="somebody", version="1.0.0", fingerprint=None)
    sources = {entry.ref.key: source for entry in audited().agents}
    accepted = write_board(audited(), tmp_path / "board", Store(target), sources=sources)
    assert known(accepted) == known(board)
    # One that is there stays; one that was lost comes with the next time.
    one, other = sorted(board.entries())[:2]
    audits = AuditStore(target)
    audits.path(one).unlink()
    shutil.copy(audits.path(sorted(board.entries())[2]), audits.path(other))
    content = audits.path(other).read_bytes()
    if way == "merge":
        exchange.merge([store.directory], target)
        assert audits.path(one).read_bytes() == AuditStore(store.directory).path(one).read_bytes()
    assert audits.path(other).read_bytes() == content


def test_an_archive_brings_audits_of_its_own_runs_alone(made: tuple[Store, Board], tmp_path: Path) -> None:
    store, board = made
    source = Store(shutil.copytree(store.directory, tmp_path / "source"))
    audits, (one, other) = AuditStore(source.directory), sorted(board.entries())[:2]
    audits.path(one).write_bytes(b"no audit")
    exchange.pack(source.directory, tmp_path / "packed.zip")
    with zipfile.ZipFile(tmp_path / "packed.zip") as packed:
        listing = json.loads(packed.read("submission.json"))
        members = {name: packed.read(name) for name in packed.namelist()}
    stray = members[f"audit/{other}.parquet"]
    for name in ("audit/0123456789abcdef0123456789abcdef.parquet", "audit/../../stray.parquet"):
        members[name], listing["files"][name] = stray, hashlib.sha256(stray).hexdigest()
    members["submission.json"] = json.dumps(listing).encode()
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    (reason,) = exchange.add(tmp_path / "packed.zip", tmp_path / "inner" / "target").rejected
    assert reason.startswith(f"'audit/{one}.parquet': ")
    found = AuditStore(tmp_path / "inner" / "target")
    assert found.keys() == board.entries().keys() - {one}
    assert not list(tmp_path.rglob("stray.parquet"))
