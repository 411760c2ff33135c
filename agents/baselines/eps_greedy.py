"""Epsilon-greedy exploration without a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from agents.core.finite import FiniteArmAgent
from agents.core.protocol import Actions, Capabilities, Pending
from gpbandit_envs.arguments import as_number, positive_number


@dataclass(kw_only=True, eq=False, repr=False)
class EpsGreedy(FiniteArmAgent):
    """With probability `eps_t` a uniform arm, else the arm of largest empirical mean, both among those offered.

    `eps_t = min(1, c / t)` unless a constant `epsilon` is given. The BBKB paper does not state its schedule
    of epsilon-greedy; these are the two common ones.

    Args:
        epsilon: Constant exploration probability in [0, 1]; None for the decaying schedule.
        c: Scale of the decaying schedule, > 0: the first `c` pulls are uniform.

    Raises:
        ValueError: if a number is out of range.

    Reference: Auer, Cesa-Bianchi and Fischer (2002), Finite-time analysis of the multiarmed bandit problem, section 3.
    """

    policy_family = "heuristic"
    side_by_side = True
    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True, contexts=True)

    epsilon: float | None = None
    c: float = 100.0

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            self.epsilon = as_number("epsilon", self.epsilon, "a probability or None", lambda p: 0 <= p <= 1)
        self.c = positive_number("c", self.c)

    def exploration(self, t: int) -> float:
        """Probability `eps_t` with which the t-th pull is uniform."""
        return self.epsilon if self.epsilon is not None else min(1.0, self.c / t)

    def select(self, n: int, pending: Pending) -> Actions:
        greedy = self.recommend()
        first = self.n_pulls + len(pending) + 1
        explore = self.rng.random(n) < [self.exploration(t) for t in range(first, first + n)]
        return np.where(explore, self.uniform(n), greedy)

    def diagnostics(self) -> Mapping[str, float]:
        return {"epsilon": self.exploration(self.n_pulls + 1)}
