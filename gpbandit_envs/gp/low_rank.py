"""A factor of the prior covariance of many arms that is never larger than it needs to be."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.kernels import Kernel

__all__ = ["low_rank_root"]


def low_rank_root(
    kernel: Kernel, X: Float[np.ndarray, "A d"], tol: float, max_rank: int
) -> tuple[Float[np.ndarray, "A r"], Float[np.ndarray, " A"]]:
    """Partial pivoted Cholesky factor of `k(X, X)`, which is never formed.

    `k(X, X)` is `R R^T` plus a positive semi-definite remainder whose diagonal is returned: with an independent draw of
    that variance added, marginal variances stay exact whatever the rank.

    Args:
        kernel: Prior covariance.
        X: Arms, shape (A, d).
        tol: Stop once the largest remaining variance is at most this part of the largest prior variance.
        max_rank: Stop at this rank in any case; memory is A times it.

    Returns:
        The factor, shape (A, r), and the remaining variances, shape (A,), at least 0.

    Reference: Harbrecht, Peters and Schneider (2012), On the low-rank approximation by the pivoted Cholesky
    decomposition.
    """
    remaining = kernel.diag(X).copy()
    limit = tol * float(remaining.max())
    rank = min(max_rank, len(X))
    R = np.empty((rank, len(X)))
    for j in range(rank):
        pivot = int(np.argmax(remaining))
        if remaining[pivot] <= limit:
            return np.ascontiguousarray(R[:j].T), np.maximum(remaining, 0.0)
        row = kernel(X[pivot : pivot + 1], X)[0] - R[:j, pivot] @ R[:j]
        R[j] = row / np.sqrt(remaining[pivot])
        remaining -= R[j] ** 2
        remaining[pivot] = 0.0
    return np.ascontiguousarray(R.T), np.maximum(remaining, 0.0)
