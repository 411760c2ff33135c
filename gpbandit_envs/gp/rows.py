"""Kernel rows of the arms that were pulled: each computed once and kept, within a budget of memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernels import Kernel

__all__ = ["KernelRows"]

_CHUNK_BYTES = 2**29
_BLOCK_BYTES = 2**22
_BLOCK_COLUMNS = 2**16
_FEW = 3


class KernelRows:
    """The rows `k(x_u, .)` over all arms, for every distinct arm `u` added so far.

    | symbol | meaning | shape |
    |---|---|---|
    | `A` | number of arms | |
    | `u` | number of distinct arms added | |
    | `rows` | `k(x_u, x_a)`; never seen as one array, only through `product` and `at` | (u, A) |
    | `gram` | `k(x_u, x_u')` | (u, u) |

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
        self._budget = len(X) if max_memory is None else int(max_memory) // (8 * len(X))
        # np.empty commits only the pages that are touched, and a chunk that is full is never copied.
        self._chunk_rows = min(len(X), max(16, _CHUNK_BYTES // (8 * len(X))))
        self._chunks: list[np.ndarray] = []
        self._arms = np.empty(64, np.int64)
        self._gram = np.empty((64, 64))

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
        """Number of rows that are kept; the others are computed when needed."""
        return min(self._u, self._budget)

    @property
    def nbytes(self) -> int:
        """Bytes in use for rows, Gram matrix, prior variances and positions."""
        return 8 * (self.n_kept * len(self.X) + self._u**2 + self._u + 2 * len(self.X))

    def add(self, arms: Int[np.ndarray, " p"]) -> Int[np.ndarray, " p"]:
        """Rows of `arms` (distinct), after computing those that are missing."""
        positions = self.position[arms]
        missing = positions < 0
        if missing.any():
            new = arms[missing]
            self._reserve(self._u + len(new))
            old, u = self._u, self._u + len(new)
            self._arms[old:u] = new
            self.position[new] = np.arange(old, u)
            self._u = u
            self._keep(old, min(u, self._budget))
            block = self.at(np.arange(old, u), self._arms[:u])
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
            arms, gram = np.empty(capacity, np.int64), np.empty((capacity, capacity))
            arms[: self._u], gram[: self._u, : self._u] = self.arms, self.gram
            self._arms, self._gram = arms, gram

    def _keep(self, start: int, stop: int) -> None:
        """Compute the rows from `start` to `stop` into the chunks."""
        while start < stop:
            chunk, first = divmod(start, self._chunk_rows)
            if chunk == len(self._chunks):
                self._chunks.append(np.empty((min(self._chunk_rows, self._budget - start), len(self.X))))
            last = min(first + stop - start, self._chunk_rows)
            points = self.X[self._arms[start : start + last - first]]
            for columns in _blocks(len(self.X), _BLOCK_COLUMNS):
                self._chunks[chunk][first:last, columns] = self.kernel(points, self.X[columns])
            start += last - first

    def at(self, positions: Int[np.ndarray, " s"], arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "s p"]:
        """Entries of the rows at `positions` for `arms`."""
        if len(self._chunks) == 1 and self._u <= self._budget and self._u <= self._chunk_rows:
            return self._chunks[0][positions[:, None], arms]
        K = np.empty((len(positions), len(arms)))
        where = np.where(positions < self._budget, positions // self._chunk_rows, -1)
        for chunk in np.unique(where).tolist():
            mine = where == chunk
            if chunk < 0:
                K[mine] = self.kernel(self.X[self._arms[positions[mine]]], self.X[arms])
            else:
                K[mine] = self._chunks[chunk][(positions[mine] % self._chunk_rows)[:, None], arms]
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
        if positions is not None and 2 * len(positions) > self._u:
            # A gather would copy as much as the product reads.
            spread = np.zeros((len(C), self._u))
            spread[:, positions] = C
            C, positions = spread, None
        kept = [part for part in self._parts(C, positions) if part[0].any()]
        width = max(1024, _BLOCK_BYTES // (8 * max(len(C), 1)))
        for columns in _blocks(len(self.X), width):
            total: np.ndarray | None = None
            for coefficients, source, rows in kept:
                K = self._block(source, rows, columns)
                term = _few_rows(coefficients, K) if len(C) <= _FEW else coefficients @ K
                total = term if total is None else np.add(total, term, out=total)
            yield columns, np.zeros((len(C), columns.stop - columns.start)) if total is None else total

    def _parts(
        self, C: np.ndarray, positions: np.ndarray | None
    ) -> Iterator[tuple[np.ndarray, int, slice | np.ndarray]]:
        """Coefficients, chunk (-1: to be computed) and rows in it (or positions)."""
        for chunk in range(len(self._chunks)):
            start, stop = chunk * self._chunk_rows, min((chunk + 1) * self._chunk_rows, self._budget)
            if positions is None:
                part = C[:, start:stop]
                if part.shape[1]:
                    yield part, chunk, slice(0, part.shape[1])
            else:
                mine = (positions >= start) & (positions < stop)
                if mine.any():
                    yield C[:, mine], chunk, positions[mine] - start
        if self._u > self._budget:
            where = np.arange(C.shape[1]) if positions is None else positions
            mine = (where >= self._budget) & C.any(axis=0)
            if mine.any():
                yield C[:, mine], -1, where[mine]

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
