"""How much a set of tasks tells: how many ways of ranking agents it has in it.

| symbol | meaning | shape |
|---|---|---|
| `ranks` | rank of each agent in each repetition of each task | (E, n, k) |
| `c_ij` | covariance over agents of the mean ranks in one half of task i's repetitions and in the other of task j's | |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # SciPy loads `scipy.stats` when it is first asked for, which a command that plays seldom does
from jaxtyping import Float, Int

from leaderboards.score.board_scores import BoardScores, task_scores
from leaderboards.score.statistics import Interval
from leaderboards.score.summary import Summary

_SEED = 20_260_103
_HALVES = 200
_RESAMPLES = 200
_HALVES_AGAIN = 10  # of each resample
_BATCH = 20  # resamples at once: of 26 tasks with 50 repetitions 6 MB


@dataclass(frozen=True)
class Participation:
    """What a set of tasks tells of agents.

    Attributes:
        ratio: Participation ratio with its 90 % interval; None with fewer than four repetitions.
        correlation: Median over pairs of tasks of Spearman's correlation of agents' mean ranks; NaN with one task.
    """

    ratio: Interval | None
    correlation: float

    def lines(self, tied_first: int | None) -> list[str]:
        """The same in words, with how many agents share the first place."""
        found = []
        if self.ratio is not None and np.isfinite(self.ratio.estimate):
            ends = f"{self.ratio.low:.2f} to {self.ratio.high:.2f}"
            found.append(f"participation ratio of the environments {self.ratio.estimate:.2f} (90 %: {ends})")
        if np.isfinite(self.correlation):
            found.append(f"median correlation of two environments' ranks {self.correlation:.2f}")
        if tied_first is not None:
            found.append(f"{tied_first} tied first" if tied_first > 1 else "one first")
        return found


def participation_of(summary: Summary, scores: BoardScores) -> Participation:
    """What the tasks of a board tell of its agents by a criterion."""
    parts = []
    for task in scores.tasks:
        found = task_scores(summary, task, scores.by)
        assert found is not None  # or the task would have no score
        names, _, S = found
        parts.append(scipy.stats.rankdata(-S[:, [names.index(name) for name in scores.agents]], axis=1))
    least = min(len(part) for part in parts)
    return participation(np.array([part[:least] for part in parts]))


def participation(ranks: Float[np.ndarray, "E n k"]) -> Participation:
    """The participation ratio and the median correlation of tasks, see `Participation`."""
    E, n, k = ranks.shape
    if E < 2 or k < 3:
        return Participation(None, np.nan)
    mean = scipy.stats.rankdata(ranks.mean(axis=1), axis=1)
    mean = mean[np.ptp(mean, axis=1) > 0]  # not those on which all are equal
    pairs = np.corrcoef(mean)[np.triu_indices(len(mean), 1)] if len(mean) > 1 else [np.nan]
    return Participation(participation_ratio(ranks) if n >= 4 else None, float(np.median(pairs)))


def participation_ratio(ranks: Float[np.ndarray, "E n k"], level: float = 0.9) -> Interval:
    """How many tasks of independent rankings would tell as much: `(sum_i c_ii)^2 / sum_ij c_ij c_ji`.

    It is 1 where all tasks rank alike, and E where no two rankings have anything in common. Noise would raise it, as it
    is independent between tasks; but that in one half of the repetitions is independent of that in the other. Numerator
    and denominator are means over random halves. Opposite rankings count as alike.

    Args:
        ranks: Rank of each agent in each repetition of each task.
        level: Coverage of the interval, by a bootstrap of the repetitions of each task.

    Returns:
        The ratio; NaN where agents do not differ.

    Raises:
        ValueError: if there are fewer than four repetitions: a half would be of one.
    """
    E, n = ranks.shape[:2]
    if n < 4:
        raise ValueError(f"ranks: expected four repetitions or more, got {n}")
    rng = np.random.default_rng(_SEED)
    once = np.ones((1, E, n), np.int64)
    estimate = float(np.clip(_ratios(ranks, once, rng.random((1, _HALVES, E, n)))[0], 1, E))  # noise knows no bounds
    counts, draws = np.empty((_RESAMPLES, E, n), np.int64), np.empty((_RESAMPLES, _HALVES_AGAIN, E, n))
    for i in range(_RESAMPLES):
        counts[i] = rng.multinomial(n, np.full(n, 1 / n), size=E)
        draws[i] = rng.random((_HALVES_AGAIN, E, n))
    again = np.concatenate(
        [_ratios(ranks, counts[i : i + _BATCH], draws[i : i + _BATCH]) for i in range(0, _RESAMPLES, _BATCH)]
    )
    known = again[np.isfinite(again)]
    ends = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if len(known) else np.full(2, np.nan)
    low, high = np.clip(ends, 1, E)
    return Interval(estimate, float(low), float(high), n, level)


def _ratios(
    ranks: Float[np.ndarray, "E n k"], counts: Int[np.ndarray, "m E n"], draws: Float[np.ndarray, "m h E n"]
) -> Float[np.ndarray, " m"]:
    """The ratio of each resample, over random halves of the repetitions that it has; NaN where agents do not differ.

    All copies of a repetition are in one half: else its noise would be in both.
    """
    there = (counts > 0)[:, None]
    order = np.argsort(np.argsort(np.where(there, draws, 2.0), axis=3), axis=3)
    first = order < np.maximum(there.sum(axis=3, keepdims=True) // 2, 1)
    one, other = (_centred_means(ranks, counts[:, None] * half) for half in (first, ~first))
    C = one @ other.swapaxes(2, 3)
    above, below = np.trace(C, axis1=2, axis2=3) ** 2, (C * C.swapaxes(2, 3)).sum(axis=(2, 3))
    found = np.full(len(counts), np.nan)
    np.divide(above.mean(axis=1), below.mean(axis=1), out=found, where=below.mean(axis=1) > 0)
    return found


def _centred_means(ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean ranks of the agents under each weighting of the repetitions, around their mean, shape `(m, h, E, k)`."""
    total = weights.sum(axis=3)[..., None]
    sums = np.einsum("mhen,enk->mhek", weights.astype(np.float64), ranks, optimize=True)
    mean = sums / np.maximum(total, 1)
    return np.asarray(np.where(total > 0, mean - mean.mean(axis=3, keepdims=True), 0.0))
