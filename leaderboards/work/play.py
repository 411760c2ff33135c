"""Make a suite the one of a results folder, and its environments ready to be played."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, SuiteError, build_environments_once, not_in_suite
from leaderboards.store.store import Store, SuiteLostError
from leaderboards.work.schedule import missing, skip_without_data

__all__ = ["adopt", "prepare"]


def prepare(
    suite: Suite, specs: Sequence[RunSpec], store: Store, warn: Callable[[str], object], retry_failed: bool = False
) -> dict[str, str]:
    """Fetch the data of what is to be played, make `suite` the one of a folder, and skip runs without data.

    Args:
        suite: The suite that the folder is to hold.
        specs: The runs that are asked for, of it or of a part of it.
        store: The folder.
        warn: Called with each warning, as of results that are not in the suite.
        retry_failed: Whether to count what is not done as missing.

    Returns:
        Why the data of an environment cannot be had, by the key of its ref, for those of which they cannot. Their runs
        are recorded as skipped, and must not be played.

    Raises:
        SuiteError: if an environment cannot be built for another reason, or the folder holds another suite.
    """
    todo = missing(specs, store, retry_failed)
    without_data = build_environments_once(todo)
    for warning in adopt(suite, store):
        warn(warning)
    skip_without_data(todo, store, without_data)
    return without_data


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
