"""Workers, scheduler and harness are killed while 120 runs are played: each is there once, and is the serial one."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.play import players
from tests.leaderboards.work.test_schedule import rows, specs_of

pytestmark = pytest.mark.chaos

WORKER_KILLS = 10
_HANGS = 900  # seconds after which the harness will not end; on a busy machine it needs some minutes
HARNESS_KILLS = (3, 7)
SCHEDULER_KILL = 5
WORKER_START_SECONDS = 2.0  # a Dask worker killed while it starts takes its nanny with it

SCRIPT = """
import sys
from leaderboards.work.executors import Workforce
from leaderboards.work.schedule import run_missing
from leaderboards.store.store import Store
from tests.leaderboards.work.test_chaos import chaos_specs
if __name__ == "__main__":
    executor = Workforce(2, sys.argv[2], scheduler=sys.argv[3] or None).hired()
    run_missing(chaos_specs(), Store(sys.argv[1]), executor)
    executor.close()
"""


def chaos_specs() -> list[RunSpec]:
    return specs_of(Ref(players.path(players.Paused)), "EpsGreedy", "GP-UCB", repetitions=40, horizon=25)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    store = Store(tmp_path_factory.mktemp("serial"))
    assert run_missing(chaos_specs(), store, SerialExecutor()).ended == {"done": 120}
    return rows(store)


def offspring(parent: int, having: str) -> list[int]:
    """Child processes of `parent` whose command line holds `having`."""
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{parent}/task").iterdir():
            for child in (task / "children").read_text().split():
                with contextlib.suppress(OSError):
                    if having in Path(f"/proc/{child}/cmdline").read_text():
                        found.append(int(child))
    return found


def age(process: int) -> float:
    """Seconds since the process began; 0 if it has gone."""
    try:
        return time.time() - os.stat(f"/proc/{process}").st_ctime
    except OSError:
        return 0.0


def rampage(
    store: Store,
    executor: str,
    scheduler: str,
    workers: Callable[[int], list[int]],
    kill_scheduler: Callable[[], None] | None = None,
) -> int:
    """Kill until all kills are done and the harness has ended by itself; returns how many workers were killed."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", SCRIPT, str(store.directory), executor, scheduler])

    dice = random.Random(0)
    killed, harness, deadline = 0, start(), time.monotonic() + _HANGS
    while harness.poll() is None and time.monotonic() < deadline:
        time.sleep(0.25 + 0.5 * dice.random())
        alive = workers(harness.pid)
        if not alive or killed >= WORKER_KILLS:
            continue
        with contextlib.suppress(ProcessLookupError):  # it ended by itself
            os.kill(dice.choice(alive), signal.SIGKILL)
            killed += 1
            if killed in HARNESS_KILLS:
                harness.kill()
                assert harness.wait() == -signal.SIGKILL
                harness = start()
            if killed == SCHEDULER_KILL and kill_scheduler is not None:
                kill_scheduler()
            if killed == WORKER_KILLS:
                Path(os.environ["GPBANDIT_TEST_UNTIL"]).touch()
    if harness.poll() is None:
        harness.kill()
    assert harness.wait() == 0
    return killed


def check(store: Store, expected: pd.DataFrame, killed: int) -> None:
    assert killed == WORKER_KILLS
    runs = store.runs()
    assert sorted(runs.index) == sorted(spec.key for spec in chaos_specs())
    # A kill hits whatever is played: whoever is hit three times cannot be told from a run that kills its worker.
    lost = runs[runs["status"] != "done"]
    assert set(lost["reason"]) <= {"its worker process died, 3 times out of 3"}
    assert len(lost) <= WORKER_KILLS // 3
    if len(lost):
        run_missing(chaos_specs(), store, SerialExecutor(), retry_failed=True)
    assert (store.runs()["status"] == "done").all()
    assert not list(store.root.rglob("*.damaged"))
    pd.testing.assert_frame_equal(rows(store), expected, check_exact=True)


@pytest.fixture
def paused(tmp_path: Path, expected: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, of all processes that begin from here on, that take their time until all kills are done."""
    monkeypatch.setenv("GPBANDIT_TEST_PAUSE", "0.2")  # 200 seconds of one worker, and kills take a quarter of it
    monkeypatch.setenv("GPBANDIT_TEST_UNTIL", str(tmp_path / "all are killed"))


@pytest.mark.usefixtures("paused")
def test_local(tmp_path: Path, expected: pd.DataFrame) -> None:
    store = Store(tmp_path / "results")
    check(store, expected, rampage(store, "local", "", lambda harness: offspring(harness, "popen_loky")))


class Cluster:
    """A Dask scheduler and two nannies with one worker process each, as processes of their own."""

    def __init__(self, logs: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._log = logs.open("wb")
        self._processes: list[subprocess.Popen[bytes]] = []
        self.start()

    def start(self) -> None:
        environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0"}
        scheduler = ["distributed.cli.dask_scheduler", "--port", self.address.rpartition(":")[2], "--no-dashboard"]
        worker = ["distributed.cli.dask_worker", self.address, "--nthreads", "1", "--no-dashboard"]
        self._commands = (scheduler, worker, worker)
        self._environment = environment
        self._processes = [self._run(command) for command in self._commands]

    def _run(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", *command], env=self._environment, stdout=self._log, stderr=self._log
        )

    def workers(self, _: int) -> list[int]:
        """Workers that are up; a nanny that gave up is replaced, as a batch system does."""
        for i, process in enumerate(self._processes):
            if process.poll() is not None:
                self._processes[i] = self._run(self._commands[i])
        found = [pid for nanny in self._processes[1:] for pid in offspring(nanny.pid, "spawn_main")]
        return [pid for pid in found if age(pid) > WORKER_START_SECONDS]

    def restart(self) -> None:
        """Kill the scheduler and whatever hung on it, and start anew at the same address."""
        self.stop()
        self.start()

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()

    def close(self) -> None:
        self.stop()
        self._log.close()


@pytest.fixture
def cluster(tmp_path: Path, paused: None) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    found = Cluster(tmp_path / "cluster.log")
    yield found
    found.close()


def test_dask(tmp_path: Path, expected: pd.DataFrame, cluster: Cluster) -> None:
    store = Store(tmp_path / "results")
    check(store, expected, rampage(store, "dask", cluster.address, cluster.workers, cluster.restart))
