"""Uniform exploration: on arms, and on arms and boxes alike."""

from __future__ import annotations

import numpy as np

from agents.core.finite import FiniteArmAgent
from agents.core.protocol import Action, Actions, Agent, Capabilities, Feedback, Pending
from agents.core.space import space_of
from gpbandit_envs.problem import Problem


class Uniform(FiniteArmAgent):
    """Every pull is an arm drawn uniformly from those that are offered; the denominator of the regret ratio."""

    policy_family = "pure exploration"
    side_by_side = True
    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True, contexts=True)

    def select(self, n: int, pending: Pending) -> Actions:
        return self.uniform(n)


class RandomSearch(Agent):
    """Every evaluation is an action drawn uniformly; recommends the one of largest average feedback.

    Reference: Bergstra and Bengio (2012), Random search for hyper-parameter optimization; the baseline "Random" of Ha
    et al. (2023), section 7.
    """

    policy_family = "pure exploration"
    capabilities = Capabilities(frozenset({"finite", "box"}), batch="fixed", delayed=True)
    not_saved = Agent.not_saved | {"space"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.rng = problem, rng
        self.space = space_of(problem)
        self.actions, self.y = Pending.empty(problem).actions, np.zeros(0)
        if problem.initial is not None:
            self.actions, self.y = problem.initial.actions, problem.initial.rewards

    def select(self, n: int, pending: Pending) -> Actions:
        return self.space.random(n, self.rng)

    def observe(self, feedback: Feedback) -> None:
        # By ticket, so that the order within a delivery does not matter.
        order = np.argsort(feedback.tickets)
        order = order[~feedback.failed[order]]
        self.actions = np.concatenate([self.actions, feedback.actions[order]])
        self.y = np.concatenate([self.y, feedback.rewards[order]])

    def recommend(self) -> Action:
        """The evaluated action of largest average feedback; before any, arm 0 or the middle of the box."""
        if len(self.y) == 0:
            return self.space.middle
        distinct, group = np.unique(self.actions, axis=0, return_inverse=True)
        best = int(np.argmax(np.bincount(group.reshape(-1), self.y) / np.bincount(group.reshape(-1))))
        return int(distinct[best]) if self.problem.is_finite else distinct[best]
