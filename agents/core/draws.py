"""Joint draws from the posterior over a finite set of arms, without the A x A covariance."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.linalg import low_rank_root

__all__ = ["JointDraws"]


class JointDraws:
    """Draws from the posterior as a prior draw plus the correction by the data (Matheron's rule).

    The prior draw comes from a pivoted Cholesky factor of small rank plus an independent remainder on each arm.

    Args:
        kernel: Prior covariance.
        X: Features of the arms, shape (A, d).
        max_rank: Largest rank r of the factor; memory is A r floats.

    Reference: Wilson et al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9.
    """

    def __init__(self, kernel: Kernel, X: Float[np.ndarray, "A d"], max_rank: int = 1_000) -> None:
        self._root, remaining = low_rank_root(kernel, X, 1e-8, max_rank)
        self._remaining = np.sqrt(remaining)

    def draw(
        self, posterior: ExactPosterior, count: int, rng: np.random.Generator, scale: float = 1.0
    ) -> Float[np.ndarray, "count A"]:
        """`count` draws from `posterior`, of the same kernel and arms; deviations from its mean are times `scale`."""
        draws = rng.standard_normal((count, self._root.shape[1])) @ self._root.T
        draws += self._remaining * rng.standard_normal(draws.shape)
        pulled = posterior.engine.distinct()
        if len(pulled):
            noise = np.sqrt(posterior.lam / posterior.n[pulled])
            seen = draws[:, pulled] + noise * rng.standard_normal((count, len(pulled)))
            draws -= posterior.engine.interpolate(seen)
        draws *= scale
        draws += posterior.mean
        return draws
