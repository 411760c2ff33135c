"""The distance of a table to the ball of norm F in an RKHS, by the path of a lasso in kernel form.

| symbol | meaning | shape |
|---|---|---|
| `f` | means of the arms less the prior mean | (A,) |
| `K` | kernel matrix of the arms | (A, A) |
| `mu` | weights; `g = K mu` is a function of norm `sqrt(mu' K mu)` | (A,) |
| `eps(F)` | `min max_a |f_a - g_a|` over functions g of norm at most F | |

`eps(F) = max mu' f - F sqrt(mu' K mu)` over `|mu|_1 <= 1`, by strong duality. Any weights therefore bound it from both
sides: from below by that number, from above by the error of the function that they define, scaled to norm F. In
Lagrangian form it is `min 0.5 mu' K mu - f' mu + eps |mu|_1`, whose solution is linear in `eps` between knots, with
`F^2 = mu' K mu`: one path has the whole curve. See `docs/guides/certified.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_solve, cholesky, solve_triangular

from gpbandit_envs.gp.kernels import Kernel

_WHOLE = 1_000  # arms up to which the path is over all of them
_FIRST, _EXTREME, _ADDED = 300, 20, 150
_ROUNDS, _KNOTS = 60, 6_000
_TIES = 1e-7  # of the range: arms of equal error would stop the path
_NUGGET = 1e-11  # of the largest variance: kernel matrices are nearly singular
_EXACT = 1e-7  # of the range: closer is rounding
_U = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Distance:
    """Bounds on `eps(F)`, and the weights that prove them.

    Attributes:
        norm: F.
        lower, upper: Bounds on the distance, unit of the mean.
        arms: Arms of the weights, in increasing order, shape (s,).
        weights: `mu` of these arms, shape (s,).
    """

    norm: float
    lower: float
    upper: float
    arms: Int[np.ndarray, " s"]
    weights: Float[np.ndarray, " s"]


def bounds_of(
    kernel: Kernel,
    X: Float[np.ndarray, "A d"],
    f: Float[np.ndarray, " A"],
    norm: float,
    arms: Int[np.ndarray, " s"],
    weights: Float[np.ndarray, " s"],
) -> tuple[float, float]:
    """Lower and upper bound on the distance to the ball of norm `norm` that any weights of any arms give."""
    if len(arms) == 0 or not np.any(weights):
        return 0.0, float(np.abs(f).max())
    columns = kernel(X, X[arms])
    K = columns[arms]
    # A sum of s^2 products is known to that many roundings: the norm is bounded from above.
    size = float(np.abs(weights) @ np.abs(K) @ np.abs(weights))
    own = sqrt(max(float(weights @ K @ weights), 0.0) + 4 * len(arms) * _U * size)
    lower = max((float(weights @ f[arms]) - norm * own) / float(np.abs(weights).sum()), 0.0)
    upper = float(np.abs(f - columns @ weights * min(1.0, norm / own)).max())
    return lower, min(upper, float(np.abs(f).max()))


def distances(
    kernel: Kernel,
    X: Float[np.ndarray, "A d"],
    f: Float[np.ndarray, " A"],
    norms: Sequence[float],
    gap: float | None = None,
) -> list[Distance]:
    """The distance to the ball of each norm.

    Up to 1,000 arms one path over all of them. Beyond, an exchange for each norm: the path over some arms, whose lower
    bound is one for all; then the arms of largest error join them, until the bounds agree.

    Args:
        kernel: Kernel of the RKHS.
        X: Features of the arms.
        f: Means of the arms less the prior mean.
        norms: Norms > 0, increasing.
        gap: `(upper - lower) / upper` at which an exchange ends; by default 0.02 up to 5,000 arms, 0.05 beyond.
    """
    spread = float(np.ptp(f)) or 1.0
    moved = f + _TIES * spread * np.random.default_rng(0).uniform(-1, 1, len(f))
    if len(X) <= _WHOLE:
        K, every = kernel(X, X), np.arange(len(X))
        return [_distance(kernel, X, f, F, every, mu) for F, mu in zip(norms, lasso_path(K, moved, norms, spread))]
    wanted = gap if gap is not None else (0.02 if len(X) <= 5_000 else 0.05)
    return [_by_exchange(kernel, X, f, moved, F, wanted, spread) for F in norms]


def _distance(
    kernel: Kernel,
    X: Float[np.ndarray, "A d"],
    f: Float[np.ndarray, " A"],
    norm: float,
    among: Int[np.ndarray, " w"],
    mu: Float[np.ndarray, " w"],
) -> Distance:
    kept = np.flatnonzero(mu)
    kept = kept[np.argsort(among[kept])]
    return Distance(norm, *bounds_of(kernel, X, f, norm, among[kept], mu[kept]), among[kept], mu[kept])


def _by_exchange(
    kernel: Kernel,
    X: Float[np.ndarray, "A d"],
    f: Float[np.ndarray, " A"],
    moved: Float[np.ndarray, " A"],
    norm: float,
    gap: float,
    spread: float,
) -> Distance:
    random = np.random.default_rng(0).permutation(len(X))[:_FIRST]
    among = np.union1d(random, np.argsort(-np.abs(f), kind="stable")[:_EXTREME])
    best = Distance(norm, 0.0, float(np.abs(f).max()), among[:0], np.zeros(0))
    for _ in range(_ROUNDS):
        mu = lasso_path(kernel(X[among], X[among]), moved[among], [norm], spread)[0]
        found = _distance(kernel, X, f, norm, among, mu)
        best = found if found.upper - found.lower <= best.upper - best.lower else best
        if best.upper - best.lower <= max(gap * best.upper, _EXACT * spread):
            break
        columns = kernel(X, X[found.arms])
        error = np.abs(f - columns @ found.weights)
        error[among] = -1.0
        among = np.union1d(among, np.argsort(-error, kind="stable")[:_ADDED])
    return best


def lasso_path(
    K: Float[np.ndarray, "A A"], f: Float[np.ndarray, " A"], norms: Sequence[float], spread: float
) -> list[Float[np.ndarray, " A"]]:
    """The weights at each of the norms, along the path from `eps = max |f|` down.

    One arm joins, or leaves, at a knot. A path that ends before a norm, as all errors are 0 or the number of knots is
    spent, gives its end.

    Args:
        K: Kernel matrix.
        f: Values, of which no two are equal in size.
        norms: Norms > 0, increasing.
        spread: Range of the values.

    Reference: Osborne, Presnell and Turlach (2000), A new approach to variable selection in least squares problems;
    Efron et al. (2004), Least angle regression, section 3.
    """
    n, nugget = len(f), _NUGGET * float(np.diagonal(K).max())
    mu, residual = np.zeros(n), f.copy()
    first = int(np.argmax(np.abs(f)))
    eps, active, signs = abs(float(f[first])), [first], [float(np.sign(f[first]))]
    inactive = np.ones(n, bool)
    inactive[first] = False
    L = np.array([[sqrt(K[first, first] + nugget)]])
    square, found, left = 0.0, [], list(norms)
    dropped = -1
    for _ in range(_KNOTS):
        if not left or eps <= _EXACT * spread * 1e-2:
            break
        direction = cho_solve((L, True), np.array(signs), check_finite=False)
        fall = K[:, active] @ direction
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (eps - residual) / (1 - fall), (eps + residual) / (1 + fall)
        for steps in (up, down):
            steps[~inactive | ~(steps > 0)] = inf
        if dropped >= 0:  # it leaves with an error of eps, and would come back at once
            side = up if residual[dropped] > 0 else down
            side[dropped] = inf
        joining = np.minimum(up, down)
        j = int(np.argmin(joining))
        weights = mu[active]
        with np.errstate(divide="ignore", invalid="ignore"):
            leaving = np.where(direction * weights < 0, -weights / direction, inf)
        i = int(np.argmin(leaving))
        step = min(float(joining[j]), float(leaving[i]), eps)
        slope, curve = float(direction @ (K[np.ix_(active, active)] @ weights)), float(direction @ fall[active])
        while left and square + 2 * step * slope + step**2 * curve >= left[0] ** 2:
            more = left[0] ** 2 - square
            part = more / (slope + sqrt(max(slope**2 + curve * more, 0.0))) if more > 0 else 0.0
            at = mu.copy()
            at[active] += part * direction
            found.append(at)
            left.pop(0)
        mu[active] += step * direction
        residual -= step * fall
        eps -= step
        square += 2 * step * slope + step**2 * curve
        dropped = -1
        if step == leaving[i]:
            dropped = active.pop(i)
            signs.pop(i)
            mu[dropped] = 0.0
            inactive[dropped] = True
            L = cholesky(K[np.ix_(active, active)] + nugget * np.eye(len(active)), lower=True, check_finite=False)
        elif step == joining[j]:
            row = solve_triangular(L, K[active, j], lower=True, check_finite=False)
            rest = float(K[j, j]) + nugget - float(row @ row)
            inactive[j] = False
            if rest > nugget / 2:  # else others say the same of it: it is never needed
                L = np.block([[L, np.zeros((len(active), 1))], [row[None], np.array([[sqrt(rest)]])]])
                signs.append(1.0 if up[j] <= down[j] else -1.0)
                active.append(j)
        else:
            break
    return found + [mu.copy() for _ in left]
