"""A portfolio of random search and GP-UCB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.learned.base import LearnedAgent
from agents.learned.exp3 import Exp3, exploration_rate

__all__ = ["Portfolio"]

_RANDOM = 0


class Portfolio(LearnedAgent):
    """EXP3 chooses for every evaluation whether its point is random or GP-UCB's, with MAP hyperparameters.

    As in Hoffman et al. the reward of a choice is the posterior mean at its point, with its feedback taken in; here it
    is scaled by `D_0`. They use full-information Hedge over several acquisition functions; EXP3 over these two is the
    form that the UHE-BO paper compares with. Arguments: see `LearnedAgent`.

    Reference: Hoffman, Brochu and de Freitas (2011), Portfolio allocation for Bayesian optimization, Algorithm 2; Ha et
    al. (2023), appendix C.
    """

    policy_family = "heuristic"

    def _start(self) -> None:
        self._exp3 = Exp3(2)
        self._t = 0  # evaluations after D_0
        self._failed = False

    def _arrived(self, reward: float) -> None:
        self._t += 1
        self._failed = bool(np.isnan(reward))

    def _plan(self) -> None:
        self._estimate()
        self._condition()
        if self._t > 0:
            mean = np.nan if self._failed else float(self.posterior.at(self.X[-1:])[0][0])
            self._exp3.update(exploration_rate(self._t), self._reward(mean))
        self._explores = self._exp3.draw(exploration_rate(self._t + 1), self.rng) == _RANDOM

    def diagnostics(self) -> Mapping[str, float]:
        p = self._exp3.probabilities(exploration_rate(self._t + 1))[_RANDOM]
        return {**super().diagnostics(), "random_probability": float(p)}

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"exp3": self._exp3.state(), "t": self._t}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._exp3.restore(state["exp3"])
        self._t = int(state["t"])
