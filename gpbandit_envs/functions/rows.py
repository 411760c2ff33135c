"""Some rows of a table as the arms of an episode, drawn anew with its mean function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from gpbandit_envs.arguments import as_count, as_number
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms

__all__ = ["DrawnRows", "Rows", "RowsFunction", "RowsLike", "as_rows", "set_apart"]

_MOST_SHARE = 0.8
# The rows set apart are part of what a task is: another number would be another task.
_APART = 20111

RowsLike = int | Mapping[str, Any] | None
"""A number of rows, a mapping with `most` and `apart`, or None for all rows, always."""


@dataclass(frozen=True)
class Rows:
    """How many rows of a table an episode has.

    At most four fifths of those that can be drawn, so that no two episodes have the same arms.

    Attributes:
        most: Largest number of rows, > 0.
        apart: Share of all rows, in [0, 1), that no episode ever has, always the same ones: see `set_apart`.
    """

    most: int
    apart: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", as_count("rows['most']", self.most))
        share = as_number("rows['apart']", self.apart, "a number in [0, 1)", lambda share: 0 <= share < 1)
        object.__setattr__(self, "apart", share)

    def number(self, n_arms: int) -> int:
        """How many rows an episode has of a table of `n_arms`.

        Raises:
            ValueError: if that is none.
        """
        n = min(self.most, int(_MOST_SHARE * (~set_apart(n_arms, self.apart)).sum()))
        if n == 0:
            raise ValueError(f"rows: expected a table of which four fifths are a row or more, got one of {n_arms} rows")
        return n

    def draw(self, n_arms: int, rng: np.random.Generator) -> Int[np.ndarray, " n"]:
        """The rows of an episode, in increasing order."""
        among = np.flatnonzero(~set_apart(n_arms, self.apart))
        return np.sort(rng.choice(among, self.number(n_arms), replace=False))


def as_rows(rows: RowsLike) -> Rows | None:
    """What `rows=` of an environment stands for: an integer, `{"most": 2000, "apart": 0.2}`, or None.

    Raises:
        TypeError: if it is none of these, or has an unknown key.
        ValueError: if a number is out of range.
    """
    if rows is None:
        return None
    if not isinstance(rows, Mapping):
        return Rows(as_count("rows", rows))
    if unknown := [name for name in rows if name not in ("most", "apart")]:
        raise TypeError(f"rows: expected the keys most and apart, got {unknown[0]!r}")
    if "most" not in rows:
        raise TypeError(f"rows: expected a number of rows as 'most', got {dict(rows)!r}")
    return Rows(**rows)


def set_apart(n_arms: int, share: float) -> Bool[np.ndarray, " A"]:
    """Which arms of `n_arms` are set apart for good, as for fitting a prior; the same for equal arguments, always."""
    apart = np.zeros(n_arms, bool)
    apart[np.random.default_rng(_APART).permutation(n_arms)[: int(share * n_arms)]] = True
    return apart


@dataclass(frozen=True)
class RowsFunction(ArmFunction):
    """A mean function on some rows.

    Attributes:
        rows: Which rows of the table, shape `(n,)`, in increasing order.
    """

    rows: Int[np.ndarray, " n"]


class DrawnRows(ArmFamily):
    """Draws of another family, each on some of its arms, which are drawn after the function from the same generator.

    Args:
        family: The family on all arms.
        rows: How many of them.
    """

    fixed = False

    def __init__(self, family: ArmFamily, rows: Rows) -> None:
        self.arms: Float[np.ndarray, "A d"] = family.arms
        self.kernel, self.norm_bound = family.kernel, family.norm_bound
        self._family, self._rows = family, rows

    def draw(self, rng: np.random.Generator) -> RowsFunction:
        whole = self._family.draw(rng)
        rows = self._rows.draw(len(self.arms), rng)
        near = whole.certificate
        some = certify_arms(whole.mean[rows], norm=near.norm, facts=dict(near.facts))
        return RowsFunction(some.mean, some.certificate, rows)
