"""Vectorised policies that know where rounding could decide, and what is done about it.

Two ways to compute the same number differ by rounding, and an argmax turns a difference into another arm. A
vectorised policy therefore says of which repetitions it is not sure, and `Faithful` lets single policies go on with
those. So every repetition plays as the single policy would, and only what is sure is played fast.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int

from agents.core.protocol import Agent
from agents.vector.lockstep import Player, single
from agents.vector.protocol import VectorAgent, VectorChoice, VectorFeedback
from gpbandit_envs.problem import Problem

__all__ = ["DoubtfulAgent", "Faithful", "runner_up_gap"]


class DoubtfulAgent(VectorAgent):
    """A vectorised policy that says where rounding could decide.

    Attributes:
        doubtful: Repetitions in which rounding could decide the last choice, the end of its batch, or the last
            recommendation; shape (N,).
    """

    doubtful: Bool[np.ndarray, " N"]

    @abstractmethod
    def release(self, repetition: int) -> None:
        """Others play this repetition from now on: it gets no feedback, and its choices count no more."""


def runner_up_gap(values: Float[np.ndarray, "N A"], best: Int[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """How far the largest value of each row, at `best`, is above all others; infinite for a single column."""
    each = np.arange(len(best))
    top = values[each, best]
    values[each, best] = -np.inf
    gap: np.ndarray = top - values.max(axis=1)
    values[each, best] = top
    return gap


class Faithful(VectorAgent):
    """A doubtful policy whose doubtful repetitions are handed to single policies, for good.

    The single policy is led through all that has happened in its repetition, by the calls it would have had, and must
    have chosen the same; then it goes on in place of the vectorised one. Where the card has existing data, single
    policies play from the start.

    Args:
        fast: The vectorised policy.
        make: Builds the single policy.

    Attributes:
        handed: Repetitions that single policies play, shape (N,).
    """

    def __init__(self, fast: DoubtfulAgent, make: Callable[[], Agent]) -> None:
        self._fast = fast
        self.rounded = fast.rounded
        self._make = make

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        self._problem = problem
        self._rngs = [copy.deepcopy(rng) for rng in rngs]
        self._fast.reset(replace(problem, initial=None), rngs)
        self.handed = np.zeros(len(rngs), bool)
        self._players: dict[int, Player] = {}
        self._lefts: list[int] = []
        self._chosen: list[VectorChoice] = []
        self._told: list[VectorFeedback] = []
        if problem.initial is not None:  # a vectorised policy begins with nothing
            self._hand_over(np.ones(len(rngs), bool))

    def select(self, left: int) -> VectorChoice:
        arms, closes = np.zeros(len(self.handed), np.int64), np.zeros(len(self.handed), bool)
        if not self.handed.all():
            choice = self._fast.select(left)
            self._hand_over(self._fast.doubtful)
            arms[:], closes[:] = choice.arms, choice.closes
        for i, player in self._players.items():
            arms[i], closes[i] = player.select(left)
        self._lefts.append(left)
        self._chosen.append(VectorChoice(arms, closes))
        return self._chosen[-1]

    def observe(self, feedback: VectorFeedback) -> None:
        self._told.append(feedback)
        if self._players:
            for group in feedback.groups():
                player = self._players.get(int(feedback.repetitions[group.start]))
                if player is not None:
                    player.observe(single(feedback, group))
            feedback = feedback.of(~self.handed)
        if not self.handed.all():
            self._fast.observe(feedback)
            self._hand_over(self._fast.doubtful)

    def _hand_over(self, which: Bool[np.ndarray, " N"]) -> None:
        for i in np.flatnonzero(which & ~self.handed).tolist():
            self._fast.release(i)
            self.handed[i] = True
            self._players[i] = self._led_there(i)

    def _led_there(self, i: int) -> Player:
        """The single policy of repetition `i`, after all that has happened.

        Raises:
            RuntimeError: if it would have played otherwise.
        """
        player = Player(self._make(), self._problem, self._rngs[i])
        mine = np.zeros(len(self.handed), bool)
        mine[i] = True
        for t, (left, choice) in enumerate(zip(self._lefts, self._chosen)):
            arm, closes = player.select(left)
            if arm != choice.arms[i] or closes != choice.closes[i]:
                raise RuntimeError(
                    f"repetition {i}: evaluation {t + 1} was of arm {choice.arms[i]}, and the single policy chooses "
                    f"{arm}: rounding went further than {type(self._fast).__name__} allows for"
                )
            if t < len(self._told):
                told = self._told[t].of(mine)
                if len(told):
                    player.observe(single(told, slice(None)))
        return player

    def recommend(self) -> np.ndarray:
        recommended = self._fast.recommend()
        for i, player in self._players.items():
            recommended[i] = player.recommended
        return recommended

    def diagnostics(self) -> dict[str, np.ndarray]:
        numbers = {name: np.array(values) for name, values in self._fast.diagnostics().items()}
        for i, player in self._players.items():
            for name, value in player.diagnostics.items():
                numbers[name][i] = value
        return numbers
