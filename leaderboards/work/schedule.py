"""Schedule missing runs, retry failures, record results; report the progress and the time left."""

from __future__ import annotations

import tempfile
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import TracebackType

import gymnasium as gym
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import agents
from leaderboards.play.record import RunRecord, Status, lacks_data
from leaderboards.play.spec import RunSpec
from leaderboards.play.watching import Watcher
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import SCRATCH, Store
from leaderboards.text import duration
from leaderboards.work.jobs import TRIES, Job, Limits, Registrations, RunOutcome, read_progress
from leaderboards.work.local import Executor

__all__ = ["ProgressReport", "RunReport", "RunTimes", "missing", "run_missing", "shard", "skip_without_data"]

_JOB_SECONDS = 1.0
_LEAST_JOB_SECONDS = 0.1  # below that handing a job over costs more than the job
_JOB_RUNS = 500
_POLL_SECONDS = 0.5
_UNCLEAR_DEATHS = 20  # of workers that left no progress file: more than bad luck, and no reason to go on for ever
_LINE_SECONDS = 10.0
_REFRESH_SECONDS = 0.2


@dataclass(frozen=True)
class RunReport:
    """Result of a call to `run_missing`.

    Attributes:
        before: How many runs had ended before.
        ended: How the others ended, by status.
        failures: Those that are not done.
    """

    before: int
    ended: Counter[str] = field(default_factory=Counter)
    failures: tuple[RunOutcome, ...] = ()

    def failed(self) -> dict[str, int]:
        """One line for each way in which runs of a pair failed, and of how many runs it tells."""
        same: dict[tuple[str, str | None], list[int]] = {}  # a pair that does not fit is skipped in each repetition
        for outcome in self.failures:
            what = f"{outcome.status}: {outcome.spec.agent.label} on {outcome.spec.env.label}"
            same.setdefault((what, outcome.reason), []).append(outcome.spec.repetition)
        lines = {}
        for (what, reason), numbers in same.items():
            which = f"repetition {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} repetitions"
            lines[f"{what}, {which}: {reason}"] = len(numbers)
        return lines


def missing(specs: Iterable[RunSpec], store: Store, retry_failed: bool = False) -> list[RunSpec]:
    """The runs of which `store` has no result, or whose data could not be had; with `retry_failed` all not done."""
    there = {
        key
        for key, run in store.entries().items()
        if run.status == "done" or not (retry_failed or lacks_data(run.status, run.reason))
    }
    return [spec for spec in specs if spec.key not in there]


def skip_without_data(specs: Iterable[RunSpec], store: Store, without_data: Mapping[str, str]) -> None:
    """Record those runs of `specs` whose data cannot be had as skipped, so that none of them fetches again.

    Args:
        specs: Runs that are to be played.
        store: Where other records of them stay as they are.
        without_data: What `leaderboards.play.suite.build_environments_once` returned.
    """
    there = store.entries()
    records = [
        RunRecord(spec, "skipped", reason=without_data[spec.built.key])
        for spec in specs
        if spec.built.key in without_data
        and (spec.key not in there or lacks_data(there[spec.key].status, there[spec.key].reason))
    ]
    if records:
        store.write(*records)


def shard(specs: Iterable[RunSpec], part: str) -> list[RunSpec]:
    """The part `"i/N"` of N parts: by key, so that every part has its share of every agent.

    Raises:
        ValueError: if there is no such part.
    """
    number, slash, of = part.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise ValueError(f"shard: expected i/N with 1 <= i <= N, such as 1/4, got {part!r}")
    return [spec for spec in specs if int(spec.key, 16) % int(of) == int(number) - 1]


def run_missing(
    specs: Iterable[RunSpec],
    store: Store,
    executor: Executor,
    *,
    limits: Limits | None = None,
    retry_failed: bool = False,
    isolated_from: Sequence[Path] | None = None,
    console: Console | None = None,
    watcher: Watcher | None = None,
) -> RunReport:
    """Play what `store` does not have yet, with `watcher` looking on.

    With `isolated_from` each agent plays in a process without the environment, which can open nothing in these folders.

    A run whose worker dies is tried three times, then recorded as crashed. Files in the store are the only truth:
    stopping at any moment, by Ctrl-C or worse, loses nothing but the runs that were being played.

    Raises:
        OSError: if results cannot be written.
    """
    specs = list(specs)
    store.sweep()
    todo = missing(specs, store, retry_failed)
    entries = store.entries()
    stale = {spec.key: _record_stamp(entries[spec.key]) for spec in todo if spec.key in entries}
    queue = _Queue(todo)
    failures: list[RunOutcome] = []
    ended: Counter[str] = Counter()
    before = len(specs) - len(todo)
    with (
        tempfile.TemporaryDirectory(prefix=SCRATCH, dir=_ensure_dir(store.root)) as scratch,
        ProgressReport(len(specs), before, console) as progress,
    ):
        jobs = _Jobs(queue, store, executor, limits or Limits(), Path(scratch), stale, isolated_from, watcher)
        for outcome in jobs.run():
            ended[outcome.status] += 1
            if outcome.status != "done":
                failures.append(outcome)
            progress.add(outcome, lambda: queue.seconds_left(executor.workers))
    store.write_manifest()
    return RunReport(before, ended, tuple(failures))


class RunTimes:
    """Expected running times: mean seconds of an evaluation by pair of environment and agent, by agent, and overall."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, spec: RunSpec, seconds: float) -> None:
        """Record that `spec` took `seconds`."""
        for name in self._levels(spec):
            total, evaluations = self._sums.get(name, (0.0, 0))
            self._sums[name] = (total + seconds, evaluations + spec.horizon)

    def seconds(self, spec: RunSpec) -> float | None:
        """Expected seconds of `spec` by its pair, else by its agent, else by all; None if nothing ran yet."""
        for name in self._levels(spec):
            if name in self._sums:
                total, evaluations = self._sums[name]
                return total / evaluations * spec.horizon
        return None

    def known(self, spec: RunSpec) -> bool:
        """Whether the time of a run of the same pair is known."""
        return self._levels(spec)[0] in self._sums

    @staticmethod
    def _levels(spec: RunSpec) -> tuple[str, str, str]:
        return spec.env.key + spec.agent.key, spec.agent.key, ""


class ProgressReport:
    """Reports how many runs have ended and failed, and the expected time left.

    Args:
        total: Number of runs.
        before: How many of them had ended before.
        console: Where to write; nothing is written without one.
    """

    def __init__(self, total: int, before: int, console: Console | None) -> None:
        self.total = total
        self.ended = before
        self.bad: Counter[str] = Counter()
        self._console = console
        self._started = time.monotonic()
        self._last = self._started
        self._bar: Progress | None = None
        if console is not None and console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[note]}"),
                console=console,
            )
            self._task = self._bar.add_task("runs", total=total, completed=before, note="")

    def __enter__(self) -> ProgressReport:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, outcome: RunOutcome, seconds_left: Callable[[], float | None]) -> None:
        """Count a run that has ended; `seconds_left` gives the expected time for the rest, None if unknown."""
        self.ended += 1
        if outcome.status != "done":
            self.bad[outcome.status] += 1
        now = time.monotonic()
        every = _REFRESH_SECONDS if self._bar is not None else _LINE_SECONDS
        if self._console is None or (now - self._last < every and self.ended < self.total):
            return
        self._last = now
        note = ", ".join(f"{n} {status}" for status, n in sorted(self.bad.items()))
        left = seconds_left()
        if left is not None and self.ended < self.total:
            note += f"{', ' if note else ''}about {duration(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, completed=self.ended, note=note)
        else:
            took = duration(now - self._started)
            line = f"{self.ended} of {self.total} runs, {took}{', ' if note else ''}{note}"
            try:
                # Not `Console.print`, which ends the process when nobody reads it any more: the runs go on.
                self._console.file.write(f"{line}\n")
                self._console.file.flush()
            except OSError:
                self._console = None


class _Queue:
    """Runs to play, pair of environment and agent by pair in turn, so that short runs of a pair go together."""

    def __init__(self, specs: list[RunSpec]) -> None:
        self.times = RunTimes()
        self._alone: deque[RunSpec] = deque()
        self._pairs: OrderedDict[str, deque[RunSpec]] = OrderedDict()
        self._waiting = len(specs)
        for spec in specs:
            self._pairs.setdefault(spec.pair, deque()).append(spec)

    def __len__(self) -> int:
        return len(self._alone) + self._waiting

    def again(self, specs: Iterable[RunSpec]) -> None:
        """Put runs back at the front of the queue, to be played one by one."""
        self._alone.extend(specs)

    def take(self, workers: int) -> tuple[RunSpec, ...]:
        """The next run, with others of its pair if they are known to be short."""
        if self._alone:
            return (self._alone.popleft(),)
        pair, waiting = next(iter(self._pairs.items()))
        taken = [waiting.popleft()]
        seconds = self.times.seconds(taken[0]) if self.times.known(taken[0]) else None
        if seconds is not None:
            # Several jobs a worker, so that all have something to do until the end.
            share = len(self) * seconds / (4 * workers)
            aim = min(_JOB_SECONDS, max(share, _LEAST_JOB_SECONDS))
            room = min(aim / max(seconds, 1e-6), _JOB_RUNS)
            while waiting and len(taken) < room:
                taken.append(waiting.popleft())
        self._waiting -= len(taken)
        del self._pairs[pair]
        if waiting:
            self._pairs[pair] = waiting
        return tuple(taken)

    def seconds_left(self, workers: int) -> float | None:
        """Expected time for what is still to be taken; None if nothing is known yet."""
        waiting = [(runs[0], len(runs)) for runs in self._pairs.values()] + [(spec, 1) for spec in self._alone]
        seconds = [(self.times.seconds(spec), n) for spec, n in waiting]
        if any(each is None for each, _ in seconds):
            return None
        return sum((each or 0.0) * n for each, n in seconds) / workers


class _Jobs:
    """Keeps the executor busy until the queue is empty."""

    def __init__(
        self,
        queue: _Queue,
        store: Store,
        executor: Executor,
        limits: Limits,
        scratch: Path,
        stale: Mapping[str, tuple[str, float]],
        isolated_from: Sequence[Path] | None,
        watcher: Watcher | None,
    ) -> None:
        self._queue = queue
        self._store = store
        self._executor = executor
        self._limits = limits
        self._scratch = scratch
        self._stale = stale
        self._watcher = watcher
        self._isolated_from = None if isolated_from is None else tuple(isolated_from)
        self._numbers = count()
        self._lost: Counter[str] = Counter()
        self._unclear: Counter[str] = Counter()
        self._open = 0

    def run(self) -> Iterator[RunOutcome]:
        while len(self._queue) or self._open:
            while len(self._queue) and self._executor.free():
                self._submit()
            for job, outcomes in self._executor.collect(_POLL_SECONDS):
                self._open -= 1
                for outcome in self._handle_dead_worker(job) if outcomes is None else outcomes:
                    if outcome.status == "done":
                        self._queue.times.add(outcome.spec, outcome.seconds)
                    yield outcome

    def _submit(self) -> None:
        number = next(self._numbers)
        specs = self._queue.take(self._executor.workers)
        progress = self._scratch / f"{number}.txt"
        kill, registrations = self._executor.in_subprocess, _registrations(specs)
        directory, limits = self._store.root, self._limits
        job = Job(number, specs, directory, progress, limits, registrations, kill, self._isolated_from, self._watcher)
        self._executor.submit(job)
        self._open += 1

    def _handle_dead_worker(self, job: Job) -> list[RunOutcome]:
        """Handle a dead worker: written runs count, the run in progress failed, the others are played again."""
        there = self._store.entries()
        failed_run, hang = read_progress(job.progress)
        outcomes = []
        again = []
        for spec in job.specs:
            run = there.get(spec.key)
            # A record from before is the failure that `retry_failed` replays.
            if run is not None and run.status != "crashed" and _record_stamp(run) != self._stale.get(spec.key):
                outcomes.append(RunOutcome(spec, run.status, run.seconds, run.reason))
            elif spec.key != failed_run and self._unclear[spec.key] < _UNCLEAR_DEATHS:
                self._unclear[spec.key] += failed_run is None
                again.append(spec)
            elif spec.key != failed_run:
                reason = f"no worker lived long enough to begin it, {_UNCLEAR_DEATHS} times"
                outcomes.append(self._record(spec, "crashed", reason, None))
            elif hang:
                reason = f"took longer than {self._limits.timeout:g} s and did not stop when asked"
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

    def _record(self, spec: RunSpec, status: Status, reason: str, error: str | None) -> RunOutcome:
        self._store.write(RunRecord(spec, status, reason=reason, error=error, tries=max(1, self._lost[spec.key])))
        return RunOutcome(spec, status, 0.0, reason)


def _record_stamp(run: RunEntry) -> tuple[str, float]:
    """Identifies one record of a run; a time alone would rely on the clocks of several machines."""
    return run.status, run.finished


def _ensure_dir(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _registrations(specs: tuple[RunSpec, ...]) -> Registrations:
    """Agents and environments that a worker process cannot import from a package."""
    found = []
    for id in {spec.agent.id for spec in specs if ":" not in spec.agent.id}:
        registered = agents.spec(id)
        found.append((id, registered.entry_point, dict(registered.kwargs)))
    ids = {spec.env.id for spec in specs}
    return Registrations(tuple(found), tuple(gym.registry[id] for id in ids if id in gym.registry))
