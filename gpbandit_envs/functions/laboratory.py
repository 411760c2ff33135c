"""Functions as a laboratory meets them: in a unit of their own, over categories, and with a cliff."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import as_number, positive_int
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms, even_arms
from gpbandit_envs.gp.kernels import Kernel

_QUANTILE = 0.25
# The levels are part of the arm set's definition, as are Sobol points.
_LEVELS = 20111


def unit_of(mean: Float[np.ndarray, " A"]) -> float:
    """Deviation of means that are clipped from below at their lower quartile: how bad the bad ones are counts nothing.

    Raises:
        ValueError: if it is 0.
    """
    unit = float(np.maximum(mean, np.quantile(mean, _QUANTILE)).std())
    if not unit > 0:
        raise ValueError(f"untold: expected means that differ above their lower quartile, got {mean.max():g} alone")
    return unit


class InUnits(ArmFamily):
    """Draws of another family about the mean of their means, in their `unit_of`; without a prior.

    Args:
        family: The other family; its arms may have no failures.
    """

    kernel: Kernel | None = None
    norm_bound: float | None = None

    def __init__(self, family: ArmFamily) -> None:
        self.arms, self.fixed, self.failed = family.arms, family.fixed, family.failed
        self._family = family

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        mean = self._family.draw(rng).mean
        unit = unit_of(mean)
        return certify_arms((mean - mean.mean()) / unit, facts={"unit": unit})


class CliffArms(ArmFamily):
    """Draws of another family that fall by the same depth where a second draw of it is among its largest values.

    As where a reaction stops: what is good may lie beside what fails, and no kernel of one lengthscale has both.

    Args:
        family: The other family.
        share: Share of the arms beyond the cliff, in (0, 1).
        depth: How far they fall, in deviations of the draw's means, > 0.

    Raises:
        TypeError, ValueError: if a number is out of range.
    """

    fixed = False
    norm_bound: float | None = None

    def __init__(self, family: ArmFamily, share: float, depth: float) -> None:
        self.arms, self.kernel = family.arms, family.kernel
        self._family = family
        self._share = as_number("share", share, "a number in (0, 1)", lambda x: 0 < x < 1)
        self._depth = as_number("depth", depth, "a number > 0", lambda x: x > 0)

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        mean, other = (self._family.draw(rng).mean for _ in range(2))
        beyond = other > np.quantile(other, 1 - self._share)
        return certify_arms(mean - self._depth * mean.std() * beyond)


def mixed_arms(n_arms: int, dim: int, levels: Sequence[int]) -> Float[np.ndarray, "A d"]:
    """Arms of `dim` numbers in the unit cube and of categories, each of them one-hot: always the same.

    Args:
        n_arms: Number of arms `A`.
        dim: Number of numbers.
        levels: How many levels each category has, two or more; every level is that of as many arms, but for one.

    Raises:
        TypeError, ValueError: if an argument is not a positive integer, or a category has one level.
    """
    arms = even_arms(n_arms, dim)
    if isinstance(levels, (str, int)) or not len(levels):
        raise TypeError(f"levels: expected numbers of levels such as [4, 3], got {levels!r}")
    rng, columns = np.random.default_rng(_LEVELS), [arms]
    for i, n in enumerate(levels):
        if positive_int(f"levels[{i}]", n) < 2:
            raise ValueError(f"levels[{i}]: expected two levels or more, got {n}")
        columns.append(np.eye(n)[rng.permutation(np.arange(n_arms) % n)])
    mixed = np.hstack(columns)
    mixed.flags.writeable = False
    return mixed
