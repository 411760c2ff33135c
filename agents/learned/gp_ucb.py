"""GP-UCB with hyperparameters that are estimated anew after every evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from agents.learned.base import LearnedAgent
from gpbandit_envs.arguments import as_count
from gpbandit_envs.gp.hyperparameters import sample_hyperparameters


class MAPUCB(LearnedAgent):
    """GP-UCB with the maximum a posteriori estimate of the hyperparameters.

    This is what most Bayesian optimisation does. The policy has chosen the data that it estimates from, so that the
    estimate is biased. Arguments: see `LearnedAgent`.

    Reference: Snoek, Larochelle and Adams (2012); the baseline "MAP" of Ha et al. (2023), section 7.
    """

    policy_family = "estimated kernel"


@dataclass(kw_only=True, eq=False, repr=False)
class MCMCUCB(LearnedAgent):
    """GP-UCB whose bound is averaged over hyperparameters drawn by Hamiltonian Monte Carlo.

    A chain begins where the last one ended. Other arguments: see `LearnedAgent`.

    Args:
        burn_in: Discarded iterations, in which the step size adapts, >= 0.
        samples: Kept iterations, >= 1.

    Reference: Snoek, Larochelle and Adams (2012), section 3.2; the baseline "MCMC" of Ha et al. (2023), section 7.
    """

    policy_family = "estimated kernel"
    burn_in: int = 200
    samples: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        self.burn_in = as_count("burn_in", self.burn_in, 0, most=100_000)
        self.samples = as_count("samples", self.samples, most=100_000)

    def estimate(self) -> None:
        self.hyperparameters, self.prior_mean = sample_hyperparameters(
            self.X,
            self.y,
            self.rng,
            family=self.family,
            prior=self.hyper_prior,
            start=self.hyperparameters[-1],
            burn_in=self.burn_in,
            samples=self.samples,
        )
