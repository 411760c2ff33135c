"""A problem instance: what a policy knows of it, and the means that none knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gpbandit_envs.problem import Problem
from leaderboards.score.scores import Block

__all__ = ["Instance"]


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
