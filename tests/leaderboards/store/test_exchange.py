"""Shards, merged folders, packed results, verification and queries."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from leaderboards.play.record import RunRecord
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.suite import parse_suite
from leaderboards.store.exchange import add, merge, pack
from leaderboards.store.store import Store, StoreError
from leaderboards.store.union import noted, write_note
from leaderboards.verify.verify import compare, verify
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing, shard
from tests.leaderboards.folders import stacked

SUITE = parse_suite(
    {
        "name": "s",
        "horizon": 15,
        "repetitions": 6,
        "environments": [{"id": "GPBandit/RKHS-v0"}],
        "agents": [{"id": "Uniform"}],
    }
).frozen()


def specs(repetitions: int = 6) -> list[RunSpec]:
    env = Ref("GPBandit/RKHS-v0", {"n_arms": 20})
    return [
        RunSpec(env=env, agent=Ref(agent), repetition=repetition, horizon=15)
        for repetition in range(repetitions)
        for agent in ("Uniform", "EpsGreedy", "GP-UCB")
    ]


def played(directory: Path, which: list[RunSpec] | None = None) -> Store:
    store = Store(directory)
    store.write_suite(SUITE)
    run_missing(specs() if which is None else which, store, SerialExecutor())
    return store


def rows(store: Store) -> pd.DataFrame:
    return stacked(store, ["action", "reward", "inference_regret", "width"], sorted(store.keys()))


def test_shards_are_a_partition_with_all_agents_in_each() -> None:
    whole = specs(repetitions=40)
    parts = [shard(whole, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(spec.key for part in parts for spec in part) == sorted(spec.key for spec in whole)
    for part in parts:
        # 120 runs into 3 parts: 40 each with a standard deviation of 5.2.
        assert 19 <= len(part) <= 61
        assert {spec.agent.label for spec in part} == {"Uniform", "EpsGreedy", "GP-UCB"}
    for wrong in ("0/3", "4/3", "1", "a/3", "1/0"):
        with pytest.raises(ValueError, match="shard: expected i/N"):
            shard(whole, wrong)


def test_merged_shards_are_the_whole(tmp_path: Path) -> None:
    parts = [played(tmp_path / str(i), shard(specs(), f"{i}/2")) for i in (1, 2)]
    received = merge([part.directory for part in parts], tmp_path / "all")
    assert (received.runs, received.known, received.rejected) == (18, 0, ())
    merged = Store(tmp_path / "all")
    pd.testing.assert_frame_equal(rows(merged), rows(played(tmp_path / "whole")), check_exact=True)
    assert merged.suite() == SUITE
    again = merge([part.directory for part in parts], tmp_path / "all")
    assert (again.runs, again.known) == (0, 18)


def test_merged_shards_name_the_board_that_they_were_played_against(tmp_path: Path) -> None:
    parts = [played(tmp_path / str(i), shard(specs(2), f"{i}/2")).directory for i in (1, 2)]
    other = played(tmp_path / "other", specs(1)).directory
    for part, board in zip((*parts, other), ("board", "board", "core-v2")):
        write_note(part, board)
    merge(parts, tmp_path / "all")
    assert noted(tmp_path / "all") == "board"
    merge(parts, tmp_path / "all")
    plain = played(tmp_path / "plain", specs(1)).directory
    for sources, target, said in (
        ((*parts, other), "new", "the same board, got .*2 against board and .*other against core-v2$"),
        ((plain, parts[0]), "new", "the same board, got .*plain against no board and .*1 against board$"),
        ((plain,), "all", "the same board, got .*plain against no board and .*all against board$"),
        ((parts[0],), "plain", "the same board, got .*1 against board and .*plain against no board$"),
    ):
        with pytest.raises(StoreError, match=said):
            merge(sources, tmp_path / target)
    assert not (tmp_path / "new").exists()
    assert noted(plain) is None


def test_merging_keeps_better_results_and_leaves_damage_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, other = played(tmp_path / "1", specs()[:1]), played(tmp_path / "2", specs()[:2])
    (one.runs_directory / "broken.parquet").write_bytes(b"x")
    # A footer that begins with zeros is an error of another kind.
    whole = next(other.runs_directory.iterdir()).read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    (one.runs_directory / "zeros.parquet").write_bytes(whole[:footer] + bytes(64) + whole[footer + 64 :])
    assert merge([one.directory, other.directory], tmp_path / "all").runs == 2
    for name, said in zip(("broken", "zeros"), caplog.messages, strict=True):
        assert f"{name}.parquet.damaged was damaged and is set aside (its content does not match its digest)" in said
    with pytest.raises(StoreError, match="holds no results"):
        merge([tmp_path / "none"], tmp_path / "all")
    other.write_suite(SUITE.model_copy(update={"name": "another"}))
    with pytest.raises(StoreError, match="holds another suite, with 's' and not 'another'"):
        merge([other.directory], tmp_path / "all")


def audit_of(directory: Path, key: str) -> Path:
    return directory / "audit" / f"{key}.parquet"


def test_an_audit_is_kept_whichever_source_brings_it_and_runs_count_once(tmp_path: Path) -> None:
    audited, plain = played(tmp_path / "audited", specs(1)), tmp_path / "plain"
    shutil.copytree(audited.directory, plain)
    keys = sorted(audited.keys())
    (audited.directory / "audit").mkdir()
    for key in keys:
        audit_of(audited.directory, key).write_text(key)
    for number, sources in enumerate([(plain, audited.directory), (audited.directory, plain)]):
        target = tmp_path / f"all {number}"
        (target / "audit").mkdir(parents=True)
        audit_of(target, keys[0]).write_text("of an earlier record")
        received = merge(sources, target)
        assert (received.runs, received.known) == (3, 0)
        assert [audit_of(target, key).read_text() for key in keys] == keys
        received = merge(sources, target)
        assert (received.runs, received.known) == (0, 3)
        assert [audit_of(target, key).read_text() for key in keys] == keys


@pytest.mark.parametrize("seconds", [-1e9, 0.0, 4.4e9, 1e12], ids=["1938", "1970", "2109", "33658"])
def test_a_clock_that_is_far_off_stops_nothing(tmp_path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: seconds)
    store = played(tmp_path / "r", specs(1))
    assert pack(store.directory, tmp_path / "x.zip") == 3
    assert add(tmp_path / "x.zip", tmp_path / "added").runs == 3
    added = Store(tmp_path / "added")
    assert added.runs()["finished"].between(0, 253_402_300_799).all()


def test_packed_results_are_submitted_and_can_be_played_again(tmp_path: Path) -> None:
    theirs, ours = played(tmp_path / "theirs"), played(tmp_path / "ours", specs()[:4])
    assert pack(theirs.directory, tmp_path / "x.zip") == 18
    received = add(tmp_path / "x.zip", ours.directory)
    assert (received.runs, received.known) == (14, 4)
    pd.testing.assert_frame_equal(rows(ours), rows(theirs), check_exact=True)
    standing = ours.runs()["standing"]
    assert standing.value_counts().to_dict() == {"submitted": 14, "local": 4}
    submitted = [str(key) for key in standing.index[standing == "submitted"]]
    verdicts = list(verify(ours, submitted[:5], tmp_path / "again", SerialExecutor()))
    assert all(verdict.agrees and verdict.exact and verdict.text == "identical" for verdict in verdicts)


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    target = tmp_path / "target"
    for content in (b"not a zip", b""):
        (tmp_path / "no.zip").write_bytes(content)
        with pytest.raises(StoreError, match="is no archive of `gpbandit submit`"):
            add(tmp_path / "no.zip", target)
    with pytest.raises(StoreError, match="no archive"):
        add(tmp_path / "missing.zip", target)
    with pytest.raises(StoreError, match="holds no readable run"):
        pack(tmp_path / "empty", tmp_path / "y.zip")


def crash(spec: RunSpec) -> RunRecord:
    return RunRecord(spec, "crashed", pd.DataFrame(), reason="boom", error="Traceback")


def forged(spec: RunSpec) -> RunRecord:
    record = run_spec(spec)
    record.trace = record.trace.assign(reward=100.0)
    return record


def standings(directory: Path) -> dict[int, tuple[str, str]]:
    """Status and standing by repetition."""
    runs = Store(directory).runs()
    return {int(run["repetition"]): (run["status"], run["standing"]) for _, run in runs.iterrows()}


ONE, TWO, THREE = (spec for spec in specs(3) if spec.agent.id == "GP-UCB")


def submitted(tmp_path: Path, *records: RunRecord) -> Path:
    """An archive of these records, which share a file."""
    directory = tmp_path / f"of {len(list(tmp_path.iterdir()))}"
    Store(directory).write(*records)
    pack(directory, directory.with_suffix(".zip"))
    return directory.with_suffix(".zip")


def test_a_submission_replaces_nothing_that_is_done_here(tmp_path: Path) -> None:
    ours = Store(tmp_path / "ours")
    ours.write(run_spec(ONE))
    before = ours.trace(ONE.key)
    received = add(submitted(tmp_path, forged(ONE), forged(TWO), crash(THREE)), ours.directory)
    assert (received.runs, received.known) == (2, 1)
    again = Store(ours.directory)
    pd.testing.assert_frame_equal(again.trace(ONE.key), before, check_exact=True)
    assert compare(again.trace(TWO.key), forged(TWO).trace) is None
    expected = {0: ("done", "local"), 1: ("done", "submitted"), 2: ("crashed", "submitted")}
    assert standings(ours.directory) == expected
    # Nor does a second submission, whatever time it states, or a file with both that somebody copied there.
    assert add(submitted(tmp_path, forged(TWO), forged(ONE)), ours.directory).runs == 0
    group = next((tmp_path / "of 1" / "runs").iterdir())
    shutil.copy(group, ours.runs_directory / f"submitted-{'0' * 32}.parquet")
    assert standings(ours.directory) == expected
    pd.testing.assert_frame_equal(Store(ours.directory).trace(ONE.key), before, check_exact=True)


def test_what_is_done_elsewhere_replaces_what_is_not_done_here(tmp_path: Path) -> None:
    ours = Store(tmp_path / "ours")
    ours.write(crash(ONE))
    assert add(submitted(tmp_path, crash(ONE)), ours.directory).runs == 0
    assert standings(ours.directory) == {0: ("crashed", "local")}
    assert add(submitted(tmp_path, crash(ONE), run_spec(TWO)), ours.directory).runs == 1
    received = add(submitted(tmp_path, run_spec(ONE), run_spec(TWO)), ours.directory)
    assert (received.runs, received.known) == (1, 1)
    assert standings(ours.directory) == {0: ("done", "submitted"), 1: ("done", "submitted")}


def test_what_is_played_here_stands_as_local(tmp_path: Path) -> None:
    ours = Store(tmp_path / "ours")
    add(submitted(tmp_path, crash(ONE), crash(TWO)), ours.directory)
    assert standings(ours.directory) == {0: ("crashed", "submitted"), 1: ("crashed", "submitted")}
    run_missing([ONE], ours, SerialExecutor(), retry_failed=True)
    ours.write(crash(TWO))
    assert standings(ours.directory) == {0: ("done", "local"), 1: ("crashed", "local")}


def test_merging_carries_on_where_runs_come_from(tmp_path: Path) -> None:
    archive = submitted(tmp_path, run_spec(ONE), run_spec(TWO), run_spec(THREE))
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    one.write(run_spec(TWO))
    for store in (one, other):
        add(archive, store.directory)
    expected = {0: ("done", "submitted"), 1: ("done", "local"), 2: ("done", "submitted")}
    for number, sources in enumerate([(one, other), (other, one)]):
        merge([store.directory for store in sources], tmp_path / f"all {number}")
        assert standings(tmp_path / f"all {number}") == expected
        # Another merge of the same, or of what was merged, changes nothing.
        assert merge([store.directory for store in sources], tmp_path / f"all {number}").runs == 0
        merge([tmp_path / f"all {number}"], tmp_path / f"copy {number}")
        assert standings(tmp_path / f"copy {number}") == expected


def test_data_that_turn_out_to_be_damaged_are_not_merged(tmp_path: Path) -> None:
    """The cache knows the file, whose size and time are what they were."""
    store = played(tmp_path / "r", [ONE])
    path = next(store.runs_directory.iterdir())
    whole, before = bytearray(path.read_bytes()), path.stat()
    whole[40] ^= 1
    path.write_bytes(whole)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(StoreError, match=r"set aside \(its content does not match its digest\): run the suite again"):
        merge([store.directory], tmp_path / "all")
    assert merge([store.directory], tmp_path / "all").runs == 0
    assert not (tmp_path / "all" / "runs").exists()


def test_compare() -> None:
    one = pd.DataFrame({"t": [1, 2, 3], "reward": [0.1, float("nan"), 0.3], "policy_seconds": [1.0, 2.0, 3.0]})
    assert compare(one, one.assign(policy_seconds=0.0)) is None
    assert "reward differs first at t = 3" in str(compare(one, one.assign(reward=[0.1, float("nan"), 0.3 + 1e-12])))
    assert compare(one, one.assign(reward=[0.1, float("nan"), 0.3 + 1e-12]), 1e-9) is None
    assert compare(one, one[:2]) == "3 evaluations against 2"
    assert compare(one, one.assign(width=1.0)) == "column width is in one trace only"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"horizon": 9}, "15 and not 9"),
        ({"seed": 1}, "0 and not 1"),
        ({"feedback": "delay:3"}, "'on_request' and not 'delay:3'"),
        ({"environments": [{"id": "GPBandit/RKHS-v0", "kwargs": {"n_arms": 9}}]}, "other tasks"),
    ],
)
def test_another_suite_of_the_same_name_is_not_merged(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    played(tmp_path / "one")
    other = played(tmp_path / "other")
    other.write_suite(parse_suite({**json.loads(SUITE.model_dump_json()), **change}).frozen())
    with pytest.raises(StoreError, match=f"holds another suite, with {said}"):
        merge([tmp_path / "one", tmp_path / "other"], tmp_path / "both")
    more = played(tmp_path / "more")
    more.write_suite(SUITE.model_copy(update={"repetitions": 3}))
    merge([tmp_path / "one", tmp_path / "more"], tmp_path / "shards")
