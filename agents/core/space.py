"""The actions of a problem, a box or arms, behind one interface in the unit cube; the base of policies on boxes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from agents.core.acquisition import Objective, PosteriorScore, Predictive, Score
from agents.core.finite import Offer
from agents.core.maximise import finite_values, maximise, search_domain
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from gpbandit_envs.arguments import as_count
from gpbandit_envs.problem import Problem

_MOST = 100_000
_JITTER = 0.03  # standard deviation of the candidates around a point, in coordinates of the unit cube
_MANY, _AT_A_TIME = 1_024, 256  # arms from which on few are evaluated, and how many of them at once
_BEST, _AROUND = 4, 4  # evaluated points of largest mean, and candidates around each of them


@dataclass(frozen=True)
class Search:
    """How an acquisition function is maximised over a box; see `agents.core.maximise.maximise` and `SearchFields`.

    Raises:
        ValueError: if one of them is no integer from 1 to 100,000.
    """

    candidates: int = 1_024
    starts: int = 8
    iterations: int = 60

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, as_count(field.name, getattr(self, field.name), most=_MOST))


@dataclass(kw_only=True, eq=False, repr=False)
class SearchFields:
    """How an acquisition function is maximised on a box; on arms they have no effect.

    Args:
        candidates: On a box, Sobol points at which the acquisition function is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.
    """

    candidates: int = Search.candidates
    starts: int = Search.starts
    iterations: int = Search.iterations

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        stated = next(base for base in cls.__mro__ if "search" in vars(base))
        if not issubclass(stated, SearchFields):  # its search would win, and these fields would have no effect
            raise TypeError(f"{cls.__name__}: expected SearchFields before {stated.__name__} among its bases")

    def search(self) -> Search:
        """The search that they state.

        Raises:
            ValueError: if one of them is no integer from 1 to 100,000.
        """
        return Search(self.candidates, self.starts, self.iterations)


class Space(ABC):
    """The actions of a problem and their coordinates.

    Attributes:
        problem: The problem.
    """

    problem: Problem

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.problem.dim

    @abstractmethod
    def random(self, n: int, rng: np.random.Generator, offered: Offer | None = None) -> Actions:
        """`n` independent actions drawn uniformly, on arms among those `offered`; None for all."""

    @abstractmethod
    def coordinates(self, actions: Actions) -> Float[np.ndarray, "n d"]:
        """The coordinates of `actions`, in the unit cube."""

    @abstractmethod
    def scaled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The coordinates of points that are given by the features of the problem."""

    @abstractmethod
    def best_score(
        self,
        score: Score,
        posterior: Predictive,
        X: Float[np.ndarray, "n d"],
        rng: np.random.Generator,
        offered: Offer,
    ) -> Actions:
        """The action of largest score, as an array of one.

        Args:
            score: The acquisition function of mean and standard deviation.
            posterior: Gives both.
            X: Coordinates of the evaluated actions; a box is searched around the best of them as well.
            rng: Draws the candidates of a box.
            offered: On arms, those that are compared.
        """

    def prepare(self, posterior: Predictive) -> None:  # noqa: B027
        """Compute what both `best` and `best_score` need of a posterior, once; by default nothing."""

    @property
    @abstractmethod
    def middle(self) -> Action:
        """The recommendation before any feedback: arm 0, or the middle of the box."""

    @abstractmethod
    def best(self, posterior: Predictive, evaluated: Actions, offered: Offer) -> Action:
        """The action of largest posterior mean: among the arms offered, or the evaluated points of a box."""


class BoxSpace(Space):
    """The unit cube; where the problem's notes state a domain, integer coordinates take its levels only.

    Args:
        problem: The problem, a box.
        search: How acquisition functions are maximised.
    """

    def __init__(self, problem: Problem, search: Search) -> None:
        self.problem = problem
        self.domain = search_domain(problem)
        self._search = search

    def random(self, n: int, rng: np.random.Generator, offered: Offer | None = None) -> Actions:
        return self.domain.snap(rng.random((n, self.dim)))

    def coordinates(self, actions: Actions) -> Float[np.ndarray, "n d"]:
        return actions

    def scaled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return X

    def best_score(
        self,
        score: Score,
        posterior: Predictive,
        X: Float[np.ndarray, "n d"],
        rng: np.random.Generator,
        offered: Offer,
    ) -> Actions:
        # The mean alone: an upper bound of the variance takes a sixteenth of the time of the variance.
        best = X[np.argsort(-posterior.mean_and_bound(X)[0], kind="stable")[:_BEST]]
        return self.maximise(PosteriorScore(score, posterior), rng, np.repeat(best, _AROUND, axis=0))

    def maximise(self, objective: Objective, rng: np.random.Generator, near: Float[np.ndarray, "k d"]) -> Actions:
        """The maximiser of a function of the coordinates, as an array of one.

        Args:
            objective: The acquisition function.
            rng: Draws the candidates.
            near: One further candidate is drawn around each of these points.
        """
        extra = np.clip(near + _JITTER * rng.standard_normal(near.shape), 0.0, 1.0)
        x, _ = maximise(
            objective.with_gradient,
            self.domain,
            rng,
            candidates=self._search.candidates,
            starts=self._search.starts,
            iterations=self._search.iterations,
            extra=extra,
            values=objective,
        )
        return x[None]

    @property
    def middle(self) -> Action:
        point: np.ndarray = self.domain.snap(np.full((1, self.dim), 0.5))[0]
        return point

    def best(self, posterior: Predictive, evaluated: Actions, offered: Offer) -> Action:
        if len(evaluated) == 0:
            return self.middle
        point: np.ndarray = evaluated[int(np.argmax(posterior.at(evaluated)[0]))]
        return point


class ArmSpace(Space):
    """A finite set of arms; each feature is scaled to [0, 1] by its minimum and maximum over the arms.

    Args:
        problem: The problem, on finite arms.
    """

    def __init__(self, problem: Problem) -> None:
        assert problem.arms is not None
        self.problem, self._features = problem, problem.arms
        self._low = problem.arms.min(axis=0)
        span = problem.arms.max(axis=0) - self._low
        self._span = np.where(span > 0, span, 1.0)
        self._known: tuple[Predictive, np.ndarray, np.ndarray] | None = None

    def prepare(self, posterior: Predictive) -> None:
        self._at_arms(posterior, Offer.all(self.problem))

    def _at_arms(
        self, posterior: Predictive, offered: Offer
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Mean and variance at the arms offered; of many arms an upper bound of the variance."""
        if offered.some is None and self._known is not None and self._known[0] is posterior:
            return self._known[1:]
        mean_and_variance = posterior.mean_and_bound if len(offered) > _MANY else posterior.at
        found = mean_and_variance(offered.of(self._arms))
        if offered.some is None:
            self._known = (posterior, *found)
        return found

    @cached_property
    def _arms(self) -> Float[np.ndarray, "A d"]:
        return self.scaled(self._features)

    def random(self, n: int, rng: np.random.Generator, offered: Offer | None = None) -> Actions:
        return (Offer.all(self.problem) if offered is None else offered).draw(n, rng)

    def coordinates(self, actions: Actions) -> Float[np.ndarray, "n d"]:
        return self._arms[actions]

    def scaled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return (X - self._low) / self._span

    def best_score(
        self,
        score: Score,
        posterior: Predictive,
        X: Float[np.ndarray, "n d"],
        rng: np.random.Generator,
        offered: Offer,
    ) -> Actions:
        mean, variance = self._at_arms(posterior, offered)
        values = finite_values(score(mean, np.sqrt(variance)), offered.arms)
        if len(offered) > _MANY:
            return np.array([self._best_below(values, score, posterior, offered.arms)])
        return np.array([offered.best(values)])

    def _best_below(
        self, bounds: Float[np.ndarray, " k"], score: Score, posterior: Predictive, arms: Int[np.ndarray, " k"]
    ) -> int:
        """The arm of largest score, given upper bounds of all scores.

        Arms are evaluated in the order of their bounds until none that is left can win: of the 20,640 arms of Cadata
        often the first 1,000.
        """
        order = np.argsort(-bounds, kind="stable")
        largest, best = -np.inf, -1
        for start in range(0, len(order), _AT_A_TIME):
            if bounds[order[start]] < largest:
                break
            block = np.sort(arms[order[start : start + _AT_A_TIME]])
            mean, variance = posterior.at(self._arms[block])
            values = finite_values(score(mean, np.sqrt(variance)), block)
            first = int(np.argmax(values))
            if values[first] > largest or (values[first] == largest and block[first] < best):
                largest, best = float(values[first]), int(block[first])
        return best

    @property
    def middle(self) -> Action:
        return 0

    def best(self, posterior: Predictive, evaluated: Actions, offered: Offer) -> Action:
        return offered.best(finite_values(self._at_arms(posterior, offered)[0], offered.arms))


def space_of(problem: Problem, search: Search | None = None) -> Space:
    """The space of `problem`; `search` says how a box is searched, by default as `Search()` does."""
    return ArmSpace(problem) if problem.is_finite else BoxSpace(problem, search or Search())


class BoxAgent(Agent):
    """Base of the policies that play on points of the unit cube; keeps those evaluated and their rewards.

    Attributes:
        problem: The problem of the current episode.
        rng: The episode's generator.
        space: The box: `space.random(n, rng)` draws points, `space.domain.snap(X)` moves points to allowed ones where
            the problem's notes state integers or categories.
        X: Points whose evaluation did not fail, existing data among them, shape (n, d).
        y: Their rewards, shape (n,), unit of the reward.
    """

    capabilities = Capabilities(frozenset({"box"}), batch="sequential")
    not_saved = Agent.not_saved | {"space"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if problem.is_finite and "finite" not in self.capabilities.domains:
            raise ValueError(f"problem: {type(self).__name__} needs a box, {problem.name} has {problem.n_arms} arms")
        self.problem, self.rng = problem, rng
        self.space: Any = space_of(problem)
        self.X, self.y = np.zeros((0, problem.dim)), np.zeros(0)
        if problem.initial is not None:
            self.X, self.y = self.space.coordinates(problem.initial.actions), problem.initial.rewards
        self.start_episode()

    def start_episode(self) -> None:
        """Prepare an episode on `self.problem`; by default nothing is done."""

    @abstractmethod
    def select(self, n: int, pending: Pending) -> Actions: ...

    def observe(self, feedback: Feedback) -> None:
        # In the order of the tickets, so that the order within a delivery does not matter.
        order = np.argsort(feedback.tickets)
        self.record(
            self.space.coordinates(feedback.actions[order]), np.where(feedback.failed, np.nan, feedback.rewards)[order]
        )

    def record(self, X: np.ndarray, rewards: np.ndarray) -> None:
        """Keep new evaluations, by default those whose reward is not NaN, as where they failed."""
        succeeded = ~np.isnan(rewards)
        self.X, self.y = np.concatenate([self.X, X[succeeded]]), np.append(self.y, rewards[succeeded])

    def recommend(self) -> Action:
        """The point of largest reward; the middle of the box before any."""
        if np.isnan(self.y).all():
            return self.space.middle
        best: np.ndarray = self.X[int(np.nanargmax(self.y))]
        return best
