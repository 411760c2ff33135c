"""What a worker does: play the runs of a task, write each before the next ones take long, say how they ended.

Beside its results a worker keeps a small file that names the run it is at, so that whoever finds the worker dead knows
which run to blame, and the traceback if the run was stopped because it took too long.
"""

from __future__ import annotations

import faulthandler
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium as gym
import pandas as pd

import agents
from leaderboards.play.build import import_parts
from leaderboards.play.checkpoint import DEFAULT_EVERY, Checkpoint
from leaderboards.play.faults import RunTimeout
from leaderboards.play.plugins import load_plugins
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.runner import run_spec
from leaderboards.play.spec import RunSpec
from leaderboards.play.store import Store
from leaderboards.play.threads import one_blas_thread
from leaderboards.play.vectorised import play_group

__all__ = ["TRIES", "Limits", "Outcome", "Registrations", "Task", "read_diary", "work"]

TRIES = 3
_FLUSH_SECONDS = 1.0  # at most this much finished work is lost with a worker
_GRACE_SECONDS = 2.0  # between asking a run to stop and stopping its process


@dataclass(frozen=True)
class Limits:
    """What a run may use.

    Attributes:
        seconds: Wall-clock time of a run; None for no limit.
        memory: Bytes of address space beyond those of an idle worker; None for no limit.
        checkpoint: Seconds after which a run saves its state, again and again.
    """

    seconds: float | None = None
    memory: int | None = None
    checkpoint: float = DEFAULT_EVERY


@dataclass(frozen=True)
class Registrations:
    """Agents and environments that exist in the parent's registries only, because a script registered them."""

    agents: tuple[tuple[str, Any, Mapping[str, Any]], ...] = ()
    envs: tuple[gym.envs.registration.EnvSpec, ...] = ()

    def apply(self) -> None:
        """Register them here; what is registered already stays."""
        known = set(agents.registered())
        for id, entry_point, kwargs in self.agents:
            if id not in known:
                agents.register(id, entry_point, kwargs)
        for spec in self.envs:
            gym.registry.setdefault(spec.id, spec)


@dataclass(frozen=True)
class Task:
    """Runs that one worker plays one after the other.

    Attributes:
        number: Distinguishes the tasks of one harness.
        specs: The runs.
        directory: The results folder.
        diary: File in which the worker names the run it is at.
        limits: What each run may use.
        registrations: What the worker may not know.
        kill: Whether the process may be stopped if a run does not end in time; not the one that the user sits at.
        together: Whether repetitions are played in one go where they can be, see `leaderboards.play.vectorised`.
    """

    number: int
    specs: tuple[RunSpec, ...]
    directory: Path
    diary: Path
    limits: Limits = Limits()
    registrations: Registrations = field(default_factory=Registrations)
    kill: bool = True
    together: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a run ended, without its trace."""

    spec: RunSpec
    status: Status
    seconds: float
    reason: str | None = None


def work(task: Task) -> list[Outcome]:
    """Play all runs of `task` and write them to its results folder.

    Raises:
        OSError: if results cannot be written.
    """
    load_plugins()
    task.registrations.apply()
    store = Store(task.directory)
    outcomes: list[Outcome] = []
    finished: list[RunRecord] = []
    task.diary.parent.mkdir(parents=True, exist_ok=True)
    with one_blas_thread(), task.diary.open("w") as diary:
        last_flush = perf_counter()
        for record in _records(task, diary, store):
            finished.append(record)
            outcomes.append(Outcome(record.spec, record.status, record.seconds, record.reason))
            if perf_counter() - last_flush > _FLUSH_SECONDS:
                _flush(store, finished)
                last_flush = perf_counter()
        _flush(store, finished)
    task.diary.unlink(missing_ok=True)
    return outcomes


def read_diary(path: Path) -> tuple[str | None, str]:
    """The key of the run that a dead worker was at, None if it had not begun; and its traceback if it took too long."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return None, ""
    started = next((i for i, line in enumerate(lines) if line.startswith("Timeout (")), len(lines))
    keys = [line for line in lines[:started] if line]
    return (keys[-1] if keys else None), "\n".join(lines[started:])


def _records(task: Task, diary: Any, store: Store) -> Iterator[RunRecord]:
    specs = task.specs
    if task.together and len(specs) > 1:
        # The diary stays empty: if the worker dies, any of them may be to blame, and each is played again alone.
        records = play_group(specs)
        if records is not None:
            yield from records
            return
    for spec in specs:
        diary.write(f"{spec.key}\n")
        diary.flush()
        yield _try(spec, task, diary, store)


def _flush(store: Store, finished: list[RunRecord]) -> None:
    """Write what is finished; only then are its checkpoints needed no more."""
    if finished:
        store.write(*finished)
    for record in finished:
        store.checkpoint(record.spec.key).unlink(missing_ok=True)
    finished.clear()


def _try(spec: RunSpec, task: Task, diary: Any, store: Store) -> RunRecord:
    """Up to three tries; faults of the protocol, skips and timeouts would only repeat themselves."""
    for attempt in range(1, TRIES + 1):
        checkpoint = Checkpoint(store.checkpoint(spec.key), task.limits.checkpoint)
        try:
            # Modules have an allowance of their own, so that the first run of a worker is not the one that is late.
            with _time_limit(task, diary):
                import_parts(spec)
            with _time_limit(task, diary):
                record = run_spec(spec, checkpoint)
        except RunTimeout as error:  # while building, or in the very moment of its end
            record = RunRecord(spec, "timeout", pd.DataFrame(), reason=str(error), seconds=task.limits.seconds or 0.0)
        record = replace(record, tries=attempt, agent=None)
        if record.status != "crashed" or record.final:
            break
        # What crashed is tried from its beginning: the state just before a crash may be what is wrong.
        checkpoint.remove()
    return record


@contextmanager
def _time_limit(task: Task, diary: Any) -> Iterator[None]:
    """Raise `RunTimeout` in the run after its time; if it does not listen, stop the process a little later."""
    seconds = task.limits.seconds
    if seconds is None:
        yield
        return
    asks = threading.current_thread() is threading.main_thread()

    def stop(_signal: int, _frame: object) -> None:
        raise RunTimeout(f"took longer than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop) if asks else None
    if asks:
        signal.setitimer(signal.ITIMER_REAL, seconds)
    if task.kill:
        # A thread in C: it fires even if compiled code holds the interpreter's lock.
        faulthandler.dump_traceback_later(seconds + (_GRACE_SECONDS if asks else 0.0), exit=True, file=diary)
    try:
        yield
    finally:
        if task.kill:
            faulthandler.cancel_dump_traceback_later()
        if asks:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, previous)
