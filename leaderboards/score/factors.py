"""How much faster and how much better than uniform sampling a recommendation gets good.

These are the words in which laboratories report (Adesiji et al. 2025, Benchmarking self-driving labs). Both are of mean
curves over the repetitions that an agent and uniform sampling share.

| symbol | meaning |
|---|---|
| `i(t)` | mean regret of the recommendation after t evaluations |
| `n(i)` | the first t at which it is at most i |
| acceleration | `n_uniform(i) / n_agent(i)`, i being the larger of the two regrets at the end, which both reach |
| enhancement | `(gap - i_agent) / (gap - i_uniform)`, as means after 1/4, 1/2 and all: gain over one uniform draw |
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from leaderboards.score.summary import Summary

ACCELERATION = "how many times as many evaluations uniform sampling needs for a recommendation that is as good"
ENHANCEMENT = "how many times as much better than one uniform draw the recommendation is as that of uniform sampling"


def factors(summary: Summary, agent: str, tasks: Iterable[str]) -> tuple[float, float]:
    """Acceleration and enhancement of an agent, as medians over tasks; NaN where uniform sampling has played none."""
    found = [_on_task(summary, task, agent) for task in tasks]
    known = np.array([pair for pair in found if pair is not None and np.isfinite(pair).all()]).reshape(-1, 2)
    return (float(np.median(known[:, 0])), float(np.median(known[:, 1]))) if len(known) else (np.nan, np.nan)


def _on_task(summary: Summary, task: str, agent: str) -> tuple[float, float] | None:
    reference = summary.reference(task)
    if reference is None or (task, agent) not in summary.scores:
        return None
    mine, theirs = summary.scores[task, agent], summary.scores[task, reference]
    blocks = [block for block in mine.blocks if block in set(theirs.blocks)]
    if not blocks:
        return None
    mine, theirs = mine.on(blocks), theirs.on(blocks)
    curves = [scores.curves["inference_regret"].mean(axis=0) for scores in (mine, theirs)]
    level = max(curve[-1] for curve in curves)
    n, n_uniform = (int(mine.t[np.argmax(curve <= level)]) for curve in curves)
    gains = [float((scores.mean_gaps - scores.finals["recommended"]).mean()) for scores in (mine, theirs)]
    return n_uniform / n, gains[0] / gains[1] if gains[1] > 0 else np.nan
