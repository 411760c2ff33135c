"""The policies without a model, over repetitions; bit for bit those of `agents.baselines`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.baselines.eps_greedy import EpsGreedy
from agents.core.finite import group_pulls
from agents.vector.protocol import VectorAgent, VectorChoice, VectorFeedback
from gpbandit_envs.problem import Problem

__all__ = ["VectorEmpirical", "VectorEpsGreedy", "VectorUniform"]

_BLOCK = 256  # draws ahead for each repetition


class VectorEmpirical(VectorAgent):
    """Base class: the empirical mean of every arm, and the arm where it is largest."""

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        if not problem.is_finite:
            raise ValueError(f"problem: {type(self).__name__} needs a finite set of arms, {problem.name} is a box")
        self._n_arms = problem.n_arms
        self._rngs = list(rngs)
        self._each = np.arange(len(rngs))
        self._counts = np.zeros((len(rngs), problem.n_arms))
        self._sums = np.zeros((len(rngs), problem.n_arms))
        self._means = np.full((len(rngs), problem.n_arms), -np.inf)
        self._best = np.zeros(len(rngs), np.int64)
        self._closes = np.ones(len(rngs), bool)
        self._t = self._before = 0
        if problem.initial is not None:
            arms, counts, sums = group_pulls(problem.initial.arms, problem.initial.rewards)
            self._counts[:, arms], self._sums[:, arms], self._means[:, arms] = counts, sums, sums / counts
            self._best[:] = self._means[0].argmax()
            self._before = len(problem.initial)

    def observe(self, feedback: VectorFeedback) -> None:
        i, arms = feedback.repetitions, feedback.arms
        if len(np.unique(i)) < len(i):
            raise ValueError(f"feedback: expected one evaluation a repetition, got {len(i)} of {len(np.unique(i))}")
        self._counts[i, arms] += 1.0
        self._sums[i, arms] += feedback.rewards
        self._means[i, arms] = self._sums[i, arms] / self._counts[i, arms]
        self._best[i] = self._means[i].argmax(axis=1)
        self._t += 1

    def recommend(self) -> np.ndarray:
        return self._best.copy()

    def working_bytes(self, problem: Problem, horizon: int) -> int:
        return 3 * 8 * problem.n_arms


class VectorUniform(VectorEmpirical):
    """Every pull is an arm drawn uniformly."""

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        super().reset(problem, rngs)
        self._drawn = np.empty((len(rngs), 0), np.int64)

    def select(self, left: int) -> VectorChoice:
        column = self._t % _BLOCK
        if column == 0:
            # A block of draws is the same as one draw after the other.
            self._drawn = np.stack([rng.integers(self._n_arms, size=_BLOCK) for rng in self._rngs])
        return VectorChoice(self._drawn[:, column], self._closes)


class VectorEpsGreedy(VectorEmpirical):
    """With probability `eps_t` a uniform arm, else the arm of largest empirical mean.

    Args:
        policy: A single policy whose schedule is taken over; it is never played.
    """

    def __init__(self, policy: EpsGreedy) -> None:
        self._policy = policy

    def select(self, left: int) -> VectorChoice:
        draws = [(rng.random(), rng.integers(self._n_arms)) for rng in self._rngs]
        explore = np.array([u for u, _ in draws]) < self._policy.exploration(self._before + self._t + 1)
        return VectorChoice(np.where(explore, [arm for _, arm in draws], self._best), self._closes)

    def diagnostics(self) -> dict[str, np.ndarray]:
        return {"epsilon": np.full(len(self._rngs), self._policy.exploration(self._before + self._t + 1))}
