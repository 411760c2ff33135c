"""What policies on finite arms share: the arms on offer, counts of pulls, and a base class that keeps both."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from agents.core.protocol import Action, Actions, Agent, Feedback, Pending
from gpbandit_envs.problem import Problem


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


@dataclass(frozen=True)
class Offer:
    """The arms among which a policy selects and recommends: some of them, or all.

    Attributes:
        n_arms: Number `A` of all arms; 0 on a box, which has none.
        some: Those that are offered, in increasing order, shape (k,); None for all.
    """

    n_arms: int
    some: Int[np.ndarray, " k"] | None = None

    @classmethod
    def all(cls, problem: Problem) -> Offer:
        """All arms of `problem`."""
        return cls(0 if problem.arms is None else len(problem.arms))

    @classmethod
    def among(cls, arms: Int[np.ndarray, " k"], problem: Problem) -> Offer:
        """These arms of `problem`, in increasing order; if they are all, a policy plays as without an offer."""
        return cls(problem.n_arms, None if len(arms) == problem.n_arms else arms)

    def __len__(self) -> int:
        """How many arms are offered."""
        return self.n_arms if self.some is None else len(self.some)

    def __contains__(self, arm: object) -> bool:
        return self.some is None or arm in self.some

    @property
    def arms(self) -> Int[np.ndarray, " k"]:
        """The arms that are offered."""
        return np.arange(self.n_arms) if self.some is None else self.some

    def without(self, arms: Int[np.ndarray, " n"]) -> Offer:
        """The offer without these arms; the same if none would be left, or on a box."""
        left = np.setdiff1d(self.arms, arms) if self.n_arms else self.arms
        return Offer(self.n_arms, left) if len(left) else self

    def of(self, values: Float[np.ndarray, "A *d"]) -> Float[np.ndarray, "k *d"]:
        """The entries of the arms that are offered; not to be written to."""
        return values if self.some is None else values[self.some]

    def best(self, values: Float[np.ndarray, " k"]) -> int:
        """The arm of largest value, given those of the arms that are offered; ties go to the lowest index."""
        best = int(np.argmax(values))
        return best if self.some is None else int(self.some[best])

    def draw(self, n: int, rng: np.random.Generator) -> Int[np.ndarray, "n *runs"]:
        """`n` of the arms that are offered, drawn uniformly, with replacement."""
        drawn = rng.integers(len(self), size=n)
        return drawn if self.some is None else self.some[drawn]


class FiniteArmAgent(Agent):
    """Base of the agents that play on indices; keeps the count and the reward sum of every arm.

    Attributes:
        problem: The problem of the current episode.
        rng: The episode's generator.
        n_pulls: Evaluations whose feedback has arrived and did not fail, existing data among them.
        counts: Pulls per arm, shape (A,).
        sums: Sum of rewards per arm, shape (A,), unit of the reward.
        offered: The arms among which it selects and recommends.
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
        self.offered = Offer.all(problem)
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
        self.offered = Offer.among(arms, self.problem)

    def uniform(self, n: int) -> Int[np.ndarray, "n *runs"]:
        """`n` arms drawn uniformly from those that are offered."""
        return self.offered.draw(n, self.rng)

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
        return self.offered.best(self.offered.of(self.empirical_means()))

    def empirical_means(self) -> Float[np.ndarray, "*runs A"]:
        """The average reward of each arm, -inf where there is none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.counts > 0, self.sums / self.counts, -np.inf)
