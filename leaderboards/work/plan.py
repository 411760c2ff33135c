"""What would be played of a suite, and how long it may take by the speed of finished runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpbandit_envs.datasets.download import cached_only
from leaderboards.play.fit import Fit
from leaderboards.play.record import lacks_data
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import build_environments_once
from leaderboards.store.store import Store
from leaderboards.work.schedule import RunTimes, missing


@dataclass(frozen=True)
class Plan:
    """What would be played.

    Attributes:
        runs: How many runs are asked for.
        pairs: How many are missing of an agent on an environment, and why they would be skipped: by the labels of
            environment and agent with the reason, None where they would be played.
        there: How many of the others ended in which way.
        seconds: Expected seconds of one worker for those whose speed is known; None if it is of none.
        unknown: Of how many it is not: pairs that have not run yet may be faster or slower.
    """

    runs: int
    pairs: Mapping[tuple[str, str, str | None], int]
    there: Mapping[str, int]
    seconds: float | None
    unknown: int

    @property
    def skip(self) -> int:
        """How many runs would be skipped."""
        return sum(n for (_, _, reason), n in self.pairs.items() if reason is not None)

    @property
    def play(self) -> int:
        """How many runs would be played."""
        return sum(self.pairs.values()) - self.skip


def plan(specs: Sequence[RunSpec], store: Store, retry_failed: bool = False) -> Plan:
    """What `play_suite` would play of `specs`; every environment is built once, and nothing is downloaded.

    A pair that was skipped in one repetition will be in all, and so will one of which it can be told beforehand.

    Raises:
        SuiteError: naming an environment that cannot be built for another reason than its data.
    """
    times, entries = RunTimes(), store.entries()
    reasons: dict[str, str] = {}
    for run in entries.values():
        if run.status == "done":
            times.add(run.spec, run.seconds)
        elif run.status == "skipped" and not lacks_data(run.status, run.reason):
            reasons[run.spec.pair] = run.reason or "skipped before"
    todo = missing(specs, store, retry_failed)
    with cached_only():
        fit = Fit()
        build_environments_once(todo, fit.look)
    for pair, spec in {spec.pair: spec for spec in todo}.items():
        unfit = fit.reason(spec)
        if unfit is not None:
            reasons.setdefault(pair, unfit)
    again = {spec.key for spec in todo}
    expected = [times.seconds(spec) for spec in todo if spec.pair not in reasons]
    known = [seconds for seconds in expected if seconds is not None]
    return Plan(
        runs=len(specs),
        pairs=Counter((spec.env.label, spec.agent.label, reasons.get(spec.pair)) for spec in todo),
        there=Counter(str(entries[spec.key].status) for spec in specs if spec.key not in again),
        seconds=sum(known) if known else None,
        unknown=len(expected) - len(known),
    )
