"""A-GP-UCB: lengthscales that shrink so that the regret bound follows a reference."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from agents.learned.base import Settings
from agents.learned.shrinking import ShrinkingAgent

__all__ = ["AGPUCB"]

_STEP, _LARGEST = 1.1, 1e3  # of the grid of g
_POINTS = 256


class AGPUCB(ShrinkingAgent):
    """GP-UCB with MAP hyperparameters whose lengthscales are divided by a `g(t)` that never decreases.

    GP-UCB's regret is at most a multiple of `sqrt(t I_t)`, with `I_t` the information gain. `g(t)` is the largest of a
    grid for which this bound, after one more evaluation at the maximiser, does not exceed the reference `p(t) = t^a`.
    Reference and bound are in different units, which the UHE-BO paper leaves open: here they agree at the end of `D_0`
    and with `g = 1`, so that the condition is `I_t <= I_0 (t / n_0)^(2a - 1)`, free of the constants of the bound. The
    maximiser for the prediction is looked for among random points. Other arguments: see `LearnedAgent`.

    Args:
        exponent: `a` of the reference, in (0.5, 1).

    Raises:
        ValueError: if it is not.

    Reference: Berkenkamp, Schoellig and Krause (2019), No-regret Bayesian optimization with unknown hyperparameters,
    section 4; Ha et al. (2023), appendix C.
    """

    policy_family = "adaptive lengthscale"

    def __init__(self, exponent: float = 0.9, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        if not 0.5 < exponent < 1:
            raise ValueError(f"exponent: expected a number in (0.5, 1), got {exponent!r}")
        self.exponent = float(exponent)

    def _divisor(self) -> float:
        points = self.space.coordinates(self.space.random(_POINTS, self.rng))
        growth = (len(self.y) / self.n_initial) ** (2 * self.exponent - 1)
        allowed = self._posterior_of(1.0, self.n_initial).information_gain * growth
        g = self.g
        while g < _LARGEST and self._predicted_gain(g * _STEP, points) <= allowed:
            g *= _STEP
        return g

    def _predicted_gain(self, g: float, points: np.ndarray) -> float:
        """`I` after one more evaluation, at the best of `points`."""
        posterior = self._posterior_of(g)
        mean, variance = posterior.at(points)
        best = int(np.argmax(mean + self.width * np.sqrt(variance)))
        return posterior.information_gain + 0.5 * float(np.log1p(variance[best] / posterior.lam))
