"""Whatever happens to workers and harness, every run is there once and is what a serial run gives."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import agents
from leaderboards.api.run_suite import run_suite
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store, StoreError
from leaderboards.work import executors
from leaderboards.work.executors import Executor, ExecutorError, LocalExecutor, SerialExecutor, Workforce
from leaderboards.work.jobs import Limits, read_progress
from leaderboards.work.schedule import missing, run_missing
from tests.leaderboards.folders import stacked
from tests.leaderboards.play import players

RKHS = Ref("GPBandit/RKHS-v0", {"n_arms": 30})


def specs_of(*names: str | Ref, repetitions: int = 3, horizon: int = 60, env: Ref = RKHS) -> list[RunSpec]:
    refs = [name if isinstance(name, Ref) else Ref(name) for name in names]
    return [
        RunSpec(env=env, agent=ref, repetition=repetition, horizon=horizon)
        for repetition, ref in itertools.product(range(repetitions), refs)
    ]


def rows(store: Store) -> pd.DataFrame:
    """Everything but the clock."""
    columns = ["t", "action", "reward", "mean", "regret", "batch", "inference_regret", "cost", "width"]
    return stacked(store, columns, sorted(store.keys()))


@pytest.fixture
def local() -> Iterator[LocalExecutor]:
    executor = LocalExecutor(2)
    yield executor
    executor.close()


MIXED = ("Uniform", "EpsGreedy", "GP-UCB", "BBKB", players.path(players.Adaptive))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("reference"))
    summary = run_missing(specs_of(*MIXED), store, SerialExecutor())
    assert summary.ended == {"done": 15}
    return store


def test_parallel_is_serial(tmp_path: Path, local: LocalExecutor, reference: Store) -> None:
    store = Store(tmp_path)
    assert run_missing(specs_of(*MIXED), store, local).ended == {"done": 15}
    pd.testing.assert_frame_equal(rows(store), rows(reference), check_exact=True)


@pytest.mark.parametrize(("name", "workers"), [("serial", 1), pytest.param("local", 2, marks=pytest.mark.slow)])
def test_an_agent_that_changes_the_working_folder_loses_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, workers: int
) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    specs = specs_of("Uniform", Ref(players.path(players.Wanders), {"folder": str(elsewhere)}), horizon=20)
    with closing(Workforce(workers, name, Limits(checkpoint=1e-6)).hired()) as executor:
        played = Store("played")
        assert run_missing(specs, played, executor).ended == {"done": 6}
    assert Path.cwd() == tmp_path
    assert list(elsewhere.iterdir()) == []
    assert played.done_keys() == Store(tmp_path / played.directory).done_keys() == {spec.key for spec in specs}


def test_a_working_folder_that_was_removed_loses_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run_missing(specs_of("Uniform"), Store(tmp_path / "played"), SerialExecutor()).ended == {"done": 3}


def test_a_second_call_does_only_what_is_missing(tmp_path: Path, reference: Store) -> None:
    store = Store(tmp_path)
    specs = specs_of(*MIXED)
    run_missing(specs[:4], store, SerialExecutor())
    before = {path: path.stat().st_mtime_ns for path in store.runs_directory.iterdir()}
    assert len(missing(specs, store)) == 11
    summary = run_missing(specs, store, SerialExecutor())
    assert (summary.before, summary.ended) == (4, {"done": 11})
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items())
    assert run_missing(specs, store, SerialExecutor()).ended == {}
    pd.testing.assert_frame_equal(rows(store), rows(reference), check_exact=True)


class _Disturbed(SerialExecutor):
    """Something happens to the results folder after the first job."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens: Callable[[], object] | None = happens

    def collect(self, timeout: float) -> list[Any]:
        ended = super().collect(timeout)
        if self._happens is not None:
            self._happens()
            self._happens = None
        return ended


@pytest.mark.parametrize("what", ["moved", "removed", "replaced", "runs moved"])
def test_a_folder_that_is_moved_meanwhile_is_not_made_anew(tmp_path: Path, what: str) -> None:
    folder, elsewhere = tmp_path / "r", tmp_path / "elsewhere"

    def happens() -> None:
        if what == "removed":
            shutil.rmtree(folder)
        else:
            (folder / "runs" if what == "runs moved" else folder).rename(elsewhere)
        if what == "replaced":
            (folder / "runs").mkdir(parents=True)

    with pytest.raises(StoreError, match=r"r was moved, renamed or removed while runs were written to it: those that"):
        run_missing(specs_of("Uniform", repetitions=2, horizon=5), Store(folder), _Disturbed(happens))
    assert not Store(folder).keys()
    if what in ("moved", "replaced"):
        assert len(Store(elsewhere).done_keys()) == 1


class _Pool:
    """A pool of processes that cannot have one, and says which signals wait."""

    def __init__(self, number: int = 0) -> None:
        self.number, self.blocked = number, set[int]()

    def submit(self, *_: Any) -> Future[Any]:
        self.blocked = set(signal.pthread_sigmask(signal.SIG_BLOCK, []))
        if self.number:
            raise OSError(self.number, os.strerror(self.number))
        return Future()

    def shutdown(self, **_: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, r"needs a lock in shared memory, /dev/shm, \(No space left on device\): make room there"),
        (errno.EROFS, r"needs a lock in shared memory, /dev/shm, \(Read-only file system\)"),
        (errno.EACCES, r"needs a lock in shared memory, /dev/shm, \(Permission denied\)"),
        (errno.EAGAIN, r"needs more than the system gives \(Resource temporarily unavailable\): end other processes"),
        (errno.EMFILE, r"needs more than the system gives \(Too many open files\)"),
    ],
)
def test_a_worker_that_cannot_be_started_is_told_from_the_folder(
    tmp_path: Path, number: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "process_pool", lambda *_: _Pool(number))
    with closing(LocalExecutor(2)) as executor, pytest.raises(ExecutorError, match=said):
        run_missing(specs_of("Uniform"), Store(tmp_path), executor)
    with pytest.raises(ExecutorError, match=said):
        list(executors.in_processes(str, [1, 2], 2, "counts"))


def test_ctrl_c_waits_while_a_worker_starts() -> None:
    """A new process inherits what waits: Ctrl-C ended one that was not prepared yet with a traceback."""
    pool = _Pool()
    executors._submitted(pool, str, 1)
    assert signal.SIGINT in pool.blocked
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_short_runs_share_files(tmp_path: Path, local: LocalExecutor) -> None:
    store = Store(tmp_path)
    specs = specs_of("Uniform", repetitions=200, horizon=5)
    assert run_missing(specs, store, local).ended == {"done": 200}
    assert len(list(store.runs_directory.iterdir())) < 100  # how many share one depends on how long they take
    assert store.done_keys() == {spec.key for spec in specs}


@pytest.mark.chaos
def test_a_crash_costs_its_own_runs_only(tmp_path: Path, local: LocalExecutor) -> None:
    store = Store(tmp_path)
    bad = [players.path(kind) for kind in (players.Raises, players.Exits, players.Mutates)]
    summary = run_missing(specs_of("Uniform", *bad), store, local)
    assert summary.ended == {"done": 3, "crashed": 9}
    raised = store.runs().query("agent == 'Raises'")
    assert raised["reason"].str.startswith("agent: RuntimeError: no idea what to pull (players.py, line ").all()
    assert raised["error"].str.contains("Traceback").all()
    assert (raised["tries"] == 3).all()
    assert (raised["evaluations"] == 5).all()
    assert {failure.spec.agent.label for failure in summary.failures} == {"Raises", "Exits", "Mutates"}


def test_what_passes_by_itself_is_tried_again(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    store = Store(tmp_path / "results")
    twice = Ref(players.path(players.Raises), {"folder": str(counts), "times": 2})
    assert run_missing(specs_of(twice, repetitions=1), store, SerialExecutor()).ended == {"done": 1}
    assert store.runs()["tries"].tolist() == [3]


def test_retry_failed_plays_again_what_is_not_done(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    store = Store(tmp_path / "results")
    specs = specs_of("Uniform", Ref(players.path(players.Raises), {"folder": str(counts), "times": 3}), repetitions=1)
    assert run_missing(specs, store, SerialExecutor()).ended == {"done": 1, "crashed": 1}
    assert run_missing(specs, store, SerialExecutor()).ended == {}
    assert run_missing(specs, store, SerialExecutor(), retry_failed=True).ended == {"done": 1}
    assert store.runs()["status"].tolist() == ["done", "done"]


@pytest.mark.chaos
@pytest.mark.parametrize("status", ["timeout", "skipped", "crashed"])
def test_retry_failed_takes_no_old_verdict(tmp_path: Path, local: LocalExecutor, status: Status) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    store = Store(tmp_path / "results")
    (spec,) = specs_of(Ref(players.path(players.Dies), {"folder": str(counts), "times": 1}), repetitions=1)
    store.write(RunRecord(spec, status, pd.DataFrame(), reason="long ago"))
    summary = run_missing([spec], store, local, retry_failed=True)
    assert summary.ended == {"done": 1}
    assert store.done_keys() == {spec.key}
    assert len(list(counts.iterdir())) == 2


def test_what_does_not_fit_is_skipped(tmp_path: Path) -> None:
    store = Store(tmp_path)
    summary = run_missing(specs_of("BBKB", env=Ref("Test/Box-v0"), repetitions=1), store, SerialExecutor())
    assert summary.ended == {"skipped": 1}
    assert "finite" in store.runs()["reason"].iloc[0]


@pytest.mark.chaos
def test_an_agent_that_always_kills_its_process_ends_as_crashed(tmp_path: Path, local: LocalExecutor) -> None:
    store = Store(tmp_path)
    summary = run_missing(specs_of("Uniform", players.path(players.Dies), repetitions=2), store, local)
    assert summary.ended == {"done": 2, "crashed": 2}
    dead = store.runs().query("status == 'crashed'")
    assert (dead["agent"] == "Dies").all()
    assert (dead["reason"] == "its worker process died, 3 times out of 3").all()


def test_two_harnesses_on_one_folder(tmp_path: Path, reference: Store) -> None:
    store = Store(tmp_path)
    harnesses = [
        threading.Thread(target=run_missing, args=(specs_of(*MIXED), Store(tmp_path), executor))
        for executor in (SerialExecutor(), SerialExecutor())
    ]
    for harness in harnesses:
        harness.start()
    for harness in harnesses:
        harness.join()
    pd.testing.assert_frame_equal(rows(store), rows(reference), check_exact=True)


@pytest.mark.chaos
@pytest.mark.parametrize("deaf", [False, True])
def test_a_run_that_hangs_is_stopped(tmp_path: Path, deaf: bool) -> None:
    store = Store(tmp_path)
    limits = Limits(timeout=10.0)
    executor = LocalExecutor(2, limits)
    hangs = Ref(players.path(players.Hangs), {"deaf": deaf})
    try:
        summary = run_missing(specs_of("Uniform", hangs, repetitions=1), store, executor)
    finally:
        executor.close()
    assert summary.ended == {"done": 1, "timeout": 1}
    late = store.runs().query("status == 'timeout'").iloc[0]
    assert late["agent"] == "Hangs"
    assert late["reason"].startswith("took longer than 10 s")
    # The traceback says where it hung.
    assert "in select" in late["error"]


@pytest.mark.chaos
def test_a_serial_run_that_hangs_is_stopped(tmp_path: Path) -> None:
    store = Store(tmp_path)
    specs = specs_of(players.path(players.Hangs), "Uniform", repetitions=1)
    summary = run_missing(specs, store, SerialExecutor(Limits(timeout=4.0)))
    assert summary.ended == {"done": 1, "timeout": 1}


def in_a_thread(call: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(call).result()


def test_runs_are_played_where_their_time_can_be_limited() -> None:
    for limits, kind in ((Limits(), LocalExecutor), (Limits(timeout=None), SerialExecutor)):
        assert isinstance(Workforce(limits=limits).hired(), SerialExecutor)
        assert isinstance(in_a_thread(Workforce(limits=limits).hired), kind)


@pytest.mark.slow
def test_a_limit_of_time_holds_in_a_thread(tmp_path: Path) -> None:
    slow = (players.path(players.Slow), {"seconds": 1.0})
    suite = {"name": "x", "horizon": 30, "repetitions": 1, "environments": [RKHS], "agents": [slow]}
    results = in_a_thread(partial(run_suite, suite, out=tmp_path, timeout=2.0, progress=False))
    assert results.runs()["reason"].tolist() == ["took longer than 2 s"]


@pytest.mark.chaos
def test_a_run_that_eats_memory_is_stopped(tmp_path: Path) -> None:
    store = Store(tmp_path)
    limits = Limits(memory=1 << 29)
    with closing(LocalExecutor(1, limits)) as executor:
        summary = run_missing(specs_of(players.path(players.Greedy), "Uniform", repetitions=1), store, executor)
    assert summary.ended == {"done": 1, "crashed": 1}
    assert "Memory" in store.runs().query("status == 'crashed'")["reason"].iloc[0]


def test_agents_of_a_script_reach_the_workers(tmp_path: Path, local: LocalExecutor) -> None:
    class Mine(players.Counter):
        """Lives in no module that a worker could import it from."""

    agents.register("Test-Mine", Mine)
    assert run_missing(specs_of("Test-Mine"), Store(tmp_path), local).ended == {"done": 3}


@pytest.mark.chaos
@pytest.mark.parametrize("kind", [SerialExecutor, lambda: LocalExecutor(2)])
def test_results_that_cannot_be_written_stop_the_harness(tmp_path: Path, kind: type[Executor]) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    with closing(kind()) as executor, pytest.raises(OSError, match="runs"):
        run_missing(specs_of("Uniform"), Store(tmp_path), executor)


def test_diaries(tmp_path: Path) -> None:
    diary = tmp_path / "diary.txt"
    assert read_progress(diary) == (None, "")
    diary.write_text("one\ntwo\n")
    assert read_progress(diary) == ("two", "")
    diary.write_text("one\ntwo\nTimeout (0:00:01)!\nThread 0x1\n")
    assert read_progress(diary) == ("two", "Timeout (0:00:01)!\nThread 0x1")


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"timeout": 0}, "timeout: expected a finite number > 0, got 0"),
        ({"timeout": "3"}, "timeout: expected a finite number > 0, got '3'"),
        ({"timeout": float("inf")}, "timeout: expected a finite number > 0, got inf"),
        ({"timeout": 1e12}, "timeout: expected a finite number > 0, between 1e-06 and 1e"),
        ({"memory": "1GB"}, "memory: expected an integer >= 1, got '1GB'"),
        ({"checkpoint": None}, "checkpoint: expected a finite number > 0, got None"),
    ],
)
def test_limits_that_are_none_are_refused(limits: dict[str, Any], said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        Limits(**limits)


def test_unknown_executors() -> None:
    with pytest.raises(ValueError, match="memory: expected another executor than serial, which plays in this process"):
        Workforce(1, "serial", Limits(memory=1 << 29))
    with pytest.raises(ValueError, match="executor: expected one of serial, local"):
        Workforce(1, "cloud").hired()
    with pytest.raises(ValueError, match="workers: expected an integer >= 1, got 0"):
        LocalExecutor(0)
