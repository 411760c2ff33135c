"""Paired comparison of two agents on the blocks that both have finished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from leaderboards.score.frames import TaskRanking
from leaderboards.score.scores import AgentScores, Block
from leaderboards.score.statistics import (
    LEAST_BLOCKS,
    LEVEL,
    Interval,
    improvements,
    mean_band,
    mean_intervals,
    repetitions_needed,
    stratified_mean,
)
from leaderboards.score.summary import Summary


@dataclass(frozen=True)
class PairedComparison:
    """Paired comparison of two agents on one task; negative differences favour the first.

    Attributes:
        metric: What is compared.
        blocks: Blocks of the ranking if both agents are ranked, else those that both have finished; n of them.
        differences: Paired differences of the final score, first minus second, shape `(n,)`.
        difference: Mean paired difference of the final score, first minus second. Its interval is that of the ranking's
            test, which holds together with those of all other pairs; with too few blocks for that the ends are NaN.
            It is Student's, of this pair alone, where the ranking has no other pair and too few blocks, and where an
            agent is not ranked.
        wins: Probability that the first does better on a block, ties counting half.
        p: Adjusted p-value of the ranking; None if one of the agents is not ranked, or there are too few blocks.
        needed: Repetitions with which a t-test, at the level that the ranking's test leaves to this pair, finds a
            difference of this size with 80 % power; None if too many, for one block, or without a ranking.
        is_ranked: Whether both agents are ranked.
        t: Times of the curve, shape `(p,)`.
        mean: Mean paired difference along t, shape `(p,)`.
        low: Lower end of its interval at each time, shape `(p,)`; NaN for one block.
        high: Upper end, shape `(p,)`; NaN for one block.
    """

    metric: str
    blocks: tuple[Block, ...]
    differences: Float[np.ndarray, " n"]
    difference: Interval
    wins: Interval
    p: float | None
    needed: int | None
    is_ranked: bool
    t: Int[np.ndarray, " p"]
    mean: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " p"]
    high: Float[np.ndarray, " p"]


def compare(
    summary: Summary,
    task: str,
    first: str,
    second: str,
    ranking: TaskRanking | None = None,
    by: str = "cumulative_regret",
) -> PairedComparison | None:
    """The paired comparison of two agents, see `compare_with`; None if they share no block or regret is unknown."""
    return compare_with(summary, task, first, [second], ranking, by).get(second)


def compare_with(
    summary: Summary,
    task: str,
    first: str,
    seconds: Sequence[str],
    ranking: TaskRanking | None = None,
    by: str = "cumulative_regret",
) -> dict[str, PairedComparison]:
    """The comparisons of an agent with many others, those that there are, by the other.

    Of ranked agents all are compared at once: a board of fifty agents has a thousand pairs on each task.

    Args:
        summary: The folder, reduced.
        task: The task.
        first: An agent.
        seconds: The others.
        ranking: The ranking on the task. If it ranks both, the comparison is of its blocks and its metric, and of its
            test.
        by: What two agents that are not both ranked are compared by, one of `leaderboards.score.rankings.RANKED_BY`;
            cumulative regret as a ratio where that is known.
    """
    ranked = [name for name in seconds if ranking is not None and {first, name} <= set(ranking.agents)]
    found: dict[str, PairedComparison | None] = {}
    if ranking is not None and ranked:
        own, blocks, metric = summary.scores[task, first], list(ranking.blocks), ranking.metric
        mine, *others = (summary.scores[task, name].on(blocks) for name in (first, *ranked))
        Y = np.stack([other.finals[metric] for other in others])
        curves = mine.curves[metric] - np.stack([other.curves[metric] for other in others])
        found |= zip(ranked, _compared(own, metric, blocks, mine.finals[metric], Y, curves, ranking, first, ranked))
    found |= {name: _unranked(summary, task, first, name, by) for name in seconds if name not in ranked}
    return {name: one for name in seconds if (one := found[name]) is not None}


def _unranked(summary: Summary, task: str, first: str, second: str, by: str) -> PairedComparison | None:
    """The comparison of two agents that are not both ranked, on the blocks that both have finished."""
    a, b = summary.scores.get((task, first)), summary.scores.get((task, second))
    if a is None or b is None:
        return None
    blocks = [block for block in a.blocks if block in set(b.blocks)]
    rows_a, rows_b = a.rows(blocks), b.rows(blocks)
    for metric in ("regret_ratio", by) if by == "cumulative_regret" else (by,):
        x, y = a.finals[metric][rows_a], b.finals[metric][rows_b]
        if len(blocks) and np.isfinite(x).all() and np.isfinite(y).all():
            curves = (a.curves[metric][rows_a] - b.curves[metric][rows_b])[None]
            return _compared(a, metric, blocks, x, y[None], curves, None, first, [second])[0]
    return None


def _compared(
    a: AgentScores,
    metric: str,
    blocks: list[Block],
    x: Float[np.ndarray, " n"],
    Y: Float[np.ndarray, "k n"],
    curves: Float[np.ndarray, "k n p"],
    ranked: TaskRanking | None,
    first: str,
    seconds: Sequence[str],
) -> list[PairedComparison]:
    """The comparisons of an agent with final scores `x` and k others with `Y`, all of them in the ranking `ranked`.

    `curves` are the differences along the run; without a ranking the others are not asked for.
    """
    n = len(blocks)
    differences = x - Y
    estimates = mean_intervals(differences)
    bands, wins = zip(*mean_band(np.ascontiguousarray(curves.swapaxes(0, 1)))), improvements(x, Y)
    needed: list[int | None] = [None] * len(seconds)
    p: list[float | None] = [None] * len(seconds)
    if ranked is not None:
        test, pairs = ranked.test, (ranked.agents.index(first), [ranked.agents.index(second) for second in seconds])
        if n >= LEAST_BLOCKS:
            p = test.p[pairs].tolist()
        if n >= LEAST_BLOCKS or len(ranked.agents) > 2:
            ends = zip(test.low[pairs].tolist(), test.high[pairs].tolist())
            estimates = [Interval(one.estimate, low, high, n) for one, (low, high) in zip(estimates, ends)]
        if n > 1:
            means, levels = np.array([one.estimate for one in estimates]), np.maximum(test.levels[pairs], 1e-12)
            least = repetitions_needed(means, differences.std(axis=1, ddof=1), levels)
            needed = [None if each is None else max(each, LEAST_BLOCKS) for each in least]
    of_all, is_ranked = (metric, tuple(blocks)), ranked is not None
    return [
        PairedComparison(*of_all, differences[i], estimates[i], wins[i], p[i], needed[i], is_ranked, a.t, *band)
        for i, band in enumerate(bands)
    ]


def compare_overall(found: Iterable[PairedComparison], pairs: int = 1) -> Interval | None:
    """Mean over tasks of the difference of the regret ratio, every task with the same weight.

    None if there is no task, or one of them is compared by a score with a unit, which others do not share.

    Args:
        found: The comparisons of a pair, one a task.
        pairs: How many pairs are compared: their intervals hold together, by Bonferroni's correction.
    """
    found = list(found)
    if not found or any(one.metric != "regret_ratio" for one in found):
        return None
    return stratified_mean([one.differences for one in found], 1 - (1 - LEVEL) / pairs)
