"""GP-UCB averaged over the posterior of the hyperparameters."""

from __future__ import annotations

from typing import Unpack

from agents.core.settings import as_count
from agents.learned.base import LearnedAgent, Settings
from gpbandit_envs.gp.hyperparameters import sample_hyperparameters

__all__ = ["MCMCUCB"]


class MCMCUCB(LearnedAgent):
    """GP-UCB whose bound is averaged over hyperparameters drawn by Hamiltonian Monte Carlo.

    A chain begins where the last one ended. Other arguments: see `LearnedAgent`.

    Args:
        burn_in: Iterations thrown away, in which the step size adapts.
        samples: Iterations kept.

    Reference: Snoek, Larochelle and Adams (2012), section 3.2; the baseline "MCMC" of Ha et al. (2023), section 7.
    """

    policy_family = "estimated kernel"

    def __init__(self, burn_in: int = 200, samples: int = 10, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        self.burn_in, self.samples = as_count("burn_in", burn_in, 0), as_count("samples", samples)

    def _estimate(self) -> None:
        self.hyperparameters, self._prior_mean = sample_hyperparameters(
            self.X,
            self.y,
            self.rng,
            family=self.family,
            prior=self.prior,
            start=self.hyperparameters[-1],
            burn_in=self.burn_in,
            samples=self.samples,
        )
