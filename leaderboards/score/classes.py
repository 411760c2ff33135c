"""Classes by which scores are told apart: what a task states of the kernel, and whether an agent waits for results.

How an agent batches is read off its runs.
"""

from __future__ import annotations

import numpy as np

from gpbandit_envs.channels import as_channel
from leaderboards.score.summary import Summary

__all__ = ["BATCHES", "SEQUENTIAL", "STATED", "batching"]

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
