"""Functions of known RKHS norm, on finite arms and on the unit cube, where branch and bound finds their optimum.

| symbol | meaning | shape |
|---|---|---|
| `C` | centres, uniform in the unit cube | (m, d) |
| `a` | coefficients | (m,) |
| `F` | RKHS norm | () |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float
from scipy.spatial.distance import cdist

from gpbandit_envs.arguments import positive_int, positive_number
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, BoxFamily, BoxFunction, FixedBox, certify_arms
from gpbandit_envs.functions.maximum import certify_smooth
from gpbandit_envs.gp.kernels import SE, Kernel, Matern

_CHUNK = 65_536  # arms evaluated at once: (65536, m) kernel entries, 16 MB at m = 32


@dataclass(frozen=True)
class Expansion:
    """`f(x) = sum_i a_i k(x, c_i)`, whose norm is exactly `F = sqrt(a^T K_CC a)`.

    Attributes:
        kernel: The kernel `k`.
        centres: Centres, shape (m, d).
        coefficients: Coefficients `a`, shape (m,).
    """

    kernel: Kernel
    centres: Float[np.ndarray, "m d"]
    coefficients: Float[np.ndarray, " m"]

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Values at `X`, in blocks of bounded memory."""
        values = np.empty(len(X))
        for start in range(0, len(X), _CHUNK):
            block = slice(start, start + _CHUNK)
            values[block] = self.kernel(X[block], self.centres) @ self.coefficients
        return values

    @property
    def norm(self) -> float:
        """RKHS norm `sqrt(a^T K a)`."""
        K = self.kernel(self.centres, self.centres)
        return float(np.sqrt(self.coefficients @ K @ self.coefficients))

    @property
    def _variance(self) -> float:
        return float(self.kernel.diag(self.centres[:1])[0])

    def gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Gradients `-sum_i a_i w_i (x - c_i) / l^2`, with `w = k` (SE) or `5/3 (1 + s) exp(-s)` (Matern 5/2)."""
        kernel = _smooth_part(self.kernel)
        scale = np.asarray(kernel.lengthscale)
        if isinstance(kernel, SE):
            slopes = kernel(X, self.centres)
        else:
            s = np.sqrt(5.0) * cdist(X / scale, self.centres / scale)
            slopes = 5 / 3 * (1 + s) * np.exp(-s)
        slopes *= self.coefficients * self._variance
        gradient: np.ndarray = (slopes @ self.centres - X * slopes.sum(axis=1, keepdims=True)) / scale**2
        return gradient

    @property
    def curvature_bound(self) -> float:
        """Bound on the operator norm of the Hessian.

        The smaller of `F sqrt(k4)`, by Cauchy-Schwarz in the RKHS, and `sum_i |a_i| k2`, where `k2` and `k4` are the
        largest second and fourth derivative of the kernel: 1 and 3 (SE), 5/3 and 25 (Matern 5/2) at lengthscale 1.
        """
        kernel, variance = _smooth_part(self.kernel), self._variance
        fourth, second = (3.0, 1.0) if isinstance(kernel, SE) else (25.0, 5 / 3)
        l2 = float(np.min(np.asarray(kernel.lengthscale))) ** 2
        by_norm = self.norm * float(np.sqrt(fourth * variance)) / l2
        by_terms = float(np.abs(self.coefficients).sum()) * second * variance / l2
        return min(by_norm, by_terms)


def _smooth_part(kernel: Kernel) -> SE | Matern:
    """The stationary kernel inside, if its second derivatives are bounded and known here."""
    kernel = kernel.unscaled
    if isinstance(kernel, SE) or (isinstance(kernel, Matern) and kernel.nu == 2.5):
        return kernel
    raise TypeError(f"kernel: a certified optimum on the box needs an SE or Matern-5/2 kernel, got {kernel!r}")


def draw_expansion(kernel: Kernel, dim: int, n_centres: int, norm: float, rng: np.random.Generator) -> Expansion:
    """An expansion with uniform centres and Gaussian coefficients, scaled to norm `F`.

    Raises:
        ValueError: if the kernel vanishes on the centres, so that no scaling reaches the norm.
    """
    centres = rng.random((n_centres, dim))
    raw = Expansion(kernel, centres, rng.standard_normal(n_centres))
    raw_norm = raw.norm
    if not (np.isfinite(raw_norm) and raw_norm > 0):
        raise ValueError(f"kernel: {kernel!r} gives the drawn expansion the norm {raw_norm}, which cannot be scaled")
    return Expansion(kernel, centres, raw.coefficients * (norm / raw_norm))


class RKHSArms(ArmFamily):
    """Draws of exact RKHS norm on arms in the unit cube.

    Args:
        kernel: Kernel of the RKHS.
        arms: Arm set, shape (A, d); memory beyond the arms themselves is bounded.
        norm: RKHS norm `F` of every draw.
        n_centres: Number of terms of the expansion.

    Raises:
        TypeError: if `norm` is no number, or a count no integer.
        ValueError: if `norm` is not a finite positive number, or a count is below 1.
    """

    fixed = False

    def __init__(self, kernel: Kernel, arms: Float[np.ndarray, "A d"], norm: float, n_centres: int) -> None:
        self.arms = arms
        self.kernel: Kernel = kernel
        self.norm_bound: float = positive_number("norm", norm)
        self._n_centres = positive_int("n_centres", n_centres)

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        function = draw_expansion(self.kernel, self.arms.shape[1], self._n_centres, self.norm_bound, rng)
        return certify_arms(function(self.arms), norm=self.norm_bound, facts={"n_centres": self._n_centres})


class RKHSBox(BoxFamily):
    """Draws of exact RKHS norm on the unit cube.

    Args:
        kernel: SE or Matern-5/2 kernel of the RKHS, scaled or not.
        dim: Number of coordinates `d`.
        norm: RKHS norm `F` of every draw.
        n_centres: Number of terms of the expansion.

    Raises:
        TypeError: for another kernel, whose curvature is not bounded here, or if `norm` is no number.
        ValueError: if `norm` is not a finite positive number, or a count is below 1.
    """

    fixed = False

    def __init__(self, kernel: Kernel, dim: int, norm: float, n_centres: int) -> None:
        _smooth_part(kernel)
        self.dim = positive_int("dim", dim)
        self.low, self.high = np.zeros(self.dim), np.ones(self.dim)
        self.kernel: Kernel = kernel
        self.norm_bound: float = positive_number("norm", norm)
        self._n_centres = positive_int("n_centres", n_centres)

    def draw(self, rng: np.random.Generator) -> BoxFunction:
        return _certified(draw_expansion(self.kernel, self.dim, self._n_centres, self.norm_bound, rng), self.norm_bound)


class FixedExpansion(FixedBox):
    """One expansion, always the same.

    Args:
        expansion: The function on the unit cube.
        side: Side of the cube in true units.
    """

    def __init__(self, expansion: Expansion, side: float = 1.0) -> None:
        self.dim = expansion.centres.shape[1]
        self.low, self.high = np.zeros(self.dim), np.full(self.dim, side)
        self.kernel: Kernel = expansion.kernel
        self.norm_bound: float = expansion.norm
        self._function = _certified(expansion, expansion.norm)


def _certified(f: Expansion, norm: float) -> BoxFunction:
    """An expansion with its certificate on demand."""
    dim = f.centres.shape[1]
    return BoxFunction(f, partial(certify_smooth, f, dim, norm=f.norm, starts=f.centres), norm=norm)


# Li and Scarlett (2022) show f1 with one clear peak and f2 with several near-optimal ones on a 50 x 50 grid, under an
# SE kernel of lengthscale 0.5. Their code has the domain, [-5, 5]^2, and how functions are drawn there, without a seed:
# theirs are lost, and functions drawn as they were are in `functions.interpolated`. These two are ours: expansions of
# that kernel through stated values, of the shapes that the paper shows, scaled to the norms that the widths of the
# experiments, sqrt(2) and sqrt(6), would cover. The squares are smaller, two and four lengthscales wide in place of
# twenty: that of f1 has side 1, and that of f2 side 2, as on side 1 several maxima have room in the corners alone.


def _through(kernel: Kernel, points: list[tuple[float, float]], values: list[float], norm: float) -> Expansion:
    """The expansion of smallest norm whose values at `points` are in the ratio of `values`, scaled to `norm`."""
    centres = np.array(points)
    raw = Expansion(kernel, centres, np.linalg.solve(kernel(centres, centres), np.array(values)))
    return Expansion(kernel, centres, raw.coefficients * (norm / raw.norm))


BPE_F1 = _through(
    SE(0.5), [(0.7, 0.35), (0.15, 0.8), (0.1, 0.1), (0.95, 0.95)], [1.0, 0.1, 0.2, 0.0], float(np.sqrt(2))
)
"""One clear peak of 1.25 near (0.76, 0.24)."""

BPE_F2_SIDE = 2.0
"""Side of the square of f2, in true units; `BPE_F2` and its kernel are scaled to the unit square."""

BPE_F2 = _through(
    SE(0.5 / BPE_F2_SIDE),
    [(0.2, 0.2), (0.8, 0.2), (0.2, 0.8), (0.8, 0.8), (0.5, 0.5), (0.5, 0.2), (0.2, 0.5), (0.8, 0.5), (0.5, 0.8)],
    [0.985, 0.98, 1.0, 0.99, 0.3, 0.5, 0.5, 0.5, 0.5],
    float(np.sqrt(6)),
)
"""Four peaks in the interior, 0.14 of the side from its corners, within 0.03 of the best."""
