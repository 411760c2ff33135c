"""Any policy as single agents in lockstep, with the calls that the harness makes to each of them alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from agents.core.protocol import Agent, Feedback, Pending
from agents.vector.protocol import VectorAgent, VectorChoice, VectorFeedback
from gpbandit_envs.problem import Problem

__all__ = ["Lockstep", "Player", "single"]


class Player:
    """One agent, queried for one evaluation at a time, with the calls of a run with feedback on request.

    Args:
        agent: A fresh agent for finite arms.
        problem: The problem description.
        rng: The agent's generator.

    Attributes:
        recommended: The agent's recommendation after the last feedback, or for existing data; arm 0 before either.
        diagnostics: Its diagnostics at that time.
    """

    def __init__(self, agent: Agent, problem: Problem, rng: np.random.Generator) -> None:
        agent.reset(problem, rng)
        self.agent = agent
        self.recommended = 0
        self.diagnostics: Mapping[str, float] = {}
        self._adaptive = agent.capabilities.batch == "adaptive"
        self._problem = problem
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
        actions = self.agent.select(left if self._adaptive else 1, self._pending())
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
        self.agent.observe(feedback)
        self._ask_beliefs()

    def _ask_beliefs(self) -> None:
        self.recommended = int(self.agent.recommend())
        self.diagnostics = self.agent.diagnostics()


class Lockstep(VectorAgent):
    """Single agents side by side: the same choices at the same speed.

    Args:
        make: Builds a fresh agent.
        pays: Whether an agent takes so little time that what is done around it once for all is a good part of a run.

    Attributes:
        pays: As given.
    """

    def __init__(self, make: Callable[[], Agent], pays: bool = False) -> None:
        self._make, self.pays = make, pays

    def reset(self, problem: Problem, rngs: Sequence[np.random.Generator]) -> None:
        self._players = [Player(self._make(), problem, rng) for rng in rngs]

    def select(self, left: int) -> VectorChoice:
        choices = [player.select(left) for player in self._players]
        return VectorChoice(np.array([arm for arm, _ in choices]), np.array([closes for _, closes in choices]))

    def observe(self, feedback: VectorFeedback) -> None:
        for group in feedback.groups():
            self._players[int(feedback.repetitions[group.start])].observe(single(feedback, group))

    def recommend(self) -> np.ndarray:
        return np.array([player.recommended for player in self._players])

    def diagnostics(self) -> dict[str, np.ndarray]:
        names = {name: None for player in self._players for name in player.diagnostics}
        return {
            name: np.array([player.diagnostics.get(name, np.nan) for player in self._players], np.float64)
            for name in names
        }


def single(feedback: VectorFeedback, group: slice) -> Feedback:
    """The feedback of one repetition, as a single agent takes it."""
    return Feedback.of(feedback.tickets[group], feedback.arms[group], feedback.rewards[group], feedback.costs[group])
