"""Play what a results folder lacks of a suite: the one way of the command, of notebooks, of claims and of boards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from rich.console import Console

from leaderboards.play.record import Watcher
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, SuiteError, build_environments_once, not_in_suite
from leaderboards.store.store import Store, SuiteLostError
from leaderboards.work.executors import Workforce
from leaderboards.work.schedule import RunReport, missing, run_missing, skip_without_data

__all__ = ["play_suite"]


def play_suite(
    suite: Suite,
    store: Store,
    specs: Iterable[RunSpec],
    workforce: Workforce,
    warn: Callable[[str], None],
    *,
    begins: Callable[[Sequence[RunSpec]], None] = lambda _: None,
    console: Console | None = None,
    watcher: Watcher | None = None,
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
        watcher: Looks on while runs are played; None for nobody.
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
    skip_without_data(todo, store, without_data)
    begins([spec for spec in todo if spec.built.key not in without_data])
    with closing(workforce.hired()) as executor:
        report = run_missing(
            [spec for spec in specs if spec.built.key not in without_data],
            store,
            executor,
            retry_failed=retry_failed,
            console=console,
            watcher=watcher,
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
