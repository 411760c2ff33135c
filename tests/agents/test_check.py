"""`check_agent` on agents that act on late feedback, and break a clause of the protocol in doing so."""

from __future__ import annotations

import numpy as np
import pytest

import agents
from agents import Actions, AgentCheckError, Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from gpbandit_envs.problem import Problem


class Spread(FiniteArmAgent):
    """Pulls the arm that was pulled least, open evaluations included."""

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)

    def select(self, n: int, pending: Pending) -> Actions:
        pulls = self.counts + np.bincount(pending.actions, minlength=self.problem.n_arms)
        chosen = []
        for _ in range(n):
            chosen.append(int(np.argmin(pulls)))
            pulls[chosen[-1]] += 1
        return np.array(chosen)


class OwnList(Spread):
    """Keeps a list of what is open itself, which it wrongly leaves out of its state."""

    not_saved = Spread.not_saved | {"open"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self.open: list[int] = []

    def select(self, n: int, pending: Pending) -> Actions:
        own = np.array(self.open, np.int64)
        chosen = super().select(n, Pending(np.arange(len(own)), own))
        self.open += chosen.tolist()
        return chosen

    def observe(self, feedback: Feedback) -> None:
        for arm in feedback.actions.tolist():
            if arm in self.open:
                self.open.remove(arm)
        super().observe(feedback)


class Turns(Spread):
    """Takes the arms in turn, from the first again after feedback; its state wrongly leaves out where it is."""

    not_saved = Spread.not_saved | {"turn"}

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self.turn = 0

    def select(self, n: int, pending: Pending) -> Actions:
        self.turn += n
        return np.arange(self.turn - n, self.turn) % self.problem.n_arms

    def observe(self, feedback: Feedback) -> None:
        self.turn = 0
        super().observe(feedback)


class Last(Spread):
    """Takes the feedback for that of its last pull, which it is when nothing is late."""

    def observe(self, feedback: Feedback) -> None:
        if not np.isin(feedback.actions, self.last).all():
            raise KeyError(feedback.actions.tolist())
        super().observe(feedback)

    def select(self, n: int, pending: Pending) -> Actions:
        self.last = super().select(n, pending)
        return self.last


def test_late_feedback_is_played() -> None:
    agents.check_agent(Spread)


def test_a_list_of_its_own_is_found_when_resumed_with_open_tickets() -> None:
    with pytest.raises(AgentCheckError, match="restored with 3 tickets open, play differs on twelve arms"):
        agents.check_agent(OwnList)


def test_what_is_lost_between_two_picks_is_found_when_resumed_there() -> None:
    with pytest.raises(AgentCheckError, match="restored with 2 tickets open, play differs on twelve arms"):
        agents.check_agent(Turns)


@pytest.mark.parametrize("cls", [OwnList, Turns])
def test_the_whole_state_forgets_neither(cls: type[Spread]) -> None:
    class Whole(cls):  # type: ignore[valid-type, misc]
        not_saved = Spread.not_saved

    agents.check_agent(Whole)


def test_feedback_that_is_not_of_the_last_pull() -> None:
    with pytest.raises(KeyError):
        agents.check_agent(Last)


@pytest.mark.parametrize("cls", [OwnList, Last])
def test_what_is_not_declared_is_not_asked_for(cls: type[Spread]) -> None:
    class Prompt(cls):  # type: ignore[valid-type, misc]
        capabilities = Capabilities(frozenset({"finite"}), batch="sequential")

    agents.check_agent(Prompt)
