"""Policies that divide the estimated lengthscales, for fear of missing what they smooth over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from agents.learned.base import LearnedAgent
from gpbandit_envs.gp.hyperparameters import Hyperparameters
from gpbandit_envs.gp.regression import GPRegression

__all__ = ["ShrinkingAgent"]


class ShrinkingAgent(LearnedAgent):
    """GP-UCB with the MAP hyperparameters, all lengthscales divided by a `g >= 1`; arguments as for `LearnedAgent`.

    Attributes:
        g: The current divisor.
    """

    def _start(self) -> None:
        self.g = 1.0
        self._map: list[Hyperparameters] = []

    @abstractmethod
    def _divisor(self) -> float:
        """The `g` for the MAP estimate just made."""

    def _estimate(self) -> None:
        if self._map:
            self.hyperparameters = self._map  # where the search for the next one begins
        super()._estimate()
        self._map = list(self.hyperparameters)
        self.g = self._divisor()
        self.hyperparameters = [self._shrunk(self.g)]

    def _shrunk(self, g: float) -> Hyperparameters:
        known = self._map[0]
        return Hyperparameters(known.variance, known.noise, tuple(each / g for each in known.lengthscales))

    def _posterior_of(self, g: float, n: int | None = None) -> GPRegression:
        """The posterior with lengthscales divided by `g`, given the first `n` data or all."""
        known = self._shrunk(g)
        return GPRegression(known.kernel(self.family), self.X[:n], self.y[:n], known.noise, self._prior_mean)

    def diagnostics(self) -> Mapping[str, float]:
        return {**super().diagnostics(), "g": self.g}

    def state_dict(self) -> dict[str, Any]:
        known = [(each.variance, each.noise, each.lengthscales) for each in self._map]
        return super().state_dict() | {"g": self.g, "map": known}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.g, self._map = float(state["g"]), [Hyperparameters(*known) for known in state["map"]]
