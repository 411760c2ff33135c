"""Regularised evolution."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from agents.core.finite import FiniteArmAgent
from agents.core.protocol import Actions, Capabilities, Feedback, Pending
from gpbandit_envs.arguments import as_count


@dataclass(kw_only=True, eq=False, repr=False)
class RegularisedEvolution(FiniteArmAgent):
    """Mutate the winner of a tournament; the oldest member of the population dies.

    The first `population` pulls are uniform; where the problem has existing data, the last `population` of them are the
    first members. A mutation moves to a uniform neighbour of the winner: the environment's
    neighbourhood where it has one (one edge or one operation changed, for architectures), else one of the nearest arms
    in feature space.

    Args:
        population: Members P >= 1.
        tournament: Members S drawn for a tournament, without replacement, 1 <= S <= P.
        neighbours: How many nearest arms are neighbours, where the environment states none.

    Reference: Real, Aggarwal, Huang and Le (2019), Regularized evolution for image classifier architecture search,
    Algorithm 1.
    """

    policy_family = "heuristic"
    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)
    not_saved = FiniteArmAgent.not_saved | {"_tree"}

    population: int = 100
    tournament: int = 10
    neighbours: int = 8

    def __post_init__(self) -> None:
        self.population = as_count("population", self.population)
        self.tournament = as_count("tournament", self.tournament)
        if self.tournament > self.population:
            raise ValueError(f"tournament: expected 1 to population = {self.population}, got {self.tournament!r}")
        self.neighbours = as_count("neighbours", self.neighbours)

    def start_episode(self) -> None:
        super().start_episode()
        self._members: deque[tuple[int, float]] = deque(maxlen=self.population)
        if (data := self.problem.initial) is not None:
            self._members.extend(zip(data.actions.tolist(), data.rewards.tolist(), strict=True))
        self._tree = KDTree(self.problem.arms) if self.problem.neighbours is None else None

    def select(self, n: int, pending: Pending) -> Actions:
        arms = np.empty(n, np.int64)
        for i in range(n):
            if len(self._members) + len(pending) + i < self.population or not self._members:
                arms[i] = self.rng.integers(self.problem.n_arms)
            else:
                arms[i] = self._mutate(self._winner())
        return arms

    def _winner(self) -> int:
        size = min(self.tournament, len(self._members))
        drawn = self.rng.choice(len(self._members), size=size, replace=False)
        return max((self._members[i] for i in sorted(drawn.tolist())), key=lambda member: member[1])[0]

    def _mutate(self, arm: int) -> int:
        if self.problem.n_arms == 1:
            return arm
        if self.problem.neighbours is not None:
            near = self.problem.neighbours[arm]
            near = near[near >= 0]
        else:
            assert self._tree is not None
            assert self.problem.arms is not None
            k = min(self.neighbours + 1, self.problem.n_arms)
            near = np.atleast_1d(self._tree.query(self.problem.arms[arm], k=k)[1])
            near = near[near != arm]
        if len(near) == 0:
            return int(self.rng.integers(self.problem.n_arms))
        return int(near[self.rng.integers(len(near))])

    def observe(self, feedback: Feedback) -> None:
        super().observe(feedback)
        # By ticket, so that the order within a delivery does not matter.
        for i in np.argsort(feedback.tickets, kind="stable").tolist():
            if not feedback.failed[i]:
                self._members.append((int(feedback.actions[i]), float(feedback.rewards[i])))

    def diagnostics(self) -> Mapping[str, float]:
        return {"population": float(len(self._members))}
