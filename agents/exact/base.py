"""What the policies on the exact posterior share."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.leaders import Leaders
from agents.core.protocol import Action
from agents.core.rules import SequentialRule
from agents.core.ucb import UCBAgent
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.exact_arms import ExactArmPosterior

__all__ = ["ExactUCBAgent"]


class ExactUCBAgent(UCBAgent):
    """A UCB policy on the exact posterior; arguments as for `UCBAgent`.

    A sequential policy looks for its maximiser among a few leaders and at all arms only when it must.
    """

    posterior: ExactArmPosterior

    def _new_posterior(self, kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float) -> ExactArmPosterior:
        posterior = ExactArmPosterior(kernel, X, lam)
        self._leaders = Leaders(posterior) if isinstance(self.rule, SequentialRule) else None
        return posterior

    def _update(self, arms: np.ndarray, counts: np.ndarray, sums: np.ndarray) -> None:
        self.posterior.update(arms, counts, sums)
        if self._leaders is not None:
            self._leaders.pulled(arms, counts, sums)

    def _best_score(self) -> int:
        return super()._best_score() if self._leaders is None else self._leaders.best_score(self.width)

    def recommend(self) -> Action:
        return super().recommend() if self._leaders is None else self._leaders.best_mean()

    def diagnostics(self) -> dict[str, float]:
        return {**super().diagnostics(), "information_gain": self.posterior.information_gain}

    def state_dict(self) -> dict[str, Any]:
        leaders = None if self._leaders is None else self._leaders.state_dict()
        return super().state_dict() | {"leaders": leaders}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        if self._leaders is not None:
            self._leaders.load_state_dict(state["leaders"])
