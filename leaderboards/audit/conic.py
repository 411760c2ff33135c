"""CMM: the tightest band that the data, the norm and the noise allow, by a conic programme at each point.

| symbol | meaning | shape |
|---|---|---|
| `X`, `n`, `m` | distinct evaluated arms, how often each was evaluated, mean feedback of each | (u, d), (u,), (u,) |
| `L` | `L L^T = K` of these arms and the point, so that a function `L v` of them has the norm `|v|` | (u + 1, u + 1) |
| `r^2` | `lam m^T (K + lam diag(1 / n))^-1 m + R^2 (2 gamma + 2 log(1 / delta))` | unit of y^2 |

`max f(x)` over all `f` with `sum_i n_i (f(x_i) - m_i)^2 <= r^2` and a norm of at most `F`. Bands of
`agents.exact.dual_mixture.DualMixture` are its Lagrangian duals, each at one multiplier. A programme a point and a side
is far too dear for play; in audits, at a few arms, it tells how much of a band's width is due to the band.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.observations import Observations

__all__ = ["conic_band", "require_cvxpy"]


def require_cvxpy() -> None:
    """Raise an `ImportError` that says what to install, if CVXPY is not."""
    try:
        import cvxpy  # noqa: F401
    except ImportError as error:
        raise ImportError('CVXPY is not installed: pip install "gpbandit-envs[conic]"') from error


def conic_band(
    kernel: Kernel,
    X: Float[np.ndarray, "t d"],
    y: Float[np.ndarray, " t"],
    points: Float[np.ndarray, "p d"],
    *,
    lam: float,
    noise_std: float,
    norm_bound: float,
    delta: float,
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]] | None:
    """Lower and upper ends of the CMM band at `points`; None if no function meets the constraints.

    None refutes the bound on the norm, the noise or the kernel, as `rad_a^2 < 0` does for `DualMixture`.

    Args:
        kernel: Kernel of the RKHS.
        X: Evaluated arms, one row an evaluation, at least one.
        y: Their feedback.
        points: Where the band is wanted.
        lam: Regularisation of the radius, > 0, unit of y^2.
        noise_std: Sub-Gaussian constant `R` of the noise, unit of y.
        norm_bound: Bound `F` on the RKHS norm.
        delta: Allowed probability of failure.

    Raises:
        ImportError: without CVXPY (extra `conic`).

    Reference: Flynn and Reeb (2025), Tighter confidence bounds for sequential kernel regression, the CMM bound.
    """
    require_cvxpy()
    import cvxpy as cp

    seen = Observations.of(X, y)
    root, K = np.sqrt(seen.counts), kernel(seen.X, seen.X)
    A, _ = jittered_cholesky(K + lam * np.diag(1 / seen.counts))
    whitened = solve_lower(A, seen.means)
    gain = float(np.log(np.diagonal(A)).sum() - 0.5 * np.log(lam / seen.counts).sum())
    r = sqrt(lam * float(whitened @ whitened) + noise_std**2 * (2 * gain + 2 * log(1 / delta)))
    ends = []
    for x in points:
        every = np.vstack([seen.X, x])
        L, _ = jittered_cholesky(kernel(every, every))
        v = cp.Variable(len(L))
        constraints = [cp.norm(root[:, None] * L[:-1] @ v - root * seen.means) <= r, cp.norm(v) <= norm_bound]
        for sign in (-1.0, 1.0):
            programme = cp.Problem(cp.Maximize(sign * L[-1] @ v), constraints)
            programme.solve(solver=cp.CLARABEL)
            if programme.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
                return None
            ends.append(sign * float(programme.value))
    lower, upper = np.array(ends).reshape(-1, 2).T
    return lower, upper
