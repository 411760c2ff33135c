"""What all agents of a suite meet alike: maxima of its drawn functions on boxes, and how lucky uniform draws are."""

from __future__ import annotations

import numpy as np

from gpbandit_envs.datasets import DataError
from gpbandit_envs.functions import optima
from leaderboards.play.processor import one_blas_thread
from leaderboards.play.run import instance_env
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import Suite

__all__ = ["LUCKY", "suite_instances", "suite_optima", "uniform_hits"]

LUCKY = 0.2
"""Probability from which on uniform draws find the optimum too often for a task to tell who searches well."""


def suite_instances(suite: Suite) -> list[RunSpec]:
    """A run on each instance of a suite, of its first agent."""
    return list(suite.model_copy(update={"agents": suite.agents[:1]}).specs())


def suite_optima(suite: Suite) -> dict[str, optima.Found]:
    """The maxima of those functions of a suite that are searched, by `gpbandit_envs.functions.optima.key_of`."""
    with optima.recording() as found, one_blas_thread():
        for spec in suite_instances(suite):
            if spec.env.kwargs.get("n_arms", 0) == "box":
                with instance_env(spec) as (env, _):
                    _ = env.certificate
        return dict(found)


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
