"""The interface of posteriors over a finite set of arms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.kernel_rows import KernelRows
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.look_ahead import Covariance, LookAhead, RowsAhead

__all__ = ["ArmPosterior"]


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
