"""Kernel rows of the arms that were pulled: their Gram matrix, and their products, within a budget of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kept_rows import KeptRows, blocks, grown
from gpbandit_envs.gp.kernels import Kernel

__all__ = ["KernelRows"]

_BLOCK_BYTES = 2**22
_FEW = 3


class KernelRows:
    """The rows `k(x_u, .)` over all arms, for every distinct arm `u` added so far.

    | symbol | meaning | shape |
    |---|---|---|
    | `A` | number of arms | |
    | `u` | number of distinct arms added | |
    | `rows` | `k(x_u, x_a)`; seen through `product` and `at` only | (u, A) |
    | `gram` | `k(x_u, x_u')` | (u, u) |

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d); may be memory-mapped.
        max_memory: Bytes that kept rows may take; rows beyond it are computed anew whenever they are needed. None for
            no limit; which are kept then: `gpbandit_envs.gp.kept_rows.KeptRows`.

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
        self._max_memory = max_memory
        self._kept = KeptRows(kernel, X, max_memory)
        self._clear()

    def _clear(self) -> None:
        self._kept.clear()
        self._u = 0
        self.position = np.full(len(self.X), -1, np.int64)
        self._gram = np.empty((64, 64))
        self._joined: list[int] = []

    def __len__(self) -> int:
        return self._u

    @property
    def arms(self) -> Int[np.ndarray, " u"]:
        """Index of the arm of each row, in order of addition."""
        return self._kept.arms

    @property
    def gram(self) -> Float[np.ndarray, "u u"]:
        return self._gram[: self._u, : self._u]

    @property
    def n_kept(self) -> int:
        """Number of rows in memory."""
        return len(self._kept)

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
            old, u = self._u, self._u + len(new)
            self._u = u
            self._kept.add(new)
            self._joined.append(len(new))
            self.position[new] = np.arange(old, u)
            if u > len(self._gram):
                capacity = max(u, 2 * len(self._gram))
                self._gram = grown(self._gram, old, (capacity, capacity))
            block = self.kernel(self.X[new], self.X[self.arms])
            # The diagonal comes from the prior: a kernel may round k(x, x) differently from k(x, .) at x.
            block[np.arange(len(new)), np.arange(old, u)] = self.prior[new]
            self._gram[old:u, :u] = block
            self._gram[:old, old:u] = block[:, :old].T
            corner = block[:, old:]
            self._gram[old:u, old:u] = np.tril(corner) + np.tril(corner, -1).T
            positions = self.position[arms]
        return positions

    def take(
        self, arms: Int[np.ndarray, " p"], out: Float[np.ndarray, "p A"] | None = None
    ) -> Float[np.ndarray, "p A"]:
        """Whole rows of `arms`, a copy."""
        if not hasattr(self, "_take_position"):
            self._take_position = np.full(len(self.X), -1, np.int64)
            self._take_rows = np.empty((min(64, len(self.X)), len(self.X)))
            self._take_used = 0
        positions = self._take_position[arms]
        if (positions < 0).any():
            new_arms = np.unique(arms[positions < 0])
            used = self._take_used + len(new_arms)
            if used > len(self._take_rows):
                rows = np.empty((min(max(used, 2 * len(self._take_rows)), len(self.X)), len(self.X)))
                rows[: self._take_used] = self._take_rows[: self._take_used]
                self._take_rows = rows
            new = self.kernel(self.X[new_arms], self.X)
            new[np.arange(len(new_arms)), new_arms] = self.prior[new_arms]
            self._take_rows[self._take_used : used] = new
            self._take_position[new_arms] = np.arange(self._take_used, used)
            self._take_used = used
            positions = self._take_position[arms]
        return np.take(self._take_rows, positions, axis=0, out=out, mode="clip")

    def entries(self, arm: int, others: Int[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
        """Entries of the row of `arm`, a copy."""
        self.take(np.array([arm]))
        return self._take_rows[self._take_position[arm], others]

    def at(self, positions: Int[np.ndarray, " s"], arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "s p"]:
        """Entries of the rows at `positions` for `arms`."""
        return self._kept.at(positions, arms)

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
        kept = self._kept
        kept.need(positions)
        parts = list(kept.parts(C, positions))
        copied = max((len(rows) for _, _, rows in parts if not isinstance(rows, slice)), default=0)
        width = max(1024, _BLOCK_BYTES // (8 * max(len(C), copied, 1)))
        for columns in blocks(len(self.X), width):
            total: np.ndarray | None = None
            for coefficients, chunk, rows in parts:
                K = kept.block(chunk, rows, columns)
                term = _few_rows(coefficients, K) if len(C) <= _FEW else coefficients @ K
                total = term if total is None else np.add(total, term, out=total)
            yield columns, np.zeros((len(C), columns.stop - columns.start)) if total is None else total

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "X": self.X, "max_memory": self._max_memory, "state": self.state_dict()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["kernel"], state["X"], state["max_memory"])  # type: ignore[misc]
        self.load_state_dict(state["state"])

    def state_dict(self) -> dict[str, Any]:
        """Which arms were added and where their rows are kept; the numbers themselves are computed anew.

        Sums of products are rounded in the order in which rows are kept, and entries of the Gram matrix as part of the
        block in which they were computed, so that without these the last bits would be restored otherwise.
        """
        return {"arms": self.arms.copy(), "joined": np.array(self._joined, np.int64), "kept": self._kept.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of `state_dict` into rows of the same kernel, arms and budget."""
        self._clear()
        for arms in np.split(np.asarray(state["arms"], np.int64), np.cumsum(state["joined"])[:-1]):
            self.add(arms)
        self._kept.load_state_dict(state["kept"])


def _few_rows(C: Float[np.ndarray, "p s"], K: Float[np.ndarray, "s b"]) -> Float[np.ndarray, "p b"]:
    # BLAS packs all of K for a product of matrices, which takes longer than reading it once for each of a few rows.
    H = np.empty((len(C), K.shape[1]))
    for c, h in zip(C, H):
        np.dot(c, K, out=h)
    return H
