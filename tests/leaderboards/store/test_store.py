from __future__ import annotations

import errno
import json
import logging
import os
import re
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpbandit_envs.channels import as_channel
from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref, RunSpec, env_seed
from leaderboards.play.suite import load_suite, parse_suite
from leaderboards.store import store as stores
from leaderboards.store.intact import open_json, seal_json, set_aside
from leaderboards.store.kept import KEPT, keep, kept_times, trace_digest
from leaderboards.store.origin import origin
from leaderboards.store.run_file import read_kept, read_traced, write_table
from leaderboards.store.store import Store, StoreError, SuiteLostError
from tests.leaderboards import folders
from tests.leaderboards.folders import stacked
from tests.leaderboards.hostile import rewrite


def record(repetition: int, horizon: int = 20, **changes: Any) -> RunRecord:
    spec = RunSpec(env=Ref("Test/Plain-v0"), agent=Ref("A", {"w": 1}), repetition=repetition, horizon=horizon)
    rng = np.random.default_rng(repetition)
    trace = pd.DataFrame(
        {"t": np.arange(1, horizon + 1), "reward": rng.normal(size=horizon), "width": rng.random(horizon)}
    )
    fields: dict[str, Any] = {"spec": spec, "status": "done", "trace": trace, "seconds": 0.5, "facts": {"gap": 0.1}}
    return RunRecord(**{**fields, **changes})


def crashed(repetition: int, rows: int = 0) -> RunRecord:
    whole = record(repetition)
    return record(repetition, status="crashed", reason="boom", error="Traceback", trace=whole.trace[:rows])


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def only_file(store: Store) -> Path:
    (path,) = store.runs_directory.iterdir()
    return path


def test_round_trip_of_single_runs_and_groups(store: Store) -> None:
    store.write(record(0))
    store.write(record(1), crashed(2), record(3), crashed(4, rows=5))
    assert len(list(store.runs_directory.iterdir())) == 2
    again = Store(store.directory)
    for repetition in (0, 1, 3):
        pd.testing.assert_frame_equal(
            again.trace(record(repetition).spec.key), record(repetition).trace, check_exact=True
        )
    assert len(again.trace(crashed(2).spec.key)) == 0
    pd.testing.assert_frame_equal(again.trace(crashed(4).spec.key), crashed(4, rows=5).trace, check_exact=True)
    assert again.done_keys() == {record(repetition).spec.key for repetition in (0, 1, 3)}
    assert again.keys("crashed") == {crashed(2).spec.key, crashed(4).spec.key}
    assert again.spec(record(3).spec.key) == record(3).spec
    entry = again.entry(record(3).spec.key)
    assert entry.facts == {"gap": 0.1}
    assert entry.origin == origin()
    assert entry.seeds == {"root": 0, "env": env_seed(record(3).spec)}
    written = json.loads(pq.read_table(again.path(entry)).column("origin")[0].as_py())
    assert {"gpbandit_envs", "commit", "python", "libraries", "machine"} == set(written)


def test_a_relative_folder_stays_where_it_was_and_as_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("results")
    store.write(record(0))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.write(record(1))
    store.write_suite(load_suite("quick"))
    store.write_cache()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert store.done_keys() == Store(tmp_path / "results").done_keys() == {record(0).spec.key, record(1).spec.key}
    assert len(store.trace(record(1).spec.key)) == 20
    assert store.suite() == Store(tmp_path / "results").suite()
    assert store.directory == Path("results")
    store.path(store.entry(record(0).spec.key)).unlink()
    with pytest.raises(StoreError, match=f"^results/runs/{record(0).spec.key}.parquet has gone: run the suite again$"):
        store.trace(record(0).spec.key)


def test_a_group_of_runs_with_different_columns_keeps_their_types(store: Store) -> None:
    box = record(1)
    box.trace = box.trace.rename(columns={"width": "dictionary_size"})
    store.write(record(0), box)
    for one in (record(0), box):
        pd.testing.assert_frame_equal(store.trace(one.spec.key), one.trace, check_exact=True)


def test_runs_has_one_row_a_run(store: Store) -> None:
    assert store.runs().empty
    assert {"env", "agent", "status"} < set(store.runs().columns)
    store.write(record(1), crashed(0))
    runs = store.runs()
    assert runs.index.name == "key"
    assert runs["repetition"].tolist() == [0, 1]
    assert runs["status"].tolist() == ["crashed", "done"]
    assert runs["reason"].isna().tolist() == [False, True]
    assert runs["evaluations"].tolist() == [0, 20]
    assert (runs["env"] == "Plain").all()


def test_labels_are_those_of_the_suite(store: Store) -> None:
    store.write(record(0))
    environment = {"id": "Test/Plain-v0", "kwargs": {}, "label": "plain", "horizon": 20, "feedback": "on_request"}
    agent = {"id": "A", "kwargs": {"w": 1.0}, "label": "best"}
    values = {"name": "s", "horizon": 5, "repetitions": 1, "environments": [environment], "agents": [agent]}
    store.write_suite(parse_suite(values))
    assert store.runs()[["env", "agent"]].to_numpy().tolist() == [["plain", "best"]]


def test_traces_of_many_runs(store: Store) -> None:
    store.write(record(2), record(0))
    store.write(record(1))
    keys = [record(repetition).spec.key for repetition in (1, 2, 0)]
    found = list(store.traces(["reward", "width", "unknown"], keys))
    assert [run.key for run, _ in found] == keys
    assert [len(trace["reward"]) for _, trace in found] == [20, 20, 20]
    frame = stacked(store, ["reward", "width", "unknown"], keys)
    expected = pd.concat([record(repetition).trace for repetition in (1, 2, 0)], ignore_index=True)
    np.testing.assert_array_equal(frame["reward"], expected["reward"])
    assert frame["unknown"].isna().all()
    assert len(stacked(store, ["t"])) == 60


def test_what_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(KeyError, match="no run nokey"):
        store.trace("nokey")
    with pytest.raises(KeyError, match="no run nokey"):
        store.traces(["t"], ["nokey"])
    store.write(record(0))
    with pytest.raises(KeyError, match="no column 'nope'; it has t, reward, width"):
        store.trace(record(0).spec.key, ["nope"])


def damage_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damage_foreign(path: Path) -> None:
    pq.write_table(pa.table({"x": [1]}), path)


def changed(**fields: Any) -> Callable[[Path], None]:
    """The same file with other fields of its entry."""
    return lambda path: rewrite(path, lambda metadata: metadata["runs"][0].update(fields))


def damage_key(path: Path) -> None:
    table = pq.read_table(path)
    key = pa.array(["0" * 32])
    write_table(path, table.set_column(table.column_names.index("key"), "key", key))


def damage_missing(path: Path) -> None:
    rewrite(path, lambda metadata: metadata["runs"][0].pop("seeds"))


def damage_label(path: Path) -> None:
    spec = record(0).spec.to_dict()
    changed(spec={**spec, "env": {**spec["env"], "label": None}})(path)


def damage_type(path: Path) -> None:
    rewrite(path, lambda _: None, {"reward": ["high"] * 20})


def damage_twice(path: Path) -> None:
    table = pq.read_table(path)
    write_table(path, pa.concat_tables([table, table]))


def damage_traces(path: Path) -> None:
    table = pq.read_table(path)
    write_table(path, table.select([name for name in table.column_names if not name.startswith("trace_")]))


@pytest.mark.wrong_arguments
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (damage_half, "its content does not match its digest"),
        (damage_foreign, "its content does not match its digest"),
        (damage_key, "does not belong to its spec"),
        (changed(rows=19), "done with 19 rows, horizon 20"),
        (damage_missing, "seeds: Field required"),
        (damage_label, "label: expected str, got None"),
        (damage_type, "column reward: expected numbers, got string"),
        (damage_twice, "it holds a run twice"),
        (damage_traces, "a run without its trace"),
    ],
)
def test_damaged_files_are_set_aside(store: Store, caplog: pytest.LogCaptureFixture, damage: Any, reason: str) -> None:
    store.write(record(0))
    path = only_file(store)
    store.write(record(1))
    damage(path)
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert store.done_keys() == {record(1).spec.key}
    aside = path.with_name(f"{path.name}.damaged")
    assert aside.exists()
    assert not path.exists()
    (line,) = caplog.messages
    assert re.search(rf"^{aside} was damaged and is set aside \(.*{reason}.*: its runs count as not played$", line)
    # Its run is played again.
    store.write(record(0))
    assert len(store.done_keys()) == 2


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE])
def test_what_the_system_refuses_is_no_damage(store: Store, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    store.write(record(0))
    path = only_file(store)

    def refused(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refused)
        with pytest.raises(OSError, match=os.strerror(number)):
            Store(store.directory).keys()
    assert path.exists()
    assert Store(store.directory).done_keys() == {record(0).spec.key}


def test_a_run_that_is_done_is_never_replaced_by_one_that_is_not(store: Store) -> None:
    store.write(record(0))
    store.write(record(1), record(2))
    before = rows_of(store)
    Store(store.directory).write(crashed(0))
    Store(store.directory).write(crashed(1), record(2))
    assert len(store.done_keys()) == 3
    pd.testing.assert_frame_equal(rows_of(store), before, check_exact=True)
    # The last failure counts until the run is done; then nothing is left of it.
    store.write(record(3, status="timeout", trace=pd.DataFrame()))
    store.write(crashed(3), crashed(4))
    store.write(crashed(3))
    assert store.entry(record(3).spec.key).status == "crashed"
    store.write(record(3, status="timeout", trace=pd.DataFrame()))
    assert store.keys("timeout") == {record(3).spec.key}
    store.write(record(3))
    assert store.keys("crashed", "timeout") == {crashed(4).spec.key}
    assert not [path for path in store.runs_directory.iterdir() if path.name.startswith(f"{record(3).spec.key}-")]


def rows_of(store: Store) -> pd.DataFrame:
    return stacked(store, ["t", "reward"])


def test_a_flipped_byte_in_the_data_is_found(store: Store) -> None:
    store.write(record(0, horizon=2000))
    path = only_file(store)
    key = record(0, horizon=2000).spec.key
    fresh = Store(store.directory)
    assert fresh.keys() == {key}
    data, stat = bytearray(path.read_bytes()), path.stat()
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(StoreError, match=r"match its digest\): run the suite again"):
        fresh.trace(key)
    assert fresh.keys() == set()
    assert not list(fresh.traces(["reward"]))


def test_a_file_that_has_gone_is_named(store: Store) -> None:
    store.write(record(0))
    assert len(store.keys()) == 1
    only_file(store).unlink()
    with pytest.raises(StoreError, match="has gone: run the suite again"):
        store.trace(record(0).spec.key)
    assert not list(store.traces(["t"], [record(0).spec.key]))
    assert store.keys() == set()


def test_other_files_are_left_alone(store: Store) -> None:
    store.write(record(0))
    left = store.runs_directory / f"{record(1).spec.key}.parquet.0123456789ab.tmp"
    for path in (store.runs_directory / "notes.txt", left):
        path.write_text("hello")
    assert len(store.keys()) == 1
    assert not list(store.root.rglob("*.damaged"))
    assert len(list(store.runs_directory.iterdir())) == 3


def test_a_store_sees_what_others_write(store: Store) -> None:
    store.write(record(0))
    assert len(store.keys()) == 1
    Store(store.directory).write(record(1))
    assert len(store.keys()) == 2
    Store(store.directory).write(crashed(1))
    only = [path for path in store.runs_directory.iterdir() if path.name.startswith(record(0).spec.key)]
    only[0].unlink()
    assert store.keys() == {record(1).spec.key}


def test_concurrent_writers_of_the_same_runs(store: Store) -> None:
    def write(_: int) -> None:
        for repetition in range(10):
            Store(store.directory).write(record(repetition))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert len(list(store.runs_directory.iterdir())) == 10
    assert len(store.done_keys()) == 10


def test_a_write_that_fails_leaves_what_was_there(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(record(0))
    before = only_file(store).read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "ParquetWriter", full)
    with pytest.raises(OSError, match="No space left"):
        store.write(record(0))
    assert only_file(store).read_bytes() == before


def test_a_whole_suite_of_another_version_stays_where_it_is(store: Store) -> None:
    path = store.directory / "suite.json"
    store.write_suite(load_suite("quick"))
    newer = open_json(path.read_bytes()) | {"referees": 3}
    path.write_bytes(seal_json(newer))
    for _ in range(2):
        with pytest.raises(StoreError, match=r"is as it was written, and gpbandit-envs .* 'referees'") as found:
            store.suite()
        assert not isinstance(found.value, SuiteLostError)
    assert open_json(path.read_bytes()) == newer


def test_a_damaged_suite_is_named_until_it_is_written_anew(store: Store) -> None:
    assert store.suite() is None
    quick, path = load_suite("quick"), store.directory / "suite.json"
    for content in ("{", "[]", '{"name": "x"}', None):
        store.write_suite(quick)
        assert store.suite() == quick.frozen()
        path.write_text(path.read_text().replace("quick", "quack", 1) if content is None else content)
        for read in (store.suite, Store(store.directory).runs):  # what belongs to the suite is not guessed
            with pytest.raises(SuiteLostError, match=r"suite.json is damaged \(.*\): run the suite again with --out"):
                read()
    store.write_suite(quick)
    assert store.suite() == quick.frozen()


def test_a_damaged_cache_is_made_anew(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.write(record(0))
    store.write_cache()
    path = store.directory / "entries.cache"
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"x" + whole[101:])
    fresh = Store(store.directory)
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert fresh.runs()["seconds"].tolist() == [0.5]
        fresh.write_cache()
    (line,) = caplog.messages
    assert "entries.cache.damaged was damaged and is set aside (its content does not match its digest)" in line
    assert path.read_bytes() == whole
    before = path.stat().st_ino
    fresh.write_cache()
    assert path.stat().st_ino == before, "a cache that says what is there is not written again"


def test_two_processes_set_the_same_file_aside(store: Store) -> None:
    store.directory.mkdir()
    (store.directory / "x").touch()
    for _ in range(2):
        said = set_aside(store.directory / "x", "broken")
        assert said == f"{store.directory / 'x.damaged'} was damaged and is set aside (broken)"


def test_what_cannot_be_set_aside_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.write(record(0))
    path = only_file(store)
    damage_half(path)

    def refused(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "replace", refused)
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert Store(store.directory).keys() == set()
    assert f"{path} was damaged (" in caplog.text
    assert "it could not be renamed: Read-only file system)" in caplog.text


@pytest.mark.parametrize(("T", "size"), [(96, 8), (100, 10), (99, 8)])
def test_a_campaign_of_few_plates_is_kept_at_their_ends(T: int, size: int) -> None:
    """After the first plate nothing that is recommended changes between; many plates are kept as none are."""
    found = kept_times(T, as_channel(f"batch:{size}"))
    assert found.tolist() == [*range(1, size), *range(size, T, size), T]
    assert kept_times(T, as_channel("batch:2")).tolist() == kept_times(T).tolist()


def test_what_is_kept_of_a_run(store: Store) -> None:
    """Sixty evaluations at most, to sixteen bits, and the values at the horizon in double precision."""
    horizon = 500
    whole = folders.record(Ref("Test/Plain-v0"), Ref("GP-UCB"), 0, horizon)
    store.write(whole, record(1), folders.record(Ref("Test/Plain-v0"), Ref("GP-UCB"), 1, 10))
    kept: Any = store.kept(whole.spec.key)
    assert kept.t.tolist() == kept_times(horizon).tolist()
    assert len(kept.t) <= 60
    regret = np.cumsum(whole.trace["regret"].to_numpy())
    np.testing.assert_allclose(kept.curves["cumulative_regret"], regret[kept.t - 1], rtol=2e-5)
    assert kept.finals["cumulative_regret"] == regret[-1]
    assert kept.digest == trace_digest(whole.trace)
    assert set(kept.curves) == set(KEPT)
    fresh: Any = keep(whole.spec, whole.trace)
    assert all(np.array_equal(fresh.curves[name], kept.curves[name], equal_nan=True) for name in KEPT)
    assert store.kept(record(1).spec.key) is None, "its trace lacks what scores are made of"
    assert len(read_kept(store.path(store.entry(whole.spec.key)))) == 2


def test_the_cache_is_a_copy_of_the_files(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(record(0), record(1))
    store.write(record(2))
    store.write_cache()
    opened: list[Path] = []

    def counted(path: Path) -> Any:
        opened.append(path)
        return read_traced(path)

    monkeypatch.setattr(stores, "read_traced", counted)
    pd.testing.assert_frame_equal(Store(store.directory).runs(), store.runs())
    assert not opened
    store.write(record(3))
    damaged = next(path for path in store.runs_directory.iterdir() if path.name.startswith(record(2).spec.key))
    damage_half(damaged)
    fresh = Store(store.directory)
    assert fresh.keys() == {record(repetition).spec.key for repetition in (0, 1, 3)}
    assert len(opened) == 2
    for content in (b"", b"PAR1"):
        (store.directory / "entries.cache").write_bytes(content)
        assert len(Store(store.directory).keys()) == 3


def test_files_of_a_newer_schema_are_left_where_they_are(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    store.write(record(0))
    path = only_file(store)
    write_table(path, pq.read_table(path).replace_schema_metadata({b"gpbandit": b"99"}))
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert Store(store.directory).keys() == set()
    assert path.exists()
    assert "schema 99 is newer than this version's 3: upgrade gpbandit-envs" in caplog.text


# ---- the lock file of boards pins all that the package needs, by its hash ----


ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "leaderboards" / "boards.lock").read_text()


def test_it_pins_all_that_the_package_needs() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[>=~<\[]", need)[0] for need in needed}
    assert names <= set(re.findall(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==", TEXT, re.MULTILINE))


def test_it_names_no_index_and_every_hash() -> None:
    assert "://" not in TEXT
    assert "index-url" not in TEXT
    for pin in re.split(r"\n(?=\S)", TEXT.strip()):
        assert "--hash=sha256:" in pin
