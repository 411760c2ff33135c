"""Variances of arms under pulls whose feedback is not seen.

Pulling x changes the variance of every arm a by `-c(a, x)^2 / (c(x, x) + lam)`, where c is the reducible covariance,
and c itself likewise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.linalg import whitened

__all__ = ["Covariance", "LookAhead", "RowsAhead"]

_SPARE = 32

Covariance = Callable[[Int[np.ndarray, " p"], Int[np.ndarray, " q"] | None], Float[np.ndarray, "p q"]]
"""Of some arms, by position, with some others, or with all for None."""


class LookAhead(ABC):
    """Variances and reducible covariance of some arms, or all, under pulls of them.

    Attributes:
        v: Variance of each arm, shape (k,), never clipped; not to be written to. Another array after every pull.
    """

    v: Float[np.ndarray, " k"]

    @abstractmethod
    def covariance(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        """Present reducible covariance among the arms at these positions."""

    @abstractmethod
    def pull(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        """Account for `counts` more pulls of each of the arms at these distinct positions."""

    @abstractmethod
    def among(self, arms: Int[np.ndarray, " n"]) -> LookAhead:
        """The same of the arms at these positions alone, in increasing order, to be pulled on its own."""


class RowsAhead(LookAhead):
    """The reducible covariance as that at the start less `B^T B`: a row of B over the arms for every pulled arm.

    Args:
        v: Variance at the start, shape (k,).
        B: Rows at the start, shape (r, k).
        covariance: What `B^T B` is taken off.
        among: It among fewer arms, whose positions are the argument.
        lam: Noise variance.
    """

    def __init__(
        self,
        v: Float[np.ndarray, " k"],
        B: Float[np.ndarray, "r k"],
        covariance: Covariance,
        among: Callable[[Int[np.ndarray, " n"]], Covariance],
        lam: float,
    ) -> None:
        self.v, self.B = v, B
        self._start = v, B
        self._covariance, self._among, self._lam = covariance, among, lam
        self._pulls = Counter[int]()

    def covariance(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        B = self.B[:, arms]
        return self._covariance(arms, arms) - B.T @ B

    def pull(self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"]) -> None:
        self._pulls.update(dict(zip(arms.tolist(), counts.tolist())))
        if len(self.B) + len(arms) > len(self._start[1]) + 2 * len(self._pulls) + _SPARE:
            # The same arms in many updates: start over with one row for each arm.
            arms, counts = np.fromiter(self._pulls, np.int64), np.fromiter(self._pulls.values(), np.float64)
            self.v, self.B = self._start
        H = self._covariance(arms, None)
        H -= self.B[:, arms].T @ self.B
        rows = whitened(H, H[:, arms], self._lam / counts)
        self.v = self.v - np.einsum("ij,ij->j", rows, rows)
        self.B = np.concatenate([self.B, rows])

    def among(self, arms: Int[np.ndarray, " n"]) -> RowsAhead:
        covariance = self._among(arms)
        # Partials, and no closures: batches are saved while they are open.
        fewer = partial(partial, _among, covariance)
        return RowsAhead(self.v[arms], self.B[:, arms], covariance, fewer, self._lam)


def _among(
    covariance: Covariance, arms: Int[np.ndarray, " n"], some: np.ndarray, others: np.ndarray | None
) -> Float[np.ndarray, "p q"]:
    return covariance(arms[some], arms if others is None else arms[others])
