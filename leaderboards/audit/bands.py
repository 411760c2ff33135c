"""What follows from the study of bands and choices that `benchmarks/guarantees.py` makes: two tables and a sentence.

A band that is proven for adaptive pulls holds whatever is pulled, so a rule may choose by anything and state it. Bands
are therefore judged along the pulls of several players, and rules by their regret, beside the band that may be stated.

A run is violated if some mean was ever outside the band. A band is *refuted* by a cell, a task and a player, where so
many violated runs are improbable at `delta`: the binomial tail is below 0.05 over the number of its cells, so that a
band that keeps its word is refuted anywhere with a probability of at most 0.05. A cell *confirms* a band if the
one-sided 95 % Clopper-Pearson limit of the share of runs that held is at least `1 - delta`. A band *keeps its word* if
a theorem applies in all its cells and each of them confirms it. Two more facts say what that is worth. Its *least
factor* is what the band could be multiplied by and still keep its word: far below 1, nothing was tested. Its *share
said* is that of arms with a band narrower than the range of the means: near 0, it says nothing.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does

from leaderboards.score.statistics import clopper_pearson

SIGNIFICANCE = 0.05
"""Of the limit of confirmation, and of refutation over all tasks together."""

TESTED = 0.5
"""Least factor below which a band is not tested."""
SAYS = 0.05
"""Share of arms below which a band says nothing."""

Verdict = Literal["keeps its word", "not confirmed", "not tested", "says nothing", "holds, no theorem", "fails"]
"""What is said of a band; `"holds, no theorem"`: nothing refutes it, and nothing proves it."""


_PROVEN: tuple[Verdict, ...] = ("keeps its word", "not tested", "says nothing")


@dataclass(frozen=True)
class Cell:
    """A band along the pulls of a player on a task.

    Attributes:
        task, player, band: Their names.
        runs: Repetitions.
        violated: In how many some mean was ever outside.
        factor: Least factor by which the band may be multiplied and still be confirmed by these runs.
        informative, half_width: At the end, see `benchmarks/paths.py`.
        why_not: Why no theorem guarantees it there; "" if one does.
    """

    task: str
    player: str
    band: str
    runs: int
    violated: int
    factor: float
    informative: float
    half_width: float
    why_not: str


@dataclass(frozen=True)
class Regret:
    """Cumulative regret of a rule on a task over that of uniform sampling in expectation, with its standard error."""

    task: str
    rule: str
    mean: float
    error: float


@dataclass(frozen=True)
class BandRow:
    """A band over all its cells.

    Attributes:
        band: Its name.
        reach: Along whose pulls it was read: `"any"`, `"data"` or `"own"`.
        control: Why it must fail; "" if it need not.
        verdict: What is said of it.
        runs, violated: Over all cells together.
        worst: The cell with most violated runs.
        factor: Least factor, the largest over cells.
        informative: Share said at the end, mean over tasks of the smallest over players.
        half_width: Half-width at the end over the range of the means, 1 where it is more, in the same way the largest;
            NaN where it was not measured.
        why_not: Why no theorem guarantees it; "" if one does everywhere.
    """

    band: str
    reach: str
    control: str
    verdict: Verdict
    runs: int
    violated: int
    worst: Cell
    factor: float
    informative: float
    half_width: float
    why_not: str


@dataclass(frozen=True)
class ChoiceRow:
    """A rule of choice on a group of tasks.

    Attributes:
        rule: Its name.
        regret: Cumulative regret over that of uniform sampling, mean over tasks, with its standard error.
        error: As above.
        band: The tightest proven band that was read along its pulls on all these tasks, and confirmed; "" if none.
        half_width: That band's half-width at the end along these pulls, mean over tasks; NaN without one.
        informative: Likewise its share said.
    """

    rule: str
    regret: float
    error: float
    band: str
    half_width: float
    informative: float


@dataclass(frozen=True)
class Study:
    """The study.

    Attributes:
        delta, horizon: Failure probability and evaluations of a run.
        bands: One row each, as they are listed in the study.
        choices: By group of tasks, `"known"`, `"near"` and `"drawn"`, the rules by regret.
        tasks: Names of the tasks by group.
    """

    delta: float
    horizon: int
    bands: Sequence[BandRow]
    choices: Mapping[str, Sequence[ChoiceRow]]
    tasks: Mapping[str, Sequence[str]]

    @property
    def controls(self) -> tuple[int, int]:
        """How many of the bands that must fail do, and how many there are."""
        found = [row.verdict == "fails" for row in self.bands if row.control]
        return sum(found), len(found)

    def count(self, verdict: Verdict) -> int:
        """How many bands, controls aside, are such."""
        return sum(row.verdict == verdict for row in self.bands if not row.control)

    @property
    def sentence(self) -> str:
        """What a proven band costs, and what choosing by it does."""
        best = self.choices["known"][0]
        keeps = {row.band for row in self.bands if row.verdict == "keeps its word"}
        own = next((row for row in self.choices["known"] if row.rule == f"GP-UCB, {best.band}"), None)
        if own is None or best.band not in keeps:
            return "No band that keeps its word may be stated along the rule with the least regret"
        narrower = own.half_width < best.half_width
        width = (
            f"narrows it from {best.half_width:.2f} to {own.half_width:.2f} of the range" if narrower else "widens it"
        )
        return (
            f"A proven band costs no regret: along the pulls of {best.rule}, {best.band}'s keeps its word. Choosing by "
            f"that band costs {own.regret / best.regret:.1f} times the regret, and {width}"
        )


@functools.cache
def study() -> Study:
    """The study that the package holds."""
    return read_study(json.loads(files("leaderboards.audit").joinpath("bands.json").read_text(encoding="utf-8")))


def read_study(kept: Mapping[str, Any]) -> Study:
    """What follows from numbers as `benchmarks/guarantees.py` keeps them."""
    delta, cells = float(kept["delta"]), [Cell(**cell) for cell in kept["cells"]]
    regrets = [Regret(**one) for one in kept["regrets"]]
    rows = [_row(band, [cell for cell in cells if cell.band == band["label"]], delta) for band in kept["bands"]]
    proven = {row.band for row in rows if row.verdict in _PROVEN}
    choices = {}
    for group, tasks in kept["tasks"].items():
        rules = dict.fromkeys(one.rule for one in regrets if one.task in tasks)
        found = [_choice(rule, [*tasks], regrets, cells, proven) for rule in rules]
        choices[group] = sorted((row for row in found if row is not None), key=lambda row: row.regret)
    return Study(delta, int(kept["horizon"]), rows, choices, kept["tasks"])


def _row(band: Mapping[str, str], cells: Sequence[Cell], delta: float) -> BandRow:
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    said = [min(cell.informative for cell in cells if cell.task == task) for task in tasks]
    wide = [max(cell.half_width for cell in cells if cell.task == task) for task in tasks]
    factor, informative = max(cell.factor for cell in cells), float(np.mean(said))
    why = next((cell.why_not for cell in cells if cell.why_not), "")
    refuted = any(cell.violated > most_violated(cell.runs, delta, len(cells)) for cell in cells)
    confirmed = all(least_held(cell.violated, cell.runs) >= 1 - delta for cell in cells)
    verdict: Verdict = "keeps its word"
    if refuted:
        verdict = "fails"
    elif why:
        verdict = "holds, no theorem"
    elif not confirmed:
        verdict = "not confirmed"
    elif informative < SAYS:
        verdict = "says nothing"
    elif factor < TESTED:
        verdict = "not tested"
    return BandRow(
        band["label"],
        band["reach"],
        band["control"],
        verdict,
        sum(cell.runs for cell in cells),
        sum(cell.violated for cell in cells),
        max(cells, key=lambda cell: cell.violated / cell.runs),
        factor,
        informative,
        float(np.mean(wide)),
        why,
    )


def _choice(
    rule: str,
    tasks: Sequence[str],
    regrets: Sequence[Regret],
    cells: Sequence[Cell],
    proven: set[str],
) -> ChoiceRow | None:
    """The row of a rule that played all these tasks; None for another."""
    mine = [one for one in regrets if one.rule == rule and one.task in tasks]
    if len(mine) < len(tasks):
        return None
    stated: dict[str, list[tuple[float, float]]] = {}
    for cell in cells:
        if cell.player == rule and cell.task in tasks and cell.band in proven:
            stated.setdefault(cell.band, []).append((cell.half_width, cell.informative))
    means = {band: np.mean(found, axis=0) for band, found in stated.items() if len(found) == len(tasks)}
    band = min(means, key=lambda name: float(means[name][0]), default="")
    half, said = means[band] if band else (float("nan"), float("nan"))
    error = float(np.sqrt(np.sum([one.error**2 for one in mine])) / len(tasks))
    return ChoiceRow(rule, float(np.mean([one.mean for one in mine])), error, band, float(half), float(said))


# ---- exact binomial limits ----


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
