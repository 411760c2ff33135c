"""Kernel rows of the arms that were pulled: computed when first needed and kept, within a budget of memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernels import Kernel

__all__ = ["KernelRows", "as_bytes"]

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}

_CHUNK_BYTES = 2**28
_KEEP_BYTES = 2**28
_BLOCK_BYTES = 2**22
_BLOCK_COLUMNS = 2**16
_FEW = 3


class KernelRows:
    """The rows `k(x_u, .)` over all arms, for every distinct arm `u` added so far.

    | symbol | meaning | shape |
    |---|---|---|
    | `A` | number of arms | |
    | `u` | number of distinct arms added | |
    | `rows` | `k(x_u, x_a)`; seen through `product` and `at` only | (u, A) |
    | `gram` | `k(x_u, x_u')` | (u, u) |

    A row is computed when a product first needs it. Rows that no product has needed for longest make room for others
    once there are more than twice as many as the present product needs, and more than 256 MB of them.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d); may be memory-mapped.
        max_memory: Bytes that kept rows may take; rows beyond it are computed anew whenever they are needed. None for
            no limit.

    Attributes:
        kernel: The prior covariance.
        X: Arms, shape (A, d).
        prior: Prior variances `k(x_a, x_a)`, shape (A,).
        position: Row of each arm, shape (A,); -1 for arms without one.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], max_memory: int | None = None) -> None:
        self.kernel = kernel
        self.X = X
        self.prior = kernel.diag(X)
        self.position = np.full(len(X), -1, np.int64)
        self._u = 0
        self._arms = np.empty(64, np.int64)
        self._gram = np.empty((64, 64))
        # Row u is kept in slot _slot[u], -1 if it is not, and was last needed by product number _needed[u].
        self._slot, self._needed = np.empty(64, np.int64), np.empty(64, np.int64)
        self._owner: list[int] = []
        self._products = 0
        row_bytes = 8 * len(X)
        self._budget = len(X) if max_memory is None else int(max_memory) // row_bytes
        self._roomy = _KEEP_BYTES // row_bytes
        # np.empty commits only the pages that are touched, and a chunk that is full is never copied.
        self._chunk_rows = max(16, _CHUNK_BYTES // row_bytes)
        self._chunks: list[np.ndarray] = []

    def __len__(self) -> int:
        return self._u

    @property
    def arms(self) -> Int[np.ndarray, " u"]:
        """Index of the arm of each row, in order of addition."""
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
        """Bytes in use for rows, Gram matrix, prior variances and positions."""
        return 8 * (self.n_kept * len(self.X) + self._u**2 + 3 * self._u + 2 * len(self.X))

    def add(self, arms: Int[np.ndarray, " p"]) -> Int[np.ndarray, " p"]:
        """Positions of `arms` (distinct), after adding those that are missing."""
        positions = self.position[arms]
        missing = positions < 0
        if missing.any():
            new = arms[missing]
            self._reserve(self._u + len(new))
            old, u = self._u, self._u + len(new)
            self._arms[old:u] = new
            self._slot[old:u] = -1
            self.position[new] = np.arange(old, u)
            self._u = u
            block = self.kernel(self.X[new], self.X[self._arms[:u]])
            # The diagonal comes from the prior: a kernel may round k(x, x) differently from k(x, .) at x.
            block[np.arange(len(new)), np.arange(old, u)] = self.prior[new]
            self._gram[old:u, :u] = block
            self._gram[:old, old:u] = block[:, :old].T
            corner = block[:, old:]
            self._gram[old:u, old:u] = np.tril(corner) + np.tril(corner, -1).T
            positions = self.position[arms]
        return positions

    def _reserve(self, u: int) -> None:
        if u > len(self._arms):
            capacity = max(u, 2 * len(self._arms))
            self._arms, self._slot, self._needed = (
                _grown(old, self._u, (capacity,)) for old in (self._arms, self._slot, self._needed)
            )
            self._gram = _grown(self._gram, self._u, (capacity, capacity))

    def _keep(self, positions: Int[np.ndarray, " s"]) -> None:
        """See to it that the rows at `positions` are in memory, as many as the budget allows."""
        self._products += 1
        self._needed[positions] = self._products
        missing = positions[self._slot[positions] < 0]
        if len(missing) == 0:
            return
        limit = min(self._budget, max(self._roomy, 2 * len(positions)))
        free = limit - len(self._owner)
        if free < len(missing):
            owners = np.array(self._owner, np.int64)
            idle = np.flatnonzero(self._needed[owners] < self._products)
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
        for columns in _blocks(len(self.X), _BLOCK_COLUMNS):
            self._chunks[chunk][row, columns] = self.kernel(point, self.X[columns])[0]

    def at(self, positions: Int[np.ndarray, " s"], arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "s p"]:
        """Entries of the rows at `positions` for `arms`."""
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

    def product(
        self, C: Float[np.ndarray, "p s"], positions: Int[np.ndarray, " s"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        """Combinations of rows: `C` times the rows at `positions`, or times the first `s` rows."""
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
        self._keep(positions)
        parts = list(self._parts(C, positions))
        width = max(1024, _BLOCK_BYTES // (8 * max(len(C), 1)))
        for columns in _blocks(len(self.X), width):
            total: np.ndarray | None = None
            for coefficients, chunk, rows in parts:
                K = self._block(chunk, rows, columns)
                term = _few_rows(coefficients, K) if len(C) <= _FEW else coefficients @ K
                total = term if total is None else np.add(total, term, out=total)
            yield columns, np.zeros((len(C), columns.stop - columns.start)) if total is None else total

    def _parts(self, C: np.ndarray, positions: np.ndarray) -> Iterator[tuple[np.ndarray, int, slice | np.ndarray]]:
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

    def _block(self, chunk: int, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        if chunk < 0:
            return self.kernel(self.X[self._arms[rows]], self.X[columns])
        return self._chunks[chunk][rows, columns]


def _few_rows(C: Float[np.ndarray, "p s"], K: Float[np.ndarray, "s b"]) -> Float[np.ndarray, "p b"]:
    # BLAS packs all of K for a product of matrices, which takes longer than reading it once for each of a few rows.
    H = np.empty((len(C), K.shape[1]))
    for c, h in zip(C, H):
        np.dot(c, K, out=h)
    return H


def _blocks(n: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def _grown(old: np.ndarray, filled: int, shape: tuple[int, ...]) -> np.ndarray:
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
