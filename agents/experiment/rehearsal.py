"""What further plates may bring: the campaign goes on, again and again, on functions that the model draws.

A function is a draw of the mixture behind `agents.experiment.outlook` given the outcomes, its distance from the
mixture's mean as many times as large as intervals are. The *gap* is by how much the best candidate beats the one that
is recommended after a plate, under that function.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from agents.experiment import outlook
from agents.experiment.region import Region
from agents.learned.base import Mixture
from gpbandit_envs.arguments import as_count, positive_number
from gpbandit_envs.gp.linalg import jittered_cholesky
from gpbandit_envs.gp.regression import GPRegression

if TYPE_CHECKING:
    from agents.experiment.experiment import Experiment

_POINTS = 1_000  # random ones, that stand for ranges
_LOW, _SHARE = 0.1, 0.8  # the lower end of the interval of a gap, and how many of the rehearsals are in it
_NOTE = "Counted after 24 experiments, three plates of 8 ahead: such intervals held in ??% of 210 campaigns on tables."
"""`python -m benchmarks.rehearsal 35`, on families of lab-v1 that chose nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal:
    """What is left to gain after each further plate; print it.

    Attributes:
        n: Experiments with an outcome after each plate.
        gaps: By how much something is better than the recommended point then, shape (rehearsals, plates).
        within: The wish, unit of the outcome; None for none.
    """

    n: tuple[int, ...]
    gaps: Float[np.ndarray, "rehearsals plates"]
    within: float | None

    @property
    def needed(self) -> int | None:
        """The experiments after which the gap is within the wish in 8 of 10 rehearsals; None for more, or no wish."""
        return next((n for n, share in zip(self.n, self._shares, strict=True) if share >= _SHARE), None)

    @property
    def _shares(self) -> list[float]:
        """How many of the rehearsals are within the wish after each plate."""
        return [0.0] * len(self.n) if self.within is None else (self.gaps <= self.within).mean(axis=0).tolist()

    def __repr__(self) -> str:
        lines = [f"In {len(self.gaps)} rehearsals something is still better than the recommended point,"]
        for n, gaps in zip(self.n, self.gaps.T, strict=True):
            ends = np.quantile(gaps, [0.5, _LOW, _LOW + _SHARE]).tolist()
            middle, low, high = outlook.rounded(ends, max(ends[2], 1e-12))
            lines.append(f"after {n} experiments by {middle}, between {low} and {high} ({_SHARE:.0%}).")
        if self.needed is not None:
            lines.append(f"After {self.needed} that is within {self.within:g} in 8 of 10.")
        elif self.within is not None:
            lines.append(
                f"After {self.n[-1]} that is within {self.within:g} in {self._shares[-1]:.0%}, not in 8 of 10."
            )
        return "\n".join([*lines, _NOTE])


def functions(lab: Experiment, rng: np.random.Generator) -> Iterator[tuple[Float[np.ndarray, " A"], float]]:
    """Draws without end, at all candidates: what `tell` would hear without noise, and the noise's deviation.

    Reference: Wilson et al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 6: a draw of
    the prior, and the posterior mean of what the outcomes differ from it.
    """
    assert lab.candidates is not None
    beliefs, goal = lab._beliefs(), lab.goals[0]
    Z, rows = lab.candidates.arms, np.array([int(each.action) for each in beliefs.known])
    y = np.array([beliefs.history.reward(each, goal) for each in beliefs.known])
    known = np.square([each.sds.get(goal.name, np.nan) for each in beliefs.known])
    posterior = beliefs.models[0].posterior
    parts = posterior.parts if isinstance(posterior, Mixture) else (posterior,)
    mean, roots = posterior.at(Z)[0], [jittered_cholesky(part.kernel(Z, Z))[0] for part in parts]
    while True:
        for part, root in zip(parts, roots, strict=True):
            prior = root @ rng.standard_normal(len(Z))
            noise = np.sqrt(np.where(np.isnan(known), part.lam, known)) * rng.standard_normal(len(y))
            given = GPRegression(part.kernel, Z[rows], y - prior[rows] - noise, part.lam, part.prior_mean, known)
            f = mean + outlook._WIDER * (prior + given.at(Z)[0] - mean)
            yield beliefs.history.in_units(f, goal), float(np.sqrt(part.lam))


def as_table(lab: Experiment, rng: np.random.Generator) -> Experiment:
    """The same experiment on a table in place of ranges: what was told, and random points."""
    import pandas as pd

    region = lab._choices
    assert isinstance(region, Region)
    told = [each for each in lab._history.all if each.outcomes is not None]
    rows = [each.point for each in told] + [region.proposed(x)[0] for x in region.sample(_POINTS, rng)]
    data = [{**each.point, **(each.outcomes or {}), **lab._history.errors(each)} for each in told]
    log = [each.name for each in region.parameters.all if each.dimension.log]
    return type(lab)(pd.DataFrame(rows).drop_duplicates(), **lab._setup() | {"data": data, "log": log})


def rehearse(
    lab: Experiment, plates: int, size: int, within: float | None, rehearsals: int, done: Callable[[], object]
) -> Rehearsal:
    """See `agents.Experiment.rehearse`."""
    plates, size, rehearsals = as_count("plates", plates), as_count("n", size), as_count("rehearsals", rehearsals, 10)
    within = None if within is None else positive_number("within", within)
    goal = lab.goals[0]
    if len(lab.goals) > 1 or goal.limit is not None or goal.target is not None:
        raise ValueError("rehearse: expected a single outcome to be large or small, without a limit or a target")
    rng = np.random.default_rng([lab.seed, len(lab._history.own), plates, size])
    start = copy.deepcopy(lab) if lab.candidates is not None else as_table(lab, rng)
    table, history = start.candidates, start._history
    assert table is not None
    failed = [int(each.action) for each in history.own if each.status == "failed"]
    first = len(start.open) or size
    left = len(table.points) - len({int(each.action) for each in history.all if each.status != "open"})
    if not lab.repeats and left < first + (plates - 1) * size:
        raise ValueError(f"plates: expected at most {left // size} of {size}, of {left} candidates left, got {plates}")
    drawn, gaps = functions(start, rng), np.zeros((rehearsals, plates))
    if not start.open:
        start.ask(size)  # the same in all rehearsals
    for row in gaps:
        again = copy.deepcopy(start, {id(each): each for each in (table, *start._problems)})
        y, sd = next(drawn)
        best = np.delete(goal.sign * y, failed).max()
        for plate in range(plates):
            for point in again.open or again.ask(size):
                again.tell(point, float(y[table.stated(point)[1]] + sd * rng.standard_normal()))
            row[plate] = best - goal.sign * y[table.stated(again.recommend())[1]]
        done()
    told = sum(each.outcomes is not None for each in history.all)
    return Rehearsal(tuple(told + first + size * i for i in range(plates)), gaps, within)
