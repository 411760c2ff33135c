"""Wang and de Freitas: lengthscales shrink until the next point is uncertain enough."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from agents.learned.base import Settings
from agents.learned.shrinking import ShrinkingAgent

__all__ = ["WangDeFreitas"]

_GRID = 2.0 ** np.arange(0, 5.25, 0.25)


class WangDeFreitas(ShrinkingAgent):
    """GP-UCB with MAP hyperparameters whose lengthscales are divided by the smallest `g` with `sd(x) >= kappa s`.

    `x` is the point that would be evaluated next with these lengthscales and `s` the prior standard deviation, as
    `kappa` is meant for a kernel of variance 1. `g` is looked for on a grid from 1 to 32 by bisection, with its largest
    value where none is enough; every estimate starts from `g = 1`, as in the variant that Berkenkamp et al. (2019) and
    Ha et al. (2023) compare with. Other arguments: see `LearnedAgent`.

    Args:
        kappa: Least standard deviation at the next point, in prior standard deviations, in (0, 1).

    Raises:
        ValueError: if it is not.

    Reference: Wang and de Freitas (2014), Theoretical analysis of Bayesian optimisation with unknown Gaussian process
    hyper-parameters, Algorithm 1.
    """

    policy_family = "estimated kernel"

    def __init__(self, kappa: float = 0.1, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        if not 0 < kappa < 1:
            raise ValueError(f"kappa: expected a number in (0, 1), got {kappa!r}")
        self.kappa = float(kappa)

    def _divisor(self) -> float:
        if self._is_uncertain(0):
            return float(_GRID[0])
        low, high = 0, len(_GRID) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_uncertain(middle) else (middle, high)
        return float(_GRID[high])

    def _is_uncertain(self, k: int) -> bool:
        """Whether the next point under the `k`-th of the grid has the standard deviation that is asked for."""
        self.posterior = self._posterior_of(float(_GRID[k]))
        variance = self.posterior.at(self.space.coordinates(self._acquire()))[1]
        return bool(variance[0] >= self.kappa**2 * self._map[0].variance)
