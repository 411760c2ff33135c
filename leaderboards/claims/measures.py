"""Figures for claims: paired by repetition, with intervals of the level that `Runs` asks for.

A mean has Student's interval, a ratio of two means Fieller's, and a share or a count, most of whose values may be
equal, the one by betting. Intervals of a bootstrap are too short for few repetitions: of five normal ones, 15 % miss
the mean instead of 5 %. What is looked for in the runs, as the best of several rows, is found in one half of the
repetitions and measured in the other: the best of equal rows in the same runs looks better than it is.

| symbol | meaning |
|---|---|
| `R` | cumulative regret of a run, from evaluation `first` to its end |
| relative difference | `(R_a - R_b) / mean R_b`, paired by repetition: 0.1 is a tenth more regret than b's average |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from scipy.stats import kendalltau

from leaderboards.claims.runs import Runs
from leaderboards.play.measures import batches_so_far
from leaderboards.score.metrics import regret_ratio
from leaderboards.score.statistics import (
    Interval,
    bounded_interval,
    loglog_slope,
    mean_interval,
    paired_difference,
    proportion,
    ratio_interval,
)

__all__ = [
    "Measure",
    "at_best",
    "bandwidths",
    "batches",
    "bounce",
    "faster",
    "fewer_batches",
    "found",
    "found_in_all",
    "found_more",
    "gap",
    "growth",
    "halves",
    "lower_simple",
    "minimum_so_far",
    "more_regret",
    "more_regret_in",
    "more_regret_where",
    "near_optimal",
    "order_kept",
    "over_environments",
    "rank_correlations",
    "ratio_to_uniform",
    "share",
    "simple_in",
]

Measure = Callable[[Runs], Interval]


def more_regret(a: str, b: str, first: int = 1, last: int | None = None) -> Measure:
    """Relative difference of the cumulative regrets of a and b between the evaluations `first` and `last`."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = (runs.column(agent, "regret", both)[:, first - 1 : last].sum(axis=1) for agent in (a, b))
        return ratio_interval(x - y, y, runs.level)

    return measure


def more_regret_in(a: str, b: str, unit: str, first: int = 1, last: int | None = None) -> Measure:
    """Difference of the cumulative regrets of a and b between two evaluations over the mean of that of `unit`."""

    def measure(runs: Runs) -> Interval:
        all_three = runs.together(a, b, unit)
        x, y, z = (runs.column(agent, "regret", all_three)[:, first - 1 : last].sum(axis=1) for agent in (a, b, unit))
        return ratio_interval(x - y, z, runs.level)

    return measure


def more_regret_where(a: str, b: str, tolerance: float) -> Measure:
    """`more_regret` over the runs in which b has come within `tolerance` of the optimum."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        there = runs.column(b, "regret", both).min(axis=1) <= tolerance
        x, y = (runs.column(agent, "regret", both)[there].sum(axis=1) for agent in (a, b))
        if there.sum() < 2:
            return Interval(np.nan, np.nan, np.nan, int(there.sum()), runs.level)
        return ratio_interval(x - y, y, runs.level)

    return measure


def halves(n: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Every second repetition and the others, to measure in one what was found in the other; one alone has no other."""
    even, odd = slice(0, n, 2), slice(1 if n > 1 else 0, n, 2)
    return (even, odd), (odd, even)


def at_best(a: Sequence[str], b: Sequence[str]) -> Measure:
    """Relative difference of the cumulative regrets of two policies, each in its row of least mean regret.

    Which row that is follows from the other half of the repetitions.
    """

    def measure(runs: Runs) -> Interval:
        played = runs.together(*a, *b)
        totals = [np.stack([runs.column(row, "regret", played).sum(axis=1) for row in rows]) for rows in (a, b)]
        x, y = np.zeros((2, len(played)))
        for here, there in halves(len(played)):
            for values, total in zip((x, y), totals):
                values[here] = total[np.argmin(total[:, there].mean(axis=1)), here]
        return ratio_interval(x - y, y, runs.level)

    return measure


def minimum_so_far(a: str, b: str) -> Measure:
    """Relative difference of the minimum regrets of a and b, each averaged over the evaluations of the run."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = (np.minimum.accumulate(runs.column(agent, "regret", both), axis=1).mean(axis=1) for agent in (a, b))
        return ratio_interval(x - y, y, runs.level)

    return measure


def near_optimal(agent: str, t: int, unit: str) -> Measure:
    """Minimum regret of an agent after `t` evaluations over the mean regret of one evaluation of `unit`."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(agent, unit)
        x, z = (runs.column(name, "regret", both) for name in (agent, unit))
        return ratio_interval(x[:, :t].min(axis=1), z.mean(axis=1), runs.level)

    return measure


def bounce(agent: str, dip: int, end: int) -> Measure:
    """How far the average regret `R_t / t` rises after its lowest point before `dip`, over its value there.

    Lowest point and the highest after it, until `end`, are those of the mean over the other half of the repetitions.
    """

    def measure(runs: Runs) -> Interval:
        regret = runs.column(agent, "regret", runs.together(agent))
        average = np.cumsum(regret, axis=1) / np.arange(1, regret.shape[1] + 1)
        lowest, highest = np.zeros((2, len(average)))
        for here, there in halves(len(average)):
            curve = average[there].mean(axis=0)[:end]
            low = int(np.argmin(curve[:dip]))
            high = low + int(np.argmax(curve[low:]))
            lowest[here], highest[here] = average[here, low], average[here, high]
        return ratio_interval(highest - lowest, lowest, runs.level)

    return measure


def rank_correlations(
    runs: Runs, before: Sequence[str], after: Sequence[str], played: Sequence[int]
) -> Float[np.ndarray, " n"]:
    """Kendall's tau between the regrets of the rows `before` and those of the rows `after`, of each repetition.

    1 where both sets of rows come in the same order, -1 where in the opposite one.
    """
    x, y = (np.stack([runs.column(agent, "regret", played).sum(axis=1) for agent in rows]) for rows in (before, after))
    return np.array([kendalltau(x[:, r], y[:, r]).statistic for r in range(len(played))])


def order_kept(before: Sequence[str], after: Sequence[str]) -> Measure:
    """`rank_correlations`, averaged over repetitions."""

    def measure(runs: Runs) -> Interval:
        return mean_interval(rank_correlations(runs, before, after, runs.together(*before, *after)), runs.level)

    return measure


def simple_in(a: str, b: str, unit: str) -> Measure:
    """Difference of the final simple regrets of a and b over the mean simple regret of `unit`."""

    def measure(runs: Runs) -> Interval:
        all_three = runs.together(a, b, unit)
        x, y, z = (runs.column(agent, "regret", all_three).min(axis=1) for agent in (a, b, unit))
        return ratio_interval(x - y, z, runs.level)

    return measure


def lower_simple(pairs: Sequence[tuple[str, str]]) -> Measure:
    """Share of runs in which the first of a pair ends with a lower simple regret than the second, ties counting half.

    Every pair has the same weight; a repetition of all pairs counts as one.
    """

    def measure(runs: Runs) -> Interval:
        played = runs.together(*(row for pair in pairs for row in pair))
        x, y = (np.stack([runs.column(p[k], "regret", played).min(axis=1) for p in pairs]) for k in (0, 1))
        return bounded_interval(np.mean((x < y) + 0.5 * (x == y), axis=0), 0.0, 1.0, runs.level)

    return measure


def share(row: str, column: str) -> Measure:
    """Share of the runs of a row in which a column of the study is 1."""

    def measure(runs: Runs) -> Interval:
        hits = runs.column(row, column, runs.together(row))[:, 0]
        return proportion(int(hits.sum()), len(hits), runs.level)

    return measure


def found(a: str, b: str, tolerance: float = 1e-9) -> Measure:
    """Share of runs in which a evaluated an optimal arm at least once, less that of b."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = ((runs.column(agent, "regret", both).min(axis=1) <= tolerance).astype(float) for agent in (a, b))
        return bounded_interval(x - y, -1.0, 1.0, runs.level)

    return measure


def found_more(a: str, others: Sequence[str], tolerance: float) -> Measure:
    """Share of runs whose simple regret is at most `tolerance`, that of a less the mean of the others."""

    def measure(runs: Runs) -> Interval:
        played = runs.together(a, *others)
        x, *rest = ((runs.column(row, "regret", played).min(axis=1) <= tolerance).astype(float) for row in (a, *others))
        return bounded_interval(x - np.mean(rest, axis=0), -1.0, 1.0, runs.level)

    return measure


def found_in_all(a: str, b: str, environments: Sequence[str], tolerance: float = 1e-9) -> Measure:
    """Share of the environments in which a evaluated an optimal arm at least once, less that of b.

    Over dozens of environments few repetitions are equal, and the mean of one is nearly normal.
    """

    def measure(runs: Runs) -> Interval:
        pairs = [(f"{a}@{name}", f"{b}@{name}") for name in environments]
        played = runs.together(*(row for pair in pairs for row in pair))
        x, y = (
            np.mean([runs.column(pair[k], "regret", played).min(axis=1) <= tolerance for pair in pairs], axis=0)
            for k in (0, 1)
        )
        return paired_difference(x, y, runs.level)

    return measure


def over_environments(measure: Measure, environments: Sequence[str]) -> Measure:
    """A measure of agents on the sums of their columns over environments, repetition by repetition."""
    return lambda runs: measure(runs.summed(environments))


def gap(a: str, b: str, c: str, d: str) -> Measure:
    """`(R_a - R_b) - (R_c - R_d)` over the mean of `R_b`: how much further apart a and b are than c and d."""

    def measure(runs: Runs) -> Interval:
        all_four = runs.together(a, b, c, d)
        w, x, y, z = (runs.column(agent, "regret", all_four).sum(axis=1) for agent in (a, b, c, d))
        return ratio_interval((w - x) - (y - z), x, runs.level)

    return measure


def fewer_batches(a: str, b: str) -> Measure:
    """`log` of the number of batches of b over that of a."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = (np.log(batches_so_far(runs.column(agent, "batch", both))[:, -1].astype(float)) for agent in (a, b))
        return paired_difference(y, x, runs.level)

    return measure


def bandwidths(a: Sequence[str], b: Sequence[str], ratio: float, uniform: str = "Uniform") -> Measure:
    """How many of the rows `a` have a regret ratio of at most `ratio`, less how many of the rows `b` do."""

    def measure(runs: Runs) -> Interval:
        played = runs.together(*a, *b, uniform)
        unit = runs.column(uniform, "regret", played).sum(axis=1)
        x, y = (
            sum(regret_ratio(runs.column(row, "regret", played).sum(axis=1), unit) <= ratio for row in rows)
            for rows in (a, b)
        )
        return bounded_interval(np.asarray(x, np.float64) - y, -float(len(b)), float(len(a)), runs.level)

    return measure


def ratio_to_uniform(agent: str, uniform: str = "Uniform") -> Measure:
    """Regret ratio `R_T / R_T^unif` of an agent."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(agent, uniform)
        x, y = (runs.column(name, "regret", both).sum(axis=1) for name in (agent, uniform))
        return mean_interval(regret_ratio(x, y), runs.level)

    return measure


def faster(a: str, b: str, last: int | None = None) -> Measure:
    """`log10` of the seconds that b spends on its choices over those of a: 1 where a is ten times faster."""

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = (runs.column(agent, "policy_seconds", both)[:, :last].sum(axis=1) for agent in (a, b))
        return paired_difference(np.log10(y), np.log10(x), runs.level)

    return measure


def growth(agent: str, share: float = 0.9) -> Measure:
    """Power of t with which an agent's seconds grow, over the last `share` of the run."""

    def measure(runs: Runs) -> Interval:
        seconds = np.cumsum(runs.column(agent, "policy_seconds", runs.together(agent)), axis=1)
        slope = loglog_slope(np.arange(1, seconds.shape[1] + 1), seconds, share, runs.level)
        return Interval(np.nan, np.nan, np.nan, len(seconds), runs.level) if slope is None else slope.exponent

    return measure


def batches(agent: str, of: Callable[[Float[np.ndarray, "n T"]], Float[np.ndarray, " n"]] | None = None) -> Measure:
    """Number of batches of a run, or a function of the batch number of each evaluation."""

    def measure(runs: Runs) -> Interval:
        number = batches_so_far(runs.column(agent, "batch", runs.together(agent))).astype(float)
        return mean_interval(number[:, -1] if of is None else of(number), runs.level)

    return measure
