"""The protocol of policies that play `N` repetitions of one problem in lockstep.

One tick, for all repetitions at once:

1. `select(left)` chooses one arm for each repetition and says which of them close a batch with it.
2. The runner evaluates the arms, and hands back through `observe` all open feedback of the repetitions that closed a
   batch, or of all of them after the last evaluation.

So every repetition observes the same feedback at the same time as under `agents.core.protocol` alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from agents.core.finite import group_bounds
from gpbandit_envs.problem import Problem

__all__ = ["VectorAgent", "VectorChoice", "VectorFeedback"]


@dataclass(frozen=True)
class VectorChoice:
    """One arm for each repetition.

    Attributes:
        arms: Indices, shape `(N,)`.
        closes: Whether the repetition waits for feedback after this evaluation, shape `(N,)`.
    """

    arms: Int[np.ndarray, " N"]
    closes: Bool[np.ndarray, " N"]


@dataclass(frozen=True)
class VectorFeedback:
    """New results: one entry an evaluation, by repetition, oldest first within each.

    Attributes:
        repetitions: The repetition of each evaluation, shape `(n,)`, non-decreasing.
        tickets: Number of the evaluation within its repetition, from 0, shape `(n,)`.
        arms: Indices, shape `(n,)`.
        rewards: Noisy rewards, shape `(n,)`.
        costs: Cost of each evaluation, shape `(n,)`.
    """

    repetitions: Int[np.ndarray, " n"]
    tickets: Int[np.ndarray, " n"]
    arms: Int[np.ndarray, " n"]
    rewards: Float[np.ndarray, " n"]
    costs: Float[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.arms)

    def of(self, which: Bool[np.ndarray, " N"]) -> VectorFeedback:
        """The part that belongs to the repetitions `which`."""
        mine = which[self.repetitions]
        return VectorFeedback(*(getattr(self, field.name)[mine] for field in fields(self)))

    def groups(self) -> list[slice]:
        """The entries of each repetition, in order."""
        if len(self) == 0:
            return []
        bounds = group_bounds(self.repetitions).tolist()
        return [slice(a, b) for a, b in pairwise(bounds)]


class VectorAgent(ABC):
    """`N` repetitions of one policy on one problem, each with its own generator.

    Every repetition chooses the arms that the policy of the same id chooses alone, given the same generator and the
    same feedback, and reports the same diagnostics.
    """

    @abstractmethod
    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        """Forget everything and prepare one repetition for each generator.

        Raises:
            ValueError: if the problem does not state what the policy needs.
        """

    @abstractmethod
    def select(self, left: int) -> VectorChoice:
        """One arm for each repetition, when `left >= 1` evaluations are left to each."""

    @abstractmethod
    def observe(self, feedback: VectorFeedback) -> None:
        """Take in feedback: for each repetition in it, of all its open evaluations."""

    @abstractmethod
    def recommend(self) -> Int[np.ndarray, " N"]:
        """The arm that each repetition would deploy now."""

    def working_bytes(self, problem: Problem, horizon: int) -> int:
        """About how many bytes a late step of one repetition reads; by default a row over all arms for each evaluation.

        Repetitions that are played at a time share the processor's cache.
        """
        return 8 * problem.n_arms * (min(horizon, 2 * problem.n_arms) + 16)

    def diagnostics(self) -> Mapping[str, Float[np.ndarray, " N"]]:
        """The numbers of `Agent.diagnostics`, one entry a repetition."""
        return {}
