"""Base class of the adapters: keeps the history of an episode, from which the other library suggests each point anew.

A suggestion is a function of the history and of a seed drawn for it. No state of the other library outlives a
suggestion, so that the state of a policy is plain data.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from jaxtyping import Float

from agents.core.maximise import search_domain
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from gpbandit_envs.problem import Problem

__all__ = ["HistoryAgent"]


class HistoryAgent(Agent):
    """Plays on boxes, one point at a time; each suggestion depends on the history alone.

    Where the problem's notes state the domain, the other library gets its integers and logarithmic scales.

    Attributes:
        X: Points evaluated, failed or not, existing data among them, shape (n, d).
        y: Their feedback, shape (n,); NaN where the evaluation failed.
    """

    capabilities = Capabilities(frozenset({"box"}), batch="sequential")

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if problem.is_finite:
            raise ValueError(f"problem: {type(self).__name__} needs a box, {problem.name} has {problem.n_arms} arms")
        self.problem, self.rng = problem, rng
        self.domain = search_domain(problem)
        self.X, self.y = np.zeros((0, problem.dim)), np.zeros(0)
        if problem.initial is not None:
            self.X, self.y = problem.initial.actions, problem.initial.rewards

    @abstractmethod
    def _suggest(self, seed: int) -> Float[np.ndarray, " d"]:
        """The next point of the unit cube; all randomness comes from the seed."""

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return np.zeros((0, self.problem.dim))
        x = self._suggest(int(self.rng.integers(2**31)))
        return self.domain.snap(np.clip(x[None], 0.0, 1.0))

    def observe(self, feedback: Feedback) -> None:
        order = np.argsort(feedback.tickets)
        self.X = np.concatenate([self.X, feedback.actions[order]])
        self.y = np.concatenate([self.y, np.where(feedback.failed, np.nan, feedback.rewards)[order]])

    def recommend(self) -> Action:
        """The point of largest reward; the middle of the box before any."""
        if np.isnan(self.y).all():
            middle: np.ndarray = self.domain.snap(np.full((1, self.problem.dim), 0.5))[0]
            return middle
        best: np.ndarray = self.X[int(np.nanargmax(self.y))]
        return best
