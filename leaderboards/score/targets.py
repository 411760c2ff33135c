"""Evaluations to target: how soon a policy comes within a target of the best mean, as COCO draws it.

| symbol | meaning | shape, unit |
|---|---|---|
| `gap` | median arm's gap `f* - median f(x)` on an instance, which scales its targets | (n,), unit of the reward |
| `eps` | targets, evenly on a log scale between `gap` and `SMALLEST * gap` | (n, k), unit of the reward |
| `tau` | first evaluation with simple regret at most `eps`; infinite if there is none | (n, k), evaluations |

A run on a task of few evaluations can solve nothing after its horizon, so that a curve over tasks of different horizons
levels off at each of them.

Reference: Hansen, Auger, Ros, Mersmann, Tušar and Brockhoff (2021), COCO: a platform for comparing continuous
optimizers in a black-box setting, Optimization Methods and Software 36(1), section 4.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Num

from leaderboards.score.scores import AgentScores
from leaderboards.score.summary import Summary

N_TARGETS = 31
"""Targets of an instance, ten a decade."""

SMALLEST = 1e-3
"""The hardest target over the median arm's gap."""


def targets(gap: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
    """The targets of each instance, from the easiest to the hardest."""
    return np.asarray(gap, np.float64)[:, None] * np.geomspace(1.0, SMALLEST, N_TARGETS)


def times_to_targets(
    t: Num[np.ndarray, " p"], simple_regret: Float[np.ndarray, "n p"], eps: Float[np.ndarray, "n k"]
) -> Float[np.ndarray, "n k"]:
    """First of the times `t` at which each run has reached each target.

    Curves are kept at some times only, so that a time is too late by less than the distance to the one before.

    Returns:
        Times; infinite where a target is not reached, NaN where the regret is unknown.
    """
    late = np.append(np.asarray(t, np.float64), np.inf)
    found = np.full(eps.shape, np.nan)
    for i, (regret, wanted) in enumerate(zip(simple_regret, eps)):
        if np.isfinite(regret).all():
            found[i] = late[np.searchsorted(-regret, -wanted)]
    return found


def share_solved(tau: Float[np.ndarray, "n k"], x: Num[np.ndarray, " m"]) -> Float[np.ndarray, "n m"]:
    """Share of each run's targets that are reached by evaluation `x`."""
    shares = [np.searchsorted(np.sort(row), x, side="right") / len(row) for row in tau]
    return np.array(shares).reshape(len(tau), len(x))


def evaluation_grid(horizon: int, n_points: int = 60) -> Num[np.ndarray, " m"]:
    """Numbers of evaluations at which shares are drawn, evenly on a logarithmic scale."""
    return np.unique(np.rint(np.geomspace(1, horizon, n_points)).astype(np.int64))


def task_times(summary: Summary, task: str, by_agent: Mapping[str, AgentScores]) -> dict[str, Float[np.ndarray, "n k"]]:
    """Times to the targets of a task by agent, for the runs whose instance has a known scale.

    The median arm's gap is the median regret of the evaluations of uniform sampling on the same instance; it is 0, and
    the instance left out, where half of the arms are best.

    Args:
        summary: The folder, reduced.
        task: The task.
        by_agent: Scores on it, of all runs of the folder or of some.

    Returns:
        One row a run; empty where uniform sampling has not played, or no regret is known.
    """
    reference = summary.reference(task)
    if reference is None:
        return {}
    uniform = summary.scores[task, reference]
    gaps = dict(zip(uniform.blocks, uniform.finals["median_regret"].tolist()))
    found = {}
    for agent, scores in by_agent.items():
        rows = [i for i, block in enumerate(scores.blocks) if gaps.get(block, 0.0) > 0]
        if rows:
            eps = targets(np.array([gaps[scores.blocks[i]] for i in rows]))
            tau = times_to_targets(scores.t, scores.curves["simple_regret"][rows], eps)
            if not np.isnan(tau).any():
                found[agent] = tau
    return found
