"""GP-BUCB with hyperparameters that are estimated anew whenever feedback arrives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.core.protocol import Actions, Capabilities, Feedback, Pending
from agents.learned.base import LearnedAgent
from gpbandit_envs.gp.hyperparameters import HyperPrior
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem


@dataclass(kw_only=True, eq=False, repr=False)
class MAPBUCB(LearnedAgent):
    """GP-BUCB with MAP hyperparameters: any number of arms or points may be open, each of them hallucinated.

    An open evaluation counts as one whose feedback is the posterior mean, which leaves the mean as it is and lowers the
    deviation around it. An evaluation that failed counts as open for good: nothing is learnt of the mean there, and
    the uncertainty that led there leads there no more. Hyperparameters are estimated from feedback alone, after the
    first `n_initial` actions, which are uniform. Other arguments: see `LearnedAgent`.

    The defaults are for a few dozen evaluations, of which the learning of `d` lengthscales must not take most.

    Args:
        width: Factor of the standard deviation, > 0.
        n_initial: Size of `D_0`, >= 1, open evaluations among it.
        prior: Priors and bounds of the hyperparameters, or their JSON form; None for `HyperPrior.informative`.
        repeats: Whether an arm may be evaluated more than once; if not, it may once all have been.

    Reference: Desautels, Krause and Burdick (2012), Algorithm 1, with the maximum a posteriori estimate of Snoek,
    Larochelle and Adams (2012) in place of a given kernel.
    """

    policy_family = "estimated kernel"
    width: float = 1.0
    n_initial: int | None = 8
    repeats: bool = True
    capabilities = Capabilities(frozenset({"finite", "box"}), batch="fixed", delayed=True, contexts=True)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.failed = Pending.empty(problem).actions
        super().reset(problem, rng)

    def default_prior(self, dim: int) -> HyperPrior:
        return HyperPrior.informative(dim)

    def observe(self, feedback: Feedback) -> None:
        order = np.argsort(feedback.tickets)
        self.failed = np.concatenate([self.failed, feedback.actions[order[feedback.failed[order]]]])
        super().observe(feedback)

    def select(self, n: int, pending: Pending) -> Actions:
        offered, open_ = self.offered, pending.actions
        for _ in range(n):
            if not self.repeats:
                self.offered = offered.without(np.concatenate([self.actions, self.failed, open_]))
            if len(self.y) + len(open_) < self.design_size:
                pick = self.space.random(1, self.rng, self.offered)
            else:
                pick = self.maximise_bound(self._hallucinated(np.concatenate([self.failed, open_])))
            open_ = np.concatenate([open_, pick])
        self.offered = offered
        return open_[len(pending) :]

    def _hallucinated(self, actions: Actions) -> GPRegression:
        """The posterior given all data, and at `actions` its own mean."""
        assert isinstance(self.posterior, GPRegression)
        if len(actions) == 0:
            return self.posterior
        Z = self.space.coordinates(actions)
        X, y = np.concatenate([self.X, Z]), np.concatenate([self.y, self.posterior.at(Z)[0]])
        return GPRegression(self.posterior.kernel, X, y, self.posterior.lam, self.prior_mean)
