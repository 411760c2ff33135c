"""Plays the runs that a results folder lacks: retries those whose worker died, and reports progress and time left."""

from __future__ import annotations

import tempfile
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from leaderboards.play.record import RunRecord, lacks_data
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, SuiteError, build_environments_once, not_in_suite
from leaderboards.store.store import Store, SuiteLostError
from leaderboards.text import duration
from leaderboards.work.executors import Executor, Workforce
from leaderboards.work.jobs import TRIES, Job, check_there, read_progress, registrations

if TYPE_CHECKING:
    from leaderboards.play.isolated import Sandbox

_JOB_SECONDS = 1.0
_LEAST_JOB_SECONDS = 0.1  # below that handing a job over costs more than the job
_JOB_RUNS = 500
_POLL_SECONDS = 0.5
_LINE_SECONDS = 10.0
_REFRESH_SECONDS = 0.2


@dataclass
class RunReport:
    """How the runs of a call stand; the call itself counts in it.

    Attributes:
        before: How many had ended before.
        ended: How the others ended, by status.
        failures: Those that are not done, without their traces.
        without_data: Why the data of an environment cannot be had, by its label, for those of which they cannot. Their
            runs are recorded as skipped.
        without_regret: Why the regret on an environment is not known, by its label, for those where it is not.
        changed: A sentence for each file of agents that is younger than runs that stay as they are.
        failed: How many crashed or timed out, now or before.
    """

    before: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    failures: list[RunRecord] = field(default_factory=list)
    without_data: Mapping[str, str] = field(default_factory=dict)
    without_regret: Mapping[str, str] = field(default_factory=dict)
    changed: Sequence[str] = ()
    failed: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing failed, now or before, and nothing is left for want of data."""
        return not (self.failed or self.without_data)

    def add(self, record: RunRecord) -> None:
        """Count a run that has ended."""
        self.ended[record.status] += 1
        if record.status != "done":
            self.failures.append(record)

    def failure_lines(self) -> dict[str, int]:
        """One line for each way in which runs of a pair failed, and of how many runs it tells."""
        same: dict[tuple[str, str | None], list[int]] = {}  # a pair that does not fit is skipped in each repetition
        for record in self.failures:
            what = f"{record.status}: {record.spec.agent.label} on {record.spec.env.label}"
            same.setdefault((what, record.reason), []).append(record.spec.repetition)
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
    retry_failed: bool = False,
    sandbox: Sandbox | None = None,
    console: Console | None = None,
) -> RunReport:
    """Play what `store` does not have yet.

    A run whose worker dies is tried three times, then recorded as crashed. Files in the store are the only truth:
    stopping at any moment, by Ctrl-C or worse, loses nothing but the runs that were being played.

    Args:
        specs: The runs.
        store: The results folder.
        executor: Who plays, within its limits.
        retry_failed: Whether to count what is not done as missing.
        sandbox: Where agents play, in processes without the environment; None for beside it.
        console: Where the progress is reported; None for nowhere.

    Raises:
        OSError: if results cannot be written.
        StoreError: if the folder is moved or removed meanwhile.
    """
    specs = list(specs)
    todo = missing(specs, store, retry_failed)
    report = RunReport(len(specs) - len(todo))
    store.runs_directory.mkdir(parents=True, exist_ok=True)
    progress = _Progress(len(specs), report, console)
    with tempfile.TemporaryDirectory(prefix=".scratch-", dir=store.root) as scratch:
        schedule = _Schedule(todo, store, executor, Path(scratch), sandbox)
        for record in schedule.play():
            report.add(record)
            progress.show(schedule)
        check_there(store, Path(scratch))
    store.write_cache()
    return report


def play_suite(
    suite: Suite,
    store: Store,
    specs: Iterable[RunSpec],
    workforce: Workforce,
    warn: Callable[[str], None],
    *,
    begins: Callable[[Sequence[RunSpec]], None] = lambda _: None,
    console: Console | None = None,
    retry_failed: bool = False,
    partly: bool = True,
) -> RunReport:
    """Fetch the data of what is missing, make `suite` the one of the folder, and play what is missing.

    Args:
        suite: The suite that the folder is to hold.
        store: The folder.
        specs: The runs that are asked for, of it or of a part of it.
        workforce: Who plays.
        warn: Is told warnings, as of results that are not in the suite.
        begins: Is told the runs that are played next, when the folder is the suite's.
        console: Where the progress is reported; None for nowhere.
        retry_failed: Whether to count what is not done as missing.
        partly: Whether environments whose data cannot be had are left out.

    Raises:
        SuiteError: if an environment cannot be built, for want of its data only without `partly`, or the folder holds
            another suite.
        ExecutorError: if no worker can be had.
        OSError: if the folder cannot be written.
    """
    specs = list(specs)
    todo = missing(specs, store, retry_failed)
    without_data = build_environments_once(todo)
    labels = {spec.built.key: spec.env.label for spec in specs}
    lacking = {labels[key]: reason for key, reason in without_data.items()}
    if lacking and not partly:
        label, reason = next(iter(lacking.items()))
        raise SuiteError(f"{label} cannot be played {reason}")
    _adopt(suite, store, warn)
    # Recorded, so that no run fetches again; other records of them stay as they are.
    if skipped := [spec for spec in missing(todo, store) if spec.built.key in without_data]:
        store.write(*(RunRecord(spec, "skipped", reason=without_data[spec.built.key]) for spec in skipped))
    playable = [spec for spec in todo if spec.built.key not in without_data]
    begins(playable)
    with closing(workforce.hired()) as executor:
        report = run_missing(
            [spec for spec in specs if spec.built.key not in without_data],
            store,
            executor,
            retry_failed=retry_failed,
            console=console,
        )
    report.without_data = lacking
    return report


def _adopt(suite: Suite, store: Store, warn: Callable[[str], None]) -> None:
    """Make `suite` the one of this folder; warns of results that are not in it.

    Raises:
        SuiteError: if the folder holds another suite.
    """
    try:
        there = store.suite()
    except SuiteLostError:
        there = None
        warn(f"the suite of {store.directory} was damaged and is written anew")
    if there is not None and there.name != suite.name:
        raise SuiteError(
            f"{store.directory} holds results of suite {there.name!r}: give another folder for {suite.name!r}, "
            "with --out or out="
        )
    store.write_suite(suite)
    done = {key: run.spec for key, run in store.entries().items() if run.status == "done"}
    if apart := not_in_suite(suite, done):
        spec = done[apart[0]]
        warn(
            f"{store.directory} holds {len(apart)} runs of another environment, horizon, feedback or seed than suite "
            f"{suite.name!r} asks for, such as {spec.agent.label} on {spec.env.label} (horizon {spec.horizon}, "
            f"{spec.feedback}, seed {spec.seed}): the page shows them apart and leaves them out of the mean rank"
        )


class RunTimes:
    """Expected running times: mean seconds of an evaluation by pair of environment and agent, by agent, and overall."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, int]] = {}

    def add(self, spec: RunSpec, seconds: float) -> None:
        """Record that `spec` took `seconds`."""
        for name in self._levels(spec):
            total, evaluations = self._sums.get(name, (0.0, 0))
            self._sums[name] = (total + seconds, evaluations + spec.horizon)

    def seconds(self, spec: RunSpec, of_pair: bool = False) -> float | None:
        """Expected seconds of `spec` by its pair, else by its agent, else by all; None if nothing ran yet.

        With `of_pair` None too where no run of the same pair is known.
        """
        for name in self._levels(spec)[: 1 if of_pair else None]:
            if name in self._sums:
                total, evaluations = self._sums[name]
                return total / evaluations * spec.horizon
        return None

    @staticmethod
    def _levels(spec: RunSpec) -> tuple[str, str, str]:
        return spec.env.key + spec.agent.key, spec.agent.key, ""


class _Schedule:
    """Keeps an executor busy until every run has ended.

    Pairs of environment and agent take turns, so that a folder that is stopped early has some runs of each. Short runs
    of a pair go together.
    """

    def __init__(
        self,
        todo: Sequence[RunSpec],
        store: Store,
        executor: Executor,
        scratch: Path,
        sandbox: Sandbox | None,
    ) -> None:
        self._store, self._executor, self._scratch = store, executor, scratch
        self._sandbox = sandbox
        entries = store.entries()
        # With the status: a time alone would rely on the clocks of several machines.
        self._stale = {(key, run.status, run.finished) for key, run in entries.items()}
        self._pairs: OrderedDict[str, deque[RunSpec]] = OrderedDict()
        for spec in todo:
            self._pairs.setdefault(spec.pair, deque()).append(spec)
        self._alone: deque[RunSpec] = deque()  # to be played again, one by one
        self._times = RunTimes()
        self._numbers = count()
        self._lost: Counter[str] = Counter()
        self._open = 0

    def play(self) -> Iterator[RunRecord]:
        """Play all runs; gives each as it ends, without its trace."""
        while self._pairs or self._alone or self._open:
            while (self._pairs or self._alone) and self._open < self._executor.workers:
                self._submit(self._take())
            for job, ended in self._executor.collect(_POLL_SECONDS):
                self._open -= 1
                for record in self._handle_dead_worker(job) if ended is None else ended:
                    if record.status == "done":
                        self._times.add(record.spec, record.seconds)
                    yield record

    def seconds_left(self) -> float | None:
        """Expected time for what is still to be begun; None if nothing is known yet."""
        waiting = [(runs[0], len(runs)) for runs in self._pairs.values()] + [(spec, 1) for spec in self._alone]
        total = 0.0
        for spec, n in waiting:
            if (seconds := self._times.seconds(spec)) is None:
                return None
            total += n * seconds
        return total / self._executor.workers

    def _take(self) -> tuple[RunSpec, ...]:
        """The next run, with others of its pair if they are known to be short."""
        if self._alone:
            return (self._alone.popleft(),)
        waiting = sum(map(len, self._pairs.values()))
        pair, runs = self._pairs.popitem(last=False)
        n = 1
        if (seconds := self._times.seconds(runs[0], of_pair=True)) is not None:
            # Several jobs a worker, so that all have something to do until the end.
            share = waiting * seconds / (4 * self._executor.workers)
            aim = min(_JOB_SECONDS, max(share, _LEAST_JOB_SECONDS))
            n = max(1, int(min(aim / max(seconds, 1e-6), _JOB_RUNS, len(runs))))
        taken = tuple(runs.popleft() for _ in range(n))
        if runs:
            self._pairs[pair] = runs  # at the end
        return taken

    def _submit(self, specs: tuple[RunSpec, ...]) -> None:
        progress = self._scratch / f"{next(self._numbers)}.txt"
        limits, kill = self._executor.limits, self._executor.in_subprocess
        found = registrations(specs)
        job = Job(specs, self._store.root, progress, limits, found, kill, self._sandbox)
        self._executor.submit(job)
        self._open += 1

    def _handle_dead_worker(self, job: Job) -> list[RunRecord]:
        """Handle a dead worker: written runs count, the run in progress failed, the others are played again."""
        there = self._store.entries()
        failed_run, hang = read_progress(job.progress)
        ended = []
        for spec in job.specs:
            run = there.get(spec.key)
            # A record from before is the failure that `retry_failed` replays.
            if run and run.status != "crashed" and (spec.key, run.status, run.finished) not in self._stale:
                ended.append(RunRecord(spec, run.status, reason=run.reason, seconds=run.seconds))
                continue
            if spec.key == failed_run and hang:
                reason = f"took longer than {self._executor.limits.timeout:g} s and did not stop when asked"
                ended.append(RunRecord(spec, "timeout", reason=reason, error=hang, tries=max(1, self._lost[spec.key])))
            else:
                # A worker that had begun none may have died of any of them.
                self._lost[spec.key] += failed_run in (None, spec.key)
                if self._lost[spec.key] < TRIES:
                    self._alone.append(spec)
                    continue
                reason = f"its worker process died, {TRIES} times out of {TRIES}"
                ended.append(RunRecord(spec, "crashed", reason=reason, tries=TRIES))
            check_there(self._store, self._scratch)
            self._store.write(ended[-1])
        return ended


class _Progress:
    """Reports how many of `total` runs have ended and failed, and the expected time left.

    A terminal has one line, which is written anew. Any other console gets a line every ten seconds.
    """

    def __init__(self, total: int, report: RunReport, console: Console | None) -> None:
        self._total, self._report, self._console = total, report, console
        self._started = self._last = time.monotonic()

    def show(self, schedule: _Schedule) -> None:
        """Show how it stands, unless that was a moment ago."""
        now, ended = time.monotonic(), self._report.before + self._report.ended.total()
        if self._console is None:
            return
        anew, is_last = self._console.is_terminal, ended >= self._total
        if now - self._last < (_REFRESH_SECONDS if anew else _LINE_SECONDS) and not is_last:
            return
        self._last = now
        notes = [f"{n} {status}" for status, n in sorted(self._report.ended.items()) if status != "done"]
        left = schedule.seconds_left()
        if left is not None and not is_last:
            notes.append(f"about {duration(left)} left")
        line = ", ".join([f"{ended} of {self._total} runs", duration(now - self._started), *notes])
        try:
            # Not `Console.print`, which ends the process when nobody reads it any more: the runs go on.
            self._console.file.write(f"\r\x1b[K{line}" + "\n" * is_last if anew else f"{line}\n")
            self._console.file.flush()
        except OSError:
            self._console = None
