"""Kinds of agents and tasks: who played alike, who waits for results, and what a task states of the kernel.

How an agent batches is read off its runs.
"""

from __future__ import annotations

import numpy as np

from gpbandit_envs.channels import as_channel
from leaderboards.score.scores import AgentScores
from leaderboards.score.summary import Summary

__all__ = ["BATCHES", "SEQUENTIAL", "STATED", "alike", "batching"]

SEQUENTIAL, BATCHES = "one at a time", "in batches"
"""Agents that wait for the result of every evaluation before the next one, and agents that do not."""

STATED = {
    "oracle": "true kernel",
    "misspecified": "wrong kernel",
    "certified": "assumed kernel at a proven distance",
    "learned": "assumed kernel",
}
"""What a task states, by its knowledge level."""


def batching(summary: Summary, agent: str) -> str:
    """`SEQUENTIAL` or `BATCHES`: how an agent played where it could wait as it liked; "" if it has not played so."""
    lengths = [
        float(scores.t[-1] / scores.finals["batches"].min())
        for task, about in summary.tasks.items()
        if as_channel(about.feedback).name == "on_request"
        and (scores := summary.scores.get((task, agent))) is not None
        and np.isfinite(scores.finals["batches"]).all()
    ]
    if not lengths:
        return ""
    return BATCHES if max(lengths) > 1 else SEQUENTIAL


_COMPARED = ("cumulative_regret", "simple_regret", "inference_regret", "batches")


def alike(summary: Summary) -> dict[str, tuple[str, ...]]:
    """By the first agent of those that played alike, the others.

    Agents play alike if they have finished the same repetitions of the same tasks, and in each of them ended with the
    same numbers, bit for bit: a sum of regrets is the same only where the actions were, and came in the same order.
    """
    by_run: dict[tuple[object, ...], list[str]] = {}
    for agent in summary.agents:
        runs = {task: scores for task in summary.tasks if (scores := summary.scores.get((task, agent))) is not None}
        known = any(np.isfinite(scores.finals["cumulative_regret"]).any() for scores in runs.values())
        if known:
            by_run.setdefault(tuple((task, *_numbers(scores)) for task, scores in runs.items()), []).append(agent)
    return {first: tuple(others) for first, *others in by_run.values() if others}


def _numbers(scores: AgentScores) -> tuple[object, ...]:
    finals = (scores.finals[name] for name in _COMPARED)
    return scores.blocks, *(np.where(np.isnan(x), np.nan, x).tobytes() for x in finals)
