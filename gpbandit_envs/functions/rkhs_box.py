"""Functions of known RKHS norm on the unit cube, their optimum found by branch and bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpbandit_envs.functions.arm_sets import positive_int, positive_number
from gpbandit_envs.functions.base import BoxFamily, BoxFunction
from gpbandit_envs.functions.maximum import certify_smooth
from gpbandit_envs.functions.rkhs import Expansion, draw_expansion, smooth_part
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Certificate

__all__ = ["FixedExpansion", "RKHSBox"]


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
        smooth_part(kernel)
        self.dim = positive_int("dim", dim)
        self.low, self.high = np.zeros(self.dim), np.ones(self.dim)
        self.kernel: Kernel = kernel
        self.norm_bound: float = positive_number("norm", norm)
        self._n_centres = positive_int("n_centres", n_centres)

    def draw(self, rng: np.random.Generator) -> BoxFunction:
        function = draw_expansion(self.kernel, self.dim, self._n_centres, self.norm_bound, rng)
        return BoxFunction(function, _Certify(function), norm=self.norm_bound)


class FixedExpansion(BoxFamily):
    """One expansion, always the same.

    Args:
        expansion: The function on the unit cube.
    """

    fixed = True

    def __init__(self, expansion: Expansion) -> None:
        self.dim = expansion.centres.shape[1]
        self.low, self.high = np.zeros(self.dim), np.ones(self.dim)
        self.kernel: Kernel = expansion.kernel
        self.norm_bound: float = expansion.norm
        self._function = BoxFunction(expansion, _Certify(expansion), norm=expansion.norm)

    def draw(self, rng: np.random.Generator) -> BoxFunction:
        return self._function


@dataclass(frozen=True)
class _Certify:
    """The certificate of an expansion, on demand; a class and no closure, so that it can be pickled."""

    expansion: Expansion

    def __call__(self) -> Certificate:
        centres = self.expansion.centres
        return certify_smooth(self.expansion, centres.shape[1], norm=self.expansion.norm, starts=centres)
