"""Whether an order of agents would come again: in other repetitions of its tasks, and on other tasks.

| symbol | meaning | shape |
|---|---|---|
| `strata` | score of each agent in each repetition of each task | list of (n_e, k) |
| `r` | Spearman's correlation of mean scores in two random halves of a task's repetitions, mean over halves | (E,) |
| `R` | `m r / (1 + (m - 1) r)`: what `r` would be of halves m times as long (Spearman and Brown 1910) | (E,) |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does
from jaxtyping import Float

from leaderboards.score.statistics import Interval, levelled, mean_interval

LEAST_RELIABILITY = 0.6
"""Mean of `R` over tasks below which agents stand in groups: of two such orders most places are not the same."""
ENOUGH = 0.8
"""Reliability for which repetitions are counted."""
LEAST_ROWS, LEAST_REPETITIONS = 5, 4
"""Agents and repetitions below which a rank correlation of halves says nothing."""

_SEED = 20_260_104
_HALVES = 100


@dataclass(frozen=True)
class Reliability:
    """How well the order of some agents would come again.

    Attributes:
        of: The agents, in words.
        repetitions: The fewest of a task.
        half: Mean of `r` over tasks.
        by_task: `R` of each task; NaN where its agents are all alike.
        full: Mean of these, with Student's interval over tasks.
        needed: Repetitions of which `R` would be `ENOUGH` at this mean of `r`; infinite where that is not positive.
        transfer: Mean over tasks of the correlation of its order with that by mean rank on tasks of other families, or
            where there is one family on its other tasks; NaN of one task.
        beyond: Which of these, in words.
    """

    of: str
    repetitions: int
    half: float
    by_task: Float[np.ndarray, " E"]
    full: Interval
    needed: float
    transfer: Interval
    beyond: str

    @property
    def is_enough(self) -> bool:
        """Whether agents can have places."""
        return self.full.estimate >= LEAST_RELIABILITY

    @property
    def advice(self) -> str:
        """How many repetitions the order needs, in words."""
        n = math.ceil(self.needed) if math.isfinite(self.needed) else 0
        needs = f"{n:,} repetition{'s' * (n > 1)}" if n else "no number"
        return f"{needs} would make it {ENOUGH:g}, {self.repetitions} were played"

    def lines(self, tasks: Sequence[str] = ()) -> list[str]:
        """The same in words; with the names of tasks also by task."""
        found = [
            f"{self.of}: an environment's order correlates at {_text(self.full)} with that of as many other "
            f"repetitions ({self.half:.2f} between halves of them); {self.advice}"
        ]
        if np.isfinite(self.transfer.estimate):
            found.append(f"{self.of}: it correlates at {_text(self.transfer)} with the order on {self.beyond}")
        if tasks:
            each = (
                f"{task} {R:.2f}" if np.isfinite(R) else f"{task} all alike" for task, R in zip(tasks, self.by_task)
            )
            found.append(f"{self.of}: by environment {'; '.join(each)}")
        return [line.replace("-0.", "\N{MINUS SIGN}0.") for line in found]


def reliability(
    strata: Sequence[Float[np.ndarray, "_n k"]], families: Sequence[str], of: str = "all agents"
) -> Reliability | None:
    """How well the order of k agents would come again, see `Reliability`.

    Args:
        strata: Scores of the agents, one stratum a task.
        families: Family of each task.
        of: The agents, in words.

    Returns:
        None for fewer than `LEAST_ROWS` agents or `LEAST_REPETITIONS` repetitions, or where all are alike.
    """
    n = min(map(len, strata), default=0)
    if n < LEAST_REPETITIONS or strata[0].shape[1] < LEAST_ROWS:
        return None
    rng = np.random.default_rng(_SEED)
    halves = np.array([_between_halves(S, rng) for S in strata])
    lengths = np.array([len(S) / (len(S) // 2) for S in strata])
    known = np.isfinite(halves)
    if not known.any():
        return None
    # Below 0 the formula leaves [-1, 1]: no length makes an order of nothing.
    above = np.maximum(halves, 0.0)
    R = np.where(halves > 0, lengths * above / (1 + (lengths - 1) * above), halves)
    half = float(halves[known].mean())
    needed = n // 2 * ENOUGH / (1 - ENOUGH) * (1 - half) / half if half > 0 else math.inf
    ranks = scipy.stats.rankdata([levelled(S.mean(axis=0)) for S in strata], axis=1)
    kinds = np.array(families)
    apart = kinds[:, None] != kinds[None, :]
    beyond = "environments of other families" if apart.any() else "the other environments"
    apart = apart if apart.any() else ~np.eye(len(kinds), dtype=bool)
    carried = [_spearman(own, ranks[others].mean(axis=0)) for own, others in zip(ranks, apart) if others.any()]
    there = np.array([float(c) for c in carried if np.isfinite(c)])
    transfer = Interval(float(there.mean()) if len(there) else np.nan, np.nan, np.nan, len(there))
    if len(there) > 2:  # of two tasks it is one number, twice
        transfer = mean_interval(there)
    return Reliability(of, n, half, R, _clipped(mean_interval(R[known])), needed, _clipped(transfer), beyond)


def _between_halves(S: Float[np.ndarray, "n k"], rng: np.random.Generator) -> float:
    """Mean correlation of two halves; NaN if agents are alike in one of each."""
    order, h = rng.random((_HALVES, len(S))).argsort(axis=1), len(S) // 2
    r = _spearman(*(levelled(S[half].mean(axis=1)) for half in (order[:, :h], order[:, h : 2 * h])))
    return float(np.nanmean(r)) if np.isfinite(r).any() else np.nan


def _spearman(x: Float[np.ndarray, "*m k"], y: Float[np.ndarray, "*m k"]) -> Float[np.ndarray, "*m"]:
    """Spearman's correlation of rows; NaN where all of a row are equal."""
    x, y = (scipy.stats.rankdata(each, axis=-1) - (each.shape[-1] + 1) / 2 for each in (x, y))
    below = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray((x * y).sum(axis=-1) / below)


def _clipped(mean: Interval) -> Interval:
    return Interval(mean.estimate, max(mean.low, -1.0), min(mean.high, 1.0), mean.n) if mean.is_known else mean


def _text(mean: Interval) -> str:
    ends = f" (95 %: {mean.low:.2f} to {mean.high:.2f})" if mean.is_known else ""
    return f"{mean.estimate:.2f}{ends}"
