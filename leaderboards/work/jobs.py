"""What a worker does: it plays the runs of a job within their limits, and writes their records about every second.

Beside the records it keeps a small progress file that names the run it is at. If the worker is found dead, the schedule
reads there which run failed, and the traceback if the run took too long.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, TextIO

import gymnasium as gym

import agents
from gpbandit_envs.arguments import as_count, positive_number
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.registry import OWN
from leaderboards.play.build import load_plugins, preload_modules
from leaderboards.play.protocol_checks import RunTimeout
from leaderboards.play.record import RunRecord
from leaderboards.play.run import run_spec
from leaderboards.play.spec import RunSpec
from leaderboards.store.store import Store, StoreError
from leaderboards.work.checkpoint import DEFAULT_EVERY, Checkpoint

if TYPE_CHECKING:
    from leaderboards.play.isolated import Sandbox

TRIES = 3
DEFAULT_TIMEOUT = 86_400.0
"""Seconds that a run may take if nothing else is said, a day: a run that hangs ends, and none that works."""
_FLUSH_SECONDS = 1.0  # at most this much finished work is lost with a worker
_SHORTEST_SECONDS, _LONGEST_SECONDS = 1e-6, 1e9  # what the timers of the system resolve, and hold
_GRACE_SECONDS = 2.0  # between asking a run to stop and stopping its process


@dataclass(frozen=True)
class Limits:
    """Limits of time and memory for a run.

    Attributes:
        timeout: Seconds of wall-clock time that a run may take, by default a day; None for no limit.
        memory: Bytes of address space beyond those of an idle worker; None for no limit.
        checkpoint: Seconds after which a run saves its state, again and again.

    Raises:
        TypeError: if one of the times is no number.
        ValueError: if one of them is not above 0, or `memory` is no whole number of at least 1.
    """

    timeout: float | None = DEFAULT_TIMEOUT
    memory: int | None = None
    checkpoint: float = DEFAULT_EVERY

    def __post_init__(self) -> None:
        if self.timeout is not None:
            positive_number("timeout", self.timeout, _SHORTEST_SECONDS, _LONGEST_SECONDS)
        if self.memory is not None:
            as_count("memory", self.memory, most=sys.maxsize)
        positive_number("checkpoint", self.checkpoint, _SHORTEST_SECONDS, _LONGEST_SECONDS)


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Job:
    """Runs that one worker plays one after the other.

    Attributes:
        specs: The runs.
        directory: The results folder.
        progress: File in which the worker names the run it is at.
        limits: What each run may use.
        registered: What `registrations` gave for the runs.
        kill: Whether the process may be killed if a run does not end in time; False in the user's own process.
        sandbox: Where each agent plays, in a process without the environment, see `leaderboards.play.isolated`; None
            for agents beside the environment.
    """

    specs: tuple[RunSpec, ...]
    directory: Path
    progress: Path
    limits: Limits = DEFAULT_LIMITS
    registered: tuple[Any, ...] = ((), ())
    kill: bool = True
    sandbox: Sandbox | None = None


def registrations(specs: Iterable[RunSpec]) -> tuple[Any, ...]:
    """The agents and the environments of `specs` that are registered here, and may not be in a worker.

    Functions and classes among them are pickled by value where the worker cannot import them.
    """
    found = [(id, agents.spec(id)) for id in {spec.agent.id for spec in specs if ":" not in spec.agent.id}]
    policies = tuple((id, registered.entry_point, dict(registered.kwargs)) for id, registered in found)
    return policies, tuple(gym.registry[id] for id in {spec.env.id for spec in specs} if id in gym.registry)


def register(policies: tuple[tuple[str, Any, Mapping[str, Any]], ...], envs: tuple[Any, ...]) -> None:
    """Register in this process what `registrations` gave; what is there stays, but for environments of the user's."""
    known = set(agents.registered())
    for id, entry_point, kwargs in policies:
        if id not in known:
            agents.register(id, entry_point, kwargs)
    for spec in envs:
        if spec.namespace == OWN:  # which a notebook may have defined anew since the worker was started
            gym.registry[spec.id] = spec
        gym.registry.setdefault(spec.id, spec)


def play_job(job: Job) -> list[RunRecord]:
    """Play all runs of `job` and write them to its results folder; returns how each ended, without its trace.

    Raises:
        OSError: if results cannot be written.
        StoreError: if the folder is no longer where it was.
    """
    load_plugins()
    register(*job.registered)
    store = Store(job.directory)
    ended: list[RunRecord] = []
    finished: list[RunRecord] = []
    check_there(store, job.progress.parent)
    with one_blas_thread(), job.progress.open("w") as progress:
        last_flush = perf_counter()
        for spec in job.specs:
            progress.write(f"{spec.key}\n")
            progress.flush()
            with _same_folder():
                record = _try(spec, job, progress, store)
            finished.append(record)
            ended.append(RunRecord(spec, record.status, reason=record.reason, seconds=record.seconds))
            if perf_counter() - last_flush > _FLUSH_SECONDS:
                _flush(store, finished, job)
                last_flush = perf_counter()
        _flush(store, finished, job)
    job.progress.unlink(missing_ok=True)
    return ended


def read_progress(path: Path) -> tuple[str | None, str]:
    """The key of the run that a dead worker was at, None if it had not begun; and its traceback if it took too long."""
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return None, ""
    keys, late, traceback = text.partition("Timeout (")
    return next(reversed(keys.split()), None), (late + traceback).rstrip()


@contextlib.contextmanager
def memory_limit(limits: Limits) -> Iterator[None]:
    """A block in which this process may use so many bytes of address space beyond its present use, on Linux."""
    if limits.memory is None or sys.platform != "linux":
        yield
        return
    import resource  # where there is a bound

    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + limits.memory, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def check_there(store: Store, scratch: Path) -> None:
    """Raise unless a results folder is where it was when its runs began, with its folder for what is in progress.

    Raises:
        StoreError: if it was moved or removed, or another is in its place: runs would go on in a new one.
    """
    if not (scratch.is_dir() and store.runs_directory.is_dir()):
        raise StoreError(
            f"{store.directory} was moved, renamed or removed while runs were written to it: those that had ended are "
            "where it is now; move it back and give the same command again, which plays the others"
        )


def _flush(store: Store, finished: list[RunRecord], job: Job) -> None:
    """Write what is finished; only then are its checkpoints needed no more."""
    check_there(store, job.progress.parent)
    if finished:
        store.write(*finished)
    for record in finished:
        with contextlib.suppress(OSError):  # it is of no use any more, and no harm
            store.checkpoint(record.spec.key).unlink()
    finished.clear()


def _try(spec: RunSpec, job: Job, progress: TextIO, store: Store) -> RunRecord:
    """Up to three tries; faults of the protocol, skips, timeouts and a lack of memory would only repeat themselves."""
    for attempt in range(1, TRIES + 1):
        checkpoint = Checkpoint(store.checkpoint(spec.key), job.limits.checkpoint)
        try:
            # Modules have an allowance of their own, so that the first run of a worker is not the one that is late.
            with _time_limit(job, progress):
                if job.sandbox is None:  # then this process never loads the agent's
                    preload_modules(spec)
            with _time_limit(job, progress) as checkpoint.on_resume, memory_limit(job.limits):
                record = run_spec(spec, checkpoint, sandbox=job.sandbox)
        except RunTimeout as error:  # while building, or in the very moment of its end
            record = RunRecord(spec, "timeout", reason=str(error), seconds=job.limits.timeout or 0.0)
        record = replace(record, tries=attempt, agent=None)
        if record.status != "crashed" or record.final or record.out_of_memory:
            break
        # A crashed run starts over: the state just before the crash may have caused it.
        checkpoint.remove()
    return record


def can_interrupt() -> bool:
    """Whether a run in this thread can be stopped by a signal, which there is none for on Windows."""
    return hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def _same_folder() -> Iterator[None]:
    """Undo at the end of the block a change of the working folder, by which other runs and the user name files.

    Unlike `contextlib.chdir` it bears that the folder has been removed.
    """
    before = None
    with contextlib.suppress(OSError):
        before = os.getcwd()
    yield
    if before is not None:
        with contextlib.suppress(OSError):
            os.chdir(before)


@contextlib.contextmanager
def _time_limit(job: Job, progress: TextIO) -> Iterator[Callable[[float], None] | None]:
    """Raise `RunTimeout` in the run after its time; if it does not listen, stop the process a little later.

    The block is given a function that takes off seconds that the run has taken before; None where nothing is limited.
    """
    seconds = job.limits.timeout
    if seconds is None:
        yield None
        return
    asks, began = can_interrupt(), perf_counter()

    def start(before: float) -> None:
        left = max(seconds - before - (perf_counter() - began), _SHORTEST_SECONDS)  # 0 would be no limit
        if asks:
            signal.setitimer(signal.ITIMER_REAL, left)
        if job.kill:
            # A thread in C: it fires even if compiled code holds the interpreter's lock.
            faulthandler.dump_traceback_later(left + (_GRACE_SECONDS if asks else 0.0), exit=True, file=progress)

    def stop(_signal: int, _frame: object) -> None:
        raise RunTimeout(f"took longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop) if asks else None
    start(0.0)
    try:
        yield start
    finally:
        if job.kill:
            faulthandler.cancel_dump_traceback_later()
        if asks:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, previous)
