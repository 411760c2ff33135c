"""Functions of known RKHS norm.

| symbol | meaning | shape |
|---|---|---|
| `C` | centres, uniform in the unit cube | (m, d) |
| `a` | coefficients | (m,) |
| `F` | RKHS norm | () |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gpbandit_envs.functions.arm_sets import even_arms, positive_int
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms
from gpbandit_envs.gp.kernels import Kernel

__all__ = ["Expansion", "RKHSArms", "draw_expansion"]

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
    """Draws of exact RKHS norm on evenly spread arms of the unit cube.

    Args:
        kernel: Kernel of the RKHS.
        n_arms: Number of arms `A`; memory beyond the arms themselves is bounded.
        dim: Number of features `d`.
        norm: RKHS norm `F` of every draw.
        n_centres: Number of terms of the expansion.

    Raises:
        ValueError: if `norm` is not a finite positive number, or a count is below 1.
    """

    fixed = False

    def __init__(self, kernel: Kernel, n_arms: int, dim: int, norm: float, n_centres: int) -> None:
        if not (np.isfinite(norm) and norm > 0):
            raise ValueError(f"norm: expected a finite number > 0, got {norm!r}")
        self.arms = even_arms(n_arms, dim)
        self.kernel: Kernel = kernel
        self.norm_bound: float = float(norm)
        self._n_centres = positive_int("n_centres", n_centres)

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        function = draw_expansion(self.kernel, self.arms.shape[1], self._n_centres, self.norm_bound, rng)
        return certify_arms(function(self.arms), norm=self.norm_bound, facts={"n_centres": self._n_centres})
