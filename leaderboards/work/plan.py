"""What would be played of a suite, and how long it may take by the speed of finished runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agents import Capabilities
from gpbandit_envs.channels import as_channel
from leaderboards.play.build import build_agent
from leaderboards.play.feedback import unfit_for
from leaderboards.play.record import lacks_data
from leaderboards.play.spec import RunSpec
from leaderboards.store.store import Store
from leaderboards.work.schedule import RunTimes, missing

__all__ = ["Plan", "PlannedPair", "plan"]


@dataclass(frozen=True)
class PlannedPair:
    """The missing runs of an agent on an environment.

    Attributes:
        env: Label of the environment.
        agent: Label of the agent.
        runs: How many of its runs are missing.
        skipped: Why they would be skipped; None if they would be played.
    """

    env: str
    agent: str
    runs: int
    skipped: str | None


@dataclass(frozen=True)
class Plan:
    """What would be played.

    Attributes:
        runs: How many runs are asked for.
        pairs: The missing ones, by pair.
        there: How many of the others ended in which way.
        seconds: Expected seconds of one worker for those whose speed is known; None if it is of none.
        unknown: Of how many it is not: pairs that have not run yet may be faster or slower.
    """

    runs: int
    pairs: tuple[PlannedPair, ...]
    there: Mapping[str, int]
    seconds: float | None
    unknown: int

    @property
    def play(self) -> int:
        """How many runs would be played."""
        return sum(pair.runs for pair in self.pairs if pair.skipped is None)

    @property
    def skip(self) -> int:
        """How many would be skipped."""
        return sum(pair.runs for pair in self.pairs if pair.skipped is not None)


def plan(specs: Sequence[RunSpec], store: Store, retry_failed: bool = False) -> Plan:
    """What `play_suite` would play of `specs`.

    A pair that was skipped in one repetition will be in all. Of a pair that was never tried it is known whether the
    agent can play under the feedback, not whether it fits the environment, which would have to be built.
    """
    times, entries = RunTimes(), store.entries()
    reasons: dict[tuple[str, str, str], str | None] = {}
    for run in entries.values():
        if run.status == "done":
            times.add(run.spec, run.seconds)
        elif run.status == "skipped" and not lacks_data(run.status, run.reason):
            reasons[_pair_of(run.spec)] = run.reason or "skipped before"
    todo = missing(specs, store, retry_failed)
    for spec in {_pair_of(spec): spec for spec in todo}.values():
        capabilities: object = getattr(build_agent(spec.agent), "capabilities", None)
        if not isinstance(capabilities, Capabilities):
            continue  # which its runs say
        if (unfit := unfit_for(as_channel(spec.feedback), capabilities)) is not None:
            reasons.setdefault(_pair_of(spec), unfit)
    again = {spec.key for spec in todo}
    there = Counter(str(entries[spec.key].status) for spec in specs if spec.key not in again)
    expected = [times.seconds(spec) for spec in todo if _pair_of(spec) not in reasons]
    known = [seconds for seconds in expected if seconds is not None]
    pairs = Counter((spec.env.label, spec.agent.label, reasons.get(_pair_of(spec))) for spec in todo)
    return Plan(
        runs=len(specs),
        pairs=tuple(PlannedPair(env, agent, n, reason) for (env, agent, reason), n in pairs.items()),
        there=dict(there),
        seconds=sum(known) if known else None,
        unknown=len(expected) - len(known),
    )


def _pair_of(spec: RunSpec) -> tuple[str, str, str]:
    """What decides whether a run is skipped: environment, feedback and agent, whatever the repetition."""
    return spec.env.key, spec.feedback, spec.agent.key
