"""ASYNC-TS: every worker plays the best arm of its own draw from the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.gp_arms import NO_ARMS, GPArmAgent
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.settings import GPSettings, as_count
from agents.core.starts import UniformStart
from gpbandit_envs.gp.arms import ArmPosterior
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.low_rank import low_rank_root

__all__ = ["AsyncTS"]


class AsyncTS(GPArmAgent):
    """Thompson sampling with up to `batch_size` evaluations open: pull the maximiser of a joint posterior draw.

    A draw is a prior draw plus the posterior's correction for what it misses at the pulled arms (Matheron's rule), so
    it is joint over all arms without their A x A covariance. The prior draw comes from a pivoted Cholesky factor of
    small rank plus an independent remainder.

    Args:
        kernel: Prior covariance; None for the card's.
        batch_size: Largest number of open evaluations; 30 in the BBKB experiments.
        scale: Factor of the draw's deviation from the posterior mean; the BBKB experiments divide it by 10.
        lam: Noise variance in the posterior; None for the card's.
        max_rank: Largest rank of the prior's factor; memory is A times it.
        n_start: Arms drawn uniformly and pulled before the first draw.

    Reference: Kandasamy et al. (2018), Parallelised Bayesian optimisation via Thompson sampling, Algorithm 2; Wilson et
    al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="adaptive", delayed=True, needs=frozenset({"kernel", "noise"})
    )

    def __init__(
        self,
        kernel: Any = None,
        batch_size: int = 30,
        scale: float = 1.0,
        lam: float | None = None,
        max_rank: int = 1000,
        n_start: int = 0,
    ) -> None:
        if not 0 <= scale < float("inf"):
            raise ValueError(f"scale: expected a finite number >= 0, got {scale!r}")
        super().__init__(GPSettings(kernel, lam), UniformStart(n_start))
        self.batch_size = as_count("batch_size", batch_size)
        self.scale = scale
        self.max_rank = as_count("max_rank", max_rank)

    def _new_posterior(self) -> ArmPosterior:
        assert self.problem.arms is not None
        self._root, remaining = low_rank_root(self.model.kernel, self.problem.arms, 1e-8, self.max_rank)
        self._remaining = np.sqrt(remaining)
        return super()._new_posterior()

    def _next(self, n: int, pending: Pending) -> Actions:
        count = min(n, self.batch_size - len(pending))
        return np.argmax(self.draw(count), axis=1) if count > 0 else NO_ARMS

    def draw(self, count: int) -> Float[np.ndarray, "count A"]:
        """Joint draws from the posterior at all arms, their deviation from the mean scaled by `scale`."""
        assert isinstance(self.posterior, ExactPosterior)
        draws = self.rng.standard_normal((count, self._root.shape[1])) @ self._root.T
        draws += self._remaining * self.rng.standard_normal(draws.shape)
        pulled = self.posterior.engine.distinct()
        if len(pulled):
            noise = np.sqrt(self.lam / self.posterior.n[pulled])
            seen = draws[:, pulled] + noise * self.rng.standard_normal((count, len(pulled)))
            draws -= self.posterior.engine.interpolate(seen)
        draws *= self.scale
        draws += self.posterior.mean
        return draws
