"""Ridge leverage scores of existing data: by BLESS without a dictionary, and sequentially on a dictionary.

BLESS works bottom-up, along a path of falling regularisation:

| symbol | meaning |
|---|---|
| `n` | pulls; each is a point of its own, so that an arm pulled often is likely to be drawn |
| `lam_h` | regularisation of step h, from `kappa^2 n`, where every score is about its prior variance, down to `lam` |
| `J`, `A` | arms drawn at the last step, and their weights |
| `lev(x)` | `(k(x, x) - k_J(x)^T (K_JJ + lam_h A)^-1 k_J(x)) / lam_h` |

Regularisation here is the `lambda n` of the paper. Each step draws about `kappa^2 n / lam_h` points uniformly, scores
them by the arms of the step before, and draws about `d_eff(lam_h)` of them by their scores, so that no step evaluates
more arms than its own effective dimension requires.
"""

from __future__ import annotations

from math import ceil, log

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, pivoted_cholesky, solve_lower

_BLOCK = 128
_STEP = 2.0  # factor `q > 1` by which the regularisation falls


def bless(
    kernel: Kernel,
    X: Float[np.ndarray, "u d"],
    pulls: Float[np.ndarray, " u"],
    lam: float,
    rng: np.random.Generator,
    oversampling: float = 8.0,
) -> Float[np.ndarray, " u"]:
    """Approximate ridge leverage scores of all pulled arms, in O(u m^2) for m drawn arms.

    Args:
        kernel: Prior covariance.
        X: Distinct pulled arms, shape (u, d).
        pulls: Pulls of each, shape (u,), > 0.
        lam: Noise variance of one pull.
        rng: Source of the draws.
        oversampling: Factor `q_1 = q_2 > 0` of the numbers of points; the theorem's constants are larger.

    Returns:
        `var(x) / lam` of each arm given all pulls, up to a factor.

    Reference: Rudi, Calandriello, Carratino and Rosasco (2018), On fast leverage score sampling and optimal learning,
    Algorithm 1.
    """
    prior = kernel.diag(X)
    n = float(pulls.sum())
    first = max(float(prior.max()) * n, lam)
    steps = ceil(log(first / lam) / log(_STEP)) if first > lam else 0
    J, A = np.zeros(0, np.int64), np.zeros(0)
    for h in range(1, steps + 1):
        lam_h = first * (lam / first) ** (h / steps)
        # Line 4: uniform points; all of them, once they are as many as there are.
        R = min(ceil(oversampling * first / lam_h), int(n))
        if n > R:
            U, times = np.unique(rng.choice(len(X), size=R, p=pulls / n), return_counts=True)
        else:
            U, times = np.arange(len(X)), pulls
        mass = times * _leverage(kernel, X, U, prior, pulls, J, A, lam_h)  # line 5
        M = max(ceil(oversampling * n / R * mass.sum()), 1)  # lines 6-7
        p = mass / mass.sum()
        drawn = rng.multinomial(M, p)  # line 8
        J = U[drawn > 0]
        # Line 9, for the points of an arm together: a point drawn k times counts k times.
        A = R * M / n * (p / times)[drawn > 0] / drawn[drawn > 0]
    return _leverage(kernel, X, np.arange(len(X)), prior, pulls, J, A, lam)


def _leverage(
    kernel: Kernel,
    X: np.ndarray,
    at: np.ndarray,
    prior: np.ndarray,
    pulls: np.ndarray,
    J: np.ndarray,
    A: np.ndarray,
    lam: float,
) -> Float[np.ndarray, " p"]:
    variance = prior[at]
    if len(J):
        L, _ = jittered_cholesky(kernel(X[J], X[J]) + np.diag(lam * A))
        H = solve_lower(L, kernel(X[J], X[at]))
        variance = variance - np.einsum("ij,ij->j", H, H)
    # Never 0: an arm that is fully explained up to rounding may still be drawn. And no exact score exceeds 1 / n: that
    # is what the arm's own n pulls leave, however little information the others carry about it.
    floor = np.finfo(float).eps * float(prior.max())
    return np.minimum(np.maximum(variance, floor) / lam, 1 / pulls[at])


def sequential_leverage(
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
        `z^T V^-1 z`, which pulls of the arm reduce, and `(k(x, x) - z^T z) / lam`, which they do not.

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
