"""Jobs on a Dask cluster, on this machine or beyond; imported for the executor `dask` alone."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from typing import Any

from gpbandit_envs.arguments import as_count
from leaderboards.play.record import RunRecord
from leaderboards.work.executors import Ending, Executor, ExecutorError
from leaderboards.work.jobs import DEFAULT_LIMITS, Job, Limits, play_job

_PATIENCE_SECONDS = 60.0  # how long a Dask scheduler that went away is waited for
_CONNECT_SECONDS = 5.0
_IDLE_SECONDS = 10.0  # without any worker at a scheduler, before we say so
_HARMLESS = (CancelledError, asyncio.CancelledError, asyncio.TimeoutError, TimeoutError, OSError)
_log = logging.getLogger("gpbandit")


class DaskExecutor(Executor):
    """Jobs as futures of Dask distributed.

    At most `workers` jobs are with the cluster at a time, so that the order of jobs stays ours and what is lost with
    a scheduler is little. If the scheduler goes away, its jobs count as lost and it is waited for. The results folder
    must be one that all workers see under the same path.

    Args:
        workers: How many jobs run at a time; a local cluster has that many worker processes.
        limits: What each run may use.
        scheduler: Address of a running scheduler; None for a local cluster.

    Raises:
        ValueError: if there is to be no worker.
        ExecutorError: if Dask is not installed, or the scheduler does not answer.
    """

    def __init__(self, workers: int, limits: Limits = DEFAULT_LIMITS, scheduler: str | None = None) -> None:
        self.workers, self.limits = as_count("workers", workers), limits
        try:
            import distributed
        except ImportError:
            raise ExecutorError("--executor dask needs Dask: pip install 'gpbandit-envs[dask]'") from None
        self._dask: Any = distributed
        self._scheduler = scheduler
        self._idle_since: float | None = None
        self._cluster: Any = None
        self._client: Any = None
        self._running: dict[Any, Job] = {}
        # We report lost connections and killed workers ourselves; Dask's own log would repeat them.
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)
        self._connect(_CONNECT_SECONDS)

    def submit(self, job: Job) -> None:
        if self._client.status != "running":
            self._connect(_PATIENCE_SECONDS)
        # A job that was lost is submitted again by the schedule, which knows whom to blame; Dask would not.
        self._running[self._client.submit(play_job, job, pure=False, retries=0)] = job

    def collect(self, timeout: float) -> list[Ending]:
        if self._running and self._client.status == "running":
            # A cancelled future ends the wait with an error, and is found below.
            with contextlib.suppress(*_HARMLESS), self._client.as_current():
                self._dask.wait(list(self._running), timeout=timeout, return_when="FIRST_COMPLETED")
        gone = self._client.status != "running"
        if not gone:
            self._watch_workers()
        endings: list[Ending] = []
        for future, job in list(self._running.items()):
            if gone or future.status in ("cancelled", "lost"):
                endings.append((job, None))
            elif future.status in ("finished", "error"):
                endings.append((job, self._ended(future)))
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

    def _watch_workers(self) -> None:
        """Replace workers of the local cluster that would not start again; say so if a scheduler has no worker."""
        if self._cluster is not None and len(self._cluster.workers) < self.workers:
            self._cluster.scale(self.workers)
        if self._client.scheduler_info().get("workers"):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > _IDLE_SECONDS:
            self._idle_since = float("inf")  # said once
            _log.warning("the Dask scheduler has no worker; waiting for one (`dask worker ADDRESS` starts it)")

    def _ended(self, future: Any) -> list[RunRecord] | None:
        if future.status == "finished":
            try:
                ended: list[RunRecord] = future.result(timeout=_CONNECT_SECONDS)
            except _HARMLESS:
                return None  # the worker died with the result; the file that it wrote counts
            return ended
        error = future.exception()
        if isinstance(error, self._dask.KilledWorker | CancelledError | asyncio.CancelledError):
            return None
        raise error

    def _connect(self, patience: float) -> None:
        if self._client is not None:
            with contextlib.suppress(Exception):
                self._client.close(timeout=1)
        if self._scheduler is None and self._cluster is None:
            self._cluster = self._start_cluster()
        address = self._scheduler if self._scheduler is not None else self._cluster.scheduler_address
        deadline = time.monotonic() + patience
        while True:
            try:
                self._check_scheduler(address)
                self._client = self._dask.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
                break
            except (OSError, TimeoutError) as error:
                if time.monotonic() > deadline:
                    raise ExecutorError(
                        f"the Dask scheduler {address} does not answer ({error or 'it was silent'}): start it, then "
                        "give the same command again; what is done is kept"
                    ) from None
                _log.warning("the Dask scheduler %s does not answer; trying for %.0f s", address, patience)
                time.sleep(1.0)

    def _start_cluster(self) -> Any:
        """A cluster on this machine.

        Raises:
            ExecutorError: if it cannot be started.
        """
        import dask

        try:
            with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
                return self._dask.LocalCluster(
                    n_workers=self.workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address="127.0.0.1:0",  # any free port: two clusters at once would both ask for 8787
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                )
        except (RuntimeError, OSError) as error:
            raise ExecutorError(
                f"the local Dask cluster did not start ({error.__cause__ or error}): give the same command again, "
                "perhaps with fewer --workers, or with --executor local; what is done is kept"
            ) from None

    def _check_scheduler(self, address: str) -> None:
        """Make sure that a scheduler answers: Dask's client waits for ever for what something else never says.

        Raises:
            ExecutorError: if something else answers, or the address is none.
            OSError, TimeoutError: if nothing answers in time.
        """
        security = self._dask.Security().get_connection_args("client")

        async def ask() -> Any:
            async with self._dask.rpc(address, timeout=_CONNECT_SECONDS, connection_args=security) as peer:
                return await asyncio.wait_for(peer.identity(), _CONNECT_SECONDS)

        # In a thread of its own: this one may have a running loop, as in a notebook.
        thread = ThreadPoolExecutor(1)
        try:
            found = thread.submit(asyncio.run, asyncio.wait_for(ask(), 2 * _CONNECT_SECONDS)).result()["type"]
        except (OSError, TimeoutError):
            raise
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        finally:
            thread.shutdown(wait=False)
        if found != "Scheduler":
            raise ExecutorError(
                f"--scheduler: {address!r} is no Dask scheduler ({found}): give the address that `dask scheduler` "
                "prints, such as tcp://HOST:8786"
            )
