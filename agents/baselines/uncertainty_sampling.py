"""Uncertainty sampling: pure exploration by the posterior variance."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.rules import FixedRule
from agents.core.starts import UniformStart
from agents.core.ucb import UCBAgent
from agents.core.widths import InformationGain
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.exact_arms import ExactArmPosterior

__all__ = ["UncertaintySampling"]


class UncertaintySampling(UCBAgent):
    """Pull the arm of largest posterior variance, whatever was observed; recommend the arm of largest posterior mean.

    Gains at least `1 - 1/e` of the information that any choice of as many arms gains.

    Args:
        kernel: Prior covariance; None for the card's.
        lam: Noise variance in the posterior; None for the card's.

    Reference: Srinivas, Krause, Kakade and Seeger (2010), section 3.
    """

    capabilities = Capabilities(
        frozenset({"finite"}), batch="fixed", delayed=True, needs=frozenset({"kernel", "noise"})
    )
    policy_family = "pure exploration"
    posterior: ExactArmPosterior

    def __init__(self, kernel: Any = None, lam: float | None = None) -> None:
        super().__init__(
            kernel=kernel,
            width=InformationGain(),
            lam=lam,
            norm_bound=None,
            delta=None,
            start=UniformStart(0),
            rule=FixedRule(2**62),
            batch_ratio=1.0,
            named_widths={},
        )

    def _new_posterior(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> ExactArmPosterior:
        return ExactArmPosterior(kernel, X, lam)

    def _update(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.posterior.update(arms, counts, sums)

    def _mean(self) -> Float[np.ndarray, " A"]:
        return np.zeros(self.posterior.n_arms)

    def select(self, n: int, pending: Pending) -> Actions:
        if n == 1 and len(pending) == 0:
            self._builder, self._issued = None, 1
            return np.array([np.argmax(self.posterior.variance)])
        return super().select(n, pending)
