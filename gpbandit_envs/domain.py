"""Boxes with true units: numbers, integers, logarithms and categories behind the unit cube that policies play on.

| symbol | meaning |
|---|---|
| `u` | coordinate of the unit cube |
| `v` | value in the coordinate's own unit |
| `T` | `log` for a logarithmic coordinate, else the identity |

A real coordinate is `T(v) = T(low) + u (T(high) - T(low))`. An integer one cuts the unit interval into one cell per
level: with `low - 1/2` and `high + 1/2` for the bounds, `v` is the rounded value, so that on a linear scale all levels
are equally likely under a uniform `u`. A categorical dimension has one coordinate per choice, of which the largest
stands for the choice; policies evaluate at 1 for it and 0 for the others, so that no choice is between two others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Bool, Float


@dataclass(frozen=True)
class Dimension:
    """One coordinate, or as many as there are choices.

    Attributes:
        low: Smallest value.
        high: Largest value, above `low`.
        integer: Whether only integers are allowed.
        log: Whether the unit interval is mapped to the logarithm.
        name: What it is called; may be empty.
        choices: The names of the categories, at least two, whose values are their numbers `0, 1, ...`; empty for a
            numeric dimension. The other settings then stay at their defaults.

    Raises:
        ValueError: if the bounds are not finite and in order, not integers, or not positive where `log`, or if choices
            are fewer than two, are equal, or stand beside bounds.
    """

    low: float = 0.0
    high: float = 1.0
    integer: bool = False
    log: bool = False
    name: str = ""
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.choices:
            if len(self.choices) < 2 or len(set(self.choices)) < len(self.choices):
                raise ValueError(f"choices: expected at least two different ones, got {self.choices!r}")
            if (self.low, self.high, self.integer, self.log) != (0.0, 1.0, False, False):
                raise ValueError("choices: expected neither low, high, integer nor log beside them")
            return
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"low, high: expected finite numbers low < high, got {self.low!r} and {self.high!r}")
        if self.integer and not (float(self.low).is_integer() and float(self.high).is_integer()):
            raise ValueError(f"low, high: expected integers, got {self.low!r} and {self.high!r}")
        if self.log and self.low <= 0:
            raise ValueError(f"low: expected a number > 0 on a logarithmic scale, got {self.low!r}")

    @property
    def levels(self) -> int | None:
        """Number of values; None for a real coordinate."""
        if self.choices:
            return len(self.choices)
        return int(self.high - self.low) + 1 if self.integer else None

    @property
    def size(self) -> int:
        """Number of coordinates of the unit cube."""
        return len(self.choices) or 1

    @property
    def _ends(self) -> tuple[float, float]:
        margin = 0.5 if self.integer else 0.0
        low, high = self.low - margin, self.high + margin
        return (math.log(low), math.log(high)) if self.log else (low, high)

    def value(self, u: Float[np.ndarray, "n *size"]) -> Float[np.ndarray, " n"]:
        """True values at coordinates of the unit interval; of choices, `u` has the shape (n, size)."""
        if self.choices:
            return np.argmax(u, axis=1).astype(np.float64)
        low, high = self._ends
        t = low + np.asarray(u, np.float64) * (high - low)
        v = np.exp(t) if self.log else t
        # Half up, not to even: each level owns the half-open cell around it.
        v = np.floor(v + 0.5) if self.integer else v
        return np.clip(v, self.low, self.high)

    def unit(self, v: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n *size"]:
        """Coordinates of the unit interval of true values; of an integer, the one that `T` maps to it."""
        if self.choices:
            return np.eye(self.size)[np.asarray(v, np.int64)]
        low, high = self._ends
        t = np.log(v) if self.log else np.asarray(v, np.float64)
        return np.clip((t - low) / (high - low), 0.0, 1.0)


@dataclass(frozen=True)
class Domain:
    """A box of several dimensions; points are rows of the unit cube.

    Attributes:
        dimensions: Its dimensions, at least one.
    """

    dimensions: tuple[Dimension, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimensions", tuple(self.dimensions))
        if not self.dimensions:
            raise ValueError("dimensions: expected at least one, got none")

    @classmethod
    def cube(cls, dim: int) -> Domain:
        """The unit cube with `dim` real coordinates."""
        return cls((Dimension(),) * dim)

    @classmethod
    def from_spec(cls, spec: Iterable[dict[str, Any]]) -> Domain:
        """The domain of which `to_spec` gave `spec`."""
        return cls(tuple(Dimension(**{**entry, "choices": tuple(entry.get("choices", ()))}) for entry in spec))

    def to_spec(self) -> list[dict[str, Any]]:
        """JSON form: the fields of each dimension that are not at their defaults."""
        default = {field.name: field.default for field in fields(Dimension)}
        return [{k: v for k, v in asdict(d).items() if v != default[k]} for d in self.dimensions]

    def __len__(self) -> int:
        return len(self.dimensions)

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self.dimensions)

    @property
    def dim(self) -> int:
        """Number of coordinates of the unit cube `d`; larger than that of dimensions `D` where there are choices."""
        return sum(d.size for d in self.dimensions)

    @property
    def discrete(self) -> Bool[np.ndarray, " d"]:
        """Which coordinates have levels: those of integers and of choices."""
        return np.repeat([d.levels is not None for d in self.dimensions], [d.size for d in self.dimensions])

    def _columns(self) -> Iterator[tuple[Dimension, int | slice]]:
        """Every dimension with its coordinates: a number, or a slice for choices."""
        start = 0
        for d in self.dimensions:
            yield d, slice(start, start + d.size) if d.choices else start
            start += d.size

    def values(self, U: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n D"]:
        """True values of points of the unit cube."""
        return np.column_stack([d.value(U[:, columns]) for d, columns in self._columns()])

    def unit(self, V: Float[np.ndarray, "n D"] | Sequence[Sequence[float]]) -> Float[np.ndarray, "n d"]:
        """Points of the unit cube that stand for true values."""
        V = np.asarray(V, np.float64)
        return np.column_stack([d.unit(V[:, j]) for j, d in enumerate(self.dimensions)])

    def snap(self, U: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The points with integers at the middle of their level and choices at 0 and 1; the others as they are."""
        U = np.array(U, np.float64)
        for d, columns in self._columns():
            if d.levels is not None:
                U[:, columns] = d.unit(d.value(U[:, columns]))
        return U

    def neighbours(self, u: Float[np.ndarray, " d"]) -> Float[np.ndarray, "k d"]:
        """The points one level away in one or in two integers or choices, the others as in `u`.

        Two at once, because an oblique ridge has points that no step along one axis improves.
        """
        steps: list[list[tuple[int | slice, np.ndarray]]] = []
        for d, columns in self._columns():
            if d.levels is None:
                continue
            v = float(d.value(u[None, columns])[0])
            if d.choices:
                levels = np.array([float(level) for level in range(d.levels) if level != v])
            else:
                levels = np.array([level for level in (v - 1.0, v + 1.0) if d.low <= level <= d.high])
            steps.append([(columns, x) for x in d.unit(levels)])
        single = [(step,) for group in steps for step in group]
        double = [pair for one, other in combinations(steps, 2) for pair in product(one, other)]
        found = np.tile(u, (len(single) + len(double), 1))
        for row, moves in zip(found, [*single, *double], strict=True):
            for columns, x in moves:
                row[columns] = x
        return found
