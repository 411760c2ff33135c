"""Paired comparison of two agents on the blocks that both have finished."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from leaderboards.score.rankings import TaskRanking
from leaderboards.score.scores import Block
from leaderboards.score.statistics import (
    LEAST_BLOCKS,
    Interval,
    improvement,
    mean_band,
    paired_difference,
    repetitions_needed,
    stratified_mean,
)
from leaderboards.score.summary import Summary

__all__ = ["PairedComparison", "compare", "compare_overall"]


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
    """The paired comparison; None if the agents share no block or the regret is unknown.

    Args:
        summary: The folder, reduced.
        task: The task.
        first: An agent.
        second: The other.
        ranking: The ranking on the task. If it ranks both, the comparison is of its blocks and its metric, and of its
            test.
        by: What two agents that are not both ranked are compared by, one of `leaderboards.score.rankings.RANKED_BY`;
            cumulative regret as a ratio where that is known.
    """
    a, b = summary.scores.get((task, first)), summary.scores.get((task, second))
    if a is None or b is None:
        return None
    metrics: tuple[str, ...]
    ranked = ranking if ranking is not None and {first, second} <= set(ranking.agents) else None
    if ranked is not None:
        blocks, metrics = list(ranked.blocks), (ranked.metric,)
    else:
        blocks = [block for block in a.blocks if block in set(b.blocks)]
        metrics = ("regret_ratio", by) if by == "cumulative_regret" else (by,)
    rows_a, rows_b = a.rows(blocks), b.rows(blocks)
    for metric in metrics:
        x, y = a.finals[metric][rows_a], b.finals[metric][rows_b]
        if len(blocks) and np.isfinite(x).all() and np.isfinite(y).all():
            break
    else:
        return None
    difference = paired_difference(x, y)
    p = needed = None
    if ranked is not None:
        pair = ranked.agents.index(first), ranked.agents.index(second)
        n, test = len(blocks), ranked.test
        if n >= LEAST_BLOCKS:
            p = float(test.p[pair])
        if n >= LEAST_BLOCKS or len(ranked.agents) > 2:
            difference = Interval(difference.estimate, float(test.low[pair]), float(test.high[pair]), n)
        if n > 1:
            level = max(float(test.levels[pair]), 1e-12)
            needed = repetitions_needed(difference.estimate, float(np.std(x - y, ddof=1)), alpha=level)
            needed = None if needed is None else max(needed, LEAST_BLOCKS)
    mean, low, high = mean_band(a.curves[metric][rows_a] - b.curves[metric][rows_b])
    return PairedComparison(
        metric,
        tuple(blocks),
        x - y,
        difference,
        improvement(x, y),
        p,
        needed,
        ranked is not None,
        a.t,
        mean,
        low,
        high,
    )


def compare_overall(found: Iterable[PairedComparison]) -> Interval | None:
    """Mean over tasks of the difference of the regret ratio, every task with the same weight.

    None if there is no task, or one of them is compared by a score with a unit, which others do not share.
    """
    found = list(found)
    if not found or any(one.metric != "regret_ratio" for one in found):
        return None
    return stratified_mean([one.differences for one in found])
