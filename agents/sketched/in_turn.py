"""Leverage scores of a data set in turn, on a dictionary."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, pivoted_cholesky, solve_lower

__all__ = ["sketched_leverage_in_turn"]

_BLOCK = 128


def sketched_leverage_in_turn(
    kernel: Kernel, S: Float[np.ndarray, "m d"], X: Float[np.ndarray, "u d"], pulls: Float[np.ndarray, " u"], lam: float
) -> tuple[Float[np.ndarray, " u"], Float[np.ndarray, " u"]]:
    """The sketched leverage score of each arm given all pulls of the arms before it, in O(u m^2).

    Args:
        kernel: Prior covariance.
        S: Dictionary, shape (m, d).
        X: Distinct pulled arms, shape (u, d).
        pulls: Pulls of each, shape (u,), > 0.
        lam: Noise variance of one pull.

    Returns:
        `z^T V^-1 z`, which pulls of the arm take away, and `(k(x, x) - z^T z) / lam`, which they leave.

    Reference: Calandriello et al. (2020), eq. 2.
    """
    prior = kernel.diag(X)
    tol = len(S) * np.finfo(float).eps * float(kernel.diag(S).max())
    L, pivots = pivoted_cholesky(kernel(S, S), tol)
    Z = solve_lower(L, kernel(S[pivots], X))
    P = np.eye(len(Z)) / lam
    reducible = np.empty(len(X))
    for start in range(0, len(X), _BLOCK):
        block = slice(start, start + _BLOCK)
        H = P @ Z[:, block]
        G = Z[:, block].T @ H
        noise = 1 / pulls[block]
        R, _ = jittered_cholesky(0.5 * (G + G.T) + np.diag(noise))
        reducible[block] = np.maximum(np.diagonal(R) ** 2 - noise, 0.0)
        B = solve_lower(R, H.T)
        P -= B.T @ B
    return reducible, np.maximum(prior - np.einsum("ij,ij->j", Z, Z), 0.0) / lam
