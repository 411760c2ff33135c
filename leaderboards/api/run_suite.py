"""Suites from a notebook, a script or the command line: what is asked for, playing it, and its results."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from leaderboards.api.entries import SuiteAgent, SuiteLike, as_suite
from leaderboards.api.results import Results
from leaderboards.audit.store import AuditWatcher
from leaderboards.play.build import load_plugins
from leaderboards.play.record import Watcher
from leaderboards.play.run import why_no_regret
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, SuiteError, further
from leaderboards.publish.boards import board_names, note_board, rivals_of
from leaderboards.store.store import Store
from leaderboards.verify.changed_code import changed_agents
from leaderboards.work.executors import Workforce
from leaderboards.work.jobs import DEFAULT_TIMEOUT, Limits
from leaderboards.work.play_suite import play_suite
from leaderboards.work.schedule import RunReport, shard

__all__ = ["asked_for", "play_asked", "run_suite"]

_log = logging.getLogger("gpbandit")


def run_suite(
    suite: SuiteLike,
    agents: Iterable[SuiteAgent] | Mapping[str, SuiteAgent] = (),
    *,
    out: str | os.PathLike[str] | None = None,
    workers: int = 1,
    retry_failed: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    progress: bool = True,
    against: str | os.PathLike[str] | None = None,
) -> Results:
    """Play what is missing of a suite, as `gpbandit run` does, and return its results.

    Runs that are in the folder are not played again. A class or object that was edited in a notebook is another agent
    than before, and a table or function another environment: their runs are new ones.

    Args:
        suite: The name of a suite or the path of a TOML file; a mapping with the keys of such a file; or a `Suite`. In
            a mapping, `environments` may hold ids, `(id, kwargs)` pairs and environments, `agents` what `agents` takes.
        agents: Further agents: ids, classes and objects, and pairs of id or class with its arguments; or such agents by
            label, as `{"narrow": ("GP-UCB", {"width": 1.0})}`. Each run has a copy of an object.
        out: Results folder; by default `results/<name of the suite>`.
        workers: Runs at a time. With 1 they are played in this process, one after the other; with more in as many
            processes, to which classes and functions of a notebook are sent. So they are with 1 and a `timeout` where
            this process cannot stop a run: in another thread than the main one, and on Windows.
        retry_failed: Whether to play again what crashed, timed out or was skipped.
        timeout: Seconds that a run may take, by default a day; None for no limit.
        progress: Whether to report progress on the standard error stream.
        against: A board, as `leaderboards.board` takes it, or `"board"` for the package's board of the suite: only
            `agents` are played, and the results rank them among its runs.

    Raises:
        TypeError: if a suite, an environment, an agent or a time is of no such kind.
        ValueError: if `workers` is below 1, `timeout` is not above 0, `against` is no board or comes without `agents`,
            or the suite cannot be run as it is written (`SuiteError`): it names the entry.
        OSError: if the folder cannot be written.
    """
    workforce = Workforce(workers, limits=Limits(timeout))
    found, specs = asked_for(suite, agents, against)
    store = Store(Path("results") / found.name if out is None else out)
    console = Console(stderr=True) if progress else None
    report = play_asked(
        found, specs, store, workforce, _log.warning, against=against, console=console, retry_failed=retry_failed
    )
    for env, reason in report.without_data.items():
        _log.warning("skipped: %s, %s; the same call tries again", env, reason)
    for line in [*report.changed, *report.failure_lines()]:
        _log.warning("%s", line)
    return Results(store.directory, report)


def asked_for(
    suite: SuiteLike,
    agents: Iterable[SuiteAgent] | Mapping[str, SuiteAgent] = (),
    against: str | os.PathLike[str] | None = None,
    part: str | None = None,
) -> tuple[Suite, list[RunSpec]]:
    """The suite that a results folder is to hold and the runs that are asked for, once all settings have been checked.

    Args:
        suite: The suite.
        agents: Further agents.
        against: A board: only `agents` are to be played, and ranked among its runs.
        part: Only this shard of the runs, as `i/N`.

    Raises:
        TypeError: if a suite, an environment or an agent is of no such kind.
        ValueError: naming the argument: there is no such board, or no agents are to be ranked on it, or no such shard.
        SuiteError: if the suite cannot be run as it is written.
    """
    load_plugins()
    found = played = as_suite(suite, agents).pinned()
    if against is not None:
        listed = as_suite(suite)
        rivals_of(against, listed)
        played = further(found, listed)
    try:
        played.check()
    except SuiteError as error:
        if against is None and agents and found.name in board_names():
            hint = "with --against board (in Python against='board') your agents play alone, among the runs that it has"
            raise SuiteError(f"{error}; {hint}") from None
        raise
    return found, list(played.specs() if part is None else shard(played.specs(), part))


def play_asked(
    suite: Suite,
    specs: Sequence[RunSpec],
    store: Store,
    workforce: Workforce,
    warn: Callable[[str], None],
    *,
    against: str | os.PathLike[str] | None = None,
    begins: Callable[[Sequence[RunSpec]], None] = lambda _: None,
    console: Console | None = None,
    watcher: Watcher | None = None,
    retry_failed: bool = False,
) -> RunReport:
    """Play what a results folder lacks of what is asked for, see `leaderboards.work.play_suite.play_suite`.

    The folder notes the board before the first run. Runs of a suite with a plan for it are audited.

    Raises:
        SuiteError: if an environment cannot be built, or the folder holds another suite.
        OSError: if the folder cannot be written.
    """

    def begin(todo: Sequence[RunSpec]) -> None:
        if against is not None:
            note_board(store.directory, os.fspath(against))
        begins(todo)

    if suite.audit is not None:
        watcher = AuditWatcher(store.directory, suite.audit)
    report = play_suite(
        suite, store, specs, workforce, warn, begins=begin, console=console, watcher=watcher, retry_failed=retry_failed
    )
    done = store.done_keys()
    one_each = {spec.env.label: spec.key for spec in specs if spec.key in done}
    reasons = {env: why_no_regret(store.trace(key, ["regret", "mean"])) for env, key in one_each.items()}
    report.without_regret = {env: reason for env, reason in reasons.items() if reason is not None}
    report.changed = changed_agents(store, specs)
    report.failed = len(store.keys("crashed", "timeout").intersection(spec.key for spec in specs))
    return report
