"""A finite set of arms with measured values, and the scalings that environments apply to it; tables stay raw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Arms and the values measured on them.

    Attributes:
        name: Name of the data set.
        features: Raw feature columns, shape `(A, d)`, read-only.
        feature_names: One name for each column.
        values: Replicates of the target, which is to be maximised, shape `(A, R)`; a row with fewer replicates is
            padded with NaN at its end.
        costs: Cost of one evaluation of each arm in seconds, shape `(A,)`; None if the table has none.
        labels: A name for each arm; None if they have none.
        neighbours: Row `i` holds the arms next to arm `i`, padded with -1, shape `(A, k)`; None if the arms have no
            neighbourhood of their own.
        notes: Plain facts about this table; `"categories"` are the one-hot columns of each category.

    Raises:
        ValueError: if shapes disagree or a number is not finite where it must be; the message names the field.
    """

    name: str
    features: Float[np.ndarray, "A d"]
    feature_names: tuple[str, ...]
    values: Float[np.ndarray, "A R"]
    costs: Float[np.ndarray, " A"] | None = None
    labels: tuple[str, ...] | None = None
    neighbours: Int[np.ndarray, "A k"] | None = None
    notes: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        A = self._freeze("features", np.float64, 2).shape[0]
        self._freeze("values", np.float64, 2, rows=A)
        self._freeze("costs", np.float64, 1, rows=A)
        self._freeze("neighbours", np.int64, 2, rows=A)
        if len(self.feature_names) != self.features.shape[1]:
            raise ValueError(f"feature_names: expected {self.features.shape[1]}, got {len(self.feature_names)}")
        if not np.isfinite(self.features).all():
            raise ValueError("features: expected finite numbers, got NaN or infinity")
        missing = np.isnan(self.values)
        if missing[:, 0].any() or (missing[:, :-1] & ~missing[:, 1:]).any() or np.isinf(self.values).any():
            raise ValueError("values: expected at least one finite replicate for each arm, NaN only after the last one")
        if self.costs is not None and not (np.isfinite(self.costs) & (self.costs >= 0)).all():
            raise ValueError("costs: expected finite seconds >= 0")
        if self.labels is not None and len(self.labels) != A:
            raise ValueError(f"labels: expected {A}, got {len(self.labels)}")
        if self.neighbours is not None and not ((self.neighbours >= -1) & (self.neighbours < A)).all():
            raise ValueError(f"neighbours: expected arms 0 to {A - 1}, or -1 as padding")
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))

    @property
    def n_arms(self) -> int:
        """Number of arms `A`."""
        return self.features.shape[0]

    @property
    def n_replicates(self) -> Int[np.ndarray, " A"]:
        """Number of replicates of each arm, shape `(A,)`."""
        return np.sum(~np.isnan(self.values), axis=1)

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        """Mean over the replicates of each arm, shape `(A,)`; its largest entry is the optimum."""
        return np.nanmean(self.values, axis=1)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "notes": dict(self.notes)}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def _freeze(self, name: str, dtype: type, ndim: int, rows: int | None = None) -> np.ndarray:
        given = getattr(self, name)
        if given is None:
            return np.empty(0)
        array: np.ndarray = np.asarray(given, dtype=dtype)
        if array.ndim != ndim or array.size == 0 or (rows is not None and array.shape[0] != rows):
            wanted = "(A, ...)" if rows is None else f"({rows}, ...)"
            raise ValueError(f"{name}: expected {ndim} dimensions of shape {wanted}, not empty, got {array.shape}")
        if array.flags.writeable:
            array = array.copy() if array is given else array
            array.flags.writeable = False
        object.__setattr__(self, name, array)
        return array


def one_hot_columns(sizes: Sequence[int], first: int = 0) -> list[list[int]]:
    """The columns of categories with `sizes` levels, one after another from the column `first` on."""
    ends = np.cumsum([first, *sizes]).tolist()
    return [list(range(low, high)) for low, high in pairwise(ends)]


def standardise(X: Float[np.ndarray, "A d"]) -> Float[np.ndarray, "A d"]:
    """Columns with mean 0 and variance 1.

    `(x - mean) / sd` for each column, with the population's standard deviation; a constant column becomes 0.

    Args:
        X: Features, shape `(A, d)`.

    Raises:
        ValueError: if `X` is not a matrix of finite numbers.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"X: expected a matrix (A, d) of finite numbers, got shape {X.shape}")
    centred = X - X.mean(axis=0)
    # The computed deviation of a constant column is rounding and not always 0, its range is.
    constant = np.ptp(X, axis=0) == 0
    centred[:, constant] = 0.0
    return centred / np.where(constant, 1.0, centred.std(axis=0))


def unit_interval(y: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Values mapped linearly so that the smallest is 0 and the largest is 1; NaN stays NaN.

    `(y - min) / (max - min)` over all entries.

    Args:
        y: Values of any shape.

    Raises:
        ValueError: if no two finite values differ, or one is infinite.
    """
    y = np.asarray(y, dtype=np.float64)
    if np.isinf(y).any() or np.isnan(y).all():
        raise ValueError(f"y: expected finite numbers, got shape {y.shape} with infinities or only NaN")
    low, high = np.nanmin(y), np.nanmax(y)
    if low == high:
        raise ValueError(f"y: expected at least two different values, got only {low}")
    return (y - low) / (high - low)


def neighbours_among(neighbours: Int[np.ndarray, "A k"], kept: Bool[np.ndarray, " A"]) -> Int[np.ndarray, "n k"]:
    """Neighbours among the arms that are kept, renumbered, with the padding of -1 last."""
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    renumbered = number[neighbours[kept]]
    last = len(kept)
    ordered = np.sort(np.where(renumbered < 0, last, renumbered), axis=1)
    return np.where(ordered == last, -1, ordered)


def padded(rows: Sequence[Sequence[float] | np.ndarray], filler: float) -> Any:
    """Rows of different lengths as one array, shape `(n, longest)`, with `filler` behind the short ones."""
    array = np.full((len(rows), max(map(len, rows))), filler)
    for line, row in zip(array, rows):
        line[: len(row)] = row
    return array
