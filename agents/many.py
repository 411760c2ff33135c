"""Many repetitions of one policy on one problem, side by side: `agents.make_vec(id, **kwargs)`.

One tick, for all repetitions at once:

1. `select(left)` chooses one arm for each repetition and says which of them close a batch with it.
2. Whoever plays evaluates the arms, as with a vector environment, and hands back through `observe` all open feedback of
   the repetitions that closed a batch, or of all of them after the last evaluation.

So every repetition gets the calls that the harness makes to a single agent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from agents.core.finite import group_bounds
from agents.core.protocol import Agent, Feedback, Pending
from agents.core.registry import make
from gpbandit_envs.problem import Problem


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

    def by_repetition(self) -> dict[int, Feedback]:
        """The feedback of each repetition that has some, as a single agent takes it."""
        if len(self) == 0:
            return {}
        parts = (slice(a, b) for a, b in pairwise(group_bounds(self.repetitions).tolist()))
        return {
            int(self.repetitions[part.start]): Feedback.of(
                self.tickets[part], self.arms[part], self.rewards[part], self.costs[part]
            )
            for part in parts
        }


class VectorAgent:
    """`N` repetitions of one policy on one problem with finite arms, each a single agent with its own generator.

    Every repetition chooses the arms that a single agent chooses, given the same generator and the same feedback, and
    reports the same diagnostics.

    Args:
        make: Builds a fresh agent.
    """

    def __init__(self, make: Callable[[], Agent]) -> None:
        self._make = make

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        """Forget everything and prepare one repetition for each generator.

        Raises:
            ValueError: if the problem does not state what the policy needs, is a box or offers only some of its arms.
        """
        if not problem.is_finite or problem.contexts:
            what = "a box" if not problem.is_finite else "one that offers some of its arms at a time"
            raise ValueError(f"problem: expected one with finite arms, all of them offered, got {problem.name}, {what}")
        self._players = [_Player(self._make(), problem, rng) for rng in rngs]

    def select(self, left: int) -> VectorChoice:
        """One arm for each repetition, when `left >= 1` evaluations are left to each."""
        choices = [player.select(left) for player in self._players]
        return VectorChoice(np.array([arm for arm, _ in choices]), np.array([closes for _, closes in choices]))

    def observe(self, feedback: VectorFeedback) -> None:
        """Take in feedback: for each repetition in it, of all its open evaluations."""
        for repetition, part in feedback.by_repetition().items():
            self._players[repetition].observe(part)

    def recommend(self) -> Int[np.ndarray, " N"]:
        """The arm that each repetition would deploy now."""
        return np.array([player.recommended for player in self._players])

    def diagnostics(self) -> Mapping[str, Float[np.ndarray, " N"]]:
        """The numbers of `Agent.diagnostics`, one entry a repetition; NaN where one reports no such number."""
        names = {name: None for player in self._players for name in player.diagnostics}
        return {
            name: np.array([player.diagnostics.get(name, np.nan) for player in self._players], np.float64)
            for name in names
        }


class _Player:
    """One agent, queried for one evaluation at a time, with the calls of a run with feedback on request.

    Attributes:
        recommended: The agent's recommendation after the last feedback, or for existing data; arm 0 before either.
        diagnostics: Its diagnostics at that time.
    """

    def __init__(self, agent: Agent, problem: Problem, rng: np.random.Generator) -> None:
        agent.reset(problem, rng)
        self._agent, self._problem = agent, problem
        self._adaptive = agent.capabilities.batch == "adaptive"
        self.recommended = 0
        self.diagnostics: Mapping[str, float] = {}
        self._chosen: deque[int] = deque()
        self._open: list[int] = []
        self._first = 0
        if problem.initial is not None:
            self._ask_beliefs()

    def select(self, left: int) -> tuple[int, bool]:
        """The next arm, and whether the agent waits for feedback after it."""
        if not self._chosen:
            self._ask(left)
        self._open.append(self._chosen.popleft())
        if self._chosen or not self._adaptive:
            return self._open[-1], not self._adaptive
        if left > 1:
            self._ask(left - 1)
        return self._open[-1], not self._chosen

    def _ask(self, left: int) -> None:
        actions = self._agent.select(left if self._adaptive else 1, self._pending())
        if len(actions) == 0 and not self._open:
            raise RuntimeError("select: expected an action, got none while no feedback is open")
        self._chosen.extend(actions.tolist())

    def _pending(self) -> Pending:
        if not self._open:
            return Pending.empty(self._problem)
        tickets = np.arange(self._first, self._first + len(self._open))
        return Pending(tickets, np.array(self._open, np.int64))

    def observe(self, feedback: Feedback) -> None:
        """Take in the feedback of all open evaluations."""
        self._first += len(self._open)
        self._open = []
        self._chosen.clear()
        self._agent.observe(feedback)
        self._ask_beliefs()

    def _ask_beliefs(self) -> None:
        self.recommended = int(self._agent.recommend())
        self.diagnostics = self._agent.diagnostics()


def make_vec(id: str, **kwargs: Any) -> VectorAgent:
    """The agent `id` over many repetitions of one problem on finite arms; `reset(problem, rngs)` says how many.

    Raises:
        ValueError: for an unknown id or a bad value.
        TypeError: for an unknown keyword; the message lists those that exist.
    """
    make(id, **kwargs)  # refuses bad arguments before the first episode
    return VectorAgent(lambda: make(id, **kwargs))
