"""The kernel rows that are kept in memory, within a budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernels import Kernel

__all__ = ["KeptRows", "as_bytes", "blocks", "grown"]

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_CHUNK_BYTES = 2**28
_KEEP_BYTES = 2**26
_BLOCK_COLUMNS = 2**16


class KeptRows:
    """Rows `k(x_i, .)` over all arms for numbered points, as many as a budget allows, in slots of large chunks.

    A row is computed when it is first needed. Rows that nothing has needed for longest make room for others once there
    are a quarter more than are needed now, and more than 64 MB of them.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d); may be memory-mapped.
        max_memory: Bytes that the rows may take; None for no limit.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], max_memory: int | None) -> None:
        self.kernel, self.X = kernel, X
        row_bytes = 8 * len(X)
        self._budget = len(X) if max_memory is None else int(max_memory) // row_bytes
        self._roomy = _KEEP_BYTES // row_bytes
        # np.empty commits only the pages that are touched, and a chunk that is full is never copied.
        self._chunk_rows = max(16, _CHUNK_BYTES // row_bytes)
        self.clear()

    def clear(self) -> None:
        """Forget every point and row."""
        self._u = 0
        self._arms = np.empty(64, np.int64)
        # Row u is kept in slot _slot[u], -1 if it is not, and was last needed at time _needed[u].
        self._slot, self._needed = np.empty(64, np.int64), np.empty(64, np.int64)
        self._owner: list[int] = []
        self._time = 0
        self._chunks: list[np.ndarray] = []

    def __len__(self) -> int:
        """Number of rows in memory."""
        return len(self._owner)

    @property
    def arms(self) -> Int[np.ndarray, " u"]:
        """Index of the arm of each point."""
        return self._arms[: self._u]

    def add(self, arms: Int[np.ndarray, " p"]) -> None:
        """Number further points; no row is computed."""
        old, u = self._u, self._u + len(arms)
        if u > len(self._arms):
            capacity = max(u, 2 * len(self._arms))
            self._arms, self._slot, self._needed = (
                grown(have, old, (capacity,)) for have in (self._arms, self._slot, self._needed)
            )
        self._arms[old:u] = arms
        self._slot[old:u], self._needed[old:u] = -1, 0
        self._u = u

    def need(self, positions: Int[np.ndarray, " s"]) -> None:
        """See to it that the rows at `positions` are in memory, as many as the budget allows."""
        self._time += 1
        self._needed[positions] = self._time
        missing = positions[self._slot[positions] < 0]
        if len(missing) == 0:
            return
        limit = min(self._budget, max(self._roomy, 5 * len(positions) // 4))
        free = limit - len(self._owner)
        if free < len(missing):
            owners = np.array(self._owner, np.int64)
            idle = np.flatnonzero(self._needed[owners] < self._time)
            idle = idle[np.argsort(self._needed[owners[idle]], kind="stable")][: len(missing) - max(free, 0)]
            self._slot[owners[idle]] = -1
            slots = [*range(len(owners), len(owners) + max(free, 0)), *idle.tolist()]
        else:
            slots = list(range(len(self._owner), len(self._owner) + len(missing)))
        for position, slot in zip(missing.tolist(), slots):
            self._compute(position, slot)

    def _compute(self, position: int, slot: int) -> None:
        chunk, row = divmod(slot, self._chunk_rows)
        if chunk == len(self._chunks):
            self._chunks.append(np.empty((min(self._chunk_rows, len(self.X)), len(self.X))))
        if slot == len(self._owner):
            self._owner.append(position)
        else:
            self._owner[slot] = position
        self._slot[position] = slot
        point = self.X[self._arms[position : position + 1]]
        for columns in blocks(len(self.X), _BLOCK_COLUMNS):
            self._chunks[chunk][row, columns] = self.kernel(point, self.X[columns])[0]

    def at(self, positions: Int[np.ndarray, " s"], arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "s p"]:
        """Entries of the rows at `positions` for `arms`; what is not kept is computed."""
        slots = self._slot[positions]
        if len(self._chunks) == 1 and (slots >= 0).all():
            return self._chunks[0][slots[:, None], arms]
        K = np.empty((len(positions), len(arms)))
        where = np.where(slots < 0, -1, slots // self._chunk_rows)
        for chunk in np.unique(where).tolist():
            mine = where == chunk
            if chunk < 0:
                K[mine] = self.kernel(self.X[self._arms[positions[mine]]], self.X[arms])
            else:
                K[mine] = self._chunks[chunk][(slots[mine] % self._chunk_rows)[:, None], arms]
        return K

    def parts(self, C: np.ndarray, positions: np.ndarray) -> Iterator[tuple[np.ndarray, int, slice | np.ndarray]]:
        """Coefficients, chunk (-1: to be computed) and rows in it (or positions)."""
        slots = self._slot[positions]
        kept = slots >= 0
        if 2 * len(positions) > len(self._owner):
            # A gather would copy as much as the product reads.
            spread = np.zeros((len(C), len(self._owner)))
            spread[:, slots[kept]] = C[:, kept]
            for chunk, start in enumerate(range(0, len(self._owner), self._chunk_rows)):
                part = spread[:, start : start + self._chunk_rows]
                yield part, chunk, slice(0, part.shape[1])
        else:
            for chunk in np.unique(slots[kept] // self._chunk_rows).tolist():
                mine = slots // self._chunk_rows == chunk
                yield C[:, mine], chunk, slots[mine] % self._chunk_rows
        if not kept.all():
            yield C[:, ~kept], -1, positions[~kept]

    def block(self, chunk: int, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """Columns of the rows of a part."""
        if chunk < 0:
            return self.kernel(self.X[self._arms[rows]], self.X[columns])
        return self._chunks[chunk][rows, columns]

    def state_dict(self) -> dict[str, Any]:
        """Which rows are kept where; the numbers themselves are computed anew."""
        return {
            "owner": np.array(self._owner, np.int64),
            "needed": self._needed[: self._u].copy(),
            "time": self._time,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of `state_dict`, once the same points have been added."""
        self._needed[: self._u] = state["needed"]
        self._time = int(state["time"])
        for slot, position in enumerate(state["owner"].tolist()):
            self._compute(position, slot)


def blocks(n: int, size: int) -> list[slice]:
    """Slices of at most `size` that make up `range(n)`."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def grown(old: np.ndarray, filled: int, shape: tuple[int, ...]) -> np.ndarray:
    """An array of that shape that begins with what is filled of `old`; the rest is not initialised."""
    new = np.empty(shape, old.dtype)
    inside = tuple(slice(filled) for _ in shape)
    new[inside] = old[inside]
    return new


def as_bytes(memory: int | str) -> int:
    """Bytes of a number of bytes or of a text such as `"1GB"` or `"500 MB"` (powers of ten).

    Raises:
        ValueError: if it is negative or no such text.
        TypeError: if it is neither a number nor a text.
    """
    if isinstance(memory, int) and not isinstance(memory, bool):
        if memory < 0:
            raise ValueError(f"max_memory: expected at least 0 bytes, got {memory}")
        return memory
    if not isinstance(memory, str):
        raise TypeError(f"max_memory: expected bytes or a text such as '1GB', got {memory!r}")
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?B)\s*", memory.upper())
    if found is None:
        raise ValueError(f"max_memory: expected bytes or a text such as '1GB', got {memory!r}")
    return int(float(found[1]) * _UNITS[found[2]])
