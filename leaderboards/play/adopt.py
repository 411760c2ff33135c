"""Make a suite the one of a results folder."""

from __future__ import annotations

from leaderboards.play.spec import RunSpec
from leaderboards.play.store import Store, SuiteLostError
from leaderboards.play.suite import Suite, SuiteError, not_in_suite

__all__ = ["adopt"]


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
