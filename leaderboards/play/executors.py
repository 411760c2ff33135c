"""Where tasks run: one small interface, in this process or in processes of its own.

An executor does not decide anything: it says how many tasks it can take, takes them, and tells how each ended, with its
outcomes or lost with its worker. What to do then is up to `leaderboards.play.schedule`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from leaderboards.play.work import Limits, Outcome, Task, work

__all__ = [
    "EXECUTORS",
    "Ending",
    "Executor",
    "ExecutorError",
    "LocalExecutor",
    "SerialExecutor",
    "make_executor",
    "process_pool",
]

Ending = tuple[Task, list[Outcome] | None]
"""A task and its outcomes, or None if its worker died."""

_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}


class ExecutorError(RuntimeError):
    """Workers cannot be had; the text says what to do."""


class Executor(ABC):
    """Runs tasks.

    Attributes:
        workers: How many tasks run at a time.
        separate: Whether workers are processes of their own, which may be stopped.
    """

    workers: int
    separate: bool = True

    @abstractmethod
    def free(self) -> int:
        """How many tasks may be submitted now."""

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Start a task; only while `free()` is positive."""

    @abstractmethod
    def collect(self, timeout: float) -> list[Ending]:
        """Tasks that have ended; waits for the first, at most `timeout` seconds.

        Raises:
            OSError: if a worker could not write its results.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop the workers, with what they are at."""


class SerialExecutor(Executor):
    """One task after the other, in this process: for debugging."""

    workers = 1
    separate = False

    def __init__(self) -> None:
        self._task: Task | None = None

    def free(self) -> int:
        return 1 if self._task is None else 0

    def submit(self, task: Task) -> None:
        self._task = task

    def collect(self, timeout: float) -> list[Ending]:
        if self._task is None:
            return []
        task, self._task = self._task, None
        return [(task, work(task))]

    def close(self) -> None:
        self._task = None


class LocalExecutor(Executor):
    """Worker processes on this machine.

    Every worker is a loky pool of one process, so that a dead worker is known by its task, and no other task dies
    with it.

    Args:
        workers: Number of processes.
        limits: What each run may use; the memory limit holds for the worker's life.
    """

    def __init__(self, workers: int, limits: Limits | None = None) -> None:
        if workers < 1:
            raise ValueError(f"workers: expected at least 1, got {workers}")
        self.workers = workers
        self._memory = (limits or Limits()).memory
        self._idle: list[Any] = []
        self._running: dict[Future[list[Outcome]], tuple[Any, Task]] = {}

    def free(self) -> int:
        return self.workers - len(self._running)

    def submit(self, task: Task) -> None:
        from loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        while True:
            pool = self._idle.pop() if self._idle else process_pool(1, self._memory)
            try:
                self._running[pool.submit(work, task)] = (pool, task)
                return
            except (BrokenProcessPool, ShutdownExecutorError):  # killed while it was idle
                pool.shutdown(kill_workers=True)

    def collect(self, timeout: float) -> list[Ending]:
        from loky.process_executor import BrokenProcessPool

        endings: list[Ending] = []
        for future in wait(self._running, timeout, FIRST_COMPLETED).done:
            pool, task = self._running.pop(future)
            try:
                endings.append((task, future.result()))
                self._idle.append(pool)
            except BrokenProcessPool:
                pool.shutdown(kill_workers=True)
                endings.append((task, None))
            except BaseException:
                self._idle.append(pool)
                raise
        return endings

    def close(self) -> None:
        for pool in [*self._idle, *(pool for pool, _ in self._running.values())]:
            pool.shutdown(kill_workers=True)
        self._idle, self._running = [], {}


EXECUTORS = ("serial", "local", "dask")


def make_executor(name: str, workers: int, limits: Limits | None = None, scheduler: str | None = None) -> Executor:
    """The executor `name` with that many workers.

    Args:
        name: One of `EXECUTORS`.
        workers: How many runs at a time.
        limits: What each run may use.
        scheduler: Address of a running Dask scheduler, for the executor `"dask"`.

    Raises:
        ValueError: if there is none of that name, it has no scheduler, or this platform cannot bound memory.
        ExecutorError: if it cannot be started.
    """
    if limits is not None and limits.memory is not None and sys.platform != "linux":
        raise ValueError("memory: expected None, since address space can be bounded on Linux only")
    if scheduler is not None and name != "dask":
        raise ValueError(f"scheduler: expected the executor 'dask', got {name!r}")
    if name == "dask":
        from leaderboards.play.dask_executor import DaskExecutor

        return DaskExecutor(workers, limits, scheduler)
    if name == "serial":
        return SerialExecutor()
    if name == "local":
        return LocalExecutor(workers, limits)
    raise ValueError(f"executor: expected one of {', '.join(EXECUTORS)}, got {name!r}")


def process_pool(workers: int, memory: int | None = None) -> Any:
    """A loky pool whose workers use one BLAS thread, end with this process, and may use `memory` further bytes."""
    from loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        workers, timeout=None, initializer=_settle, initargs=(os.getpid(), memory), env=_ONE_THREAD
    )


def _settle(parent: int, memory: int | None) -> None:
    """Prepare a worker process: the parent alone decides when it ends, and its memory is bounded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # PR_SET_PDEATHSIG: nobody is left behind when the parent is killed. It is sent when the thread that made the
        # worker ends, which is the thread of the schedule.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    if memory is not None:
        bound_memory(memory)


def bound_memory(extra: int) -> None:
    """Let this process have `extra` bytes of address space beyond what it has now."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + extra, resource.RLIM_INFINITY))


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _address_space() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
