"""Play what a results folder lacks of a suite: the one way of the command, of notebooks, of claims and of boards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console

from gpbandit_envs.arguments import as_count
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, SuiteError, build_environments_once, not_in_suite
from leaderboards.play.watching import Watcher
from leaderboards.store.store import Store, SuiteLostError
from leaderboards.work.jobs import Limits, RunOutcome, can_interrupt
from leaderboards.work.local import Executor, check_executor, make_executor
from leaderboards.work.schedule import RunReport, missing, run_missing, skip_without_data

__all__ = ["Listener", "Played", "Stage", "Workforce", "adopt", "play_suite"]


@dataclass(frozen=True)
class Workforce:
    """Who plays.

    Attributes:
        workers: Runs at a time.
        executor: One of `leaderboards.work.local.EXECUTORS`; None for this process with one worker, and as many
            processes with more, or in a thread in which no limit of time could be kept.
        limits: What each run may use.
        scheduler: Address of a running Dask scheduler, for the executor `"dask"`.
        watcher: Looks on while runs are played; None for nobody.
        portable: Whether runs are computed with loops that every x86-64-v3 processor has; such runs are played in
            worker processes.

    Raises:
        ValueError: naming the argument that is out of range, or that does not go with the executor.
    """

    workers: int = 1
    executor: str | None = None
    limits: Limits = field(default_factory=Limits)
    scheduler: str | None = None
    portable: bool = False
    watcher: Watcher | None = None

    def __post_init__(self) -> None:
        as_count("workers", self.workers)
        check_executor(self._name, self.limits, self.scheduler, self.portable)

    @property
    def _name(self) -> str:
        here = self.workers == 1 and not self.portable and (self.limits.timeout is None or can_interrupt())
        return self.executor or ("serial" if here else "local")

    def hired(self) -> Executor:
        """The executor, to be closed.

        Raises:
            ExecutorError: if it cannot be started.
        """
        return make_executor(self._name, self.workers, self.limits, self.scheduler, portable=self.portable)


@dataclass(frozen=True)
class Stage:
    """Runs that are played before those of the next stage.

    Attributes:
        name: What they are, for who listens.
        specs: The runs.
    """

    name: str
    specs: Sequence[RunSpec]


class Listener:
    """Who hears how a suite is played; this one hears of nothing.

    Attributes:
        console: Where the progress is reported; None for nowhere.
    """

    console: Console | None = None

    def lacks_data(self, without_data: Mapping[str, str]) -> None:
        """Why the data of environments cannot be had, by the key of their refs. Nothing is written if this raises."""

    def warn(self, text: str) -> None:
        """A warning, as of results that are not in the suite."""

    def begins(self, todo: Sequence[RunSpec]) -> None:
        """The folder is the suite's, and these runs are played next."""

    def ended(self, stage: Stage, report: RunReport) -> None:
        """The runs of a stage of which something was missing have been played."""


@dataclass(frozen=True)
class Played:
    """What `play_suite` did.

    Attributes:
        report: How the runs ended.
        without_data: Why the data of an environment cannot be had, by the key of its ref, for those of which they
            cannot. Their runs are recorded as skipped.
    """

    report: RunReport
    without_data: Mapping[str, str]


def play_suite(
    suite: Suite,
    store: Store,
    specs: Iterable[RunSpec],
    workforce: Workforce,
    listener: Listener,
    *,
    retry_failed: bool = False,
    stages: Sequence[Stage] | None = None,
) -> Played:
    """Fetch the data of what is missing, make `suite` the one of the folder, and play what is missing.

    Args:
        suite: The suite that the folder is to hold.
        store: The folder.
        specs: The runs that are asked for, of it or of a part of it.
        workforce: Who plays.
        listener: Who hears how it goes.
        retry_failed: Whether to count what is not done as missing.
        stages: The same runs in the order in which they are played; None for all in one stage.

    Raises:
        SuiteError: if an environment cannot be built for another reason than its data, or the folder holds another
            suite.
        OSError: if the folder cannot be written.
    """
    specs = list(specs)
    todo = missing(specs, store, retry_failed)
    without_data = build_environments_once(todo)
    listener.lacks_data(without_data)
    for warning in adopt(suite, store):
        listener.warn(warning)
    skip_without_data(todo, store, without_data)
    listener.begins([spec for spec in todo if spec.built.key not in without_data])
    before, ended, failures = 0, Counter[str](), list[RunOutcome]()
    executor: Executor | None = None
    try:
        for stage in [Stage("", specs)] if stages is None else stages:
            playable = [spec for spec in stage.specs if spec.built.key not in without_data]
            if stages is not None and not missing(playable, store, retry_failed):
                before += len(playable)
                continue
            executor = executor or workforce.hired()
            report = run_missing(
                playable,
                store,
                executor,
                limits=workforce.limits,
                retry_failed=retry_failed,
                console=listener.console,
                watcher=workforce.watcher,
            )
            before += report.before
            ended += report.ended
            failures += report.failures
            listener.ended(stage, report)
    finally:
        if executor is not None:
            executor.close()
    return Played(RunReport(before, ended, tuple(failures)), without_data)


def adopt(suite: Suite, store: Store) -> list[str]:
    """Make `suite` the one of this folder; returns warnings, as of results that are not in it.

    Raises:
        SuiteError: if the folder holds another suite.
    """
    warnings = []
    try:
        there = store.suite()
    except SuiteLostError:
        there = None
        warnings.append(f"the suite of {store.directory} was damaged and is written anew")
    if there is not None and there.name != suite.name:
        raise SuiteError(
            f"{store.directory} holds results of suite {there.name!r}: give another folder for {suite.name!r}, "
            "with --out or out="
        )
    store.write_suite(suite)
    done = {key: run.spec for key, run in store.entries().items() if run.status == "done"}
    if apart := not_in_suite(suite, done):
        warnings.append(
            f"{store.directory} holds {len(apart)} runs of another environment, horizon, feedback or seed "
            f"than suite {suite.name!r} asks for, such as {_what(done[apart[0]])}: the page shows them apart and "
            "leaves them out of the mean rank"
        )
    return warnings


def _what(spec: RunSpec) -> str:
    name = f"{spec.agent.label} on {spec.env.label}"
    return f"{name} (horizon {spec.horizon}, {spec.feedback}, seed {spec.seed})"
