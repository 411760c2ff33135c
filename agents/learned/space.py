"""Where a policy plays: a box or a finite set of arms, behind one interface in coordinates that span the unit cube."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.acquisition import Predictive, Score, of_gradients, of_values
from agents.core.maximise import best_arm, maximise, search_domain
from agents.core.protocol import Action, Actions
from gpbandit_envs.problem import Problem

__all__ = ["ArmSpace", "BoxSpace", "Space", "space_of"]

_AROUND, _JITTER = 4, 0.03


class Space(ABC):
    """The actions of a problem and their coordinates."""

    problem: Problem

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.problem.dim

    @abstractmethod
    def random(self, n: int, rng: np.random.Generator) -> Actions:
        """`n` actions drawn uniformly, independent of each other."""

    @abstractmethod
    def coordinates(self, actions: Actions) -> Float[np.ndarray, "n d"]:
        """The points that a model sees."""

    @abstractmethod
    def scaled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Coordinates of rows of features, or of points, of the problem."""

    @abstractmethod
    def maximise(
        self, score: Score, posterior: Predictive, rng: np.random.Generator, near: Float[np.ndarray, "k d"]
    ) -> Actions:
        """The action of largest score, as an array of one; `near` are points around which to look first."""

    @property
    @abstractmethod
    def middle(self) -> Action:
        """What to recommend without knowing anything: the first arm, or the middle of the box."""

    @abstractmethod
    def best(self, posterior: Predictive, seen: Actions) -> Action:
        """The action of largest posterior mean: of all arms, or of the evaluated points of a box, `seen`."""


class BoxSpace(Space):
    """The unit cube; where the card's notes state the domain, integer coordinates are played at their levels.

    Args:
        problem: The card.
        search: Keywords of `maximise`.
    """

    def __init__(self, problem: Problem, search: dict[str, Any]) -> None:
        self.problem = problem
        self.domain = search_domain(problem)
        self._search = search

    def random(self, n: int, rng: np.random.Generator) -> Actions:
        return self.domain.snap(rng.random((n, self.dim)))

    def coordinates(self, actions: Actions) -> Float[np.ndarray, "n d"]:
        return actions

    def scaled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return X

    def maximise(
        self, score: Score, posterior: Predictive, rng: np.random.Generator, near: Float[np.ndarray, "k d"]
    ) -> Actions:
        spread = np.repeat(near, _AROUND, axis=0)
        extra = np.clip(spread + _JITTER * rng.standard_normal(spread.shape), 0.0, 1.0)
        acquisition, values = of_gradients(score, posterior), of_values(score, posterior)
        x, _ = maximise(acquisition, self.domain, rng, extra=extra, values=values, **self._search)
        return x[None]

    @property
    def middle(self) -> Action:
        point: np.ndarray = self.domain.snap(np.full((1, self.dim), 0.5))[0]
        return point

    def best(self, posterior: Predictive, seen: Actions) -> Action:
        if len(seen) == 0:
            return self.middle
        point: np.ndarray = seen[int(np.argmax(posterior.at(seen)[0]))]
        return point


class ArmSpace(Space):
    """A finite set of arms, each feature mapped to [0, 1] by its extremes over the arms."""

    def __init__(self, problem: Problem) -> None:
        assert problem.arms is not None
        self.problem = problem
        self._low = problem.arms.min(axis=0)
        span = problem.arms.max(axis=0) - self._low
        self._span = np.where(span > 0, span, 1.0)
        self._arms = self.scaled(problem.arms)

    def random(self, n: int, rng: np.random.Generator) -> Actions:
        return rng.integers(self.problem.n_arms, size=n)

    def coordinates(self, actions: Actions) -> Float[np.ndarray, "n d"]:
        return self._arms[actions]

    def scaled(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return (X - self._low) / self._span

    def maximise(
        self, score: Score, posterior: Predictive, rng: np.random.Generator, near: Float[np.ndarray, "k d"]
    ) -> Actions:
        return np.array([best_arm(of_values(score, posterior), self._arms)[0]])

    @property
    def middle(self) -> Action:
        return 0

    def best(self, posterior: Predictive, seen: Actions) -> Action:
        return best_arm(lambda X: posterior.at(X)[0], self._arms)[0]


def space_of(problem: Problem, search: dict[str, Any]) -> Space:
    """The space of the problem; `search` are keywords of `maximise`, for a box."""
    return ArmSpace(problem) if problem.is_finite else BoxSpace(problem, search)
