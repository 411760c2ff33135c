"""Repetitions that are played together, evaluation by evaluation, and the trace of each."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter

import numpy as np

from agents.vector.protocol import VectorAgent, VectorFeedback
from gpbandit_envs.envs.vector import FiniteArmVectorEnv
from gpbandit_envs.problem import Problem
from leaderboards.play.faults import EnvError
from leaderboards.play.trace import Trace

__all__ = ["Columns"]


class Columns:
    """What happens, evaluation by evaluation: arrays of shape `(T, R)`, the columns of `R` traces.

    Args:
        R: Number of repetitions.
        horizon: Number of evaluations `T`.
    """

    def __init__(self, R: int, horizon: int) -> None:
        shape = (horizon, R)
        self.actions, self.batches = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.rewards, self.costs, self.policy_seconds = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.means, self.regrets = np.full(shape, np.nan), np.full(shape, np.nan)
        self.stated = np.zeros(shape, bool)
        self.states: dict[str, np.ndarray] = {"inference_regret": np.full(shape, np.nan)}
        self._every = np.arange(R)

    def play(self, envs: FiniteArmVectorEnv, agent: VectorAgent, regret: np.ndarray) -> None:
        """Let the agent play to the horizon; `regret` `(R, A)` is that of every arm.

        Raises:
            EnvError: if a cost is negative, infinite or missing.
        """
        T, R = self.actions.shape
        first, batch = np.zeros(R, np.int64), np.ones(R, np.int64)
        for t in range(T):
            begun = perf_counter()
            choice = agent.select(T - t)
            seconds = perf_counter() - begun
            self.actions[t], self.batches[t] = choice.arms, batch
            _, self.rewards[t], _, _, info = envs.step(choice.arms)
            self.costs[t] = info["cost"]
            if "oracle" in info:
                self.means[t], self.regrets[t] = info["oracle"]["mean"], info["oracle"]["regret"]
            told = choice.closes if t + 1 < T else np.ones(R, bool)
            feedback = self._feedback(t, first, told)
            begun = perf_counter()
            agent.observe(feedback)
            self.policy_seconds[t] = (seconds + perf_counter() - begun) / R
            first[told] = t + 1
            batch += told
            self._state(t, told, regret[self._every, agent.recommend()], agent.diagnostics())
        if not ((self.costs >= 0) & (self.costs < np.inf)).all():
            raise EnvError("step: expected finite info['cost'] >= 0, got a negative, infinite or missing one")

    def _feedback(self, t: int, first: np.ndarray, told: np.ndarray) -> VectorFeedback:
        """All that is open in the repetitions `told`, which have been open since evaluation `first`."""
        who = np.flatnonzero(told)
        lengths = t + 1 - first[who]
        repetitions = np.repeat(who, lengths)
        # Numbers count up to t within each repetition.
        tickets = np.arange(len(repetitions)) + np.repeat(t + 1 - np.cumsum(lengths), lengths)
        at = tickets, repetitions
        return VectorFeedback(repetitions, tickets, self.actions[at], self.rewards[at], self.costs[at])

    def _state(self, t: int, told: np.ndarray, regret: np.ndarray, diagnostics: Mapping[str, np.ndarray]) -> None:
        self.stated[t] = told
        for name, values in {"inference_regret": regret, **diagnostics}.items():
            if name not in self.states:
                self.states[name] = np.full(self.stated.shape, np.nan)
            np.copyto(self.states[name][t], values, where=told)

    def trace(self, i: int, problem: Problem) -> Trace:
        """The trace of repetition `i`."""
        trace = Trace(len(self.actions), problem)
        for name in ("actions", "rewards", "costs", "means", "regrets", "batches", "policy_seconds", "stated"):
            setattr(trace, name, getattr(self, name)[:, i].copy())
        trace.states = {name: column[:, i].copy() for name, column in self.states.items()}
        return trace
