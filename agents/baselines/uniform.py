"""Uniform exploration."""

from __future__ import annotations

from agents.core.finite import FiniteArmAgent
from agents.core.protocol import Actions, Capabilities, Pending

__all__ = ["Uniform"]


class Uniform(FiniteArmAgent):
    """Every pull is an arm drawn uniformly; the denominator of the regret ratio."""

    policy_family = "pure exploration"
    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)

    def select(self, n: int, pending: Pending) -> Actions:
        return self.rng.integers(self.problem.n_arms, size=n)
