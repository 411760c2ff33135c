"""Factorisations that survive singular and near-singular kernel matrices, and the products that come with them."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.linalg.blas import dtrmm, dtrsm, dtrsv
from scipy.linalg.lapack import dpotrf, dpstrf

from gpbandit_envs.gp.kernels import Kernel

_MAX_JITTER = 1e-4
_EPS = float(np.finfo(np.float64).eps)


class FactorisationError(ArithmeticError):
    """A matrix that ought to be positive definite is not, beyond what rounding explains."""


def jittered_cholesky(
    K: Float[np.ndarray, "n n"], scale: float | None = None
) -> tuple[Float[np.ndarray, "n n"], float]:
    """Lower Cholesky factor of a positive semi-definite matrix, with as little jitter as it takes.

    No jitter is added unless the plain factorisation fails; then a multiple of machine epsilon times the scale,
    growing tenfold until it succeeds.

    Args:
        K: Symmetric matrix, shape (n, n).
        scale: Size of the numbers whose rounding is in `K`; None for the mean diagonal. That of a difference may be
            smaller than its rounding, even negative.

    Returns:
        The factor `L` with `L L^T = K + jitter I`, and the jitter.

    Raises:
        FactorisationError: if a jitter of 1e-4 of the scale is not enough, or `K` is not finite.
    """
    if not np.isfinite(K).all():
        raise FactorisationError("K: expected finite entries, got NaN or infinity")
    L, info = dpotrf(K, lower=1, clean=1)
    if info == 0:
        return L, 0.0
    if scale is None:
        scale = float(np.mean(np.diagonal(K)))
    factor = 10 * _EPS * max(1, len(K))
    while factor <= _MAX_JITTER:
        jitter = factor * scale
        L, info = dpotrf(K + jitter * np.eye(len(K)), lower=1, clean=1)
        if info == 0:
            return L, jitter
        factor *= 10
    raise FactorisationError(f"K: not positive semi-definite, even with a jitter of {_MAX_JITTER:g} of its diagonal")


def pivoted_cholesky(K: Float[np.ndarray, "n n"], tol: float) -> tuple[Float[np.ndarray, "r r"], np.ndarray]:
    """Cholesky factor of the best-conditioned leading block of a positive semi-definite matrix.

    Args:
        K: Symmetric matrix, shape (n, n).
        tol: Rows whose remaining variance is at most this are left out; absolute, in the unit of `K`.

    Returns:
        The lower factor `L` of `K[pivots][:, pivots]` and the pivots, shape (r,), in order of choice.
    """
    if len(K) == 0:
        return np.zeros((0, 0)), np.zeros(0, np.int64)
    if len(K) == 1:  # as LAPACK does: a first row is taken wherever it is positive
        return np.sqrt(K[K[0] > 0]), np.flatnonzero(K[0] > 0)
    L, pivots, rank, _ = dpstrf(K, lower=1, tol=tol)
    return np.tril(L[:rank, :rank]), np.asarray(pivots[:rank], np.int64) - 1


def low_rank_root(
    kernel: Kernel, X: Float[np.ndarray, "A d"], tol: float, max_rank: int
) -> tuple[Float[np.ndarray, "A r"], Float[np.ndarray, " A"]]:
    """Partial pivoted Cholesky factor of the prior covariance `k(X, X)` of many arms, which is never formed.

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


def solve_lower(
    L: Float[np.ndarray, "n n"], B: Float[np.ndarray, "n *m"], transposed: bool = False
) -> Float[np.ndarray, "n *m"]:
    """`L^-1 B`, or `L^-T B` if transposed, for a lower triangular `L` without zeros on its diagonal."""
    # BLAS directly: scipy.linalg.solve_triangular spends ten times as long on a small system as the solve itself.
    if len(L) == 0:
        return np.zeros(B.shape)
    if B.ndim == 1:
        return dtrsv(L, B, lower=1, trans=int(transposed))
    # From the right on the transpose, so that a row-major B needs no reordering: X^T L^T = B^T.
    return dtrsm(1.0, L, B.T, side=1, lower=1, trans_a=int(not transposed)).T


def times_lower(
    L: Float[np.ndarray, "n n"], B: Float[np.ndarray, "n m"], transposed: bool = False
) -> Float[np.ndarray, "n m"]:
    """`L B`, or `L^T B` if transposed, for a lower triangular `L`."""
    return dtrmm(1.0, L, B, lower=1, trans_a=int(transposed)) if len(L) else np.zeros(B.shape)


def whitened(
    H: Float[np.ndarray, "p n"], S: Float[np.ndarray, "p p"], noise: Float[np.ndarray, " p"]
) -> Float[np.ndarray, "p n"]:
    """`B = L^-1 H` with `L L^T = S + diag(noise)`: noisy observations take `B^T B` off a covariance.

    Args:
        H: Covariance of the observed points with all others, shape (p, n).
        S: Covariance of the observed points, up to rounding symmetric, shape (p, p).
        noise: Noise variance of each observation, shape (p,).
    """
    if len(S) == 1:
        return H / np.sqrt(max(float(S[0, 0]), 0.0) + noise[0])
    L, _ = jittered_cholesky(0.5 * (S + S.T) + np.diag(noise))
    return solve_lower(L, H)
