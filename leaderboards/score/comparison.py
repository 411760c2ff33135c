"""Paired comparison of two agents on the blocks that both have finished."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from leaderboards.score.scores import Block
from leaderboards.score.statistics import Interval, improvement, mean_band, paired_difference, repetitions_needed
from leaderboards.score.summary import Summary

__all__ = ["PairedComparison", "compare"]


@dataclass(frozen=True)
class PairedComparison:
    """Paired comparison of two agents on one task; negative differences favour the first.

    Attributes:
        metric: What is compared.
        blocks: Blocks that both have finished, n of them.
        difference: Mean paired difference of the final score, first minus second.
        wins: Probability that the first does better on a block, ties counting half.
        needed: Repetitions that find a difference of this size with 80 % power; None if too many.
        t: Times of the curve, shape `(p,)`.
        mean: Mean paired difference along t, shape `(p,)`.
        low: Lower end of its interval at each time, shape `(p,)`; NaN for one block.
        high: Upper end, shape `(p,)`; NaN for one block.
    """

    metric: str
    blocks: tuple[Block, ...]
    difference: Interval
    wins: Interval
    needed: int | None
    t: Int[np.ndarray, " p"]
    mean: Float[np.ndarray, " p"]
    low: Float[np.ndarray, " p"]
    high: Float[np.ndarray, " p"]

    def mirrored(self) -> PairedComparison:
        """The same comparison with the agents in the other order."""
        d, w = self.difference, self.wins
        return replace(
            self,
            difference=replace(d, estimate=-d.estimate, low=-d.high, high=-d.low),
            wins=replace(w, estimate=1 - w.estimate, low=1 - w.high, high=1 - w.low),
            mean=-self.mean,
            low=-self.high,
            high=-self.low,
        )


def compare(summary: Summary, task: str, first: str, second: str) -> PairedComparison | None:
    """The paired comparison; None if the agents share no block or the regret is unknown."""
    a, b = summary.scores.get((task, first)), summary.scores.get((task, second))
    if a is None or b is None:
        return None
    blocks = [block for block in a.blocks if block in set(b.blocks)]
    rows_a, rows_b = a.rows(blocks), b.rows(blocks)
    for metric in ("regret_ratio", "cumulative_regret"):
        x, y = a.finals[metric][rows_a], b.finals[metric][rows_b]
        if len(blocks) and np.isfinite(x).all() and np.isfinite(y).all():
            break
    else:
        return None
    difference = paired_difference(x, y)
    needed = None
    if len(blocks) > 1:
        needed = repetitions_needed(difference.estimate, float(np.std(x - y, ddof=1)))
    mean, low, high = mean_band(a.curves[metric][rows_a] - b.curves[metric][rows_b])
    return PairedComparison(metric, tuple(blocks), difference, improvement(x, y), needed, a.t, mean, low, high)
