"""Base class of policies that are optimisers with `ask` and `tell`, from whatever library."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.adapters.base import HistoryAgent


class AskTell(HistoryAgent):
    """Plays what an optimiser asks for, and tells it what came of that; small losses are good to it.

    A subclass says how to `start` an optimiser, and how it asks and is told, in coordinates of the unit cube. The
    optimiser itself is no part of the policy's state: a restored policy starts one with the same seed, and asks and
    tells it all over again. A copy of the policy does so too, as `agents.Experiment` makes one at each question.

    A failed evaluation is told as the largest loss so far, since most optimisers wait to be told what they asked for.
    """

    not_saved = HistoryAgent.not_saved | {"_live"}

    @abstractmethod
    def start(self, seed: int) -> Any:
        """An optimiser over the unit cube of `self.problem.dim` coordinates; all its randomness comes from the seed."""

    @abstractmethod
    def ask(self, optimizer: Any) -> Any:
        """The next candidate of an optimiser, in its own form."""

    @abstractmethod
    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        """Tell an optimiser what came of a candidate."""

    def point(self, candidate: Any) -> Any:
        """The coordinates of a candidate, shape (d,); by default the candidate is that already."""
        return candidate

    def candidate(self, optimizer: Any, x: Float[np.ndarray, " d"]) -> Any:
        """A candidate of the optimiser at a point that it did not ask for; by default a list of its coordinates."""
        del optimizer
        return x.tolist()

    def start_episode(self) -> None:
        self._seed, self._n_before = int(self.rng.integers(2**31)), len(self.y)
        self._live: _Live | None = None

    def suggest(self, seed: int) -> Float[np.ndarray, " d"]:
        del seed  # that of the episode is the optimiser's
        if self._live is None or self._live.n_told > len(self.y):
            self._live = _Live(self.start(self._seed))
        live = self._live
        while live.n_told < len(self.y):
            self._tell_next(live)
        if live.asked is None:
            live.asked = self.ask(live.optimizer)
        return np.asarray(self.point(live.asked), np.float64)

    def _tell_next(self, live: _Live) -> None:
        i = live.n_told
        x, losses = self.X[i], -self.y[: i + 1]
        candidate = None
        if i >= self._n_before:
            # It is asked when it is played anew as well, since asking moves its random numbers on.
            asked = self.ask(live.optimizer) if live.asked is None else live.asked
            played = self.domain.snap(np.clip(np.asarray(self.point(asked), np.float64), 0.0, 1.0)[None])[0]
            candidate = asked if np.array_equal(played, x) else None
        if candidate is None:
            candidate = self.candidate(live.optimizer, x)
        known = losses[~np.isnan(losses)]
        loss = losses[-1] if not np.isnan(losses[-1]) else known.max() if len(known) else 0.0
        self.tell(live.optimizer, candidate, float(loss))
        live.asked, live.n_told = None, i + 1

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_live": None}


class _Live:
    """An optimiser with what it has been told."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer, self.n_told = optimizer, 0
        self.asked: Any = None
