"""Agents that played alike: rows of a board that are one row under several names."""

from __future__ import annotations

import numpy as np

from leaderboards.score.scores import AgentScores
from leaderboards.score.summary import Summary

__all__ = ["alike"]

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
