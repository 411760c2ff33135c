"""A claim: a statement of a paper, our figure for it, and the range in which that figure must lie.

The verdict is read off the 95 % interval over repetitions: *agrees* if all of it lies in the range that the statement
means, *disagrees* if all of it lies outside, *cannot be told* otherwise; a claim that nothing here measures is *not
testable here*. Where a paper uses a word (clearly, close), the range is our reading of it and stands beside the
verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from leaderboards.claims.runs import NotPlayedError, Runs
from leaderboards.score.statistics import Interval

__all__ = ["Checked", "Claim", "Verdict", "judge"]

Verdict = Literal["agrees", "disagrees", "cannot be told", "not testable here"]


@dataclass(frozen=True)
class Claim:
    """One statement of a paper.

    Attributes:
        name: Short name, unique in its experiment.
        source: Figure, section or theorem.
        statement: What the paper says, in our words.
        figure: What is measured, with its unit.
        measure: Computes the figure; None if nothing here can measure it, and `note` then says why.
        low: Least value with which the statement holds.
        high: Largest value with which it holds.
        quick: Whether the verdict is stable enough at short horizons for continuous integration.
        note: What the paper leaves open, or what was tried where we disagree.
        paper: Key of the paper that says it; empty for the experiment's own.
        reading: Which reading of a setting that the paper leaves open, where a claim is checked in several.
    """

    name: str
    source: str
    statement: str
    figure: str
    measure: Callable[[Runs], Interval] | None
    low: float = -math.inf
    high: float = math.inf
    quick: bool = False
    note: str = ""
    paper: str = ""
    reading: str = ""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low, high: expected low < high, got {self.low!r} and {self.high!r}")
        if self.measure is None and not self.note:
            raise ValueError(f"note: expected the reason why nothing measures {self.name!r}, got an empty one")

    @property
    def range(self) -> str:
        """The range in which the figure must lie."""
        if math.isinf(self.low) and math.isinf(self.high):
            return "anywhere"
        if math.isinf(self.high):
            return f"at least {self.low:g}"
        if math.isinf(self.low):
            return f"at most {self.high:g}"
        return f"{self.low:g} to {self.high:g}"

    def check(self, runs: Runs) -> Checked:
        """Measure and judge; rows that have not been played leave the verdict open."""
        nothing = Interval(math.nan, math.nan, math.nan, 0)
        if self.measure is None:
            return Checked(self, nothing, "not testable here")
        try:
            interval = self.measure(runs)
        except NotPlayedError:
            interval = nothing
        return Checked(self, interval, judge(interval, self.low, self.high))


@dataclass(frozen=True)
class Checked:
    """A claim with its verdict."""

    claim: Claim
    interval: Interval
    verdict: Verdict

    @property
    def needs(self) -> int | None:
        """Repetitions with which an open verdict would be one, were the estimate to stay; None if that is not known.

        The half-width of an interval falls with the root of the number of repetitions.
        """
        known, low, high = self.interval, self.claim.low, self.claim.high
        if self.verdict != "cannot be told" or not known.is_known:
            return None
        distance = min(abs(known.estimate - bound) for bound in (low, high) if math.isfinite(bound))
        half = (known.high - known.low) / 2
        factor = (half / distance) ** 2 if distance > 0 else math.inf
        return math.ceil(known.n * factor) if math.isfinite(factor) else None


def judge(interval: Interval, low: float, high: float) -> Verdict:
    """The verdict on a figure that should lie in `[low, high]`."""
    if not interval.is_known:
        return "cannot be told"
    if interval.low >= low and interval.high <= high:
        return "agrees"
    if interval.high < low or interval.low > high:
        return "disagrees"
    return "cannot be told"
