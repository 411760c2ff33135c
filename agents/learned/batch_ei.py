"""Expected improvement in batches, with hyperparameters that are estimated anew whenever feedback arrives."""

from __future__ import annotations

from agents.core.acquisition import LogExpectedImprovement, Predictive
from agents.core.protocol import Actions
from agents.learned.gp_bucb import MAPBUCB


class BatchEI(MAPBUCB):
    """Expected improvement on the largest posterior mean of an evaluated action; open ones count as in `MAPBUCB`.

    Arguments: see `MAPBUCB`; the width is that of `predict` alone.

    Reference: Ginsbourger, Le Riche and Carraro (2010), Kriging is well-suited to parallelize optimization, the
    kriging believer, on noisy feedback with the largest posterior mean for the largest value.
    """

    def maximise_bound(self, posterior: Predictive) -> Actions:
        # Open actions are told their own mean, which may be larger than that of any evaluated one.
        means = self.posterior.at(self.X)[0]
        score = LogExpectedImprovement(float(means.max()) if len(means) else self.prior_mean)
        return self.space.best_score(score, posterior, self.X, self.rng, self.offered)
