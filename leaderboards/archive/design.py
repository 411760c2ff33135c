"""What the tasks of a suite can tell: how lucky uniform draws are on them, and which cells have no spread."""

from __future__ import annotations

import numpy as np

from gpbandit_envs.datasets import DataError
from leaderboards.archive.instances import suite_instances
from leaderboards.play.run import instance_env, one_blas_thread
from leaderboards.play.suite import Suite
from leaderboards.score.summary import Summary

__all__ = ["FLAT", "LUCKY", "flat_cells", "uniform_hits"]

LUCKY = 0.2
"""Probability from which on uniform draws find the optimum too often for a task to tell who searches well."""

FLAT = 0.01
"""Coefficient of variation below which the repetitions of a cell are one trajectory."""


def uniform_hits(suite: Suite) -> dict[str, float | None]:
    """By task, the probability that `T` uniform draws with replacement hit a best arm, averaged over its instances.

    `1 - (1 - k / A)^T`, exactly, for `k` of `A` arms that share the largest mean; 0 on a box, and None where the data
    of a task cannot be had.
    """
    chances: dict[str, list[float]] = {}
    absent: set[str] = set()
    with one_blas_thread():
        for spec in suite_instances(suite):
            label = spec.env.label
            if label in absent:
                continue
            try:
                with instance_env(spec) as (env, problem):
                    chance = 0.0
                    if problem.is_finite:
                        means = np.asarray(env.mean(np.arange(problem.n_arms)))
                        chance = 1 - (1 - np.mean(means == means.max())) ** spec.horizon
            except DataError:
                absent.add(label)
            else:
                chances.setdefault(label, []).append(float(chance))
    labels = [task.env.label for task in suite.tasks]
    return {label: None if label in absent else float(np.mean(chances[label])) for label in labels}


def flat_cells(summary: Summary) -> tuple[int, int]:
    """How many cells have a coefficient of variation of cumulative regret below `FLAT`, and how many cells there are.

    A cell is an agent on a task; those of fewer than two repetitions, or of no regret at all, count for neither.
    """
    flat = total = 0
    for scores in summary.scores.values():
        regret = scores.finals["cumulative_regret"]
        if len(regret) < 2 or not np.isfinite(regret).all() or not regret.mean() > 0:
            continue
        total += 1
        flat += bool(regret.std(ddof=1) < FLAT * regret.mean())
    return flat, total
