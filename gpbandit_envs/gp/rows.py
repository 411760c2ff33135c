"""Kernel rows of the arms that were pulled, each computed once and kept."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernels import Kernel

__all__ = ["KernelRows"]

_RESERVED_BYTES = 2_000_000_000


class KernelRows:
    """The rows `k(x_u, .)` over all arms, for every distinct arm `u` added so far.

    | symbol | meaning | shape |
    |---|---|---|
    | `A` | number of arms | |
    | `u` | number of distinct arms added | |
    | `rows` | `k(x_u, x_a)` | (u, A) |
    | `gram` | `k(x_u, x_u')` | (u, u) |

    Attributes:
        kernel: The prior covariance.
        X: Arms, shape (A, d).
        prior: Prior variances `k(x_a, x_a)`, shape (A,).
        arms: Index of the arm of each row, shape (u,), in order of addition.
        position: Row of each arm, shape (A,); -1 for arms without one.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"]) -> None:
        self.kernel = kernel
        self.X = X
        self.prior = kernel.diag(X)
        self.position = np.full(len(X), -1, np.int64)
        self._u = 0
        # np.empty commits only the pages that are touched; growing by copying would hold old and new at once.
        capacity = min(len(X), max(64, _RESERVED_BYTES // (8 * len(X))))
        self._rows = np.empty((capacity, len(X)))
        self._arms = np.empty(capacity, np.int64)
        self._gram = np.empty((min(capacity, 256),) * 2)

    def __len__(self) -> int:
        return self._u

    @property
    def rows(self) -> Float[np.ndarray, "u A"]:
        return self._rows[: self._u]

    @property
    def arms(self) -> Int[np.ndarray, " u"]:
        return self._arms[: self._u]

    @property
    def gram(self) -> Float[np.ndarray, "u u"]:
        return self._gram[: self._u, : self._u]

    def add(self, arms: Int[np.ndarray, " p"]) -> Int[np.ndarray, " p"]:
        """Rows of `arms` (distinct), after computing those that are missing."""
        positions = self.position[arms]
        new = arms[positions < 0]
        if len(new):
            self._reserve(self._u + len(new))
            old, u = self._u, self._u + len(new)
            self._rows[old:u] = self.kernel(self.X[new], self.X)
            self._arms[old:u] = new
            self.position[new] = np.arange(old, u)
            self._u = u
            block = self._rows[old:u, self._arms[:u]]
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
            capacity = min(len(self.X), max(u, 2 * len(self._arms)))
            self._rows = _grown(self._rows, (capacity, len(self.X)))
            self._arms = _grown(self._arms, (capacity,))
        if u > len(self._gram):
            self._gram = _grown(self._gram, (max(u, 2 * len(self._gram)),) * 2)


def _grown(old: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    new = np.empty(shape, old.dtype)
    new[tuple(slice(n) for n in old.shape)] = old
    return new
