"""The loop inside a batch: mean and dictionary stand still, variances shrink, and the best score is picked each time.

| symbol | meaning | shape |
|---|---|---|
| `score` | `mean + width * sqrt(v)` | (A,) |
| `c(a, b)` | reducible covariance at the start of the batch | |

Picking x changes `v(a)` by `-c(a, x)^2 / (c(x, x) + lam)` and `c` itself likewise, so scores only fall, and it is
enough to look at few arms most of the time: see `agents.core.levels`. The choice is exactly that of recomputing every
score after every pick (BBKB, App. A.3, argues so for its lazy updates).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from agents.core.levels import Level
from agents.core.rules import Batch
from gpbandit_envs.gp.sketch import SketchedArmPosterior

__all__ = ["BatchBuilder"]

_CANDIDATES = 32
_LARGE, _POOL, _POOL_CANDIDATES = 20_000, 4096, 128


class BatchBuilder(Batch):
    """Picks arms one by one on a posterior that does not see their feedback.

    Args:
        posterior: Posterior at the start of the batch; it must not change while the builder is in use.
        width: Multiplies the standard deviation; at least 0.
        mean: Mean to add, shape (A,); the posterior's by default, zeros to pick by variance alone.
        pending: Arms already under evaluation, whose pulls count as picked, shape (p,).
        sizes: How many arms the sets that are looked at most of the time have, outermost first; by default 32, and
            within 4096 of more than 20,000 arms 128.

    Attributes:
        picks: Arms picked so far, without the pending ones.
        n_pending: Number of pending pulls.
        variance: Variance of every arm at the start of the batch, shape (A,).
        picked_variance: Variance of the arm last proposed, as of the proposal.
    """

    def __init__(
        self,
        posterior: SketchedArmPosterior,
        width: float,
        mean: Float[np.ndarray, " A"] | None = None,
        pending: Int[np.ndarray, " p"] | None = None,
        sizes: tuple[int, ...] | None = None,
    ) -> None:
        super().__init__(posterior.variance, posterior.lam, 0)
        self.posterior = posterior
        self.width = width
        if sizes is None:
            sizes = (_CANDIDATES,) if posterior.n_arms <= _LARGE else (_POOL, _POOL_CANDIDATES)
        self._level = Level(
            posterior.mean if mean is None else mean,
            self.variance,
            posterior.reducible_covariance,
            posterior.reducible_among,
            np.zeros((0, posterior.n_arms)),
            width,
            posterior.lam,
            -np.inf,
            sizes,
        )
        self._proposed = -1
        if pending is not None and len(pending):
            self.n_pending = len(pending)
            arms, counts = np.unique(pending, return_counts=True)
            self._level.fold(dict(zip(arms.tolist(), counts.tolist())))

    def next(self) -> int:
        """Pick the arm of highest score; ties go to the lowest index."""
        arm, _ = self.propose(1)
        self.take(1)
        return arm

    def propose(self, limit: int) -> tuple[int, int]:
        """The arm of highest score, and how many times in a row (at most `limit`) it is to be picked.

        Nothing changes before `take`. The run may be shorter than it could be: the next proposal then goes on with it.
        """
        self._proposed, count, self.picked_variance = self._level.propose(limit)
        return self._proposed, count

    def take(self, count: int) -> None:
        """Pick the arm last proposed `count` times, at most as many as were proposed."""
        self._level.take(self._proposed, count)
        self.picks += [self._proposed] * count
