"""Claims of Calandriello et al. (2020) on architecture search, with and without 2,000 evaluations from before.

| symbol | meaning | unit |
|---|---|---|
| `t` | evaluations so far, those from before the first step included | |
| `b_t` | length of the batch that begins at t | |
| total time | seconds of the policy and of training, all architectures of a batch being trained at once | s |
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from leaderboards.claims.claim import FASTER, MORE, Claim, Figure, Range, at_least, within
from leaderboards.claims.measures import Row, fewer_batches, more_regret, of_runs
from leaderboards.claims.runs import Runs
from leaderboards.play.measures import batch_lengths, simple_regret, simulated_time
from leaderboards.score.statistics import Interval, mean_interval, paired_difference

COLUMNS = ("cost",)
_INITIAL = 2_000
_TENTH = {"informed": 0.0001, "plain": 0.0003}
"""Of the simple regret that uniform evaluations of NAS-Bench-201 have on average over a run, in units of the reward."""
_ALIKE = "A tenth is one of the simple regret of uniform evaluations, averaged over a run: {:g}."
_ABOVE = Range(low=MORE.low, alike=_TENTH["plain"])
_ANYWHERE = Range()
_OPEN = (
    "Regret is of the evaluations that the policy chose; the initial data are the same for both. Whether REG-EVOLUTION "
    "may use all of them is open."
)
_LOOKS_UP = (
    "REG-EVOLUTION here looks up an array, a tenth of the time of BBKB, where the paper's asks the benchmark's own "
    "code, whose time for a query its figure includes: it is that code that the claim is about, and it is not played "
    "here."
)
_EITHER_SIGN = (
    "The local rule pays at every pick past the global threshold, and saves a new dictionary for each batch that it "
    "spares. Which is more rests on the two implementations: ours are within a third of each other, with either sign."
)
_SETTLED = 100  # evaluations, before which most batches have one arm
_GLOBAL, _LOCAL, _EVOLUTION = "BBKB", "BBKB-GlobalLocal", "REG-EVOLUTION"
_BOTH = {"global": _GLOBAL, "local": _LOCAL}


def batch_growth(row: str, before: int = 0) -> Figure:
    """Power of t with which `b_t` grows, by least squares on logarithms; `before` evaluations came before the first.

    Every evaluation counts once, as in a plot against t. Batches that begin in the first 100 evaluations are left out,
    and the last, which the horizon cuts.
    """

    def power(batch: np.ndarray) -> float:
        lengths = batch_lengths(batch)
        begins = np.cumsum(lengths) - lengths + before
        kept = (begins >= _SETTLED) & (np.arange(len(lengths)) < len(lengths) - 1)
        if np.count_nonzero(kept) < 3:
            return math.nan
        return float(np.polyfit(np.log(begins[kept]), np.log(lengths[kept]), 1, w=np.sqrt(lengths[kept]))[0])

    return of_runs(
        "power of t with which batch lengths grow",
        mean_interval,
        lambda numbers: np.array([power(batch) for batch in numbers]),
        row,
        columns=("batch",),
    )


def total_time(text: str, a: str, b: str) -> Figure:
    """`log10` of the total time of b over that of a: 1 where a is done in a tenth of b's."""

    def log_time(seconds: np.ndarray, costs: np.ndarray, batches: np.ndarray) -> np.ndarray:
        training = [simulated_time(*run, len(run[0]))[-1] for run in zip(costs, batches, strict=True)]
        return np.log10(seconds.sum(axis=1) + np.array(training))

    return of_runs(text, paired_difference, log_time, b, a, columns=("policy_seconds", "cost", "batch"))


def mean_simple(text: str, a: str, b: str) -> Figure:
    """Difference of the simple regrets of a and b, averaged over the run, in units of the reward.

    The best arm known so far may be one of the existing data.
    """

    def measure(runs: Runs) -> Interval:
        both = runs.together(a, b)
        x, y = (
            np.minimum(simple_regret(runs.column(row, "regret", both)), runs.before(row, both)[:, None]).mean(axis=1)
            for row in (a, b)
        )
        return paired_difference(x, y, runs.level)

    return Figure(f"difference of the simple regrets averaged over the run, {text}", measure)


def architectures(bench: str) -> Iterator[Claim]:
    """Claims on an architecture benchmark, the name of the environment without initial data."""
    plain, informed = (f"{{}}@{bench}{ending}".format for ending in ("", "+2000"))
    cases = (
        ("informed", "2,000", informed, "section 5; Fig. 3", "section 5; Fig. 4", _OPEN),
        ("plain", "no", plain, "appendix D.2; Fig. 7", "section 5; Fig. 7", ""),
    )
    for name, agent in _BOTH.items():
        for where, initial, row, *_ in cases[::-1]:
            said = f"Batches of {agent} grow linearly ({initial} initial data)."
            figure = batch_growth(row(agent), _INITIAL if where == "informed" else 0)
            source, note = "section 5; Fig. 3 and 7", "t counts the initial data."
            yield Claim(f"linear-batches-{name}-{where}", source, said, figure, at_least(0.8), note=note)
    for where, initial, row, source, *_ in cases:
        yield from _costs(where, initial, row, source)
    for where, initial, row, _, source, note in cases:
        said = f"BBKB's regret is significantly below that of REG-EVOLUTION ({initial} initial data)."
        name, figure = f"regret-below-evolution-{where}", more_regret(_EVOLUTION, _GLOBAL, row=row)
        yield Claim(name, source, said, figure, MORE, quick=where == "plain", note=note)
    yield Claim(
        "simple-regret-matches",
        "section 5; Fig. 4, middle",
        "With initial data, BBKB matches REG-EVOLUTION's simple regret.",
        mean_simple("BBKB less REG-EVOLUTION, in units of the reward", informed(_GLOBAL), informed(_EVOLUTION)),
        within(_TENTH["informed"]),
        note=f"{_ALIKE.format(_TENTH['informed'])} The best of the initial data counts for both. The last 100 of them "
        "are REG-EVOLUTION's first population; the paper does not say how it uses them.",
    )
    said = "Without initial data, BBKB outperforms REG-EVOLUTION's simple regret."
    figure = mean_simple("REG-EVOLUTION less BBKB, in units of the reward", plain(_EVOLUTION), plain(_GLOBAL))
    source, note = "section 5; Fig. 4, right", _ALIKE.format(_TENTH["plain"])
    yield Claim("simple-regret-below", source, said, figure, _ABOVE, note=note)
    said = "Surprisingly, BBKB's simple regret is lower without initial data."
    figure = mean_simple("with initial data less without", informed(_GLOBAL), plain(_GLOBAL))
    note = f"The best of the initial data counts. {note}"
    yield Claim("initial-data-hurt", source, said, figure, _ABOVE, note=note)


def _costs(where: str, initial: str, row: Row, source: str) -> Iterator[Claim]:
    """Claims on batch lengths and on times with one amount of initial data."""

    def claim(name: str, statement: str, figure: Figure, expected: Range = _ANYWHERE, **more: Any) -> Claim:
        return Claim(f"{name}-{where}", source, f"{statement} ({initial} initial data).", figure, expected, **more)

    said = "The local rule makes longer batches than the global one"
    text = "log of the mean batch length of BBKB-GlobalLocal over that of BBKB"
    yield claim("local-longer", said, fewer_batches(text, row(_LOCAL), row(_GLOBAL)), MORE)
    figure = Figure("log10 of the seconds of REG-EVOLUTION over those of the policy")
    for name, agent in _BOTH.items():
        said = f"Without training times, {agent} is faster than REG-EVOLUTION"
        yield claim(f"{name}-faster-than-evolution", said, figure, note=_LOOKS_UP)
    figure = Figure("log10 of the seconds of BBKB-GlobalLocal over those of BBKB")
    said = "Without training times, the local rule is slower than the global one"
    yield claim("local-slower", said, figure, note=_EITHER_SIGN)
    text = "log10 of the total time of REG-EVOLUTION over that of the policy"
    for name, agent in _BOTH.items():
        said = f"With training times, {agent} is faster than sequential REG-EVOLUTION"
        figure = total_time(text, row(agent), row(_EVOLUTION))
        yield claim(f"{name}-total-below-evolution", said, figure, FASTER, quick=where == "plain")
    text = "log10 of the total time of BBKB over that of BBKB-GlobalLocal"
    said = "With training times, the local rule is faster than the global one"
    yield claim("local-total-below-global", said, total_time(text, row(_LOCAL), row(_GLOBAL)), FASTER)
