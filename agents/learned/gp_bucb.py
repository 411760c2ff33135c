"""GP-BUCB with hyperparameters that are estimated anew whenever feedback arrives."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from agents.core.acquisition import Predictive
from agents.core.protocol import Actions, Capabilities, Feedback, Pending
from agents.learned.base import LearnedAgent, Mixture
from gpbandit_envs.arguments import as_count
from gpbandit_envs.gp.hyperparameters import HyperPrior, LogNormal, as_hyper_prior, sample_hyperparameters
from gpbandit_envs.gp.hyperparameters.likelihood import Groups, free_dim
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import Problem


def categories_of(problem: Problem) -> Groups:
    """The one-hot columns of each category, where the notes of a problem name them."""
    named: Any = problem.notes.get("categories", ())
    return tuple(map(tuple, named))


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
        categories: Whether categories that the problem's notes name, as `Experiment` does, have a kernel of their own,
            see `gpbandit_envs.gp.Hyperparameters`; if not, their one-hot columns count as numbers.

    Reference: Desautels, Krause and Burdick (2012), Algorithm 1, with the maximum a posteriori estimate of Snoek,
    Larochelle and Adams (2012) in place of a given kernel.
    """

    policy_family = "estimated kernel"
    width: float = 1.0
    n_initial: int | None = 8
    repeats: bool = True
    categories: bool = True
    capabilities = Capabilities(frozenset({"finite", "box"}), batch="fixed", delayed=True, contexts=True)
    not_saved = LearnedAgent.not_saved | {"_open"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.failed = Pending.empty(problem).actions
        # The posterior last given open points, these points, and the posteriors of its parts with them.
        self._open: tuple[Predictive | None, Actions, tuple[GPRegression, ...]] = None, self.failed, ()
        super().reset(problem, rng)

    def groups_of(self, problem: Problem) -> Groups:
        return categories_of(problem) if self.categories else ()

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

    def _hallucinated(self, actions: Actions) -> Predictive:
        """The posterior given all data, and at `actions` its own mean; of a mixture that of each part."""
        if len(actions) == 0:
            return self.posterior
        last, known, parts = self._open
        n = len(known)
        if last is not self.posterior or not np.array_equal(known, actions[:n]):
            n, parts = 0, self.posterior.parts if isinstance(self.posterior, Mixture) else (self.posterior,)
        Z = self.space.coordinates(actions[n:])
        parts = tuple(part.believing(Z) for part in parts) if len(Z) else parts
        self._open = self.posterior, actions, parts
        return parts[0] if len(parts) == 1 else Mixture(parts, self.spread)


@dataclass(kw_only=True, eq=False, repr=False)
class MixtureBUCB(MAPBUCB):
    """MAP-BUCB with a mixture over hyperparameters in place of their mode, for statements that are less sure.

    The hyperparameters are drawn by Hamiltonian Monte Carlo. The variance of the mixture is the mean of the variances
    plus the variance of the means. At open points each part counts its own mean as told.

    The default priors, of standardised feedback: log-normal, with variance 1 and a deviation of .7 of its logarithm,
    noise variance `e^-4` and 1.2, and lengthscales of deviation .7 around 0.5 for half of the draws and around
    `0.4 sqrt(d)` for the others: which is better differs between tables, and nobody knows beforehand. Other arguments:
    see `MAPBUCB`.

    Args:
        width: Factor of the standard deviation, > 0.
        draws: Number of draws, >= 2, half of them with each median of lengthscales, or all with `prior` where given.
        burn_in: Discarded iterations of each chain, >= 0.

    Reference: as of `MAPBUCB`; for the variance, the law of total variance.
    """

    spread = True
    width: float = 2.0
    draws: int = 8
    burn_in: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        self.draws = as_count("draws", self.draws, 2, most=10_000)
        self.burn_in = as_count("burn_in", self.burn_in, 0, most=100_000)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        medians = (0.5, 0.4 * sqrt(free_dim(problem.dim, self.groups_of(problem))))
        noise, variance = LogNormal(-4.0, 1.2), LogNormal(0.0, 0.7)
        self.priors = [HyperPrior(variance, noise, LogNormal(log(median), 0.7)) for median in medians]
        if self.prior is not None:
            self.priors = [as_hyper_prior(self.prior)]
        super().reset(problem, rng)

    def estimate(self) -> None:
        known, self.hyperparameters = self.hyperparameters, []
        for i, prior in enumerate(self.priors):
            n = len(range(i, self.draws, len(self.priors)))
            # Neighbours in a chain are alike: every fourth is taken.
            drawn, self.prior_mean = sample_hyperparameters(
                self.X,
                self.y,
                self.rng,
                family=self.family,
                prior=prior,
                start=known[-1 if i else 0],
                burn_in=self.burn_in,
                samples=4 * n,
                known=self.known,
                groups=self.groups,
            )
            self.hyperparameters = [*self.hyperparameters, *drawn[3::4]]
