"""Executors hand jobs to workers: in this process, or in processes on this machine; Dask's are in `dask`.

An executor only runs jobs and reports how each ended, with its records or lost with its worker. When to try a run
again is decided in `leaderboards.work.schedule`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, as_completed, wait
from dataclasses import dataclass
from typing import Any, TypeVar

from gpbandit_envs.arguments import as_count
from leaderboards.play.processor import ONE_THREAD, portable_environment
from leaderboards.play.record import RunRecord
from leaderboards.work.jobs import DEFAULT_LIMITS, Job, Limits, can_interrupt, play_job

# What `sem_open` says where /dev/shm is full, read-only, closed to this user or not there.
_NO_SHARED_MEMORY = (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOSYS)

EXECUTORS = ("serial", "local", "dask")

T = TypeVar("T")
R = TypeVar("R")

Ending = tuple[Job, list[RunRecord] | None]
"""A job and how its runs ended, without their traces; None if its worker died."""


class ExecutorError(RuntimeError):
    """No workers are available; the text says what to do."""


class Executor(ABC):
    """Runs jobs.

    Attributes:
        workers: How many jobs run at a time.
        limits: What each run may use.
        in_subprocess: Whether workers are separate processes, which may be killed.
    """

    workers: int
    limits: Limits
    in_subprocess: bool = True

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Start a job; only while fewer than `workers` are open."""

    @abstractmethod
    def collect(self, timeout: float) -> list[Ending]:
        """Jobs that have ended; waits for the first, at most `timeout` seconds.

        Raises:
            OSError: if a worker could not write its results.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop the workers and the runs that they play."""


class SerialExecutor(Executor):
    """One job after the other, in this process: for debugging."""

    workers = 1
    in_subprocess = False

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._job: Job | None = None

    def submit(self, job: Job) -> None:
        self._job = job

    def collect(self, timeout: float) -> list[Ending]:
        if self._job is None:
            return []
        job, self._job = self._job, None
        return [(job, play_job(job))]

    def close(self) -> None:
        self._job = None


class LocalExecutor(Executor):
    """Worker processes on this machine.

    Every worker is a loky pool of one process, so that a dead worker is known by its job, and no other job dies
    with it.

    Args:
        workers: Number of processes.
        limits: What each run may use.
        portable: Whether they compute with loops that every x86-64-v3 processor has, as boards are played, see
            `leaderboards.play.processor`.
        variables: Further variables that they start with, such as those of other loops.
    """

    def __init__(
        self,
        workers: int,
        limits: Limits = DEFAULT_LIMITS,
        *,
        portable: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.workers = as_count("workers", workers)
        self.limits = limits
        self._variables = (portable_environment() if portable else {}) | dict(variables or {})
        self._idle: list[Any] = []
        self._running: dict[Future[list[RunRecord]], tuple[Any, Job]] = {}

    def submit(self, job: Job) -> None:
        from loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        while True:
            pool = self._idle.pop() if self._idle else process_pool(1, self._variables)
            try:
                self._running[_submitted(pool, play_job, job)] = (pool, job)
                return
            except (BrokenProcessPool, ShutdownExecutorError):  # killed while it was idle
                pool.shutdown(kill_workers=True)

    def collect(self, timeout: float) -> list[Ending]:
        from loky.process_executor import BrokenProcessPool

        endings: list[Ending] = []
        for future in wait(self._running, timeout, FIRST_COMPLETED).done:
            pool, job = self._running.pop(future)
            try:
                endings.append((job, future.result()))
                self._idle.append(pool)
            except BrokenProcessPool:
                pool.shutdown(kill_workers=True)
                endings.append((job, None))
            except BaseException:
                self._idle.append(pool)
                raise
        return endings

    def close(self) -> None:
        for pool in [*self._idle, *(pool for pool, _ in self._running.values())]:
            pool.shutdown(kill_workers=True)
        self._idle, self._running = [], {}


@dataclass(frozen=True)
class Workforce:
    """Who plays.

    Attributes:
        workers: Runs at a time.
        executor: One of `EXECUTORS`; None for this process with one worker, and as many processes with more, or in a
            thread in which no limit of time could be kept.
        limits: What each run may use.
        scheduler: Address of a running Dask scheduler, for the executor `"dask"`.
        portable: See `LocalExecutor`; the others cannot choose, since their NumPy is loaded.

    Raises:
        ValueError: naming the argument that is out of range, or that does not go with the executor.
    """

    workers: int = 1
    executor: str | None = None
    limits: Limits = DEFAULT_LIMITS
    scheduler: str | None = None
    portable: bool = False

    def __post_init__(self) -> None:
        as_count("workers", self.workers)
        name, memory = self._name, self.limits.memory
        if name not in EXECUTORS:
            raise ValueError(f"executor: expected one of {', '.join(EXECUTORS)}, got {name!r}")
        if memory is not None and sys.platform != "linux":
            raise ValueError("memory: expected None, since address space can be bounded on Linux only")
        if memory is not None and name == "serial":
            raise ValueError(
                f"memory: expected another executor than serial, which plays in this process, with {memory >> 20} MiB"
            )
        if self.scheduler is not None and name != "dask":
            raise ValueError(f"scheduler: expected the executor 'dask', got {name!r}")
        if self.portable and name != "local":
            raise ValueError(f"portable: expected the executor 'local', whose processes load NumPy anew, got {name!r}")

    @property
    def _name(self) -> str:
        here = self.workers == 1 and not self.portable and (self.limits.timeout is None or can_interrupt())
        return self.executor or ("serial" if here else "local")

    def hired(self) -> Executor:
        """The executor, to be closed.

        Raises:
            ExecutorError: if it cannot be started.
        """
        if self._name == "dask":
            from leaderboards.work.dask import DaskExecutor

            return DaskExecutor(self.workers, self.limits, self.scheduler)
        if self._name == "serial":
            return SerialExecutor(self.limits)
        return LocalExecutor(self.workers, self.limits, portable=self.portable)


# ---- worker processes ----

_SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Modules come from the path of this process alone: `python -m`, by which loky starts, looks in the current folder."""


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ.update(_SAFE_PATH)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONSAFEPATH"]
        else:
            os.environ["PYTHONSAFEPATH"] = before


def process_pool(workers: int, variables: Mapping[str, str] | None = None) -> Any:
    """A loky pool whose workers use one BLAS thread, start with these variables too, and end with this process."""
    from loky import ProcessPoolExecutor

    with _safe_path():
        _start_tracker()
    return ProcessPoolExecutor(
        workers,
        timeout=None,
        initializer=_init_worker,
        initargs=(os.getpid(),),
        env=ONE_THREAD | _SAFE_PATH | dict(variables or {}),
    )


def in_processes(function: Callable[[T], R], items: Sequence[T], workers: int, does: str) -> Iterator[R]:
    """What a function gives for each item, as they end, in so many processes; with one worker in this one.

    Raises:
        ExecutorError: if a worker dies, which in words `does` something.
    """
    if workers == 1:
        yield from map(function, items)
        return
    from loky.process_executor import BrokenProcessPool

    pool = process_pool(min(workers, max(len(items), 1)))
    try:
        for future in as_completed([_submitted(pool, function, item) for item in items]):
            yield future.result()
    except BrokenProcessPool:
        raise ExecutorError(
            f"a worker died while it {does}, perhaps for want of memory: what was done before is kept; give the same "
            "command again with fewer --workers"
        ) from None
    finally:
        pool.shutdown(kill_workers=True)  # also after an interrupt: no worker goes on


def _submitted(pool: Any, function: Callable[[T], R], item: T) -> Future[R]:
    """What will come of a function in a pool, whose worker starts now if there is none.

    Raises:
        ExecutorError: if it cannot be started.
    """
    masks = hasattr(signal, "pthread_sigmask")
    # A worker inherits it: Ctrl-C would end one that is not yet prepared with a traceback. This process hears of it
    # when the worker has been started.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if masks else set()
    try:
        future: Future[R] = pool.submit(function, item)
        return future
    except OSError as error:
        shared = error.errno in _NO_SHARED_MEMORY
        needs = "a lock in shared memory, /dev/shm," if shared else "more than the system gives"
        remedy = "make room there or make it writable" if shared else "end other processes"
        raise ExecutorError(
            f"a worker process cannot be started: it needs {needs} ({error.strerror or error}): {remedy}, then give "
            "the same command again, or give it with --workers 1, which plays in this process"
        ) from None
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_tracker() -> None:
    """Start loky's tracker of semaphores so that it outlives a closing terminal: of SIGHUP alone it would die."""
    from loky.backend import resource_tracker

    if not hasattr(signal, "SIGHUP") or threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which a new process inherits
    try:
        resource_tracker.ensure_running()
    finally:
        signal.signal(signal.SIGHUP, before)


def _init_worker(parent: int) -> None:
    """Prepare a worker process: the parent alone decides when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # PR_SET_PDEATHSIG: nobody is left behind when the parent is killed. It is sent when the thread that made the
        # worker ends, which is the thread of the schedule.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
