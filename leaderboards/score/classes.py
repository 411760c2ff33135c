"""Classes of entrants: what a run was told of the kernel, and whether its agent waits for every result.

What is told is a property of a run, of its agent and its task together: an agent that has to be told a kernel is told
the true one on some tasks and an assumed one on others. How an agent batches is read off its runs.
"""

from __future__ import annotations

import numpy as np

import agents
from leaderboards.play.build import loaded_agent
from leaderboards.play.feedback import parse_feedback
from leaderboards.play.spec import Ref
from leaderboards.score.summary import Summary

__all__ = ["BATCHES", "SEQUENTIAL", "STATED", "TOLD_NONE", "batching", "needs_kernel", "told"]

SEQUENTIAL, BATCHES = "one at a time", "in batches"
"""Agents that wait for the result of every evaluation before the next one, and agents that do not."""

STATED = {"oracle": "true kernel", "misspecified": "wrong kernel", "learned": "assumed kernel"}
"""What a task states, by its knowledge level."""

TOLD_NONE = "told no kernel"


def needs_kernel(ref: Ref) -> bool | None:
    """Whether an agent has to be told a kernel; None if its class is not loaded, or does not say what it needs."""
    found = getattr(loaded_agent(ref.id), "capabilities", None)
    return "kernel" in found.needs if isinstance(found, agents.Capabilities) else None


def told(needs: bool | None, knowledge: str) -> str:
    """What a run was told: such as "told a true kernel"; "" if it is not known.

    Args:
        needs: Whether its agent has to be told a kernel.
        knowledge: Knowledge level of its task.
    """
    if needs is False:
        return TOLD_NONE
    stated = STATED.get(knowledge)
    if needs is None or stated is None:
        return ""
    return f"told {'an' if stated[0] == 'a' else 'a'} {stated}"


def batching(summary: Summary, agent: str) -> str:
    """`SEQUENTIAL` or `BATCHES`: how an agent played where it could wait as it liked; "" if it has not played so."""
    lengths = [
        float(scores.t[-1] / scores.finals["batches"].min())
        for task, about in summary.tasks.items()
        if parse_feedback(about.feedback).name == "on_request"
        and (scores := summary.scores.get((task, agent))) is not None
        and np.isfinite(scores.finals["batches"]).all()
    ]
    if not lengths:
        return ""
    return BATCHES if max(lengths) > 1 else SEQUENTIAL
