"""The interface of posteriors over a finite set of arms, and their variances under pulls whose feedback is not seen.

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

from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import whitened

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
        fewer = partial(partial, _among_fewer, covariance)
        return RowsAhead(self.v[arms], self.B[:, arms], covariance, fewer, self._lam)


def _among_fewer(
    covariance: Covariance, arms: Int[np.ndarray, " n"], some: np.ndarray, others: np.ndarray | None
) -> Float[np.ndarray, "p q"]:
    return covariance(arms[some], arms if others is None else arms[others])


class ArmPosterior(ABC):
    """A Gaussian posterior over a finite set of arms.

    Attributes:
        rows: Cached kernel rows of the arms that were pulled.
        lam: Noise variance of one feedback, unit of y^2.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, max_memory: int | None = None) -> None:
        if not (np.isfinite(lam) and lam > 0):
            raise ValueError(f"lam: expected a finite number > 0, got {lam!r}")
        self.rows = KernelRows(kernel, X, max_memory)
        self.lam = float(lam)

    @property
    def n_arms(self) -> int:
        """Number of arms `A`."""
        return len(self.rows.X)

    @property
    @abstractmethod
    def mean(self) -> Float[np.ndarray, " A"]:
        """Posterior mean at every arm; not to be written to."""

    @property
    @abstractmethod
    def variance(self) -> Float[np.ndarray, " A"]:
        """Posterior variance at every arm, at least 0."""

    @abstractmethod
    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        """Posterior variance at `arms`, at least 0."""

    def best_score(self, width: float) -> int:
        """The arm that maximises `mean + width * sd`; ties go to the lowest index."""
        return int(np.argmax(self.mean + width * np.sqrt(self.variance)))

    @abstractmethod
    def effective_dimension(self) -> float:
        """`sum_s var(x_s) / lam` over all pulls; `Tr(K_t (K_t + lam I)^-1)` for the exact posterior."""

    @abstractmethod
    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """Posterior covariance of `arms` with `others`, or with all arms."""

    @abstractmethod
    def reducible_covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        """The part of the covariance that further pulls take away.

        Pulling x changes the variance of every arm a by `-c(a)^2 / (c(x) + lam)`, where c is this covariance with x.
        """

    def reducible_among(self, arms: Int[np.ndarray, " n"]) -> Covariance:
        """`reducible_covariance` among `arms`, by their place in it, prepared once for many calls."""
        return partial(_among, self.reducible_covariance(arms, arms))

    def look_ahead(self) -> LookAhead:
        """The variance of every arm under pulls without feedback, while the posterior stays as it is."""
        B = np.zeros((0, self.n_arms))
        return RowsAhead(self.variance, B, self.reducible_covariance, self.reducible_among, self.lam)

    @abstractmethod
    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        """Posterior mean and variance at any points `X`."""


def _among(
    covariance: Float[np.ndarray, "n n"], some: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
) -> Float[np.ndarray, "p q"]:
    return covariance[some] if others is None else covariance[np.ix_(some, others)]
