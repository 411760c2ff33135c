"""Full factorial grids: their points in order, and which points are one step apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

__all__ = ["Factor", "grid_features", "grid_neighbours"]


@dataclass(frozen=True)
class Factor:
    """One coordinate of a grid.

    Attributes:
        name: Name of the feature column.
        levels: Numbers in the feature column, in the order of the levels.
        ordered: Whether only adjacent levels are one step apart; otherwise every other level is.
    """

    name: str
    levels: tuple[float, ...]
    ordered: bool = True


def grid_features(factors: Sequence[Factor]) -> Float[np.ndarray, "A d"]:
    """All combinations of levels, the last factor changing fastest, shape `(prod of levels, number of factors)`."""
    axes = np.meshgrid(*(np.asarray(factor.levels, dtype=np.float64) for factor in factors), indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


def grid_neighbours(factors: Sequence[Factor]) -> Int[np.ndarray, "A k"]:
    """Points that differ in one factor by one step, in the order of `grid_features`, padded with -1."""
    shape = tuple(len(factor.levels) for factor in factors)
    A = int(np.prod(shape))
    digits = np.array(np.unravel_index(np.arange(A), shape))
    columns: list[np.ndarray] = []
    for axis, factor in enumerate(factors):
        n = shape[axis]
        stride = int(np.prod(shape[axis + 1 :]))
        for step in (-1, 1) if factor.ordered else range(1, n):
            moved = digits[axis] + step
            if factor.ordered:
                columns.append(np.where((moved >= 0) & (moved < n), np.arange(A) + step * stride, -1))
            else:
                columns.append(np.arange(A) + (moved % n - digits[axis]) * stride)
    stacked = np.stack(columns, axis=1)
    # Neighbours first, padding last: -1 is sorted as if it were the largest.
    ordered = np.sort(np.where(stacked < 0, A, stacked), axis=1)
    return np.where(ordered == A, -1, ordered)
