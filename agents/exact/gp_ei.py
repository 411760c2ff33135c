"""GP-EI on finite arms."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.core.acquisition import LogExpectedImprovement
from agents.core.gp_arms import NO_ARMS, GPArmAgent
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.settings import GPSettings
from agents.core.starts import UniformStart

__all__ = ["GPEI"]


class GPEI(GPArmAgent):
    """Pull the arm of largest expected improvement over the largest posterior mean of a pulled arm.

    Args:
        kernel: Prior covariance; None for the card's.
        lam: Noise variance in the posterior; None for the card's.
        n_start: Arms drawn uniformly and pulled before the first improvement is computed.

    Reference: Jones, Schonlau and Welch (1998), Efficient global optimization of expensive black-box functions, with
    the incumbent of Wang and de Freitas (2014), Theoretical analysis of Bayesian optimisation, section 2.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="sequential", needs=frozenset({"kernel", "noise"}))

    def __init__(self, kernel: Any = None, lam: float | None = None, n_start: int = 0) -> None:
        super().__init__(GPSettings(kernel, lam), UniformStart(n_start))

    def _next(self, n: int, pending: Pending) -> Actions:
        self._closed = True
        if len(pending):
            return NO_ARMS
        mean = self.posterior.mean
        incumbent = float(mean[self.counts > 0].max()) if self.n_pulls else 0.0
        improvement = LogExpectedImprovement(incumbent)(mean, np.sqrt(self.posterior.variance))
        return np.array([np.argmax(improvement)])
