"""A grid over a box, as arms."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.problem import Problem

__all__ = ["Grid"]

_LARGEST = 1_000_000


@dataclass(frozen=True)
class Grid:
    """The points of equal spacing over the unit cube, faces included.

    Attributes:
        side: Points along each axis, >= 2.
        dim: Number of axes d.
    """

    side: int
    dim: int

    @classmethod
    def of(cls, problem: Problem) -> Grid:
        """The grid of spacing at most `1 / sqrt(T)` that stands for a box over T evaluations.

        Raises:
            ValueError: if it has more than a million points.

        Reference: Li and Scarlett (2022), section 3.1.
        """
        assert problem.horizon is not None
        grid = cls(ceil(sqrt(problem.horizon)) + 1, problem.dim)
        if grid.side**grid.dim > _LARGEST:
            raise ValueError(
                f"problem: a grid of spacing 1/sqrt(T) has {grid.side}^{grid.dim} points in {problem.name}; "
                f"at most {_LARGEST:,} are possible"
            )
        return grid

    def points(self) -> Float[np.ndarray, "A d"]:
        """All points, the last coordinate running fastest."""
        axes = np.meshgrid(*[np.linspace(0, 1, self.side)] * self.dim, indexing="ij")
        return np.stack(axes, axis=-1).reshape(-1, self.dim)

    def nearest(self, points: Float[np.ndarray, "p d"]) -> Int[np.ndarray, " p"]:
        """Index of the grid point next to each of `points`."""
        steps = np.rint(points * (self.side - 1)).astype(np.int64)
        return np.ravel_multi_index(tuple(steps.T), (self.side,) * self.dim)
