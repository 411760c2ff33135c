"""What the policies on the exact posterior share."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from agents.core.ucb import UCBAgent
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.arms import ExactArmPosterior

__all__ = ["ExactUCBAgent"]


class ExactUCBAgent(UCBAgent):
    """A UCB policy on the exact posterior; arguments as for `UCBAgent`."""

    posterior: ExactArmPosterior

    def _new_posterior(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> ExactArmPosterior:
        return ExactArmPosterior(kernel, X, lam)

    def _update(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.posterior.update(arms, counts, sums)

    def diagnostics(self) -> dict[str, float]:
        return {**super().diagnostics(), "information_gain": self.posterior.information_gain}
