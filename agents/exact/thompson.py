"""ASYNC-TS: every worker plays the best arm of its own draw from the posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.rules import FixedRule
from agents.core.settings import as_count
from agents.core.starts import UniformStart
from agents.core.widths import Constant
from agents.exact.base import ExactUCBAgent
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.exact_arms import ExactArmPosterior
from gpbandit_envs.gp.linalg import low_rank_root

__all__ = ["AsyncTS"]

_NO_ACTIONS = np.zeros(0, np.int64)


class AsyncTS(ExactUCBAgent):
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
        rule = FixedRule(batch_size)
        super().__init__(
            kernel=kernel,
            width=Constant(1.96),  # of the confidence band that `predict` states
            lam=lam,
            norm_bound=None,
            delta=None,
            start=UniformStart(n_start),
            rule=rule,
            batch_ratio=1.0,
            named_widths={},
        )
        self.batch_size = rule.size
        self.scale = scale
        self.max_rank = as_count("max_rank", max_rank)

    def _new_posterior(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> ExactArmPosterior:
        self._root, remaining = low_rank_root(kernel, X, 1e-8, self.max_rank)
        self._remaining = np.sqrt(remaining)
        return super()._new_posterior(kernel, X, lam)

    def _pick(self, n: int, pending: Pending) -> Actions:
        count = min(n, self.batch_size - len(pending))
        if count <= 0:
            return _NO_ACTIONS
        self._issued += count
        return np.argmax(self.draw(count), axis=1)

    def draw(self, count: int) -> Float[np.ndarray, "count A"]:
        """Joint draws from the posterior at all arms, their deviation from the mean scaled by `scale`."""
        prior = self.rng.standard_normal((count, self._root.shape[1])) @ self._root.T
        prior += self._remaining * self.rng.standard_normal(prior.shape)
        pulled = np.flatnonzero(self.posterior.n > 0)
        if len(pulled):
            noise = np.sqrt(self.lam / self.posterior.n[pulled])
            seen = prior[:, self.posterior.rows.arms[pulled]] + noise * self.rng.standard_normal((count, len(pulled)))
            T = self.posterior.pulled.T[:, pulled]
            prior -= self.posterior.rows.product((seen @ T.T) @ T, pulled)
        prior *= self.scale
        prior += self.posterior.mean
        return prior
