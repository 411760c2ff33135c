"""Which rows keep their word: a rule on counts of violated runs, and nothing else.

| symbol | meaning |
|---|---|
| `k`, `n` | violated runs and all runs of a row on a task; one is violated if some mean was ever outside its band |
| `delta` | failure probability that all bands are held to |
| `m` | tasks that decide |

A row *claims* a task where its theorem applies there. Violated runs elsewhere are shown and do not count against it. It
is *refuted* on a task where so many violations are improbable for a band that fails with probability `delta`: the
binomial tail is below `0.05 / m`, so that a row that keeps its word is refuted anywhere with a probability of at most
0.05. It is *confirmed* if over all claimed runs together the one-sided 95 % Clopper-Pearson limit of the share that
held is at least `1 - delta`. One task alone cannot confirm a delta of 0.1 with fewer than 29 runs; hence the pooling,
which takes runs of different tasks for independent, as they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does

from leaderboards.score.statistics import clopper_pearson

SIGNIFICANCE = 0.05
"""Of the limit of confirmation, and of refutation over all tasks together."""

FEWEST = 8
"""Claimed tasks below which a row is not ranked: it is listed with what it held."""

NEAR = 5
"""Violated runs from the limit of confirmation within which a row is measured after every turn: what some checkpoints
miss could change what is said of it."""

Category = Literal["valid", "few", "not confirmed", "holds, no theorem", "fails", "no band"]
"""What a row is: `"valid"`: claims enough tasks, confirmed and nowhere refuted; `"few"`: the same on fewer tasks, to be
listed without a rank; `"holds, no theorem"`: claims none, and is confirmed and nowhere refuted over all; `"fails"`:
refuted on a task, or by all runs together at 0.05; `"not confirmed"`: neither; `"no band"`: states none."""


@dataclass(frozen=True)
class Count:
    """Runs of a row on a task.

    Attributes:
        violated: In how many some mean was outside the band, or nobody looked, at least 0.
        runs: How many there are, at least 1.
        claims: Whether the row's theorem applies to the task.
    """

    violated: int
    runs: int
    claims: bool


@dataclass(frozen=True)
class Verdict:
    """What the rule says of a row.

    Attributes:
        category: What the row is.
        claimed: Tasks that decide on which it claims a theorem.
        violated: Violated runs on the tasks that are held against it: those it claims, or all if it claims none.
        runs: Runs there.
        least_held: One-sided lower limit of the share of runs that hold there; NaN without runs.
        refuted: The tasks among them that refute it.
    """

    category: Category
    claimed: tuple[str, ...]
    violated: int
    runs: int
    least_held: float
    refuted: tuple[str, ...]

    @property
    def held(self) -> int:
        """Runs there in which every mean was inside the band."""
        return self.runs - self.violated


def least_held(violated: int, runs: int, significance: float = SIGNIFICANCE) -> float:
    """Lower Clopper-Pearson limit of the share of runs that hold, one-sided; NaN without runs."""
    if not runs:
        return math.nan
    return float(clopper_pearson(np.array([runs - violated]), runs, significance)[0][0])


@functools.cache
def most_violated(runs: int, delta: float, tasks: int, significance: float = SIGNIFICANCE) -> int:
    """Largest number of violated runs on a task that does not refute a row, when `tasks` decide."""
    tails = scipy.stats.binom.sf(np.arange(-1, runs), runs, delta)  # P(X >= k) of each k
    return int(np.flatnonzero(tails >= significance / tasks)[-1])


def most_confirmed(runs: int, delta: float) -> int:
    """Largest number of violated runs that confirms a row, -1 if even none does."""
    k = -1
    while k < runs and least_held(k + 1, runs) >= 1 - delta:
        k += 1
    return k


def is_near_limit(verdict: Verdict, delta: float) -> bool:
    """Whether a row is within `NEAR` violated runs of the limit of confirmation, on either side."""
    return verdict.runs > 0 and abs(verdict.violated - most_confirmed(verdict.runs, delta)) <= NEAR


def judge(counts: Mapping[str, Count], delta: float, tasks: int) -> Verdict:
    """The verdict on a row.

    Args:
        counts: Runs by the label of the task, of the tasks that decide; empty for a row without a band.
        delta: Failure probability that it is held to, in (0, 1).
        tasks: How many tasks decide, at least as many as there are counts.
    """
    if not counts:
        return Verdict("no band", (), 0, 0, float("nan"), ())
    claimed = tuple(task for task, count in counts.items() if count.claims)
    held_to = {task: counts[task] for task in claimed or counts}
    violated, runs = sum(c.violated for c in held_to.values()), sum(c.runs for c in held_to.values())
    refuted = tuple(task for task, c in held_to.items() if c.violated > most_violated(c.runs, delta, tasks))
    limit = least_held(violated, runs)
    return Verdict(_category(claimed, violated, runs, limit, refuted, delta), claimed, violated, runs, limit, refuted)


def _category(
    claimed: tuple[str, ...], violated: int, runs: int, limit: float, refuted: tuple[str, ...], delta: float
) -> Category:
    # Refuted as well if the pooled share is significantly above delta, though no task alone says so.
    if refuted or violated > most_violated(runs, delta, 1):
        return "fails"
    if limit < 1 - delta:
        return "not confirmed"
    if not claimed:
        return "holds, no theorem"
    return "valid" if len(claimed) >= FEWEST else "few"
