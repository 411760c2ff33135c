"""The Dask executor: serial results, whatever dies."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from leaderboards.store.store import Store
from leaderboards.work.executors import ExecutorError, SerialExecutor, Workforce
from leaderboards.work.jobs import Limits
from leaderboards.work.schedule import run_missing
from tests.leaderboards.play import players
from tests.leaderboards.work.test_schedule import MIXED, rows, specs_of

pytest.importorskip("distributed", reason="the extra `dask` is not installed")
from leaderboards.work.dask import DaskExecutor

pytestmark = [
    pytest.mark.slow,
    # Dask closes sockets of peers that were killed in its own time.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def dask() -> Iterator[DaskExecutor]:
    executor = DaskExecutor(2)
    yield executor
    executor.close()


def test_dask_is_serial(tmp_path: Path, dask: DaskExecutor) -> None:
    serial, parallel = Store(tmp_path / "serial"), Store(tmp_path / "dask")
    run_missing(specs_of(*MIXED), serial, SerialExecutor())
    assert run_missing(specs_of(*MIXED), parallel, dask).ended == {"done": 15}
    pd.testing.assert_frame_equal(rows(parallel), rows(serial), check_exact=True)


@pytest.mark.chaos
def test_deaths_hangs_and_crashes_cost_their_own_runs_only(tmp_path: Path) -> None:
    store = Store(tmp_path)
    limits = Limits(timeout=20.0)  # generous: a fresh worker imports everything within it, on a busy machine
    executor = DaskExecutor(2, limits)
    bad = [players.path(kind) for kind in (players.Dies, players.Raises, players.Hangs)]
    try:
        summary = run_missing(specs_of("Uniform", *bad, repetitions=1), store, executor)
    finally:
        executor.close()
    assert summary.ended == {"done": 1, "crashed": 2, "timeout": 1}
    status = store.runs().set_index("agent")["status"].to_dict()
    assert status == {"Uniform": "done", "Dies": "crashed", "Raises": "crashed", "Hangs": "timeout"}


@pytest.mark.parametrize("address", ["", "foo", "tcp://host:abc", "http://host:80"])
def test_an_address_of_no_scheduler(address: str) -> None:
    with pytest.raises(ExecutorError, match=f"--scheduler: '{address}' is no Dask scheduler|{address} does not answer"):
        Workforce(1, "dask", scheduler=address).hired()


@pytest.mark.parametrize(
    ("says", "expected"),
    [(b"", "does not answer"), (b"HTTP/1.0 400 Bad Request\r\n\r\n", "is no Dask scheduler|does not answer")],
)
def test_something_else_at_the_address(monkeypatch: pytest.MonkeyPatch, says: bytes, expected: str) -> None:
    monkeypatch.setattr("leaderboards.work.dask._CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        peers: list[socket.socket] = []

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    peers.append(server.accept()[0])
                    peers[-1].sendall(says)

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(ExecutorError, match=expected):
            Workforce(1, "dask", scheduler=f"tcp://127.0.0.1:{server.getsockname()[1]}").hired()
    for peer in peers:
        peer.close()


def test_a_cluster_that_never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(**_: object) -> None:
        raise RuntimeError("Nanny failed to start.") from OSError(98, "Address already in use")

    monkeypatch.setattr("distributed.LocalCluster", fails)
    with pytest.raises(ExecutorError, match=r"did not start \(.*Address already in use\): give the same"):
        Workforce(1, "dask").hired()


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboards.work.dask._CONNECT_SECONDS", 0.5)
    with pytest.raises(ExecutorError, match=r"tcp://127.0.0.1:9 does not answer .* start it, then give the same"):
        Workforce(1, "dask", scheduler="tcp://127.0.0.1:9").hired()
    with pytest.raises(ValueError, match="expected the executor 'dask', got 'local'"):
        Workforce(1, "local", scheduler="tcp://127.0.0.1:9").hired()
