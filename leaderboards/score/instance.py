"""A problem instance: what a policy knows of it, and the means that none knows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.problem import Problem
from leaderboards.score.scores import Block

__all__ = ["MOST_ARMS", "Instance", "check_size"]

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
        low: True lower bound of each coordinate of a box, shape `(d,)`; None on arms.
        high: True upper bound likewise.
    """

    problem: Problem
    block: Block
    points: Float[np.ndarray, "m d"] | None
    mean: Float[np.ndarray, " m"] | None
    low: Float[np.ndarray, " d"] | None = None
    high: Float[np.ndarray, " d"] | None = None


def check_size(kwargs: Mapping[str, Any]) -> None:
    """Check the settings of an environment that results name, which may be a stranger's, before it is built.

    Raises:
        ValueError: if they ask for more than `MOST_ARMS` arms, or as much in another way.
    """
    large = [name for name, value in kwargs.items() if isinstance(value, int | float) and abs(value) > MOST_ARMS]
    if large:
        raise ValueError(
            f"{large[0]}: no environment is built again for more than {MOST_ARMS:,}, got {kwargs[large[0]]:,}"
        )
    product = math.prod(max(value, 1) for value in kwargs.values() if isinstance(value, int))
    if product > _MOST_COORDINATES:
        raise ValueError(f"no environment is built again for settings whose product is above {_MOST_COORDINATES:g}")
