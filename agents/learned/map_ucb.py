"""GP-UCB with MAP hyperparameters."""

from __future__ import annotations

from agents.learned.base import LearnedAgent

__all__ = ["MAPUCB"]


class MAPUCB(LearnedAgent):
    """GP-UCB that estimates its hyperparameters anew after every evaluation, by maximum a posteriori.

    What most Bayesian optimisation does; the data it estimates from are the ones it chose, so that the estimate is
    biased. Arguments: see `LearnedAgent`.

    Reference: Snoek, Larochelle and Adams (2012); the baseline "MAP" of Ha et al. (2023), section 7.
    """

    policy_family = "estimated kernel"
