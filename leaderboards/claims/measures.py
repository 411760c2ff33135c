"""Figures for claims: paired by repetition, with intervals of the level that `Runs` asks for.

A mean has Student's interval, a ratio of two means Fieller's, and a share or a count, most of whose values may be
equal, the one by betting. Intervals of a bootstrap are too short for few repetitions: of five normal ones, 15 % miss
the mean instead of 5 %. What is looked for in the runs, as the best of several rows, is found in one half of the
repetitions and measured in the other: the best of equal rows in the same runs looks better than it is.

| symbol | meaning |
|---|---|
| `R` | cumulative regret of a run, from evaluation `first` to its end |
| relative difference | `(R_a - R_b) / mean R_b`, paired by repetition: 0.1 is a tenth more regret than b's average |
| `row` | makes the label of an agent's row of its name, as `"{}@H1".format` does |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.stats
from jaxtyping import Float

from leaderboards.claims.claim import Figure
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

Row = Callable[[str], str]


def of_runs(
    text: str,
    interval: Callable[..., Interval],
    number: Callable[..., Float[np.ndarray, "n ..."]],
    *rows: str,
    columns: Sequence[str] = ("regret",),
) -> Figure:
    """A figure of the repetitions that all rows have played.

    Args:
        text: What it is, with its unit.
        interval: Of what `number` makes of the rows, and of the level.
        number: A number for each run of a row, shape `(n,)`, from its columns, each of shape `(n, T)`.
        rows: The rows.
        columns: The columns.
    """

    def measure(runs: Runs) -> Interval:
        played = runs.together(*rows)
        values = [number(*(runs.column(row, column, played) for column in columns)) for row in rows]
        return interval(*values, runs.level)

    return Figure(text, measure)


def of_many(interval: Callable[[list[np.ndarray], float], Interval]) -> Callable[..., Interval]:
    """An interval of the numbers of any number of rows."""
    return lambda *values: interval(list(values[:-1]), values[-1])


def total(since: int = 1, last: int | None = None) -> Callable[[np.ndarray], Float[np.ndarray, " n"]]:
    """The sum of a column from one evaluation to another."""
    return lambda x: x[:, since - 1 : last].sum(axis=1)


def least(regret: Float[np.ndarray, "n T"]) -> Float[np.ndarray, " n"]:
    """The simple regret at the end: the least of a run."""
    return regret.min(axis=1)


def first(x: Float[np.ndarray, "n T"]) -> Float[np.ndarray, " n"]:
    """What a study has once a repetition."""
    return x[:, 0]


def relative(x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], level: float) -> Interval:
    """The relative difference of two numbers."""
    return in_unit(x, y, y, level)


def in_unit(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], unit: Float[np.ndarray, " n"], level: float
) -> Interval:
    """The difference of two numbers over the mean of a third."""
    return ratio_interval(x - y, unit, level)


# ---- cumulative regret ----


def more_regret(a: str, b: str, since: int = 1, last: int | None = None, *, row: Row = str, text: str = "") -> Figure:
    """Relative difference of the cumulative regrets of a and b between the evaluations `since` and `last`."""
    said = text or f"relative difference of the cumulative regret, {a}{',' if ',' in a else ''} against {b}"
    return of_runs(said, relative, total(since, last), row(a), row(b))


def more_regret_in(text: str, a: str, b: str, unit: str, since: int = 1, last: int | None = None) -> Figure:
    """Difference of the cumulative regrets of a and b between two evaluations over the mean of that of `unit`."""
    return of_runs(text, in_unit, total(since, last), a, b, unit)


def more_regret_where(text: str, a: str, b: str, tolerance: float) -> Figure:
    """`more_regret` over the runs in which b has come within `tolerance` of the optimum."""

    def interval(x: np.ndarray, y: np.ndarray, level: float) -> Interval:
        there = least(y) <= tolerance
        if there.sum() < 2:
            return Interval(np.nan, np.nan, np.nan, int(there.sum()), level)
        return relative(total()(x[there]), total()(y[there]), level)

    return of_runs(text, interval, lambda regret: regret, a, b)


def gap(text: str, a: str, b: str, c: str, d: str) -> Figure:
    """`(R_a - R_b) - (R_c - R_d)` over the mean of `R_b`: how much further apart a and b are than c and d."""
    return of_runs(text, lambda w, x, y, z, level: ratio_interval((w - x) - (y - z), x, level), total(), a, b, c, d)


def ratio_to_uniform(agent: str, uniform: str = "Uniform") -> Figure:
    """Regret ratio `R_T / R_T^unif` of an agent."""
    return of_runs(
        "regret ratio against the uniform policy",
        lambda x, y, level: mean_interval(regret_ratio(x, y), level),
        total(),
        agent,
        uniform,
    )


def bandwidths(text: str, a: Sequence[str], b: Sequence[str], ratio: float, uniform: str = "Uniform") -> Figure:
    """How many of the rows `a` have a regret ratio of at most `ratio`, less how many of the rows `b` do."""

    def interval(totals: list[np.ndarray], level: float) -> Interval:
        unit, *others = totals
        robust = [(regret_ratio(R, unit) <= ratio).astype(float) for R in others]
        x, y = np.sum(robust[: len(a)], axis=0), np.sum(robust[len(a) :], axis=0)
        return bounded_interval(x - y, -float(len(b)), float(len(a)), level)

    return of_runs(text, of_many(interval), total(), uniform, *a, *b)


def halves(n: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Every second repetition and the others, to measure in one what was found in the other; one alone has no other."""
    even, odd = slice(0, n, 2), slice(1 if n > 1 else 0, n, 2)
    return (even, odd), (odd, even)


def at_best(text: str, a: Sequence[str], b: Sequence[str]) -> Figure:
    """Relative difference of the cumulative regrets of two policies, each in its row of least mean regret.

    Which row that is follows from the other half of the repetitions.
    """

    def interval(totals: list[np.ndarray], level: float) -> Interval:
        both = np.stack(totals[: len(a)]), np.stack(totals[len(a) :])
        x, y = np.zeros((2, both[0].shape[1]))
        for here, there in halves(len(x)):
            for values, R in zip((x, y), both):
                values[here] = R[np.argmin(R[:, there].mean(axis=1)), here]
        return relative(x, y, level)

    return of_runs(text, of_many(interval), total(), *a, *b)


def bounce(text: str, agent: str, dip: int, end: int) -> Figure:
    """How far the average regret `R_t / t` rises after its lowest point before `dip`, over its value there.

    Lowest point and the highest after it, until `end`, are those of the mean over the other half of the repetitions.
    """

    def interval(average: np.ndarray, level: float) -> Interval:
        lowest, highest = np.zeros((2, len(average)))
        for here, there in halves(len(average)):
            curve = average[there].mean(axis=0)[:end]
            low = int(np.argmin(curve[:dip]))
            high = low + int(np.argmax(curve[low:]))
            lowest[here], highest[here] = average[here, low], average[here, high]
        return relative(highest, lowest, level)

    return of_runs(text, interval, lambda regret: np.cumsum(regret, 1) / np.arange(1, regret.shape[1] + 1), agent)


def exponents(regret: Float[np.ndarray, "n T"], share: float = 0.9) -> Float[np.ndarray, " n"]:
    """Power of t with which the cumulative regret of each run grows, over the last `share` of it, by least squares."""
    T = regret.shape[1]
    skipped = T - round(share * T)
    x = np.log(np.arange(skipped + 1, T + 1))
    y = np.log(np.maximum(np.cumsum(regret, axis=1)[:, skipped:], 1e-12))
    x -= x.mean()
    slopes: np.ndarray = (y @ x) / (x @ x)
    return slopes


def regret_exponent(text: str, row: str, share: float = 0.9) -> Figure:
    """The mean of `exponents` of a row."""
    return of_runs(text, mean_interval, lambda regret: exponents(regret, share), row)


def rank_correlations(
    before: Sequence[Float[np.ndarray, " n"]], after: Sequence[Float[np.ndarray, " n"]]
) -> Float[np.ndarray, " n"]:
    """Kendall's tau between the regrets of some rows and those of others, of each repetition.

    1 where both sets of rows come in the same order, -1 where in the opposite one.
    """
    x, y = np.stack(before), np.stack(after)
    return np.array([scipy.stats.kendalltau(x[:, r], y[:, r]).statistic for r in range(x.shape[1])])


def order_kept(text: str, before: Sequence[str], after: Sequence[str]) -> Figure:
    """`rank_correlations`, averaged over repetitions."""

    def interval(totals: list[np.ndarray], level: float) -> Interval:
        return mean_interval(rank_correlations(totals[: len(before)], totals[len(before) :]), level)

    return of_runs(text, of_many(interval), total(), *before, *after)


# ---- simple regret ----


def minimum_so_far(text: str, a: str, b: str) -> Figure:
    """Relative difference of the minimum regrets of a and b, each averaged over the evaluations of the run."""
    return of_runs(text, relative, lambda regret: np.minimum.accumulate(regret, axis=1).mean(axis=1), a, b)


def near_optimal(text: str, agent: str, t: int, unit: str) -> Figure:
    """Minimum regret of an agent after `t` evaluations over the mean regret of one evaluation of `unit`."""

    def interval(x: np.ndarray, z: np.ndarray, level: float) -> Interval:
        return ratio_interval(least(x[:, :t]), z.mean(axis=1), level)

    return of_runs(text, interval, lambda regret: regret, agent, unit)


def simple_in(text: str, a: str, b: str, unit: str) -> Figure:
    """Difference of the final simple regrets of a and b over the mean simple regret of `unit`."""
    return of_runs(text, in_unit, least, a, b, unit)


def lower_simple(text: str, pairs: Sequence[tuple[str, str]]) -> Figure:
    """Share of runs in which the first of a pair ends with a lower simple regret than the second, ties counting half.

    Every pair has the same weight; a repetition of all pairs counts as one.
    """

    def interval(simple: list[np.ndarray], level: float) -> Interval:
        x, y = np.stack(simple[::2]), np.stack(simple[1::2])
        return bounded_interval(np.mean((x < y) + 0.5 * (x == y), axis=0), 0.0, 1.0, level)

    return of_runs(text, of_many(interval), least, *(row for pair in pairs for row in pair))


def _met(tolerance: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda regret: (least(regret) <= tolerance).astype(float)


def found_more(text: str, a: str, others: Sequence[str], tolerance: float) -> Figure:
    """Share of runs whose simple regret is at most `tolerance`, that of a less the mean of the others."""

    def interval(shares: list[np.ndarray], level: float) -> Interval:
        return bounded_interval(shares[0] - np.mean(shares[1:], axis=0), -1.0, 1.0, level)

    return of_runs(text, of_many(interval), _met(tolerance), a, *others)


def found_in_all(text: str, a: str, b: str, environments: Sequence[str], tolerance: float = 1e-9) -> Figure:
    """Share of the environments in which a evaluated an optimal arm at least once, less that of b.

    Over dozens of environments few repetitions are equal, and the mean of one is nearly normal.
    """

    def interval(hits: list[np.ndarray], level: float) -> Interval:
        x, y = (np.mean(hits[k::2], axis=0) for k in (0, 1))
        return paired_difference(x, y, level)

    return of_runs(
        text, of_many(interval), _met(tolerance), *(f"{agent}@{name}" for name in environments for agent in (a, b))
    )


def over_environments(figure: Figure, environments: Sequence[str]) -> Figure:
    """A figure of agents on the sums of their columns over environments, repetition by repetition."""
    return Figure(figure.text, lambda runs: figure(runs.summed(environments)))


# ---- batches, seconds, and what studies count ----


def batches(
    text: str, agent: str, of: Callable[[Float[np.ndarray, "n T"]], Float[np.ndarray, " n"]] = lambda n: n[:, -1]
) -> Figure:
    """A function of how many batches had begun at each evaluation; their number at the end."""
    return of_runs(
        text, mean_interval, lambda batch: of(batches_so_far(batch).astype(float)), agent, columns=("batch",)
    )


def fewer_batches(text: str, a: str, b: str) -> Figure:
    """`log` of the number of batches of b over that of a: of the mean batch length of a over that of b."""

    def log_number(batch: np.ndarray) -> Float[np.ndarray, " n"]:
        return np.log(batches_so_far(batch)[:, -1].astype(float))

    return of_runs(text, paired_difference, log_number, b, a, columns=("batch",))


def faster(a: str, b: str, last: int | None = None, *, row: Row = str, text: str = "") -> Figure:
    """`log10` of the seconds that b spends on its choices over those of a: 1 where a is ten times faster."""
    until = "" if last is None else f" in the first {last:,} evaluations"
    said = text or f"log10 of the seconds of {b} over those of {a}{until}"
    seconds = total(1, last)
    return of_runs(said, paired_difference, lambda x: np.log10(seconds(x)), row(b), row(a), columns=("policy_seconds",))


def growth(agent: str) -> Figure:
    """Power of t with which an agent's seconds grow, over the last decade of the run."""

    def interval(seconds: np.ndarray, level: float) -> Interval:
        slope = loglog_slope(np.arange(1, seconds.shape[1] + 1), seconds, level)
        return Interval(np.nan, np.nan, np.nan, len(seconds), level) if slope is None else slope.exponent

    text = "power of t with which its seconds grow over the last decade of the run"
    return of_runs(text, interval, lambda x: np.cumsum(x, axis=1), agent, columns=("policy_seconds",))


def share(text: str, row: str, column: str) -> Figure:
    """Share of the runs of a row in which a column of the study is 1."""
    return of_runs(
        text,
        lambda hits, level: proportion(int(hits.sum()), len(hits), level),
        first,
        row,
        columns=(column,),
    )
