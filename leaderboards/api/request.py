"""What is asked of a suite, and how it went: the rules that `gpbandit run` and `run_suite` share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from leaderboards.api.entries import SuiteAgent, SuiteLike, as_suite
from leaderboards.archive.read import board_names, note_board, rivals_of
from leaderboards.audit.store import AuditWatcher
from leaderboards.play.plugins import load_plugins
from leaderboards.play.run import why_no_regret
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite, SuiteError, further
from leaderboards.store.store import Store
from leaderboards.verify.edited import edited_agents
from leaderboards.work.jobs import LEFT
from leaderboards.work.play import Listener, Stage, Workforce, play_suite
from leaderboards.work.schedule import RunReport, shard

__all__ = ["Outcome", "Request", "play", "request"]


@dataclass(frozen=True)
class Request:
    """Runs of a suite.

    Attributes:
        suite: The suite that a results folder is to hold.
        specs: The runs.
        against: The board that they are ranked on, as it was given; None for none.
    """

    suite: Suite
    specs: tuple[RunSpec, ...]
    against: str | None = None


@dataclass(frozen=True)
class Outcome:
    """How the runs of a request stand after they were played.

    Attributes:
        report: How those ended that were played now.
        without_data: Why the data of an environment cannot be had, by its label, for those of which they cannot.
        without_regret: Why the regret on an environment is not known, by its label, for those where it is not.
        edited: A sentence for each file of agents that is younger than runs that stay as they are.
        failed: How many crashed or timed out, now or before.
    """

    report: RunReport
    without_data: Mapping[str, str]
    without_regret: Mapping[str, str]
    edited: tuple[str, ...]
    failed: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing failed, now or before, and nothing is left for want of data or memory."""
        return not (self.failed or self.without_data or self.report.ended[LEFT])


def request(
    suite: SuiteLike,
    agents: Iterable[SuiteAgent] | Mapping[str, SuiteAgent] = (),
    against: str | os.PathLike[str] | None = None,
    part: str | None = None,
) -> Request:
    """The runs of a suite with further agents, once all ids and settings have been checked.

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
    specs = tuple(played.specs() if part is None else shard(played.specs(), part))
    return Request(found, specs, None if against is None else os.fspath(against))


def play(
    asked: Request,
    store: Store,
    workforce: Workforce,
    listener: Listener,
    *,
    retry_failed: bool = False,
) -> Outcome:
    """Play what a results folder lacks of a request, see `leaderboards.work.play.play_suite`.

    The folder notes the board before the first run. Runs of a suite with a plan for it are audited.

    Raises:
        SuiteError: if an environment cannot be built, or the folder holds another suite.
        OSError: if the folder cannot be written.
    """
    heard = listener if asked.against is None else _Noting(listener, store, asked.against)
    specs = asked.specs
    if asked.suite.audit is not None:
        workforce = replace(workforce, watcher=AuditWatcher(store.directory, asked.suite.audit))
    done = play_suite(asked.suite, store, specs, workforce, heard, retry_failed=retry_failed)
    labels = {spec.built.key: spec.env.label for spec in specs}
    return Outcome(
        done.report,
        {labels[key]: reason for key, reason in done.without_data.items()},
        _without_regret(store, specs),
        tuple(edited_agents(store, specs)),
        len(store.keys("crashed", "timeout").intersection(spec.key for spec in specs)),
    )


class _Noting(Listener):
    """Hands on what it hears; before the first run the folder notes the board that it is compared with."""

    def __init__(self, heard: Listener, store: Store, against: str) -> None:
        self.console = heard.console
        self._heard, self._store, self._against = heard, store, against

    def lacks_data(self, without_data: Mapping[str, str]) -> None:
        self._heard.lacks_data(without_data)

    def warn(self, text: str) -> None:
        self._heard.warn(text)

    def begins(self, todo: Sequence[RunSpec]) -> None:
        note_board(self._store.directory, self._against)
        self._heard.begins(todo)

    def ended(self, stage: Stage, report: RunReport) -> None:
        self._heard.ended(stage, report)


def _without_regret(store: Store, specs: Iterable[RunSpec]) -> dict[str, str]:
    """Why the regret is not known, by the label of each environment where it is not; by one done run of each."""
    done = store.done_keys()
    one_each = {spec.env.label: spec.key for spec in specs if spec.key in done}
    reasons = {env: why_no_regret(store.trace(key, ["regret", "mean"])) for env, key in one_each.items()}
    return {env: reason for env, reason in reasons.items() if reason is not None}
