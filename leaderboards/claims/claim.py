"""A claim: a statement of a paper, our figure for it, and the range in which that figure must lie.

The verdict is read off the 95 % interval over repetitions; after k looks, of which the earlier ones led to more runs,
off that of 1 - 5 % / k. Where a statement puts one thing before another, and all of the interval lies within a tenth of
a tie, on whichever side, there is *no difference*: a tenth is what the papers' own "about" and "comparable" are read
as. Else it *agrees* if all of the interval lies in the range that the statement means, *disagrees* if all of it lies
outside, and *cannot be told* otherwise. A claim that nothing here measures is *not testable here*. What the words of
papers mean is in docs/guides/verdicts.md, the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Literal

from leaderboards.claims.runs import NotPlayedError, Runs
from leaderboards.score.statistics import ALPHA, Interval

Verdict = Literal["agrees", "disagrees", "no difference", "cannot be told", "not testable here"]
Scope = Literal["experiment", "theorem", "ours"]
ALIKE = 0.1
"""A difference, of one, up to which two things are alike: what the papers' "about" and "comparable" are read as."""
ALIKE_LOG10 = math.log10(1 + ALIKE)
_ROUNDING = 1e-12  # relative length of an interval of figures that are equal


@dataclass(frozen=True)
class Figure:
    """What is measured.

    Attributes:
        text: What it is, with its unit.
        measure: Computes it; None if nothing here can.
    """

    text: str
    measure: Callable[[Runs], Interval] | None = None

    def __call__(self, runs: Runs) -> Interval:
        """The figure of these runs."""
        assert self.measure is not None
        return self.measure(runs)


@dataclass(frozen=True)
class Range:
    """Where a figure must lie for a statement to hold.

    Attributes:
        low: Least value with which it holds.
        high: Largest value with which it holds.
        alike: Where the one bound is that of an order, such as 0 for a relative difference: how far from it two things
            count as alike, in the unit of the figure. 0 where there is no such bound.
        ours: Whether the bounds are of ours, where the paper has a word and no number.
    """

    low: float = -math.inf
    high: float = math.inf
    alike: float = 0.0
    ours: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"low, high: expected low < high, got {self.low!r} and {self.high!r}")
        if self.alike < 0 or (self.alike > 0 and math.isfinite(self.low) == math.isfinite(self.high)):
            raise ValueError(f"alike: expected 0, or a positive number and one finite bound, got {self.alike!r}")

    def __str__(self) -> str:
        """The range in words."""
        whose = " (ours)" if self.ours else ""
        if math.isinf(self.low) and math.isinf(self.high):
            return "anywhere"
        if math.isinf(self.high):
            return "above 0" if 0 < self.low < 1e-300 else f"at least {self.low:g}{whose}"
        if math.isinf(self.low):
            return f"at most {self.high:g}{whose}"
        return f"{self.low:g} to {self.high:g}{whose}"

    def judge(self, interval: Interval) -> Verdict:
        """The verdict on a figure with that interval."""
        if not interval.is_known:
            return "cannot be told"
        bound = self.low if math.isfinite(self.low) else self.high
        if self.alike and bound - self.alike <= interval.low and interval.high <= bound + self.alike:
            return "no difference"
        if interval.low >= self.low and interval.high <= self.high:
            return "agrees"
        return "disagrees" if interval.high < self.low or interval.low > self.high else "cannot be told"

    def distance(self, x: float) -> float:
        """How short the half-width of an interval around `x` must be for a verdict."""
        off = min(abs(x - bound) for bound in (self.low, self.high) if math.isfinite(bound))
        return max(off, self.alike - off)


def at_least(low: float) -> Range:
    """A bound of ours from below."""
    return Range(low=low, ours=True)


def at_most(high: float) -> Range:
    """A bound of ours from above."""
    return Range(high=high, ours=True)


def within(x: float) -> Range:
    """Near to 0 on either side, as near as we say."""
    return Range(-x, x, ours=True)


def short(name: str) -> str:
    """A task or an attack as names of claims have it."""
    return name.lower().replace(" ", "-")


MORE = Range(low=math.nextafter(0.0, 1.0), alike=ALIKE)
"""Of a difference of one: the first of two is larger."""
LESS = Range(high=0.0, alike=ALIKE)
"""Of a difference of one: the first of two is smaller."""
FASTER = Range(low=math.nextafter(0.0, 1.0), alike=ALIKE_LOG10)
"""Of the `log10` of a ratio: the first of two times is longer."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper.

    Attributes:
        name: Short name, unique in its experiment.
        source: Figure, section or theorem.
        statement: What the paper says, in our words.
        figure: What is measured; where nothing here can measure it, `note` says why.
        expected: Where it lies if the statement holds.
        exact: Whether the figure is the same in every run where the statement holds, as of an inequality that holds in
            all runs. Other figures that happen to be equal in all runs have no interval.
        quick: Whether the verdict is stable enough at short horizons for continuous integration.
        note: What the paper leaves open, or what was tried where we disagree.
        paper: Key of the paper that says it; empty for the experiment's own.
        reading: Which reading of a setting that the paper leaves open, for all but the first.
        scope: Whether it is of an experiment of the paper, which alone counts as a replication; of a statement that has
            a proof; or of tasks, rivals or comparisons of ours. Its experiment sets it where a claim is not "ours".
    """

    name: str
    source: str
    statement: str
    figure: Figure
    expected: Range = field(default_factory=Range)
    exact: bool = False
    quick: bool = False
    note: str = ""
    paper: str = ""
    reading: str = ""
    scope: Scope = "experiment"

    def __post_init__(self) -> None:
        if self.figure.measure is None and not self.note:
            raise ValueError(f"note: expected the reason why nothing measures {self.name!r}, got an empty one")

    def check(self, runs: Runs, looked: Sequence[int] = ()) -> Checked:
        """Measure and judge; rows that have not been played leave the verdict open.

        Args:
            runs: What was played.
            looked: The numbers of repetitions at which it was judged before. Where those were fewer, the verdict was
                looked at before more was played, and each look has its share of the 5 % in which one may be wrong.
        """
        nothing = Interval(math.nan, math.nan, math.nan, 0)
        if self.figure.measure is None:
            return Checked(self, nothing, "not testable here")
        try:
            interval = self.figure(runs)
            earlier = tuple(sorted({n for n in looked if n < interval.n}))
            if earlier:
                interval = self.figure(runs.at(1 - ALPHA / (len(earlier) + 1)))
        except NotPlayedError:
            return Checked(self, nothing, "cannot be told", tuple(looked))
        if not self.exact and interval.high - interval.low <= _ROUNDING * abs(interval.estimate):
            interval = replace(interval, low=math.nan, high=math.nan)
        return Checked(self, interval, self.expected.judge(interval), earlier)


@dataclass(frozen=True)
class Checked:
    """A claim with its verdict.

    Attributes:
        claim: The claim.
        interval: Its figure, with an interval of the level at which it was judged.
        verdict: The verdict.
        looked: The smaller numbers of repetitions at which it was judged before.
    """

    claim: Claim
    interval: Interval
    verdict: Verdict
    looked: tuple[int, ...] = ()

    @property
    def needs(self) -> int | None:
        """Repetitions with which an open verdict would be one, were the estimate to stay; None if that is not known.

        The half-width of an interval falls with the root of the number of repetitions, and grows with one look more.
        Where two things may be alike, that would be found as soon as the interval fits there.
        """
        known = self.interval
        if self.verdict != "cannot be told" or not known.is_known:
            return None
        distance = self.claim.expected.distance(known.estimate)
        looks = len(self.looked) + 1
        now, then = (NormalDist().inv_cdf(1 - ALPHA / (2 * k)) for k in (looks, looks + 1))
        half = (known.high - known.low) / 2 * then / now
        factor = (half / distance) ** 2 if distance > 0 else math.inf
        return math.ceil(known.n * factor) if math.isfinite(factor) else None
