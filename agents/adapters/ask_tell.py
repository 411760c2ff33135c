"""Base class of policies that are optimisers with `ask` and `tell`, from whatever library."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from agents.adapters.base import HistoryAgent
from agents.core.protocol import Action, Actions, Capabilities, Pending


class AskTell(HistoryAgent):
    """Plays what an optimiser asks for, and tells it what came of that; small losses are good to it.

    A subclass says how to `start` an optimiser, and how it asks and is told, in coordinates of the unit cube. The
    optimiser itself is no part of the policy's state: a restored policy starts one with the same seed, and asks and
    tells it all over again. A copy of the policy does so too, as `agents.Experiment` makes one at each question.

    A failed evaluation is told as the largest loss so far, since most optimisers wait to be told what they asked for.
    A batch is asked for one by one, or by `ask_many`, before any of it is told. On arms, whose features are scaled to
    the unit cube, the nearest arm is played that is neither open nor evaluated, and the optimiser is told of that one.
    """

    capabilities = Capabilities(frozenset({"finite", "box"}), batch="fixed", delayed=True)
    not_saved = HistoryAgent.not_saved | {"_live"}

    @abstractmethod
    def start(self, seed: int) -> Any:
        """An optimiser over the unit cube of `self.problem.dim` coordinates; all its randomness comes from the seed."""

    def ask(self, optimizer: Any) -> Any:
        """The next candidate of an optimiser, in its own form; by default the first of `ask_many`."""
        if type(self).ask_many is AskTell.ask_many:
            raise NotImplementedError(f"{type(self).__name__}: expected a method `ask` or `ask_many`, got neither")
        return next(iter(self.ask_many(optimizer, 1)))

    @abstractmethod
    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        """Tell an optimiser what came of a candidate."""

    def ask_many(self, optimizer: Any, n: int) -> Iterable[Any]:
        """The next n candidates; by default asked for one by one. A subclass has this, or `ask`."""
        return [self.ask(optimizer) for _ in range(n)]

    def drop(self, optimizer: Any, candidate: Any) -> None:
        """Called for a candidate that was asked for and is not told, as something else was played in its place."""

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
        self._questions: tuple[tuple[int, int], ...] = ()  # how many were told, and how many then open

    def suggest(self, seed: int) -> Float[np.ndarray, " d"]:
        del seed  # that of the episode is the optimiser's
        return self._open_after(1)[0]

    def select(self, n: int, pending: Pending) -> Actions:
        points = self._open_after(len(pending) + n)[len(pending) :]
        return self._arms_at(points) if self.problem.is_finite else points

    def recommend(self) -> Action:
        if not self.problem.is_finite:
            return super().recommend()
        if np.isnan(self.y).all():
            return 0
        return int(self._arms_at(self.X[[int(np.nanargmax(self.y))]])[0])

    def _open_after(self, n: int) -> Float[np.ndarray, "n d"]:
        """The n oldest points that were asked for and not told, once as many have been."""
        if self._live is None or self._live.n_told > len(self.y):
            self._live = _Live(self.start(self._seed))
            for n_told, n_open in self._questions:
                self._advance(self._live, n_told, n_open)
        live = self._live
        self._advance(live, len(self.y), 0)
        if len(live.open) < n:
            self._questions = (*self._questions, (live.n_told, n))
            self._advance(live, live.n_told, n)
        return np.array([x for _, x in live.open[:n]]).reshape(-1, self.problem.dim)

    def _advance(self, live: _Live, n_told: int, n_open: int) -> None:
        while live.n_told < n_told:
            self._tell_next(live)
        for candidate in self.ask_many(live.optimizer, max(n_open - len(live.open), 0)):
            x = np.clip(np.asarray(self.point(candidate), np.float64), 0.0, 1.0)
            live.open.append((candidate, self._played(x, live)))

    def _played(self, x: Float[np.ndarray, " d"], live: _Live) -> Float[np.ndarray, " d"]:
        """What is played where the optimiser asks for a point."""
        if not self.problem.is_finite:
            return np.asarray(self.domain.snap(x[None])[0])
        arms = self._all_arms
        far = np.square(arms - x).sum(axis=1)
        taken = self._arms_at(np.array([*self.X[: live.n_told], *(x for _, x in live.open)]).reshape(-1, len(x)))
        if len(np.unique(taken)) < len(arms):
            far[taken] = np.inf
        return np.asarray(arms[int(np.argmin(far))])

    @property
    def _all_arms(self) -> Float[np.ndarray, "A d"]:
        arms: np.ndarray = self.space.coordinates(np.arange(self.problem.n_arms))
        return arms

    def _arms_at(self, X: Float[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
        """The arms at coordinates that are those of arms; of arms that are alike the first."""
        arms = self._all_arms
        return np.array([int(np.argmin(np.abs(arms - x).sum(axis=1))) for x in X], np.int64)

    def _tell_next(self, live: _Live) -> None:
        i = live.n_told
        x, losses = self.X[i], -self.y[: i + 1]
        candidate = None
        if i >= self._n_before:
            # It is asked when it is played anew as well, since asking moves its random numbers on.
            self._advance(live, i, 1)
            # A point that it did not ask for takes the place of the oldest that it did.
            same = [j for j, (_, played) in enumerate(live.open) if np.array_equal(played, x)]
            asked, _ = live.open.pop(same[0] if same else 0)
            point = np.clip(np.asarray(self.point(asked), np.float64), 0.0, 1.0)
            # On arms it is told what was played, which may be far from what it asked for.
            candidate = asked if same and (not self.problem.is_finite or np.array_equal(point, x)) else None
            if candidate is None:
                self.drop(live.optimizer, asked)
        if candidate is None:
            candidate = self.candidate(live.optimizer, x)
        known = losses[~np.isnan(losses)]
        loss = losses[-1] if not np.isnan(losses[-1]) else known.max() if len(known) else 0.0
        self.tell(live.optimizer, candidate, float(loss))
        live.n_told = i + 1

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_live": None}


class _Live:
    """An optimiser with what it has been told, and what it asked for since, oldest first: candidates and points."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer, self.n_told = optimizer, 0
        self.open: list[tuple[Any, np.ndarray]] = []
