"""The combinations of levels that constraints leave, listed without those that they exclude.

Each entry is the levels of all parameters but the last, and a run of levels of the last. So two integers of a thousand
levels with `a + b <= 1000` are a thousand entries for half a million combinations. A column is added by the range of
levels that the sums leave to each beginning; combinations that are excluded are never made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

MOST = 1_000_000  # entries, while they are listed; some 100 bytes each
_MOST_PAIRS = 20_000_000  # of an entry and a forbidden level after it: some seconds
_MOST_IN_ALL = 2**62  # combinations, for 64-bit integers

Ranges = tuple[Float[np.ndarray, " M"], Int[np.ndarray, " M"]]
"""The first level that is left to each beginning, and how many."""


class TooManyError(ValueError):
    """More entries than can be listed."""


class Listing:
    """Combinations of levels in lexicographic order.

    Args:
        beginnings: The levels of all columns but the last, shape (M, t - 1), in lexicographic order.
        first: The first level of each run of the last column, shape (M,); runs of equal beginnings ascend.
        count: How many levels each run has, shape (M,).
    """

    def __init__(
        self, beginnings: Float[np.ndarray, "M b"], first: Float[np.ndarray, " M"], count: Int[np.ndarray, " M"]
    ) -> None:
        self.beginnings, self.first, self.count = beginnings, first, count
        self._ends = np.cumsum(count)
        self._keys: list[tuple[Int[np.ndarray, " u"], float, int]] = []
        node = np.zeros(len(first), np.int64)
        for column in beginnings.T:
            low, levels = column.min(), int(np.ptp(column)) + 1
            keys, node = np.unique(_key(node, levels) + (column - low).astype(np.int64), return_inverse=True)
            self._keys.append((keys, low, levels))
        self._low, self._levels = first.min(), int((first + count).max() - first.min())
        self._starts = _key(node, self._levels) + (first - self._low).astype(np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def take(self, places: Int[np.ndarray, " n"]) -> tuple[Float[np.ndarray, "n t"], Int[np.ndarray, " n"]]:
        """Those combinations, and the entry of each."""
        entry = np.searchsorted(self._ends, places, side="right")
        last = self.first[entry] + places - (self._ends[entry] - self.count[entry])
        return np.column_stack([self.beginnings[entry], last]), entry

    def find(self, rows: Float[np.ndarray, "n t"]) -> Int[np.ndarray, " n"]:
        """The entry of each combination; -1 for one that is not listed."""
        good, node = np.ones(len(rows), bool), np.zeros(len(rows), np.int64)
        for column, (keys, low, levels) in zip(rows.T, self._keys, strict=False):
            good &= (column >= low) & (column < low + levels)
            key = node * levels + np.where(good, column - low, 0).astype(np.int64)
            node = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            good &= keys[node] == key
        last = rows[:, -1]
        good &= (last >= self._low) & (last < self._low + self._levels)
        key = node * self._levels + np.where(good, last - self._low, 0).astype(np.int64)
        entry = np.searchsorted(self._starts, key, side="right") - 1
        good &= (entry >= 0) & (key - self._starts[entry] < self.count[entry])
        return np.where(good, entry, -1)

    def kept(self, good: Bool[np.ndarray, " M"]) -> Listing:
        """The entries for which `good` is true, at least one."""
        return Listing(self.beginnings[good], self.first[good], self.count[good])


class Excluded:
    """Forbidden combinations of some columns.

    Args:
        columns: Which columns, in the order of the combinations.
        rows: The combinations, as the numbers of their levels, at least one.
    """

    def __init__(self, columns: Sequence[int], rows: Float[np.ndarray, "m c"]) -> None:
        order = np.argsort(columns)
        self._others, self.column = [columns[i] for i in order[:-1]], columns[order[-1]]
        rows = np.unique(rows[:, order], axis=0)
        before = np.column_stack([np.zeros(len(rows)), rows[:, :-1]])  # a column more, as there may be no others
        before, self._sizes = np.unique(before, axis=0, return_counts=True)
        self._before = Listing(before[:, :-1], before[:, -1], np.ones(len(before), np.int64))
        self._values = rows[:, -1]

    def of(self, rows: Float[np.ndarray, "M c"]) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Pairs of a beginning and a level of the last column that is forbidden after it."""
        entry = self._before.find(np.column_stack([np.zeros(len(rows)), rows[:, self._others]]))
        hit = np.flatnonzero(entry >= 0)
        sizes = self._sizes[entry[hit]]
        if math.fsum(sizes) > _MOST_PAIRS:
            raise TooManyError
        starts = (np.cumsum(self._sizes) - self._sizes)[entry[hit]]
        return np.repeat(hit, sizes), self._values[np.repeat(starts, sizes) + _steps(sizes)]


def listed(
    columns: int,
    ranges: Callable[[int, Float[np.ndarray, "M c"]], Ranges],
    excluded: Sequence[Excluded],
    singly: bool,
) -> Listing | None:
    """The combinations that are left; None if there are none.

    Args:
        columns: How many columns there are, at least one.
        ranges: For a column and the beginnings before it, the levels that are left to each.
        excluded: Combinations that are left out.
        singly: Whether each level of the last column has an entry of its own.

    Raises:
        TooManyError: if there are more than `MOST` entries.
    """
    rows = np.zeros((1, 0))
    for column in range(columns):
        first, count = ranges(column, rows)
        owner, first, count = _cut(rows, first, count, [each for each in excluded if each.column == column])
        if column < columns - 1 or singly:
            if math.fsum(count) > MOST:
                raise TooManyError
            owner, first, count = (
                np.repeat(owner, count),
                np.repeat(first, count) + _steps(count),
                np.ones(int(count.sum()), np.int64),
            )
        if len(owner) == 0:
            return None
        if len(owner) > MOST or math.fsum(count) > _MOST_IN_ALL:
            raise TooManyError
        rows = rows[owner] if column == columns - 1 else np.column_stack([rows[owner], first])
    return Listing(rows, first, count)


def _cut(
    rows: Float[np.ndarray, "M c"],
    first: Float[np.ndarray, " M"],
    count: Int[np.ndarray, " M"],
    excluded: Sequence[Excluded],
) -> tuple[Int[np.ndarray, " N"], Float[np.ndarray, " N"], Int[np.ndarray, " N"]]:
    """The runs of levels that are left without the excluded ones: the beginning of each, its first level, how many."""
    owners, starts, ends = [np.arange(len(rows))], [first], [first + count]
    for each in excluded:
        owner, level = each.of(rows)
        within = (level >= first[owner]) & (level < first[owner] + count[owner])
        owners.append(owner[within])
        starts.append(level[within] + 1)
        ends.append(level[within])
    owner, start, end = map(np.concatenate, (owners, starts, ends))
    # The k levels that are left out of a run cut it into k + 1: sorted, each start belongs to an end.
    order = np.lexsort([start, owner])
    start, end = start[order], end[np.lexsort([end, owner])]
    left = start < end
    return owner[order][left], start[left], (end - start)[left].astype(np.int64)


def _key(node: Int[np.ndarray, " n"], levels: int) -> Int[np.ndarray, " n"]:
    """The key of a beginning's level 0."""
    if (int(node.max()) + 1) * levels > _MOST_IN_ALL:
        raise TooManyError
    return node * levels


def _steps(count: Int[np.ndarray, " M"]) -> Int[np.ndarray, " N"]:
    """0 to count - 1 for each."""
    ends = np.cumsum(count)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - count, count)
