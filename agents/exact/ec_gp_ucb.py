"""EC-GP-UCB: GP-UCB for a mean function that is only close to the RKHS."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.existing_data import Initial
from agents.core.gp_settings import NormBound
from agents.core.guarantees import RegretGuarantee
from agents.exact.enlarged_ucb import EnlargedUCB

__all__ = ["ECGPUCB"]


class ECGPUCB(EnlargedUCB):
    """Evaluate `argmax mean_{t-1} + (width_t + eps sqrt(t / lam)) sd_{t-1}`, one arm or point at a time.

    The mean function need not be in the RKHS: it suffices that some function within the norm bound differs from it by
    at most `eps` everywhere. What such an error does to the posterior mean is at most `eps sqrt(t / lam)` standard
    deviations; see `docs/math/gp-ucb.md`. The band of `predict` is about the mean function itself, and so wider by
    another `eps`. The regret grows linearly, by a multiple of `eps` a step. With `eps = 0` this is GP-UCB.

    Args:
        misspecification: `eps >= 0`, unit of the reward; None for the problem's `misspecification["sup"]`, or 0 if it
            states none.
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        width: `"theory"`, `"amm"`, `"bayes"`, `"practical"`, `"growing"`, a number, or a `WidthSchedule`, as for
            `GPUCB`: the width of a mean function within the RKHS.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`.
        norm_bound: Bound `F` on the RKHS norm of the near function; None for the problem's, or 1 if it states none;
            `{"times": 3.0}` for a multiple of it.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
        n_start: Arms or points drawn uniformly and evaluated before the first bound is computed.
        candidates: On a box, Sobol points at which the bound is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.
        initial: On arms, existing data `{"arms": [...], "rewards": [...]}`; None for the problem's, if it has some.

    Attributes:
        allowed: The `eps` of the episode, from `reset` on.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.

    Reference: Bogunovic and Krause (2021), Misspecified Gaussian process bandit optimization; `docs/math/gp-ucb.md` has
    a proof of its width.
    """

    deviation = "sup"
    source = "Bogunovic and Krause (2021)"

    def __init__(
        self,
        misspecification: float | None = None,
        kernel: Any = None,
        width: object = "theory",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 0,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
        initial: Initial = None,
    ) -> None:
        box = (candidates, starts, iterations)
        super().__init__(
            misspecification, "misspecification", kernel, width, lam, norm_bound, delta, n_start, *box, initial
        )

    def _enlargement(self, allowed: float, t: float, lam: float) -> float:
        return allowed * sqrt(t / lam)

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, half = super().predict(X)
        return mean, half + self.allowed

    def _outside(self, allowed: float, t: int) -> float:
        return 2 * allowed * t  # what separates the two functions

    def _exponent(self, inside: RegretGuarantee) -> float | None:
        return 1.0
