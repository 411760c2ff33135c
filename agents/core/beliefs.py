"""The posterior of one episode with a given kernel, on finite arms or on a box, and the actions that maximise under it.

On arms the posterior over all of them is updated in place. On a box it is evaluated wherever the search for the
maximiser needs it.

| symbol | meaning |
|---|---|
| `lam` | noise variance in the posterior |
| `lev` | ridge leverage score, posterior variance / `lam` |
| `gamma` | information gain `0.5 logdet(I + K_t / lam)`, in nats |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float, Int

from agents.core.acquisition import Objective, PosteriorScore, Score, UpperConfidenceBound
from agents.core.batch import Batch, LazyBatch, RowBatch
from agents.core.finite import Offer, group_pulls
from agents.core.gp_settings import Model, Number, WidthContext
from agents.core.guarantees import Sketch
from agents.core.protocol import Action, Actions, Feedback
from agents.core.space import BoxSpace, Search
from gpbandit_envs.gp.arm_posterior import ArmPosterior
from gpbandit_envs.gp.exact import ExactPosterior
from gpbandit_envs.gp.linalg import jittered_cholesky
from gpbandit_envs.gp.paths import draw_path
from gpbandit_envs.gp.regression import GPRegression
from gpbandit_envs.problem import InitialData, Problem

if TYPE_CHECKING:  # a schedule knows its beliefs
    from agents.core.widths import WidthSchedule

P = TypeVar("P", bound=ArmPosterior)

_AROUND = 4  # best points of a box around which the maximiser is searched as well


class Beliefs(ABC):
    """The posterior of a policy with a given kernel in one episode.

    Attributes:
        problem: The problem.
        model: Kernel, noise and confidence level of the episode.
        n_pulls: Evaluations that did not fail, existing data among them.
        sum_log_leverage: `sum_s log(1 + lev(x_s))`, with the leverage score before the feedback that brought `x_s`.
        sum_log_3_leverage: `sum_s log(1 + 3 lev(x_s))`, likewise.
        offered: The arms among which `maximise` and `recommend` choose.
        refuted: Whether the data of the episode have refuted the stated norm, noise or kernel. Only `DualBeliefs` tell;
            from then on they leave out the bounds that are refuted, and the rest have no guarantee.
    """

    def __init__(self, problem: Problem, model: Model) -> None:
        self.problem, self.model = problem, model
        self.offered = Offer.all(problem)
        self.n_pulls = 0
        self.sum_log_leverage: Number = 0.0
        self.sum_log_3_leverage: Number = 0.0
        self.refuted = False

    @property
    def arms(self) -> ArmBeliefs[Any]:
        """These beliefs, where they are about finite arms."""
        raise TypeError(f"{self.problem.name} is a box, and has no arms")

    @property
    def box(self) -> BoxBeliefs:
        """These beliefs, where they are about a box."""
        raise TypeError(f"{self.problem.name} has a finite set of arms, and is no box")

    @property
    @abstractmethod
    def information_gain(self) -> Number:
        """`gamma`."""

    @property
    @abstractmethod
    def effective_dimension(self) -> Number:
        """`sum_s lev_t(x_s)` over all evaluations that did not fail."""

    @abstractmethod
    def observe(self, feedback: Feedback) -> bool:
        """Condition the posterior on new feedback; returns whether any evaluation succeeded."""

    @abstractmethod
    def maximise(self, score: Score, rng: np.random.Generator) -> Actions:
        """The action of largest score, as an array of one; ties between arms go to the lowest index."""

    def maximise_bound(self, width: float, rng: np.random.Generator) -> Actions:
        """The action of largest upper bound `mean + width * sd`, as an array of one."""
        return self.maximise(UpperConfidenceBound(width), rng)

    def next_width(self, schedule: WidthSchedule, context: Callable[[], WidthContext]) -> Number:
        """The width of the bounds that choose next, by a schedule whose inputs `context` computes."""
        return schedule.now(context)

    def band(self, X: Float[np.ndarray, "n d"], width: float) -> tuple[np.ndarray, np.ndarray]:
        """Middle and half-width of the confidence band at points, for rewards less the prior mean."""
        mean, variance = self.at(X)
        return mean, width * np.sqrt(variance)

    @abstractmethod
    def random(self, rng: np.random.Generator) -> Actions:
        """One action drawn uniformly, on arms among those offered."""

    @property
    @abstractmethod
    def incumbent(self) -> Number:
        """The largest posterior mean of an evaluated action, among those offered; 0 before any feedback.

        Where none of these has been evaluated, the largest posterior mean among them. Unit of the reward.
        """

    @abstractmethod
    def recommend(self) -> Action:
        """The action of largest posterior mean: among the arms offered, or among the evaluated points of a box."""

    @abstractmethod
    def at(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Posterior mean and Bayesian variance at points."""

    def sketch(self) -> Sketch | None:
        """The sketched posterior; None where it is exact."""
        return None

    def diagnostics(self) -> Mapping[str, float]:
        """Plain numbers about the posterior."""
        return {"information_gain": self.information_gain}

    def width_context(self, **more: Number) -> WidthContext:
        """The inputs of a confidence width; `more` are fields that the posterior does not determine."""
        return self.model.width_context(
            self.problem,
            self.n_pulls + 1,
            information_gain=self.information_gain,
            effective_dimension=self.effective_dimension,
            sum_log_leverage=self.sum_log_leverage,
            sum_log_3_leverage=self.sum_log_3_leverage,
            **more,
        )


class ArmBeliefs(Beliefs, Generic[P]):
    """A posterior over all arms, which a subclass brings.

    Args:
        problem: The problem, on finite arms.
        model: Kernel, noise and confidence level of the episode.
        data: Evaluations from before the first step; None for none.

    Attributes:
        posterior: The posterior.
        counts: Pulls per arm, shape (A,).
        sums: Sum of the rewards per arm, shape (A,), unit of the reward.
    """

    posterior: P

    def __init__(self, problem: Problem, model: Model, data: InitialData | None) -> None:
        super().__init__(problem, model)
        self.posterior = self._prior()
        self._effective_dimension: float | None = None
        self.counts, self.sums = np.zeros(problem.n_arms), np.zeros(problem.n_arms)
        if data is not None:
            # They were not chosen in one batch: each pull has the leverage score that those before it have left.
            leverage = self._begin_with(data)
            self._count_leverage(leverage, np.ones(len(leverage)))
            self._count(*group_pulls(data.actions, data.rewards))
            self.n_pulls = len(data)

    @abstractmethod
    def _prior(self) -> P:
        """The posterior of no data."""

    @abstractmethod
    def _begin_with(self, data: InitialData) -> Float[np.ndarray, " n"]:
        """Condition on existing data, and return the leverage score of every pull given those before it."""

    def _count(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.counts[arms] += counts
        self.sums[arms] += sums

    def _count_leverage(self, leverage: np.ndarray, counts: np.ndarray) -> None:
        self.sum_log_leverage += float(counts @ np.log1p(leverage))
        self.sum_log_3_leverage += float(counts @ np.log1p(3 * leverage))

    @property
    def arms(self) -> ArmBeliefs[Any]:
        return self

    @property
    def features(self) -> Float[np.ndarray, "A d"]:
        """Features of all arms."""
        assert self.problem.arms is not None
        return self.problem.arms

    @property
    def effective_dimension(self) -> float:
        if self._effective_dimension is None:
            self._effective_dimension = self.posterior.effective_dimension()
        return self._effective_dimension

    def best_score(self, width: float) -> int:
        """The arm that maximises `mean + width * sd`."""
        if self.offered.some is None:
            return self.posterior.best_score(width)
        return self.offered.best(self._scores(UpperConfidenceBound(width)))

    def _scores(self, score: Score) -> Float[np.ndarray, " k"]:
        offered = self.offered.some
        variance = self.posterior.variance if offered is None else self.posterior.variance_at(offered)
        return score(self.offered.of(self.posterior.mean), np.sqrt(variance))

    def new_batch(self, width: float, pending: Int[np.ndarray, " p"]) -> Batch:
        """A batch of picks by `mean + width * sd` on the current posterior, with `pending` arms under evaluation."""
        return LazyBatch(self.posterior, width, pending)

    def maximise(self, score: Score, rng: np.random.Generator) -> Actions:
        return np.array([self.offered.best(self._scores(score))])

    def maximise_bound(self, width: float, rng: np.random.Generator) -> Actions:
        return np.array([self.best_score(width)])

    def random(self, rng: np.random.Generator) -> Actions:
        return self.offered.draw(1, rng)

    @property
    def incumbent(self) -> float:
        if self.n_pulls == 0:
            return 0.0
        means, evaluated = self.offered.of(self.posterior.mean), self.offered.of(self.counts) > 0
        # Where no arm that is offered has been evaluated, what others tell of them is all there is to improve on.
        return float((means[evaluated] if evaluated.any() else means).max())

    def recommend(self) -> Action:
        return self.offered.best(self.offered.of(self.posterior.mean))

    def at(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return self.posterior.at(X)

    def diagnostics(self) -> Mapping[str, float]:
        return {
            **super().diagnostics(),
            "d_eff": self.effective_dimension,
            "unique_arms": float(np.count_nonzero(self.counts)),
        }


class PooledBeliefs(ArmBeliefs[P]):
    """Beliefs to which neither time nor order matters: the pulls of an arm in a delivery count as one observation."""

    def observe(self, feedback: Feedback) -> bool:
        arms, rewards = feedback.succeeded()
        if len(arms) == 0:
            return False
        arms, counts, sums = group_pulls(arms, rewards)
        self._count_leverage(self.posterior.variance_at(arms) / self.model.noise_of(arms), counts)
        self._condition(arms, counts, sums)
        self._count(arms, counts, sums)
        self.n_pulls += len(rewards)
        self._effective_dimension = None
        return True

    @abstractmethod
    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """Condition the posterior on new pulls of distinct arms."""


class ExactBeliefs(PooledBeliefs[ExactPosterior]):
    """The exact posterior over all arms."""

    def _prior(self) -> ExactPosterior:
        return ExactPosterior(self.model.kernel, self.features, self.model.noise_of())

    def _begin_with(self, data: InitialData) -> Float[np.ndarray, " n"]:
        arms, counts, sums = group_pulls(data.actions, data.rewards)
        X = self.features[arms]
        in_turn = sequential_leverage(self.model.kernel(X, X), counts, self.model.noise_of(arms))
        self._condition(arms, counts, sums)
        return per_pull_leverage(in_turn, np.zeros(len(arms)), counts)

    def _condition(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.posterior.update(arms, counts, sums)

    @property
    def information_gain(self) -> float:
        return self.posterior.information_gain

    def most_uncertain(self, n: int, pending: Int[np.ndarray, " p"]) -> Int[np.ndarray, " n"]:
        """`n` arms, each of largest variance given those before it, all of which are pulled, and the `pending` ones."""
        posterior = self.posterior
        posterior.keep_open(pending.tolist())
        picks = []
        for _ in range(n):
            picks.append(int(np.argmax(posterior.ahead())))
            posterior.pull(picks[-1])
        return np.array(picks, np.int64)

    def new_batch(self, width: float, pending: Int[np.ndarray, " p"]) -> Batch:
        return RowBatch(self.posterior, width, pending)


class BoxBeliefs(Beliefs):
    """The exact posterior given evaluated points of the unit cube.

    Args:
        problem: The problem, a box.
        model: Kernel, noise and confidence level of the episode.
        search: How acquisition functions are maximised.
        data: Evaluations from before the first step; None for none.

    Attributes:
        space: The box.
        X: Points whose evaluation did not fail, shape (n, d).
        y: Their rewards, shape (n,).
        posterior: The posterior given them.
    """

    def __init__(self, problem: Problem, model: Model, search: Search, data: InitialData | None = None) -> None:
        super().__init__(problem, model)
        self.space = BoxSpace(problem, search)
        self.X, self.y = np.zeros((0, problem.dim)), np.zeros(0)
        self._information_gain = 0.0
        self._fit()
        if data is not None:
            self._take_in(data.actions, data.rewards)

    def _fit(self) -> None:
        self.posterior = GPRegression(self.model.kernel, self.X, self.y, self.model.lam)
        self._means, self._variances = self.posterior.at(self.X)

    @property
    def box(self) -> BoxBeliefs:
        return self

    @property
    def information_gain(self) -> float:
        return self._information_gain

    @property
    def effective_dimension(self) -> float:
        return float(self._variances.sum()) / self.model.lam

    def observe(self, feedback: Feedback) -> bool:
        # In the order of the tickets, so that the order within a delivery does not matter.
        order = np.argsort(feedback.tickets)
        order = order[~feedback.failed[order]]
        self._take_in(feedback.actions[order], feedback.rewards[order])
        return len(order) > 0

    def _take_in(self, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]) -> None:
        """Condition on evaluations, one after the other: each has the leverage score that those before it have left."""
        for i in range(len(y)):
            variance = float(self.posterior.at(X[i : i + 1])[1][0])
            self._information_gain += 0.5 * float(np.log1p(variance / self.model.lam))
            self.sum_log_leverage = 2 * self._information_gain
            self.sum_log_3_leverage += float(np.log1p(3 * variance / self.model.lam))
            self.X, self.y = np.concatenate([self.X, X[i : i + 1]]), np.append(self.y, y[i])
            self._fit()
        self.n_pulls = len(self.y)

    def maximise(self, score: Score, rng: np.random.Generator) -> Actions:
        return self._maximise(PosteriorScore(score, self.posterior), rng)

    def random(self, rng: np.random.Generator) -> Actions:
        return self.space.random(1, rng)

    def maximise_draw(self, n_features: int, rng: np.random.Generator) -> Actions:
        """The maximiser of a joint draw by `n_features` random Fourier features, as an array of one."""
        return self._maximise(draw_path(self.model.kernel, self.X, self.y, self.model.lam, rng, n_features), rng)

    def _maximise(self, objective: Objective, rng: np.random.Generator) -> Actions:
        # An acquisition function that has narrowed down is large near the best points.
        best = self.X[np.argsort(-self._means, kind="stable")[:_AROUND]]
        return self.space.maximise(objective, rng, best)

    @property
    def incumbent(self) -> float:
        return float(self._means.max()) if len(self.y) else 0.0

    def recommend(self) -> Action:
        if len(self.y) == 0:
            return self.space.middle
        best: np.ndarray = self.X[int(np.argmax(self._means))]
        return best

    def at(self, X: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        return self.posterior.at(X)


def sequential_leverage(
    K: Float[np.ndarray, "u u"], pulls: Float[np.ndarray, " u"], lam: float | Float[np.ndarray, " u"]
) -> Float[np.ndarray, " u"]:
    """The leverage score of each arm given all pulls of the arms before it, in O(u^3).

    Args:
        K: Prior covariance of distinct arms, shape (u, u).
        pulls: Pulls of each, shape (u,), > 0.
        lam: Noise variance of one pull, the same for all arms or one for each.
    """
    L, _ = jittered_cholesky(K + np.diag(lam / pulls))
    return np.maximum(np.diagonal(L) ** 2 - lam / pulls, 0.0) / lam


def per_pull_leverage(
    reducible: Float[np.ndarray, " u"], rest: Float[np.ndarray, " u"], pulls: Float[np.ndarray, " u"]
) -> Float[np.ndarray, " n"]:
    """The leverage score of every single pull, from that of each arm before its first one.

    Args:
        reducible: The part that pulls of the arm reduce: `a / (1 + j a)` is left after j of them; shape (u,).
        rest: The part that they do not reduce, shape (u,); 0 for an exact posterior.
        pulls: Pulls of each, shape (u,).
    """
    before = np.concatenate([np.arange(n) for n in pulls])
    a, r = (np.repeat(part, pulls.astype(np.int64)) for part in (reducible, rest))
    return np.asarray(r + a / (1 + before * a))
