"""Paired comparison of two agents on the blocks that both have finished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from leaderboards.score.frames import TaskRanking, patterns, pooled_difference
from leaderboards.score.scores import AgentScores, Block
from leaderboards.score.statistics import LEAST_BLOCKS, Interval, flip_test, improvements, mean_band, repetitions_needed
from leaderboards.score.summary import Summary


@dataclass(frozen=True)
class PairedComparison:
    """Paired comparison of two agents on one task; negative differences favour the first.

    Attributes:
        metric: What is compared.
        blocks: Blocks of the ranking if both agents are ranked, else those that both have finished; n of them.
        differences: Paired differences of the final score, first minus second, shape `(n,)`.
        difference: Mean paired difference of the final score, first minus second. Its interval is that of the flip test
            of this pair alone; with fewer than `LEAST_BLOCKS` blocks it is unbounded.
        wins: Probability that the first does better on a block, ties counting half.
        p: P-value of the ranking, adjusted for all its pairs; None if one of the agents is not ranked, or there are too
            few blocks.
        p_single: P-value of the flip test of this pair alone: below `ALPHA` exactly where 0 is outside the interval.
        needed: Repetitions with which that test finds a difference of this size with 80 % power; None if too many, or
            for one block.
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
    p_single: float
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
        ranking: The ranking on the task. If it ranks both, the comparison is of its blocks and its metric, and has its
            adjusted p-value.
        by: What two agents that are not both ranked are compared by, one of `leaderboards.score.rankings.CRITERIA`;
            cumulative regret as a ratio where that is known.
    """
    ranked = [name for name in seconds if ranking is not None and {first, name} <= set(ranking.agents)]
    found: dict[str, PairedComparison | None] = {}
    if ranking is not None and ranked:
        own, blocks, metric = summary.scores[task, first], list(ranking.blocks), ranking.metric
        mine, *others = (summary.scores[task, name].on(blocks) for name in (first, *ranked))
        Y = np.stack([other.finals[metric] for other in others])
        curves = mine.curves[metric] - np.stack([other.curves[metric] for other in others])
        p = ranking.ranking.p[ranking.agents.index(first), [ranking.agents.index(name) for name in ranked]]
        found |= zip(ranked, _compared(own, metric, blocks, mine.finals[metric], Y, curves, p))
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
            return _compared(a, metric, blocks, x, y[None], curves, None)[0]
    return None


def _compared(
    a: AgentScores,
    metric: str,
    blocks: list[Block],
    x: Float[np.ndarray, " n"],
    Y: Float[np.ndarray, "k n"],
    curves: Float[np.ndarray, "k n p"],
    adjusted: Float[np.ndarray, " k"] | None,
) -> list[PairedComparison]:
    """The comparisons of an agent with final scores `x` and k others with `Y`.

    `curves` are the differences along the run; `adjusted` are the p-values of the ranking, None if it ranks not all.
    """
    n, differences = len(blocks), x - Y
    pairs = np.zeros((len(Y) + 1, len(Y) + 1), bool)
    pairs[0] = True
    test = flip_test(np.column_stack([x, Y.T]), patterns(n), pairs)
    estimates = [
        Interval(mean, low, high, n)
        for mean, low, high in zip(
            differences.mean(axis=1).tolist(), test.low[0, 1:].tolist(), test.high[0, 1:].tolist()
        )
    ]
    bands, wins = zip(*mean_band(np.ascontiguousarray(curves.swapaxes(0, 1)))), improvements(x, Y)
    p: list[float | None] = [None] * len(Y) if adjusted is None or n < LEAST_BLOCKS else adjusted.tolist()
    needed: list[int | None] = [None] * len(Y)
    if n > 1:
        needed = repetitions_needed(differences.mean(axis=1), differences.std(axis=1, ddof=1))
    single, is_ranked = test.p_single[0, 1:].tolist(), adjusted is not None
    each = zip(differences, estimates, wins, p, single, needed, bands)
    return [
        PairedComparison(metric, tuple(blocks), d, mean, won, adjusted_p, own_p, n_needed, is_ranked, a.t, *band)
        for d, mean, won, adjusted_p, own_p, n_needed, band in each
    ]


def compare_overall(found: Iterable[PairedComparison]) -> tuple[Interval, float] | None:
    """The comparison of two agents over several tasks by the regret ratio, every task with the same weight.

    Args:
        found: The comparisons of the pair, one a task.

    Returns:
        Mean over tasks of the mean difference, first minus second, and p, by the flip test of this pair alone, whose
        blocks are those of all tasks; None without one, or if one is compared by a score with a unit, which others
        lack.
    """
    found = list(found)
    if not found or any(one.metric != "regret_ratio" for one in found):
        return None
    return pooled_difference([one.differences for one in found])
