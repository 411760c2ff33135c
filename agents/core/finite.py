"""Base class of finite-arm agents: checks the problem, counts pulls."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from jaxtyping import Float, Int

from agents.core.protocol import Action, Actions, Agent, Feedback, Pending
from gpbandit_envs.problem import Problem

__all__ = ["FiniteArmAgent", "group_bounds", "group_pulls", "some_or_all"]


def group_pulls(
    arms: Int[np.ndarray, " n"], rewards: Float[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " p"], Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Distinct arms by index, how often each was pulled, and the sum of its rewards.

    The sums are taken over sorted rewards, so that they do not depend on the order within a delivery.
    """
    if len(arms) == 1:
        return arms, np.ones(1), rewards
    order = np.lexsort((rewards, arms))
    sorted_arms = arms[order]
    bounds = group_bounds(sorted_arms)
    starts = bounds[:-1]
    return sorted_arms[starts], (bounds[1:] - starts).astype(np.float64), np.add.reduceat(rewards[order], starts)


def group_bounds(values: Int[np.ndarray, " n"]) -> Int[np.ndarray, " b"]:
    """Where runs of equal entries begin in a sorted array of at least one entry, and its length: one more than runs."""
    return np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1, [len(values)]])


def some_or_all(arms: Int[np.ndarray, " k"], problem: Problem) -> Int[np.ndarray, " k"] | None:
    """The arms of an offer; None if they are all, so that a policy then plays as without one."""
    return None if len(arms) == problem.n_arms else arms


class FiniteArmAgent(Agent):
    """Base of the agents that play on indices; keeps the count and the reward sum of every arm.

    Attributes:
        problem: The problem of the current episode.
        rng: The episode's generator.
        n_pulls: Evaluations whose feedback has arrived and did not fail, existing data among them.
        counts: Pulls per arm, shape (A,).
        sums: Sum of rewards per arm, shape (A,), unit of the reward.
        offered: The arms among which it selects and recommends, in increasing order; None for all.
    """

    problem: Problem
    rng: np.random.Generator

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        if not problem.is_finite:
            raise ValueError(f"problem: {type(self).__name__} needs a finite set of arms, {problem.name} is a box")
        self.problem = problem
        self.rng = rng
        self.n_pulls = 0
        self.counts = np.zeros(problem.n_arms)
        self.sums = np.zeros(problem.n_arms)
        self.offered: Int[np.ndarray, " k"] | None = None
        self.start_episode()

    def start_episode(self) -> None:
        """Prepare an episode on `self.problem`; by default existing data count as pulls, and nothing else is done."""
        if self.problem.initial is not None:
            self._count(*group_pulls(self.problem.initial.actions, self.problem.initial.rewards))

    @abstractmethod
    def select(self, n: int, pending: Pending) -> Actions: ...

    def offer(self, arms: Int[np.ndarray, " k"]) -> None:
        if not self.capabilities.contexts:
            super().offer(arms)
        self.offered = some_or_all(arms, self.problem)

    def uniform(self, n: int) -> Int[np.ndarray, " n"]:
        """`n` arms drawn uniformly from those that are offered."""
        if self.offered is None:
            return self.rng.integers(self.problem.n_arms, size=n)
        return self.offered[self.rng.integers(len(self.offered), size=n)]

    def observe(self, feedback: Feedback) -> None:
        arms, rewards = feedback.succeeded()
        if len(arms) == 0:
            return
        distinct, counts, sums = group_pulls(arms, rewards)
        self._count(distinct, counts, sums)
        self.learn(distinct, counts, sums)

    def _count(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.counts[arms] += counts
        self.sums[arms] += sums
        self.n_pulls += int(counts.sum())

    def learn(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        """Update beliefs with `counts` new pulls of the distinct `arms` whose rewards add up to `sums`."""

    def recommend(self) -> Action:
        """The arm of largest empirical mean, among those that are offered; the first of them before any feedback."""
        if self.n_pulls == 0:
            return 0 if self.offered is None else int(self.offered[0])
        every = slice(None) if self.offered is None else self.offered
        counts, sums = self.counts[every], self.sums[every]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(counts > 0, sums / counts, -np.inf)
        best = int(np.argmax(means))
        return best if self.offered is None else int(self.offered[best])
