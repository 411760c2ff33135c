"""The exact posterior over a finite set of arms, given pulls of any weight.

A pull of weight `w` counts as one with noise variance `lam / w`. Pulls of one arm are one observation whose weight is
the sum of theirs, so that a posterior is a matter of the `u` distinct arms: with `L L^T = K_uu + lam diag(1 / n)` the
whitened rows are `L^-1 k(U, .)`. Computing it takes O(A u^2), whatever has changed.
"""

from __future__ import annotations

from math import log

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower


class WeightedPosterior(ArmPosterior):
    """The exact posterior given weighted pulls, computed anew whenever the weights change.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        lam: Noise variance of a pull of weight 1, > 0, unit of y^2.

    Attributes:
        information_gain: `0.5 logdet(I + N K / lam)` with the weights `N`, in nats.

    Raises:
        ValueError: if `lam` is out of range.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> None:
        super().__init__(kernel, X, lam)
        self.condition(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))

    def condition(
        self, arms: Int[np.ndarray, " u"], weights: Float[np.ndarray, " u"], sums: Float[np.ndarray, " u"]
    ) -> None:
        """Forget everything and condition on pulls of distinct arms.

        Args:
            arms: The arms.
            weights: Sum of the weights of each, > 0.
            sums: Sum of weight times feedback of each, unit of y.
        """
        self._arms, self._weights = arms, weights
        C = self.rows.take(arms)
        self._L, _ = jittered_cholesky(C[:, arms] + np.diag(self.lam / weights)) if len(arms) else (C[:, arms], 0.0)
        self._W = solve_lower(self._L, C)
        self._z = solve_lower(self._L, sums / weights)
        self._mean: np.ndarray = self._z @ self._W
        self._variance = np.maximum(self.rows.prior - np.einsum("ij,ij->j", self._W, self._W), 0.0)
        logdet = (
            2 * float(np.log(np.diagonal(self._L)).sum()) + float(np.log(weights).sum()) - len(arms) * log(self.lam)
        )
        self.information_gain = 0.5 * logdet

    @property
    def mean(self) -> Float[np.ndarray, " A"]:
        return self._mean

    @property
    def variance(self) -> Float[np.ndarray, " A"]:
        return self._variance

    def variance_at(self, arms: Int[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
        return self._variance[arms]

    def effective_dimension(self) -> float:
        return float(self._weights @ self._variance[self._arms]) / self.lam

    def covariance(
        self, arms: Int[np.ndarray, " p"], others: Int[np.ndarray, " q"] | None = None
    ) -> Float[np.ndarray, "p q"]:
        if others is None:
            return self.rows.take(arms) - self._W[:, arms].T @ self._W
        return self.rows.between(arms, others) - self._W[:, arms].T @ self._W[:, others]

    reducible_covariance = covariance

    def at(self, X: Float[np.ndarray, "q d"]) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
        kernel = self.rows.kernel
        G = solve_lower(self._L, kernel(self.rows.X[self._arms], X))
        return self._z @ G, np.maximum(kernel.diag(X) - np.einsum("ij,ij->j", G, G), 0.0)
