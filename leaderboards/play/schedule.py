"""From the runs that are asked for to the runs that are there: what is missing is played, tried again, recorded."""

from __future__ import annotations

import tempfile
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
from rich.console import Console

import agents
from leaderboards.play.estimate import Estimate
from leaderboards.play.executors import Executor
from leaderboards.play.progress import ProgressReport
from leaderboards.play.record import RunRecord, Status
from leaderboards.play.spec import RunSpec, canonical_json
from leaderboards.play.store import SCRATCH, Store
from leaderboards.play.vectorised import GROUP, suits
from leaderboards.play.work import TRIES, Limits, Outcome, Registrations, Task, read_diary

__all__ = ["Summary", "missing", "run_missing", "shard"]

_TASK_SECONDS = 1.0
_LEAST_TASK_SECONDS = 0.1  # below that handing a task over costs more than the task
_TASK_RUNS = 500
_POLL_SECONDS = 0.5
_UNCLEAR_DEATHS = 20  # of workers that left no diary: more than bad luck, and no reason to go on for ever


@dataclass(frozen=True)
class Summary:
    """What a call to `run_missing` did.

    Attributes:
        before: How many runs had ended before.
        ended: How the others ended, by status.
        failures: Those that are not done.
    """

    before: int
    ended: Counter[str] = field(default_factory=Counter)
    failures: tuple[Outcome, ...] = ()


def missing(specs: Iterable[RunSpec], store: Store, retry_failed: bool = False) -> list[RunSpec]:
    """The runs of which `store` has no result; with `retry_failed` also those that are not done."""
    there = store.done_keys() if retry_failed else store.keys()
    return [spec for spec in specs if spec.key not in there]


def shard(specs: Iterable[RunSpec], number: int, of: int) -> list[RunSpec]:
    """The part `number` (from 1) of `of` parts: by key, so that every part has its share of every agent.

    Raises:
        ValueError: if there is no such part.
    """
    if not 1 <= number <= of:
        raise ValueError(f"shard: expected i/N with 1 <= i <= N, got {number}/{of}")
    return [spec for spec in specs if int(spec.key, 16) % of == number - 1]


def run_missing(
    specs: Iterable[RunSpec],
    store: Store,
    executor: Executor,
    *,
    limits: Limits | None = None,
    retry_failed: bool = False,
    together: bool = False,
    console: Console | None = None,
) -> Summary:
    """Play what `store` does not have yet; `together` plays repetitions in one go, without a limit of time for each.

    A run whose worker dies is tried three times, then recorded as crashed. Files in the store are the only truth:
    stopping at any moment, by Ctrl-C or worse, loses nothing but the runs that were being played.

    Raises:
        OSError: if results cannot be written.
    """
    specs = list(specs)
    store.sweep()
    todo = missing(specs, store, retry_failed)
    entries = store.entries()
    stale = {spec.key: _mark(entries[spec.key]) for spec in todo if spec.key in entries}
    queue = _Queue(todo, together)
    failures: list[Outcome] = []
    ended: Counter[str] = Counter()
    before = len(specs) - len(todo)
    with (
        tempfile.TemporaryDirectory(prefix=SCRATCH, dir=_made(store.directory)) as scratch,
        ProgressReport(len(specs), before, console) as progress,
    ):
        tasks = _Tasks(queue, store, executor, limits or Limits(), Path(scratch), together, stale)
        for outcome in tasks.play():
            ended[outcome.status] += 1
            if outcome.status != "done":
                failures.append(outcome)
            progress.add(outcome, lambda: queue.seconds_left(executor.workers))
    if ended:
        store.write_manifest()
    return Summary(before, ended, tuple(failures))


class _Queue:
    """Runs to play, pair of environment and agent by pair in turn, so that short runs of a pair go together."""

    def __init__(self, specs: list[RunSpec], together: bool = False) -> None:
        self.estimate = Estimate()
        self._together = together
        self._alone: deque[RunSpec] = deque()
        self._cells: OrderedDict[str, deque[RunSpec]] = OrderedDict()
        self._waiting = len(specs)
        for spec in specs:
            self._cells.setdefault(_cell(spec), deque()).append(spec)

    def __len__(self) -> int:
        return len(self._alone) + self._waiting

    def again(self, specs: Iterable[RunSpec]) -> None:
        """Put runs back, to be played one by one before all others."""
        self._alone.extend(specs)

    def take(self, workers: int) -> tuple[RunSpec, ...]:
        """The next run, with others of its pair if they are known to be short."""
        if self._alone:
            return (self._alone.popleft(),)
        cell, waiting = next(iter(self._cells.items()))
        taken = [waiting.popleft()]
        together = self._together and suits(taken[0])
        if together:
            # Every worker gets some, and no group is larger than what is played at a time.
            size = min(GROUP, -(-(1 + len(waiting)) // workers))
            taken += [waiting.popleft() for _ in range(min(size - 1, len(waiting)))]
        seconds = self.estimate.seconds(taken[0]) if self.estimate.known(taken[0]) else None
        if seconds is not None and not together:
            # Several tasks a worker, so that all have something to do until the end.
            share = len(self) * seconds / (4 * workers)
            aim = min(_TASK_SECONDS, max(share, _LEAST_TASK_SECONDS))
            room = min(aim / max(seconds, 1e-6), _TASK_RUNS)
            while waiting and len(taken) < room:
                taken.append(waiting.popleft())
        self._waiting -= len(taken)
        del self._cells[cell]
        if waiting:
            self._cells[cell] = waiting
        return tuple(taken)

    def seconds_left(self, workers: int) -> float | None:
        """Expected time for what is still to be taken; None if nothing is known yet."""
        waiting = [(runs[0], len(runs)) for runs in self._cells.values()] + [(spec, 1) for spec in self._alone]
        seconds = [(self.estimate.seconds(spec), n) for spec, n in waiting]
        if any(each is None for each, _ in seconds):
            return None
        return sum((each or 0.0) * n for each, n in seconds) / workers


class _Tasks:
    """Keeps the executor busy until the queue is empty."""

    def __init__(
        self,
        queue: _Queue,
        store: Store,
        executor: Executor,
        limits: Limits,
        scratch: Path,
        together: bool,
        stale: Mapping[str, tuple[str, float]],
    ) -> None:
        self._queue = queue
        self._together = together
        self._store = store
        self._executor = executor
        self._limits = limits
        self._scratch = scratch
        self._stale = stale
        self._numbers = count()
        self._lost: Counter[str] = Counter()
        self._unclear: Counter[str] = Counter()
        self._open = 0

    def play(self) -> Iterator[Outcome]:
        while len(self._queue) or self._open:
            while len(self._queue) and self._executor.free():
                self._submit()
            for task, outcomes in self._executor.collect(_POLL_SECONDS):
                self._open -= 1
                for outcome in self._after_death(task) if outcomes is None else outcomes:
                    if outcome.status == "done":
                        self._queue.estimate.add(outcome.spec, outcome.seconds)
                    yield outcome

    def _submit(self) -> None:
        number = next(self._numbers)
        specs = self._queue.take(self._executor.workers)
        diary = self._scratch / f"{number}.txt"
        kill = self._executor.separate
        registrations = _registrations(specs)
        together = self._together and suits(specs[0])
        task = Task(number, specs, self._store.directory, diary, self._limits, registrations, kill, together)
        self._executor.submit(task)
        self._open += 1

    def _after_death(self, task: Task) -> list[Outcome]:
        """The worker died: what it had written counts, the run it was at is to blame, the others are played again."""
        there = self._store.entries()
        culprit, hang = read_diary(task.diary)
        outcomes = []
        again = []
        for spec in task.specs:
            run = there.get(spec.key)
            # What was there before is the very verdict that is to be tried again.
            if run is not None and run["status"] != "crashed" and _mark(run) != self._stale.get(spec.key):
                outcomes.append(Outcome(spec, run["status"], run["seconds"], run["reason"]))
            elif spec.key != culprit and self._unclear[spec.key] < _UNCLEAR_DEATHS:
                self._unclear[spec.key] += culprit is None
                again.append(spec)
            elif spec.key != culprit:
                reason = f"no worker lived long enough to begin it, {_UNCLEAR_DEATHS} times"
                outcomes.append(self._record(spec, "crashed", reason, None))
            elif hang:
                reason = f"took longer than {self._limits.seconds:g} s and did not stop when asked"
                outcomes.append(self._record(spec, "timeout", reason, hang))
            else:
                self._lost[spec.key] += 1
                if self._lost[spec.key] < TRIES:
                    again.append(spec)
                else:
                    reason = f"its worker process died, {TRIES} times out of {TRIES}"
                    outcomes.append(self._record(spec, "crashed", reason, None))
        self._queue.again(again)
        return outcomes

    def _record(self, spec: RunSpec, status: Status, reason: str, error: str | None) -> Outcome:
        self._store.write(
            RunRecord(spec, status, pd.DataFrame(), reason=reason, error=error, tries=max(1, self._lost[spec.key]))
        )
        return Outcome(spec, status, 0.0, reason)


def _mark(run: Mapping[str, Any]) -> tuple[str, float]:
    """Tells one record of a run from another; a time alone would trust the clocks of several machines."""
    return run["status"], run["finished"]


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _cell(spec: RunSpec) -> str:
    return canonical_json([spec.env.identity, spec.agent.identity, spec.horizon, spec.feedback])


def _registrations(specs: tuple[RunSpec, ...]) -> Registrations:
    """What another process may not have: agents and environments that are no importable part of a package."""
    found = []
    for id in {spec.agent.id for spec in specs if ":" not in spec.agent.id}:
        registered = agents.spec(id)
        found.append((id, registered.entry_point, dict(registered.kwargs)))
    ids = {spec.env.id for spec in specs}
    return Registrations(tuple(found), tuple(gym.registry[id] for id in ids if id in gym.registry))
