"""Workers play jobs of runs; executors hand jobs to workers in this process, on this machine or on a Dask cluster.

A worker plays the runs of a job, writes results about every second, and returns how the runs ended. Beside its results
it keeps a small progress file that names the run it is at, so that the schedule knows which run failed if the worker is
found dead, and the traceback if the run was stopped because it took too long.

Executors only run jobs and report how each ended, with its outcomes or lost with its worker. When to try a run again is
decided in `leaderboards.work.schedule`.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import faulthandler
import functools
import logging
import os
import re
import signal
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

import gymnasium as gym

import agents
from gpbandit_envs.arguments import as_count, positive_number
from gpbandit_envs.registry import OWN
from leaderboards.play.build import preload_modules
from leaderboards.play.plugins import load_plugins
from leaderboards.play.protocol_checks import RunTimeout
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.run import one_blas_thread, run_spec
from leaderboards.play.spec import RunSpec
from leaderboards.store.store import Store
from leaderboards.work.checkpoint import DEFAULT_EVERY, Checkpoint
from leaderboards.work.vectorised import play_group

__all__ = [
    "EXECUTORS",
    "TRIES",
    "DaskExecutor",
    "Ending",
    "Executor",
    "ExecutorError",
    "Job",
    "Limits",
    "LocalExecutor",
    "Registrations",
    "RunOutcome",
    "SerialExecutor",
    "make_executor",
    "process_pool",
    "read_progress",
    "work",
]

EXECUTORS = ("serial", "local", "dask")
TRIES = 3
_FLUSH_SECONDS = 1.0  # at most this much finished work is lost with a worker
_SHORTEST_SECONDS, _LONGEST_SECONDS = 1e-6, 1e9  # what the timers of the system resolve, and hold
_GRACE_SECONDS = 2.0  # between asking a run to stop and stopping its process
_PATIENCE_SECONDS = 60.0  # how long a Dask scheduler that went away is waited for
_CONNECT_SECONDS = 5.0
_STOPPED_SECONDS = 10.0  # a worker that something has stopped for so long is killed, and its run played again
_IDLE_SECONDS = 10.0  # without any worker at a scheduler, before we say so
_HARMLESS = (CancelledError, asyncio.CancelledError, asyncio.TimeoutError, TimeoutError, OSError)
_ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx)://)?([^:/\s]+|\[[\da-f:]+\]):(?P<port>\d{1,5})", re.ASCII)
_log = logging.getLogger("gpbandit")


# ---- a worker's job ----


@dataclass(frozen=True)
class Limits:
    """Limits of time and memory for a run.

    Attributes:
        timeout: Seconds of wall-clock time that a run may take; None for no limit.
        memory: Bytes of address space beyond those of an idle worker; None for no limit.
        checkpoint: Seconds after which a run saves its state, again and again.

    Raises:
        TypeError: if one of the times is no number.
        ValueError: if one of them is not above 0, or `memory` is no whole number of at least 1.
    """

    timeout: float | None = None
    memory: int | None = None
    checkpoint: float = DEFAULT_EVERY

    def __post_init__(self) -> None:
        if self.timeout is not None:
            positive_number("timeout", self.timeout, _SHORTEST_SECONDS, _LONGEST_SECONDS)
        if self.memory is not None:
            as_count("memory", self.memory, most=sys.maxsize)
        positive_number("checkpoint", self.checkpoint, _SHORTEST_SECONDS, _LONGEST_SECONDS)


@dataclass(frozen=True)
class Registrations:
    """Agents and environments that only the parent process has registered.

    Functions and classes among them are pickled by value where the worker cannot import them.
    """

    agents: tuple[tuple[str, Any, Mapping[str, Any]], ...] = ()
    envs: tuple[gym.envs.registration.EnvSpec, ...] = ()

    def apply(self) -> None:
        """Register them in this process; existing registrations stay, but for environments of the user's own."""
        known = set(agents.registered())
        for id, entry_point, kwargs in self.agents:
            if id not in known:
                agents.register(id, entry_point, kwargs)
        for spec in self.envs:
            if spec.namespace == OWN:  # which a notebook may have defined anew since the worker was started
                gym.registry[spec.id] = spec
            gym.registry.setdefault(spec.id, spec)


@dataclass(frozen=True)
class Job:
    """Runs that one worker plays one after the other.

    Attributes:
        number: Distinguishes the jobs of one harness.
        specs: The runs.
        directory: The results folder.
        progress: File in which the worker names the run it is at.
        limits: What each run may use.
        registrations: Agents and environments that the worker may lack.
        kill: Whether the process may be killed if a run does not end in time; False in the user's own process.
        together: Whether repetitions are played in one go where they can be, see `leaderboards.work.vectorised`.
    """

    number: int
    specs: tuple[RunSpec, ...]
    directory: Path
    progress: Path
    limits: Limits = Limits()
    registrations: Registrations = field(default_factory=Registrations)
    kill: bool = True
    together: bool = False


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended, without its trace."""

    spec: RunSpec
    status: Status
    seconds: float
    reason: str | None = None


def work(job: Job) -> list[RunOutcome]:
    """Play all runs of `job` and write them to its results folder.

    Raises:
        OSError: if results cannot be written.
    """
    load_plugins()
    job.registrations.apply()
    store = Store(job.directory)
    outcomes: list[RunOutcome] = []
    finished: list[RunRecord] = []
    job.progress.parent.mkdir(parents=True, exist_ok=True)
    with one_blas_thread(), job.progress.open("w") as progress:
        last_flush = perf_counter()
        for record in _records(job, progress, store):
            finished.append(record)
            outcomes.append(RunOutcome(record.spec, record.status, record.seconds, record.reason))
            if perf_counter() - last_flush > _FLUSH_SECONDS:
                _flush(store, finished)
                last_flush = perf_counter()
        _flush(store, finished)
    job.progress.unlink(missing_ok=True)
    return outcomes


def read_progress(path: Path) -> tuple[str | None, str]:
    """The key of the run that a dead worker was at, None if it had not begun; and its traceback if it took too long."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return None, ""
    started = next((i for i, line in enumerate(lines) if line.startswith("Timeout (")), len(lines))
    keys = [line for line in lines[:started] if line]
    return (keys[-1] if keys else None), "\n".join(lines[started:])


def _records(job: Job, progress: TextIO, store: Store) -> Iterator[RunRecord]:
    specs = job.specs
    if job.together and len(specs) > 1:
        # The progress file stays empty: if the worker dies, any of them may have failed; each is played again alone.
        records = play_group(specs)
        if records is not None:
            yield from records
            return
    for spec in specs:
        progress.write(f"{spec.key}\n")
        progress.flush()
        yield _try(spec, job, progress, store)


def _flush(store: Store, finished: list[RunRecord]) -> None:
    """Write what is finished; only then are its checkpoints needed no more."""
    if finished:
        store.write(*finished)
    for record in finished:
        store.checkpoint(record.spec.key).unlink(missing_ok=True)
    finished.clear()


def _try(spec: RunSpec, job: Job, progress: TextIO, store: Store) -> RunRecord:
    """Up to three tries; faults of the protocol, skips and timeouts would only repeat themselves."""
    for attempt in range(1, TRIES + 1):
        checkpoint = Checkpoint(store.checkpoint(spec.key), job.limits.checkpoint)
        try:
            # Modules have an allowance of their own, so that the first run of a worker is not the one that is late.
            with _time_limit(job, progress):
                preload_modules(spec)
            with _time_limit(job, progress):
                record = run_spec(spec, checkpoint)
        except RunTimeout as error:  # while building, or in the very moment of its end
            record = RunRecord(spec, "timeout", reason=str(error), seconds=job.limits.timeout or 0.0)
        record = replace(record, tries=attempt, agent=None)
        if record.status != "crashed" or record.final:
            break
        # A crashed run starts over: the state just before the crash may have caused it.
        checkpoint.remove()
    return record


@contextlib.contextmanager
def _time_limit(job: Job, progress: TextIO) -> Iterator[None]:
    """Raise `RunTimeout` in the run after its time; if it does not listen, stop the process a little later."""
    seconds = job.limits.timeout
    if seconds is None:
        yield
        return
    asks = threading.current_thread() is threading.main_thread()

    def stop(_signal: int, _frame: object) -> None:
        raise RunTimeout(f"took longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop) if asks else None
    if asks:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    if job.kill:
        # A thread in C: it fires even if compiled code holds the interpreter's lock.
        faulthandler.dump_traceback_later(seconds + (_GRACE_SECONDS if asks else 0.0), exit=True, file=progress)
    try:
        yield
    finally:
        if job.kill:
            faulthandler.cancel_dump_traceback_later()
        if asks:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, previous)


# ---- executors ----

Ending = tuple[Job, list[RunOutcome] | None]
"""A job and its outcomes, or None if its worker died."""


class ExecutorError(RuntimeError):
    """No workers are available; the text says what to do."""


class Executor(ABC):
    """Runs jobs.

    Attributes:
        workers: How many jobs run at a time.
        in_subprocess: Whether workers are separate processes, which may be killed.
    """

    workers: int
    in_subprocess: bool = True

    @abstractmethod
    def free(self) -> int:
        """How many jobs may be submitted now."""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Start a job; only while `free()` is positive."""

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

    def __init__(self) -> None:
        self._job: Job | None = None

    def free(self) -> int:
        return 1 if self._job is None else 0

    def submit(self, job: Job) -> None:
        self._job = job

    def collect(self, timeout: float) -> list[Ending]:
        if self._job is None:
            return []
        job, self._job = self._job, None
        return [(job, work(job))]

    def close(self) -> None:
        self._job = None


class LocalExecutor(Executor):
    """Worker processes on this machine.

    Every worker is a loky pool of one process, so that a dead worker is known by its job, and no other job dies
    with it.

    Args:
        workers: Number of processes.
        limits: What each run may use; the memory limit holds for the worker's life.
        code: A folder in which the workers look for modules first, and this process does not: a stranger's code. They
            write no bytecode there.
    """

    def __init__(self, workers: int, limits: Limits | None = None, code: Path | None = None) -> None:
        if workers < 1:
            raise ValueError(f"workers: expected at least 1, got {workers}")
        self.workers = workers
        self._memory = (limits or Limits()).memory
        self._code = code
        self._idle: list[Any] = []
        self._running: dict[Future[list[RunOutcome]], tuple[Any, Job]] = {}
        self._stopped = _StoppedWorkers()

    def free(self) -> int:
        return self.workers - len(self._running)

    def submit(self, job: Job) -> None:
        from loky.process_executor import BrokenProcessPool, ShutdownExecutorError

        while True:
            pool = self._idle.pop() if self._idle else process_pool(1, self._memory, self._code)
            try:
                self._running[pool.submit(work, job)] = (pool, job)
                return
            except (BrokenProcessPool, ShutdownExecutorError):  # killed while it was idle
                pool.shutdown(kill_workers=True)

    def collect(self, timeout: float) -> list[Ending]:
        from loky.process_executor import BrokenProcessPool

        endings: list[Ending] = []
        self._stopped.kill(pid for pool, _ in self._running.values() for pid in list(pool._processes or ()))
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
        self._scheduler = None if scheduler is None else _checked_address(scheduler)
        self._idle_since: float | None = None
        self._cluster: Any = None
        self._client: Any = None
        self._running: dict[Any, Job] = {}
        self._stopped = _StoppedWorkers()
        # We report lost connections and killed workers ourselves; Dask's own log would repeat them.
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)
        self._connect(_CONNECT_SECONDS)

    def free(self) -> int:
        return self.workers - len(self._running)

    def submit(self, job: Job) -> None:
        if self._client.status != "running":
            self._connect(_PATIENCE_SECONDS)
        # A job that was lost is submitted again by the schedule, which knows whom to blame; Dask would not.
        self._running[self._client.submit(work, job, pure=False, retries=0)] = job

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
                endings.append((job, self._outcomes(future)))
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
        """Kill workers of the local cluster that something has stopped; say so if a scheduler has no worker at all."""
        if self._cluster is not None:
            nannies = list(self._cluster.workers.values())
            processes = (nanny.process.pid for nanny in nannies if nanny.process is not None)
            self._stopped.kill(process for process in processes if process is not None)  # none yet while it starts
            if len(nannies) < self.workers:  # a nanny whose worker would not start again has given up
                self._cluster.scale(self.workers)
        if self._client.scheduler_info().get("workers"):
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > _IDLE_SECONDS:
            self._idle_since = float("inf")  # said once
            _log.warning("the Dask scheduler has no worker; waiting for one (`dask worker ADDRESS` starts it)")

    def _outcomes(self, future: Any) -> list[RunOutcome] | None:
        if future.status == "finished":
            try:
                outcomes: list[RunOutcome] = future.result(timeout=_CONNECT_SECONDS)
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
            self._cluster = self._start_cluster()
        address = self._scheduler if self._scheduler is not None else self._cluster.scheduler_address
        deadline = time.monotonic() + patience
        while True:
            try:
                self._check_scheduler(address)
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

    def _start_cluster(self) -> Any:
        """A cluster on this machine; tried again if a worker dies while it starts, which Dask gives up on.

        Raises:
            ExecutorError: if it cannot be started.
        """
        import dask

        for attempt in range(1, TRIES + 1):
            try:
                # Dask leaves a cluster whose start is interrupted to the end of the process, and fails there.
                with _signals_wait(), dask.config.set({"distributed.scheduler.allowed-failures": 0}):
                    return self._dask.LocalCluster(
                        n_workers=self.workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address="127.0.0.1:0",  # any free port: two clusters at once would both ask for 8787
                        memory_limit=0,
                        silence_logs=logging.CRITICAL,
                    )
            except (RuntimeError, OSError) as error:
                reason = _innermost(error)
                if attempt == TRIES:
                    raise ExecutorError(
                        f"the local Dask cluster did not start, {TRIES} times out of {TRIES} ({reason}): give the same "
                        "command again, perhaps with fewer --workers, or with --executor local; what is done is kept"
                    ) from None
                _log.warning("the local Dask cluster did not start (%s); trying again", reason)
        raise AssertionError("unreachable")

    def _check_scheduler(self, address: str) -> None:
        """Make sure that a scheduler answers: Dask's client waits for ever for what something else never says.

        Raises:
            ExecutorError: if something else answers, or the address is none.
            OSError: if nothing answers in time.
        """
        security = self._dask.Security().get_connection_args("client")

        async def ask() -> Any:
            async with self._dask.rpc(address, timeout=_CONNECT_SECONDS, connection_args=security) as peer:
                return await asyncio.wait_for(peer.identity(), _CONNECT_SECONDS)

        # In a thread of its own: this one may have a running loop, as in a notebook.
        thread = ThreadPoolExecutor(1)
        try:
            found = thread.submit(asyncio.run, asyncio.wait_for(ask(), 2 * _CONNECT_SECONDS)).result()
        except (OSError, TimeoutError) as error:
            raise OSError(str(error) or "it was silent") from None
        except Exception as error:
            raise ExecutorError(
                f"--scheduler: {address} is no Dask scheduler ({type(error).__name__}: {error}): "
                "give the address that `dask scheduler` prints"
            ) from None
        finally:
            thread.shutdown(wait=False)
        if found.get("type") != "Scheduler":
            raise ExecutorError(
                f"--scheduler: expected the address of a Dask scheduler, which `dask scheduler` prints, got that of "
                f"a {found.get('type', 'stranger').lower()}, {address}"
            )


def make_executor(name: str, workers: int, limits: Limits | None = None, scheduler: str | None = None) -> Executor:
    """The executor `name` with that many workers.

    Args:
        name: One of `EXECUTORS`.
        workers: How many runs at a time.
        limits: What each run may use.
        scheduler: Address of a running Dask scheduler, for the executor `"dask"`.

    Raises:
        ValueError: if there is none of that name, it has no scheduler, or it or this platform cannot bound memory.
        ExecutorError: if it cannot be started.
    """
    if limits is not None and limits.memory is not None and sys.platform != "linux":
        raise ValueError("memory: expected None, since address space can be bounded on Linux only")
    if limits is not None and limits.memory is not None and name == "serial":
        raise ValueError("memory: expected None with the executor 'serial', which plays in this process")
    if scheduler is not None and name != "dask":
        raise ValueError(f"scheduler: expected the executor 'dask', got {name!r}")
    if name == "dask":
        return DaskExecutor(workers, limits, scheduler)
    if name == "serial":
        return SerialExecutor()
    if name == "local":
        return LocalExecutor(workers, limits)
    raise ValueError(f"executor: expected one of {', '.join(EXECUTORS)}, got {name!r}")


# ---- worker processes ----


class _StoppedWorkers:
    """Kills workers that SIGSTOP or the like has stopped: they keep their run, and no limit of time reaches them.

    Stopping the whole command, as Ctrl-Z does, stops this clock too.
    """

    def __init__(self) -> None:
        self._seen: dict[int, float] = {}
        self._last = time.monotonic()

    def kill(self, processes: Iterable[int]) -> None:
        """Kill those of `processes` that are stopped, and have been at every call for `_STOPPED_SECONDS`."""
        now = time.monotonic()
        if now - self._last > _STOPPED_SECONDS / 2:  # this process was stopped itself
            self._seen.clear()
        self._last = now
        stopped = {process for process in processes if _is_stopped(process)}
        self._seen = {process: self._seen.get(process, now) for process in stopped}
        for process, since in self._seen.items():
            if now - since >= _STOPPED_SECONDS:
                _log.warning("worker %d has been stopped for %.0f s: its run is played again", process, now - since)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)


def _is_stopped(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):  # it has gone, or this is not Linux
        return False
    return state == "T"


@contextlib.contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold back the first signal that stops this process until the end of the block; a second one is not held back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    first: list[tuple[int, Any]] = []

    def wait(number: int, frame: Any) -> None:
        if first:
            handlers[number](number, frame)
        first.append((number, frame))

    handlers: dict[int, Any] = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and callable(handler := signal.getsignal(number)):
            handlers[number] = handler
            signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if first:
            handlers[first[0][0]](*first[0])


def _innermost(error: BaseException) -> str:
    """What the system said, or else the first cause, of an error of Dask, whose own text says only that it failed."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    said = next((one for one in reversed(chain) if isinstance(one, OSError)), chain[-1])
    return (str(said) or str(error)).strip().partition("\n")[0]


def _checked_address(address: str) -> str:
    """`address` if it is written as one of a Dask scheduler.

    Raises:
        ExecutorError: if it is not.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 1 << 16:
        raise ExecutorError(f"--scheduler: expected an address such as tcp://HOST:8786, got {address!r}")
    return address


def process_pool(workers: int, memory: int | None = None, code: Path | None = None) -> Any:
    """A loky pool whose workers use one BLAS thread, end with this process, and may use `memory` further bytes.

    They look for modules in the folder `code` first, if there is one, from the time on at which they have started.
    """
    from loky import ProcessPoolExecutor

    _start_tracker()
    return ProcessPoolExecutor(
        workers, timeout=None, initializer=_init_worker, initargs=(os.getpid(), memory, code), env=_ONE_THREAD
    )


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


def _init_worker(parent: int, memory: int | None, code: Path | None) -> None:
    """Prepare a worker process: the parent alone decides when it ends, and its memory is bounded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # PR_SET_PDEATHSIG: nobody is left behind when the parent is killed. It is sent when the thread that made the
        # worker ends, which is the thread of the schedule.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    if memory is not None:
        bound_memory(memory)
    if code is not None:
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(code))


def bound_memory(extra: int) -> None:
    """Limit this process to `extra` bytes of address space beyond its present use."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + extra, resource.RLIM_INFINITY))


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _address_space() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _bounded(memory: int) -> Any:
    """A worker plugin that limits the memory of every worker, present and future."""
    from distributed import WorkerPlugin

    # No class of our own, which would be pickled by value: distributed is imported only where it is used.
    plugin: Any = WorkerPlugin()
    plugin.name = "gpbandit-memory"
    plugin.setup = functools.partial(_bound_worker, memory)
    return plugin


def _bound_worker(memory: int, worker: Any) -> None:
    del worker
    bound_memory(memory)
