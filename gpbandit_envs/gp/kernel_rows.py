"""Kernel rows `k(x_a, .)` over all arms, kept within a budget of memory, and the Gram matrix of some of the arms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernels import Kernel

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_CHUNK_BYTES = 2**28
_KEEP_BYTES = 2**26
_BLOCK_BYTES = 2**22
_BLOCK_COLUMNS = 2**13
_FEW = 4
_FEW_COLUMNS = 64
_COPY = 10  # a product of so many rows takes as long as a copy of what it reads


class KernelRows:
    """Rows `k(x_a, .)` over all arms, and the Gram matrix of the arms that were added.

    | symbol | meaning | shape |
    |---|---|---|
    | `A` | number of arms | |
    | `u` | number of distinct arms added | |
    | `gram` | `k(x_u, x_u')` | (u, u) |

    A row is computed when it is first needed, always in the same way, so that its bits do not depend on what else is
    needed, and kept in a slot of one of a few large chunks.
    Rows that are not in use make room for others: those that nothing has needed for longest go first.
    `product` keeps, besides the rows it needs, half as many more, or 64 MB. `take` keeps what the budget allows, of
    rows that were needed before: many are needed once, and to keep one of 4,177 entries takes half as long as to
    compute it.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d); may be memory-mapped.
        max_memory: Memory limit in bytes for kept rows; others are computed anew whenever they are needed. None for
            no limit.

    Attributes:
        kernel: The prior covariance.
        X: Arms, shape (A, d).
        prior: Prior variances `k(x_a, x_a)`, shape (A,).
        position: Position of each arm in the order of addition, shape (A,); -1 for arms that were not added.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], max_memory: int | None = None) -> None:
        self.kernel = kernel
        self.X = X
        self.prior: Float[np.ndarray, " A"] = kernel.diag(X)
        self._max_memory = max_memory
        row_bytes = 8 * len(X)
        self._budget = len(X) if max_memory is None else int(max_memory) // row_bytes
        self._roomy = _KEEP_BYTES // row_bytes
        # np.empty commits only the pages that are touched, and a chunk that is full is never copied.
        self._chunk_rows = min(max(16, _CHUNK_BYTES // row_bytes), len(X))
        self._clear()

    def _clear(self) -> None:
        self._u = 0
        self.position = np.full(len(self.X), -1, np.int64)
        self._arms = np.empty(64, np.int64)
        self._gram = np.empty((64, 64))
        self._joined: list[int] = []
        # The row of arm a is kept in slot _slot[a] and was last needed at time _needed[a]; -1 if not, or never.
        self._slot, self._needed = np.full(len(self.X), -1, np.int64), np.full(len(self.X), -1, np.int64)
        self._owner: list[int] = []
        self._time = 0
        self._chunks: list[np.ndarray] = []

    def __len__(self) -> int:
        """Number `u` of arms added."""
        return self._u

    @property
    def arms(self) -> Int[np.ndarray, " u"]:
        """The arms, in order of addition."""
        return self._arms[: self._u]

    @property
    def gram(self) -> Float[np.ndarray, "u u"]:
        return self._gram[: self._u, : self._u]

    @property
    def n_kept(self) -> int:
        """Number of rows in memory."""
        return len(self._owner)

    @property
    def nbytes(self) -> int:
        """Bytes in use for rows, Gram matrix, prior variances, and what is known of each arm."""
        return 8 * (self.n_kept * len(self.X) + self._u**2 + self._u + 4 * len(self.X))

    def add(self, arms: Int[np.ndarray, " p"]) -> Int[np.ndarray, " p"]:
        """Positions of `arms` (distinct) in the Gram matrix, after adding those that are missing."""
        missing = self.position[arms] < 0
        if missing.any():
            new = arms[missing]
            old, u = self._u, self._u + len(new)
            if u > len(self._arms):
                capacity = max(u, 2 * len(self._arms))
                self._arms = _grown(self._arms, old, (capacity,))
                self._gram = _grown(self._gram, old, (capacity, capacity))
            self._u = u
            self._arms[old:u] = new
            self._joined.append(len(new))
            self.position[new] = np.arange(old, u)
            block = self.kernel(self.X[new], self.X[self.arms])
            # As in `_compute`.
            block[np.arange(len(new)), np.arange(old, u)] = self.prior[new]
            self._gram[old:u, :u] = block
            self._gram[:old, old:u] = block[:, :old].T
            if len(new) > 1:
                corner = block[:, old:]
                self._gram[old:u, old:u] = np.tril(corner) + np.tril(corner, -1).T
        return self.position[arms]

    def take(
        self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        """A copy of the rows of `arms`, which may repeat and need not have been added; `k(x, x)` is the prior variance.

        Args:
            arms: Which rows, shape (p,).
            out: Where to write them, shape (p, A); a new array by default.
        """
        slots = self._slot[arms]
        if np.count_nonzero(slots < 0):
            again = arms[self._needed[arms] >= 0]
            if len(again):
                self._keep(np.unique(again), self._budget)
                slots = self._slot[arms]
        self._needed[arms] = self._time
        if len(self._chunks) == 1 and np.count_nonzero(slots < 0) == 0:
            return np.take(self._chunks[0], slots, axis=0, out=out, mode="clip")  # "clip" writes into out unbuffered
        out = np.empty((len(arms), len(self.X))) if out is None else out
        for row, arm, slot in zip(out, arms.tolist(), slots.tolist()):
            if slot < 0:
                self._compute(arm, row)
            else:
                row[:] = self._kept_row(slot)
        return out

    def between(self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"]) -> Float[np.ndarray, "p q"]:
        """Covariances of `arms` with `others`, computed from the kernel."""
        return self.kernel(self.X[arms], self.X[others])

    def at(self, positions: Int[np.ndarray, " s"], arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "s p"]:
        """Covariances of the added arms at `positions` with `arms`, from kept rows where there are any."""
        slots = self._slot[self._arms[positions]]
        if len(self._chunks) == 1 and len(arms) <= _FEW_COLUMNS and (slots >= 0).all():
            return self._chunks[0][slots[:, None], arms]
        K = np.empty((len(positions), len(arms)))
        missing = slots < 0
        if missing.any():
            K[missing] = self.kernel(self.X[self._arms[positions[missing]]], self.X[arms])
        # A row at a time: two index arrays at once take twice as long.
        for row, slot in zip(K, slots.tolist()):
            if slot >= 0:
                np.take(self._kept_row(slot), arms, out=row, mode="clip")
        return K

    def product(
        self, C: Float[np.ndarray, "p s"], positions: Int[np.ndarray, " s"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        """Combinations of rows: `C` times those of the added arms at `positions`, or of the first `s` of them."""
        out: np.ndarray | None = None
        for columns, block in self.products(C, positions):
            if block.shape[1] == len(self.X):
                return block
            out = np.empty((len(C), len(self.X))) if out is None else out
            out[:, columns] = block
        assert out is not None
        return out

    def products(
        self, C: Float[np.ndarray, "p s"], positions: Int[np.ndarray, " s"] | None = None
    ) -> Iterator[tuple[slice, Float[np.ndarray, "p b"]]]:
        """`product` in blocks of columns whose results stay in the processor's cache."""
        used = C.any(axis=0)
        if positions is None:
            positions = np.arange(C.shape[1])
        if not used.all():
            C, positions = C[:, used], positions[used]
        arms = self._arms[positions]
        self._keep(arms, min(self._budget, max(self._roomy, 3 * len(arms) // 2)))
        # Rows in several chunks, or among many others, are gathered where a product is long enough to be worth a copy.
        if len(C) > _COPY and (len(self._chunks) > 1 or len(C) * (len(self._owner) - len(arms)) > _COPY * len(arms)):
            yield from self._gathered(C, arms)
            return
        parts = list(self._parts(C, arms))
        copied = max((len(rows) for _, _, rows in parts if not isinstance(rows, slice)), default=0)
        width = max(1024, _BLOCK_BYTES // (8 * max(len(C), copied, 1)))
        for columns in _blocks(len(self.X), width):
            total: np.ndarray | None = None
            for coefficients, chunk, rows in parts:
                K = self.kernel(self.X[rows], self.X[columns]) if chunk is None else chunk[rows, columns]
                term = _product(coefficients, K)
                total = term if total is None else np.add(total, term, out=total)
            yield columns, np.zeros((len(C), columns.stop - columns.start)) if total is None else total

    def _gathered(
        self, C: Float[np.ndarray, "p s"], arms: Int[np.ndarray, " s"]
    ) -> Iterator[tuple[slice, Float[np.ndarray, "p b"]]]:
        """One product for each block of columns, with a copy of the rows there."""
        slots = self._slot[arms]
        missing = np.flatnonzero(slots < 0)
        width = max(1024, _BLOCK_BYTES // (8 * (len(C) + len(arms))))
        K = np.empty((len(arms), width))
        for columns in _blocks(len(self.X), width):
            block = K[:, : columns.stop - columns.start]
            for row, slot in zip(block, slots.tolist()):
                if slot >= 0:
                    row[:] = self._kept_row(slot)[columns]
            if len(missing):
                block[missing] = self.kernel(self.X[arms[missing]], self.X[columns])
            yield columns, C @ block

    def _parts(
        self, C: Float[np.ndarray, "p s"], arms: Int[np.ndarray, " s"]
    ) -> Iterator[tuple[np.ndarray, np.ndarray | None, slice | np.ndarray]]:
        """Coefficients, the chunk that holds their rows, and which of its rows; or None and the arms to compute."""
        slots = self._slot[arms]
        kept = slots >= 0
        if 2 * len(arms) > len(self._owner):
            # A gather would copy as much as the product reads.
            spread = np.zeros((len(C), len(self._owner)))
            spread[:, slots[kept]] = C[:, kept]
            for chunk, start in zip(self._chunks, range(0, len(self._owner), self._chunk_rows)):
                part = spread[:, start : start + self._chunk_rows]
                yield part, chunk, slice(0, part.shape[1])
        else:
            for number in np.unique(slots[kept] // self._chunk_rows).tolist():
                mine = slots // self._chunk_rows == number
                yield C[:, mine], self._chunks[number], slots[mine] % self._chunk_rows
        if not kept.all():
            yield C[:, ~kept], None, arms[~kept]

    def _keep(self, arms: Int[np.ndarray, " s"], limit: int) -> None:
        """See to it that the rows of `arms` (distinct) are in memory, as far as `limit` rows in all allow."""
        self._time += 1
        self._needed[arms] = self._time
        missing = arms[self._slot[arms] < 0]
        if len(missing) == 0:
            return
        owners = np.array(self._owner, np.int64)
        slots = list(range(len(owners), max(min(limit, len(owners) + len(missing)), len(owners))))
        if len(slots) < len(missing):
            idle = np.flatnonzero(self._needed[owners] < self._time)
            idle = idle[np.argsort(self._needed[owners[idle]], kind="stable")][: len(missing) - len(slots)]
            self._slot[owners[idle]] = -1
            slots += idle.tolist()
        for arm, slot in zip(missing.tolist(), slots):
            self._put(arm, slot)

    def _put(self, arm: int, slot: int) -> None:
        if slot == len(self._chunks) * self._chunk_rows:
            self._chunks.append(np.empty((self._chunk_rows, len(self.X))))
        if slot == len(self._owner):
            self._owner.append(arm)
        else:
            self._owner[slot] = arm
        self._slot[arm] = slot
        self._compute(arm, self._kept_row(slot))

    def _kept_row(self, slot: int) -> Float[np.ndarray, " A"]:
        chunk, row = divmod(slot, self._chunk_rows)
        return self._chunks[chunk][row]

    def _compute(self, arm: int, out: Float[np.ndarray, " A"]) -> None:
        for columns in _blocks(len(self.X), _BLOCK_COLUMNS):
            out[columns] = self.kernel(self.X[arm : arm + 1], self.X[columns])[0]
        # A kernel may round k(x, x) differently from k(x, .) at x; the Gram matrix has the prior too.
        out[arm] = self.prior[arm]

    def __reduce__(self) -> tuple[Any, ...]:
        """Which arms were added and whose rows are kept where; the numbers themselves are computed anew.

        Sums of products are rounded in the order in which rows are kept, and entries of the Gram matrix as part of the
        block in which they were computed, so that without these the last bits would be restored otherwise.
        """
        owner = np.array(self._owner, np.int64)
        state = {
            "arms": self.arms.copy(),
            "joined": np.array(self._joined, np.int64),
            "owner": owner,
            "needed": self._needed,
            "time": self._time,
        }
        return KernelRows, (self.kernel, self.X, self._max_memory), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        for arms in np.split(state["arms"], np.cumsum(state["joined"])[:-1]):
            self.add(arms)
        for slot, arm in enumerate(state["owner"].tolist()):
            self._put(arm, slot)
        self._needed = state["needed"]
        self._time = state["time"]


def products(
    C: Float[np.ndarray, "p s"], K: Float[np.ndarray, "s n"]
) -> Iterator[tuple[slice, Float[np.ndarray, "p b"]]]:
    """`C K` in blocks of columns whose results stay in the processor's cache."""
    for columns in _blocks(K.shape[1], max(1024, _BLOCK_BYTES // (8 * max(len(C), 1)))):
        yield columns, _product(C, K[:, columns])


def _product(C: Float[np.ndarray, "p s"], K: Float[np.ndarray, "s b"]) -> Float[np.ndarray, "p b"]:
    return _few_rows(C, K) if len(C) <= _FEW else C @ K


def _few_rows(C: Float[np.ndarray, "p s"], K: Float[np.ndarray, "s b"]) -> Float[np.ndarray, "p b"]:
    # BLAS packs all of K for a product of matrices, which takes longer than reading it once for each of a few rows.
    H = np.empty((len(C), K.shape[1]))
    for c, h in zip(C, H):
        np.dot(c, K, out=h)
    return H


def _blocks(n: int, size: int) -> list[slice]:
    """Slices of at most `size` that make up `range(n)`."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _grown(old: np.ndarray, filled: int, shape: tuple[int, ...]) -> np.ndarray:
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
