"""What validity costs: the regret of the best row that keeps its word over that of the best row of all."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from leaderboards.score.statistics import LEVEL, Interval
from leaderboards.score.summary import Summary

__all__ = ["Price", "price_of"]

_DRAWS = 2_000


@dataclass(frozen=True)
class Price:
    """The price of validity.

    Attributes:
        ratio: Mean regret of the best valid row over that of the best row of all; over several tasks their geometric
            mean. At least 1. The interval is the percentiles of a paired bootstrap over repetitions, which chooses the
            best rows anew in each draw.
        valid: The best valid row of each task.
        best: The best row of all.
    """

    ratio: Interval
    valid: dict[str, str]
    best: dict[str, str]


def price_of(summary: Summary, tasks: Iterable[str], valid: Collection[str]) -> Price | None:
    """The price of validity on tasks; None if one of them has no valid row, or an unknown regret.

    Rows that have not finished all repetitions of a task are left out on it.

    Args:
        summary: The runs, reduced.
        tasks: Labels of tasks, at least one.
        valid: Labels of the valid rows that claim all of them.
    """
    rng = np.random.default_rng(0)
    logs, valids, bests, n = [], {}, {}, 0
    for task in tasks:
        names, Y = _regrets(summary, task)
        allowed = [i for i, name in enumerate(names) if name in valid]
        if not allowed or not np.isfinite(Y).all() or not (Y.mean(axis=0) > 0).all():
            return None
        n = len(Y)
        # The first draw is the sample itself.
        weights = np.concatenate([np.full((1, n), 1 / n), rng.multinomial(n, np.full(n, 1 / n), _DRAWS) / n])
        means = weights @ Y
        kept, least = means[:, allowed].min(axis=1), means.min(axis=1)
        # A draw of repetitions without regret: equal, or infinitely worse.
        ratios = np.divide(kept, least, out=np.where(kept > 0, np.inf, 1.0), where=least > 0)
        logs.append(np.log(ratios))
        valids[task] = names[allowed[int(means[0, allowed].argmin())]]
        bests[task] = names[int(means[0].argmin())]
    means = np.exp(np.mean(logs, axis=0))
    ends = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    # No interpolation, which knows no infinity.
    low, high = np.quantile(means[1:], ends, method="nearest") if n > 1 else (np.nan, np.nan)
    return Price(Interval(float(means[0]), float(low), float(high), n), valids, bests)


def _regrets(summary: Summary, task: str) -> tuple[list[str], Float[np.ndarray, "n k"]]:
    """The rows that finished all repetitions that any did, and their final cumulative regrets."""
    scores = summary.on(task)
    blocks = sorted({block for one in scores.values() for block in one.blocks})
    names = [name for name, one in scores.items() if len(one) == len(blocks)]
    columns = [scores[name].finals["cumulative_regret"][scores[name].rows(blocks)] for name in names]
    return names, np.stack(columns, axis=1) if columns else np.zeros((len(blocks), 0))
