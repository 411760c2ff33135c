"""Shards, merged folders, packed results, verification and queries."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from leaderboards.play.exchange import add, merge, pack
from leaderboards.play.executors import SerialExecutor
from leaderboards.play.provenance import Provenance
from leaderboards.play.query import QueryError, query
from leaderboards.play.schedule import run_missing, shard
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.store import Store, StoreError
from leaderboards.play.verify import compare, verify

SUITE = {"name": "s", "environments": [], "agents": []}


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
    return store.traces(["action", "reward", "inference_regret", "width"], sorted(store.keys()))


def alter(store: Store, agent: str) -> str:
    """Change one reward of one run of `agent`; returns the run's key."""
    key = str(store.runs().query(f"agent == '{agent}'").index[0])
    path = Path(store.place(key)["path"])
    table = pq.read_table(path)
    frame = table.to_pandas()
    frame.loc[store.place(key)["start"] + 6, "reward"] += 1e-6
    columns = [frame[name].to_numpy() for name in table.column_names]
    pq.write_table(type(table).from_arrays(columns, schema=table.schema), path)
    return key


def test_shards_are_a_partition_with_all_agents_in_each() -> None:
    whole = specs(repetitions=40)
    parts = [shard(whole, i, 3) for i in (1, 2, 3)]
    assert sorted(spec.key for part in parts for spec in part) == sorted(spec.key for spec in whole)
    for part in parts:
        # 120 runs into 3 parts: 40 each with a standard deviation of 5.2.
        assert 19 <= len(part) <= 61
        assert {spec.agent.label for spec in part} == {"Uniform", "EpsGreedy", "GP-UCB"}
    for wrong in (0, 4):
        with pytest.raises(ValueError, match="shard: expected i/N"):
            shard(whole, wrong, 3)


def test_merged_shards_are_the_whole(tmp_path: Path) -> None:
    parts = [played(tmp_path / str(i), shard(specs(), i, 2)) for i in (1, 2)]
    received = merge([part.directory for part in parts], tmp_path / "all")
    assert (received.runs, received.known, received.rejected) == (18, 0, ())
    merged = Store(tmp_path / "all")
    pd.testing.assert_frame_equal(rows(merged), rows(played(tmp_path / "whole")), check_exact=True)
    assert merged.suite() == SUITE
    again = merge([part.directory for part in parts], tmp_path / "all")
    assert (again.runs, again.known) == (0, 18)


def test_merging_keeps_the_better_result_and_leaves_damage_out(tmp_path: Path) -> None:
    one, other = played(tmp_path / "1", specs()[:1]), played(tmp_path / "2", specs()[:2])
    (one.runs_directory / "broken.parquet").write_bytes(b"x")
    received = merge([one.directory, other.directory], tmp_path / "all")
    assert received.runs == 2
    assert len(received.rejected) == 1
    assert "broken.parquet" in received.rejected[0]
    with pytest.raises(StoreError, match="holds no results"):
        merge([tmp_path / "none"], tmp_path / "all")
    other.write_suite({**SUITE, "name": "another"})
    with pytest.raises(StoreError, match="holds suite 's' and not 'another'"):
        merge([other.directory], tmp_path / "all")


def test_packed_results_are_submitted_until_verified(tmp_path: Path) -> None:
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
    assert ours.runs()["standing"].value_counts().to_dict() == {"submitted": 9, "verified": 5, "local": 4}


def test_altered_results_are_found_by_verification(tmp_path: Path) -> None:
    store = played(tmp_path / "r")
    key = alter(store, "EpsGreedy")
    store = Store(store.directory)
    verdicts = {verdict.key: verdict for verdict in verify(store, store.keys(), tmp_path / "again", SerialExecutor())}
    assert [k for k, verdict in verdicts.items() if not verdict.agrees] == [key]
    assert verdicts[key].text.startswith("reward differs first at t = 7: ")
    assert Provenance(store.directory).standing(key) == "local"


def test_an_archive_is_not_trusted(tmp_path: Path) -> None:
    store = played(tmp_path / "r")
    pack(store.directory, tmp_path / "x.zip")
    with zipfile.ZipFile(tmp_path / "x.zip") as packed:
        contents = {name: packed.read(name) for name in packed.namelist()}
    listed = json.loads(contents["submission.json"])
    first, second = [name for name in contents if name.endswith(".parquet")][:2]
    contents[first] = contents[first][:-1] + b"x"
    outside = "../outside.parquet"
    contents[outside] = contents[second]
    listed["files"][outside] = listed["files"].pop(second)
    contents["submission.json"] = json.dumps(listed).encode()
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as packed:
        for name, content in contents.items():
            packed.writestr(name, content)
    target = tmp_path / "deep" / "target"
    received = add(tmp_path / "bad.zip", target)
    assert len(received.rejected) == 1
    assert f"{first}: its content does not have the hash" in received.rejected[0]
    assert {path.parent for path in (tmp_path / "deep").rglob("*.parquet")} == {target / "runs"}
    for content in (b"not a zip", b""):
        (tmp_path / "no.zip").write_bytes(content)
        with pytest.raises(StoreError, match="is no archive of `gpbandit submit`"):
            add(tmp_path / "no.zip", target)
    with pytest.raises(StoreError, match="no archive"):
        add(tmp_path / "missing.zip", target)
    with pytest.raises(StoreError, match="holds no readable run"):
        pack(tmp_path / "empty", tmp_path / "y.zip")


def test_compare() -> None:
    one = pd.DataFrame({"t": [1, 2, 3], "reward": [0.1, float("nan"), 0.3], "policy_seconds": [1.0, 2.0, 3.0]})
    assert compare(one, one.assign(policy_seconds=0.0)) is None
    assert "reward differs first at t = 3" in str(compare(one, one.assign(reward=[0.1, float("nan"), 0.3 + 1e-12])))
    assert compare(one, one.assign(reward=[0.1, float("nan"), 0.3 + 1e-12]), 1e-9) is None
    assert compare(one, one[:2]) == "3 evaluations against 2"
    assert compare(one, one.assign(width=1.0)) == "column width is in one trace only"


def test_query(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="the extra `query` is not installed")
    store = played(tmp_path / "it's")
    answer = query(store, "SELECT agent, count(*) AS n, sum(regret) AS r FROM traces GROUP BY agent ORDER BY agent")
    assert answer["agent"].tolist() == ["EpsGreedy", "GP-UCB", "Uniform"]
    assert answer["n"].tolist() == [90, 90, 90]
    runs = store.runs()
    for agent, total in zip(answer["agent"], answer["r"]):
        keys = [str(key) for key in runs.index[runs["agent"] == agent]]
        assert total == pytest.approx(store.traces(["regret"], keys)["regret"].sum())
    assert query(store, "SELECT count(*) AS n FROM runs WHERE status = 'done'")["n"].tolist() == [18]
    one = store.runs().index[0]
    first = query(store, f"SELECT t, reward FROM traces WHERE key = '{one}' ORDER BY t")
    assert first["reward"].tolist() == store.trace(str(one))["reward"].tolist()
    with pytest.raises(QueryError, match="the tables are runs and traces"):
        query(store, "SELECT nonsense FROM runs")
    with pytest.raises(QueryError, match="holds no trace"):
        query(Store(tmp_path / "empty"), "SELECT 1")
