"""EC-GP-UCB: GP-UCB for a mean function that is only close to the RKHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from jaxtyping import Float

from agents.core.gp_settings import Model
from agents.core.guarantees import BandGuarantee, RegretGuarantee
from agents.exact.enlarged_ucb import EnlargedUCB
from gpbandit_envs.arrays import Array
from gpbandit_envs.problem import Approximation, Problem


@dataclass(kw_only=True, eq=False, repr=False)
class ECGPUCB(EnlargedUCB):
    """Evaluate `argmax mean_{t-1} + (width_t + eps sqrt(t / lam)) sd_{t-1}`, one arm or point at a time.

    The mean function need not be in the RKHS: it suffices that some function within the norm bound differs from it by
    at most `eps` everywhere. What such an error does to the posterior mean is at most `eps sqrt(t / lam)` standard
    deviations; see `docs/math/gp-ucb.md`. The band of `predict` is about the mean function itself, and so wider by
    another `eps`. The regret grows linearly, by a multiple of `eps` a step. With `eps = 0` this is GP-UCB.
    `width` is that of a mean function within the RKHS, and `norm_bound` that of the near function. Where the problem
    states several pairs of a norm and a distance, the one with the least `F + eps sqrt(T / lam)` is taken, with T the
    horizon, or 1 if there is none; no feedback has a say in it. Other arguments: see `UCBAgent`.

    Args:
        misspecification: `eps >= 0`, unit of the reward; None for the distance in `Problem.approximations`, or the
            problem's `misspecification["sup"]`, or 0 if it states none.

    Attributes:
        allowed: The `eps` of the episode, from `reset` on.
        pair: The norm and the distance of the near function in the episode, from `reset` on.

    Reference: Bogunovic and Krause (2021), Misspecified Gaussian process bandit optimization; `docs/math/gp-ucb.md` has
    a proof of its width.
    """

    argument = "misspecification"
    side_by_side = True
    deviation = "sup"
    source = "Bogunovic and Krause (2021)"

    misspecification: float | None = None

    def pair_on(self, problem: Problem) -> Approximation:
        """The norm and the distance that the policy takes on a problem."""
        model = super().model_on(problem)
        if self._size is not None:
            return Approximation(model.norm_bound, self._size)
        worth = sqrt((problem.horizon or 1) / model.lam)
        return min(self.settings.pairs_on(problem), key=lambda pair: pair.norm + pair.distance * worth)

    def model_on(self, problem: Problem) -> Model:
        self.pair = self.pair_on(problem)
        return replace(super().model_on(problem), norm_bound=self.pair.norm)

    def allowed_on(self, problem: Problem) -> float:
        return self.pair_on(problem).distance

    def norm_on(self, problem: Problem) -> float | None:
        return self.pair_on(problem).norm if problem.pairs else None

    def width_enlargement(self, allowed: float, t: float, lam: float) -> float:
        return allowed * sqrt(t / lam)

    def band_guarantee(self) -> BandGuarantee:
        return replace(super().band_guarantee(), approximations=(self.pair,))

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[Array, Array]:
        mean, half = super().predict(X)
        return mean, half + self.allowed

    def regret_outside(self, allowed: float, t: int) -> float:
        return 2 * allowed * t  # what separates the two functions

    def regret_exponent(self, inside: RegretGuarantee) -> float | None:
        return 1.0
