"""Which pulls the whitened rows of `gpbandit_envs.gp.exact` stand for, and when there are too many rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

_SPARE, _LONG, _TAIL = 64, 1.25, 16


@dataclass(frozen=True)
class Block:
    """The rows of several arms that were made together, from row `first` on; the first `rows` of them are in use."""

    first: int
    arms: Int[np.ndarray, " p"]
    counts: Float[np.ndarray, " p"]
    rows: int


@dataclass
class PulledRows:
    """The pulls behind the whitened rows, in order; those whose feedback is awaited come last.

    Attributes:
        arms, counts, roots: Of each row, its arm, for how many pulls of it it stands, and `sqrt(d)`.
        last: The last row of each arm that has one.
        blocks: Those of the rows that were made together, in order; each of the others was made alone.
        told: How many rows have their feedback; those behind them are open.
        renewed: How many rows the last renewal has left.
        distinct: The arms whose feedback has arrived, in the order of their first feedback.
        open: Pulls of each arm whose feedback is awaited.
        ahead: Variance given these too, shape (A,); None if there are none.
    """

    arms: list[int] = field(default_factory=list)
    counts: list[float] = field(default_factory=list)
    roots: list[float] = field(default_factory=list)
    last: dict[int, int] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    told: int = 0
    renewed: int = 0
    distinct: list[int] = field(default_factory=list)
    open: Counter[int] = field(default_factory=Counter)
    ahead: Float[np.ndarray, " A"] | None = None

    @property
    def used(self) -> int:
        """Number of rows."""
        return len(self.arms)

    def add(self, arms: list[int], counts: list[float], roots: list[float]) -> None:
        """Rows behind all others."""
        for row, arm in enumerate(arms, self.used):
            self.last[arm] = row
        self.arms += arms
        self.counts += counts
        self.roots += roots

    def add_block(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], roots: list[float]) -> None:
        """Rows that were made together, behind all others."""
        self.blocks.append(Block(self.used, arms, counts, len(arms)))
        self.add(arms.tolist(), counts.tolist(), roots)

    def cut(self, rows: int) -> None:
        """Forget all but the first `rows`."""
        self.blocks = [block for block in self.blocks if block.first < rows]
        if self.blocks:
            last = self.blocks[-1]
            self.blocks[-1] = replace(last, rows=min(last.rows, rows - last.first))
        del self.arms[rows:], self.counts[rows:], self.roots[rows:]
        self.last = {arm: row for row, arm in enumerate(self.arms)}
        self.told, self.renewed = min(self.told, rows), min(self.renewed, rows)

    def first_open(self, pulls: Counter[int]) -> tuple[int, Counter[int]]:
        """How many of the first open rows are among `pulls`, and the pulls that they stand for."""
        found: Counter[int] = Counter()
        for row in range(self.told, self.used):
            arm, count = self.arms[row], int(self.counts[row])
            if found[arm] + count > pulls[arm]:
                return row - self.told, found
            found[arm] += count
        return self.used - self.told, found

    def are_many(self) -> bool:
        """Whether there are many more rows than it takes, one for each arm."""
        return self.used > _LONG * (len(self.distinct) + len(self.open)) + _SPARE

    def tail_is_long(self) -> bool:
        """Whether the rows since the last renewal are many more than their arms, and these few."""
        tail = self.used - self.renewed
        if tail <= _TAIL or self.renewed == 0:
            return False
        distinct = len(set(self.arms[self.renewed :]))
        return 4 * distinct <= self.renewed and tail > _LONG * distinct + _TAIL
