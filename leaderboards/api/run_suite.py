"""Suites from a notebook or a script: environments and agents may be objects, results come back as an object."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from rich.console import Console

from gpbandit_envs.arguments import as_count
from leaderboards.api.entries import SuiteAgent, SuiteLike
from leaderboards.api.request import play, request
from leaderboards.api.results import Results
from leaderboards.store.store import Store
from leaderboards.work.jobs import DEFAULT_TIMEOUT, Limits
from leaderboards.work.play import Listener, Workforce

__all__ = ["run_suite"]

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
    workforce = Workforce(as_count("workers", workers), limits=Limits(timeout))
    asked = request(suite, agents, against)
    store = Store(Path("results") / asked.suite.name if out is None else out)
    done = play(asked, store, workforce, _Log(progress), retry_failed=retry_failed)
    for env, reason in done.without_data.items():
        _log.warning("skipped: %s, %s; the same call tries again", env, reason)
    for line in [*done.edited, *done.report.failed()]:
        _log.warning("%s", line)
    return Results(store.directory, done.report)


class _Log(Listener):
    """Warnings go to the log."""

    def __init__(self, progress: bool) -> None:
        self.console = Console(stderr=True) if progress else None

    def warn(self, text: str) -> None:
        _log.warning("%s", text)
