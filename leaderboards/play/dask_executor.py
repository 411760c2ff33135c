"""Runs on a Dask cluster: a local one, or the workers of a running scheduler (the extra `dask`)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from concurrent.futures import CancelledError
from typing import Any

from leaderboards.play.executors import Ending, Executor, ExecutorError, bound_memory
from leaderboards.play.work import Limits, Outcome, Task, work

__all__ = ["DaskExecutor"]

_PATIENCE_SECONDS = 60.0  # how long a scheduler that went away is waited for
_CONNECT_SECONDS = 5.0
_HARMLESS = (CancelledError, asyncio.CancelledError, asyncio.TimeoutError, TimeoutError, OSError)
_log = logging.getLogger("gpbandit")


class DaskExecutor(Executor):
    """Tasks as futures of Dask distributed.

    At most `workers` tasks are with the cluster at a time, so that the order of tasks stays ours and what is lost with
    a scheduler is little. If the scheduler goes away, its tasks count as lost and it is waited for. The results folder
    must be one that all workers see under the same path.

    Args:
        workers: How many tasks run at a time; a local cluster has that many worker processes.
        limits: What each run may use.
        scheduler: Address of a running scheduler; None for a local cluster.

    Raises:
        ValueError: if there is to be no worker.
        ExecutorError: if Dask is not installed, or the scheduler does not answer.
    """

    def __init__(self, workers: int, limits: Limits | None = None, scheduler: str | None = None) -> None:
        if workers < 1:
            raise ValueError(f"workers: expected at least 1, got {workers}")
        try:
            import distributed
        except ImportError:
            raise ExecutorError("--executor dask needs Dask: pip install 'gpbandit-envs[dask]'") from None
        self.workers = workers
        self._dask: Any = distributed
        self._memory = (limits or Limits()).memory
        self._scheduler = scheduler
        self._cluster: Any = None
        self._client: Any = None
        self._running: dict[Any, Task] = {}
        # Lost connections and killed workers are our business and are told as such; Dask's own log repeats them.
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)
        self._connect(_CONNECT_SECONDS)

    def free(self) -> int:
        return self.workers - len(self._running)

    def submit(self, task: Task) -> None:
        if self._client.status != "running":
            self._connect(_PATIENCE_SECONDS)
        # A task that was lost is submitted again by the schedule, which knows whom to blame; Dask would not.
        self._running[self._client.submit(work, task, pure=False, retries=0)] = task

    def collect(self, timeout: float) -> list[Ending]:
        if self._running and self._client.status == "running":
            # A cancelled future ends the wait with an error, and is found below.
            with contextlib.suppress(*_HARMLESS), self._client.as_current():
                self._dask.wait(list(self._running), timeout=timeout, return_when="FIRST_COMPLETED")
        gone = self._client.status != "running"
        endings: list[Ending] = []
        for future, task in list(self._running.items()):
            if gone or future.status in ("cancelled", "lost"):
                endings.append((task, None))
            elif future.status in ("finished", "error"):
                endings.append((task, self._outcomes(future)))
            else:
                continue
            del self._running[future]
        return endings

    def close(self) -> None:
        for future in self._running:
            with contextlib.suppress(Exception):  # the cluster may be gone already
                future.cancel()
        self._running = {}
        for thing in (self._client, self._cluster):
            if thing is not None:
                with contextlib.suppress(Exception):
                    thing.close()

    def _outcomes(self, future: Any) -> list[Outcome] | None:
        if future.status == "finished":
            try:
                outcomes: list[Outcome] = future.result(timeout=_CONNECT_SECONDS)
            except _HARMLESS:
                return None  # the worker died with the result; the file that it wrote counts
            return outcomes
        error = future.exception()
        if isinstance(error, self._dask.KilledWorker | CancelledError | asyncio.CancelledError):
            return None
        raise error

    def _connect(self, patience: float) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=1)
        if self._scheduler is None and self._cluster is None:
            import dask

            with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
                self._cluster = self._dask.LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=":0",
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                )
        address = self._scheduler if self._scheduler is not None else self._cluster
        deadline = time.monotonic() + patience
        while True:
            try:
                self._client = self._dask.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
                break
            except (OSError, ValueError) as error:
                if time.monotonic() > deadline:
                    raise ExecutorError(
                        f"the Dask scheduler {address} does not answer ({error}): start it, then give the same command "
                        "again; what is done is kept"
                    ) from None
                _log.warning("the Dask scheduler %s does not answer; trying for %.0f s", address, patience)
                time.sleep(1.0)
        if self._memory is not None:
            self._client.register_plugin(_bounded(self._memory))


def _bounded(memory: int) -> Any:
    """A worker plugin that bounds the memory of every worker, those that come later too."""
    from distributed import WorkerPlugin

    class Bounded(WorkerPlugin):
        name = "gpbandit-memory"

        def setup(self, worker: Any) -> None:
            bound_memory(memory)

    return Bounded()
