"""The problem instance of a task's first repetition, built again: what its arms are, and their means."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.envs.render import box_points
from gpbandit_envs.problem import Problem
from leaderboards.play.build import is_own_env
from leaderboards.play.run import instance_env
from leaderboards.play.spec import RunSpec
from leaderboards.score.scores import Block
from leaderboards.score.summary import Summary

__all__ = ["MOST_ARMS", "Instance", "first_instance"]

MOST_ARMS = 100_000
"""Largest number in the settings of an environment that is built again for a page."""

_MOST_COORDINATES = 1e8  # the product of all its whole numbers, such as arms times dimensions


@dataclass(frozen=True)
class Instance:
    """The first instance of a task.

    Attributes:
        problem: What a policy knows of it.
        block: The seed and repetition in which it was met.
        points: Its arms, or points of the unit cube that show a function on a box, shape `(m, d)`; None where a mean
            costs an experiment.
        mean: Noise-free means there, shape `(m,)`; None likewise.
    """

    problem: Problem
    block: Block
    points: Float[np.ndarray, "m d"] | None
    mean: Float[np.ndarray, " m"] | None


def first_instance(summary: Summary, task: str) -> Instance | None:
    """Build the environment of a task as in its first repetition.

    Results may be a stranger's: only environments of this project are built, and none whose settings ask for more than
    `MOST_ARMS` arms.

    Returns:
        The instance; None for a task that has no finished run, cannot be built again or is not of this project.

    Raises:
        ValueError: if the environment is too large.
        Exception: whatever building the environment raises, as when its data are gone.
    """
    about, by_agent = summary.tasks[task], summary.on(task)
    if not by_agent or not about.env.rebuildable or not is_own_env(about.env.id):
        return None
    _check_size(about.env.kwargs)
    agent, scores = next(iter(by_agent.items()))
    seed, repetition = block = scores.blocks[0]
    spec = RunSpec(
        env=about.env,
        agent=summary.agents[agent],
        repetition=repetition,
        horizon=about.horizon,
        seed=seed,
        feedback=about.feedback,
    )
    with instance_env(spec) as (env, problem):
        points = problem.arms
        if points is None and not env.recipe.family.expensive:
            points = box_points(problem.dim)
        mean = None if points is None else np.asarray(env.mean(_actions(problem, points)), np.float64)
    return Instance(problem, block, points, mean)


def _actions(problem: Problem, points: np.ndarray) -> np.ndarray:
    return np.arange(len(points)) if problem.is_finite else points


def _check_size(kwargs: Mapping[str, Any]) -> None:
    large = [name for name, value in kwargs.items() if isinstance(value, int | float) and abs(value) > MOST_ARMS]
    if large:
        raise ValueError(
            f"{large[0]}: no environment is built again for more than {MOST_ARMS:,}, got {kwargs[large[0]]:,}"
        )
    product = math.prod(max(value, 1) for value in kwargs.values() if isinstance(value, int))
    if product > _MOST_COORDINATES:
        raise ValueError(f"no environment is built again for settings whose product is above {_MOST_COORDINATES:g}")
