"""The maximum of a smooth function over the unit cube, with a proof of how far off it may be.

Branch and bound. In a cell with centre `c` and half-diagonal `rho`, a function whose Hessian has operator norm at most
`H` obeys

    f(x) <= f(c) + |grad f(c)|_1 h + H rho^2 / 2,    h the half-width of the cell,

so that a cell whose bound does not beat the best value seen by more than `_TOL` is dropped, and the others are halved
in every coordinate. What the remaining cells could still hide is the tolerance reported.

Where there are too many cells to finish, as from four coordinates on, the maximum is the best of many climbs, and the
certificate says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from gpbandit_envs.functions.optima import Found, key_of, recall, remember
from gpbandit_envs.problem import Certificate

_REVISION = 1  # of this search: raised whenever it finds anything else
_TOL = 1e-9  # at which the search may stop, relative to `max(1, |optimum|)`
_BUDGET = 150_000  # cells of one level beyond which the search stops, with the tolerance it has reached
_COARSE = 1_024  # cells to start from, about
_SOBOL, _CLIMBS = 2**13, 64  # where the search stops early: points, and how many of the best are climbed from


@runtime_checkable
class Smooth(Protocol):
    """A function with gradient and bounded curvature."""

    @property
    def curvature_bound(self) -> float:
        """Bound on the operator norm of the Hessian over the cube."""

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Values at `X`."""

    def gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Gradients at `X`."""


def certify_smooth(
    f: Smooth,
    dim: int,
    norm: float | None = None,
    facts: Mapping[str, object] | None = None,
    starts: Float[np.ndarray, "k d"] | None = None,
) -> Certificate:
    """The maximum of `f` over the unit cube and a bound on its error.

    Where the error stays above the tolerance, the fact `"optimum"` says that the value is the best found.

    Args:
        f: The function.
        dim: Number of coordinates.
        norm: RKHS norm to state in the certificate.
        facts: Further facts for the certificate.
        starts: Points near which maxima are likely, shape `(k, d)`.
    """
    limits = _REVISION, _BUDGET, _COARSE, _SOBOL, _CLIMBS
    key = key_of(f, limits, dim, _TOL, None if starts is None else starts.tolist())
    found = recall(key)
    if found is None:
        found = _search(f, dim, starts)
        remember(key, found)
    best, where, reached, proven = found
    stated = dict(facts or {}) | ({} if proven else {"optimum": "best value found, not proven"})
    return Certificate(optimum=best, optimal_action=where, optimum_tol=reached, norm=norm, facts=stated)


def _search(f: Smooth, dim: int, starts: Float[np.ndarray, "k d"] | None) -> Found:
    """The maximum, where it is, the bound on its error, and whether that is within the tolerance."""
    per_axis = max(2, round(_COARSE ** (1 / dim)))
    axis = (np.arange(per_axis) + 0.5) / per_axis
    half = 0.5 / per_axis
    if per_axis**dim <= _BUDGET:
        centres = np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    else:
        centres, half = np.full((1, dim), 0.5), 0.5
    H = f.curvature_bound
    best, where = -np.inf, np.full(dim, 0.5)
    climbs = 8
    while True:
        values = f(centres)
        bounds = values + np.abs(f.gradient(centres)).sum(axis=1) * half + 0.5 * H * dim * half * half
        slack = _TOL * max(1.0, abs(best)) if np.isfinite(best) else 0.0
        for start in np.argsort(-values)[:climbs]:
            if values[start] > best + slack or climbs > 1:
                value, point = _climb(f, centres[start])
                if value > best:
                    best, where = value, point
        climbs, slack = 1, _TOL * max(1.0, abs(best))
        alive = centres[bounds > best + slack]
        if len(alive) == 0:
            reached = slack
            break
        if len(alive) * 2**dim > _BUDGET or half < 1e-9:
            best, where = max((best, where), _best_of_many(f, dim, starts), key=lambda pair: pair[0])
            reached = float(bounds.max()) - best
            return best, tuple(where.tolist()), reached, False
        half *= 0.5
        corners = np.stack(np.meshgrid(*[[-0.5, 0.5]] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
        centres = (alive[:, None, :] + 2 * half * corners).reshape(-1, dim)
    return best, tuple(where.tolist()), reached, True


def _best_of_many(
    f: Smooth, dim: int, starts: Float[np.ndarray, "k d"] | None
) -> tuple[float, Float[np.ndarray, " d"]]:
    """The best local maximum near the given points and near the best of a Sobol sequence."""
    from scipy.stats import qmc  # here, since `scipy.stats` takes a quarter of the time in which a command starts

    X = qmc.Sobol(dim, rng=np.random.default_rng(0)).random(_SOBOL)
    near = X[np.argsort(-f(X), kind="stable")[:_CLIMBS]]
    points = near if starts is None else np.concatenate([np.clip(starts, 0.0, 1.0), near])
    return max((_climb(f, point) for point in points), key=lambda pair: pair[0])


def _climb(f: Smooth, start: Float[np.ndarray, " d"]) -> tuple[float, Float[np.ndarray, " d"]]:
    """A local maximum near `start`."""
    found = minimize(
        lambda x: (-float(f(x[None])[0]), -f.gradient(x[None])[0]),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * len(start),
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    point = np.clip(found.x, 0.0, 1.0)
    return float(f(point[None])[0]), point
