"""GP-EI on finite arms."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.core.acquisition import LogExpectedImprovement
from agents.core.protocol import Capabilities
from agents.core.rules import SequentialRule
from agents.core.starts import UniformStart
from agents.core.widths import Constant
from agents.exact.base import ExactUCBAgent

__all__ = ["GPEI"]


class GPEI(ExactUCBAgent):
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
        super().__init__(
            kernel=kernel,
            width=Constant(1.96),  # of the confidence band that `predict` states
            lam=lam,
            norm_bound=None,
            delta=None,
            start=UniformStart(n_start),
            rule=SequentialRule(),
            batch_ratio=1.0,
            named_widths={},
        )

    def _best_score(self) -> int:
        mean = self.posterior.mean
        incumbent = float(mean[self.counts > 0].max()) if self.n_pulls else 0.0
        return int(np.argmax(LogExpectedImprovement(incumbent)(mean, np.sqrt(self.posterior.variance))))
