"""Functions interpolated through random values on a coarse grid, with a lengthscale that is fitted to them.

| symbol | meaning | shape |
|---|---|---|
| `P` | coarse points, a grid of the unit cube | (m, d) |
| `y` | values at them, a draw of `N(0, K)` | (m,) |
| `l` | lengthscale that maximises the likelihood of `y`, searched for from that which drew it | () |
| `f` | `k_l(x, P) k_l(P, P)^-1 y` | |
"""

from __future__ import annotations

from math import exp, log

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from gpbandit_envs.arguments import positive_int, positive_number
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms, lattice
from gpbandit_envs.gp.kernels import SE, Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky

_NUGGET = 1e-10  # on the diagonal, and 1e-5 to 1e5 for the lengthscale: the defaults of scikit-learn's regressor,
_SHORTEST, _LONGEST = 1e-5, 1e5  # with which the functions of Li and Scarlett (2022) are drawn


class InterpolatedArms(ArmFamily):
    """Draws `y ~ N(0, K)` on a coarse grid, and interpolates it with a lengthscale fitted to `y` alone.

    Where the coarse grid is much wider than the lengthscale, `y` is nearly independent, and the fitted lengthscale may
    be near that of the draw, where the function is a bump a point, or several times as long. Neither is a draw of the
    Gaussian process of `kernel`.

    Args:
        kernel: SE kernel with one lengthscale that draws `y`, with which the search for the other one begins.
        arms: Arm set, shape (A, d).
        per_axis: Coarse points along each axis, both ends included.
        scale: Lengthscale over that by which it is searched for: the side of the cube in the units of its bounds.

    Raises:
        TypeError, ValueError: if a number is out of range.
    """

    fixed = False
    norm_bound = None

    def __init__(self, kernel: SE, arms: Float[np.ndarray, "A d"], per_axis: int, scale: float = 1.0) -> None:
        self.arms = arms
        self.kernel: Kernel = kernel
        self._points = lattice(positive_int("per_axis", per_axis), arms.shape[1])
        self._length = positive_number("lengthscale", float(np.asarray(kernel.lengthscale)))
        self._scale = positive_number("scale", scale)
        self._factor, _ = jittered_cholesky(kernel(self._points, self._points))

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        y = self._factor @ rng.standard_normal(len(self._points))
        length = fitted_lengthscale(self._points * self._scale, y, self._length * self._scale) / self._scale
        kernel = SE(length)
        L, _ = jittered_cholesky(kernel(self._points, self._points) + _NUGGET * np.eye(len(y)))
        mean = kernel(self.arms, self._points) @ cho_solve((L, True), y)
        return certify_arms(mean, facts={"fitted_lengthscale": length})


def fitted_lengthscale(X: Float[np.ndarray, "m d"], y: Float[np.ndarray, " m"], start: float) -> float:
    """Lengthscale of an SE kernel of variance 1 that maximises the likelihood of `y` without noise, near `start`.

    The likelihood of values that are nearly independent is nearly flat at short lengthscales, so that it decides where
    a search ends how it goes: as in the code of Li and Scarlett (2022), by L-BFGS-B over the logarithm from `start`
    alone, with the tolerances of SciPy.
    """
    squares = cdist(X, X, "sqeuclidean")

    def loss(theta: Float[np.ndarray, " one"]) -> tuple[float, Float[np.ndarray, " one"]]:
        scaled = squares / exp(2 * float(theta[0]))
        K = np.exp(-0.5 * scaled)
        L, _ = jittered_cholesky(K + _NUGGET * np.eye(len(y)))
        weights = cho_solve((L, True), y)
        inverse = cho_solve((L, True), np.eye(len(y)))
        value = 0.5 * y @ weights + np.log(np.diagonal(L)).sum() + 0.5 * len(y) * log(2 * np.pi)
        slope = -0.5 * ((np.outer(weights, weights) - inverse) * (K * scaled)).sum()
        return float(value), np.array([slope])

    bounds = [(log(_SHORTEST), log(_LONGEST))]
    found = minimize(loss, np.array([log(start)]), jac=True, method="L-BFGS-B", bounds=bounds)
    return exp(float(found.x[0]))
