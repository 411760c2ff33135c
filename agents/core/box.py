"""Base class of policies on boxes: checks the problem, keeps the points and their rewards."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.space import BoxSpace, Search
from gpbandit_envs.problem import Problem

__all__ = ["BoxAgent"]


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
        if problem.is_finite:
            raise ValueError(f"problem: {type(self).__name__} needs a box, {problem.name} has {problem.n_arms} arms")
        self.problem, self.rng = problem, rng
        self.space = BoxSpace(problem, Search())
        self.X, self.y = np.zeros((0, problem.dim)), np.zeros(0)
        if problem.initial is not None:
            self.X, self.y = problem.initial.actions, problem.initial.rewards
        self.start_episode()

    def start_episode(self) -> None:
        """Prepare an episode on `self.problem`; by default nothing is done."""

    @abstractmethod
    def select(self, n: int, pending: Pending) -> Actions: ...

    def observe(self, feedback: Feedback) -> None:
        # In the order of the tickets, so that the order within a delivery does not matter.
        order = np.argsort(feedback.tickets)
        self.record(feedback.actions[order], np.where(feedback.failed, np.nan, feedback.rewards)[order])

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
