"""The interaction of an agent with whoever evaluates its actions.

    agent.reset(problem, rng)
    for evaluation in turns(agent, problem, "delay:5", horizon=100):
        evaluation.tell(measure(evaluation.action))

One turn: the agent selects, its actions are evaluated one by one, and feedback that has arrived by then is delivered.
When it arrives is what the channel says, see `gpbandit_envs.channels`. On a problem with contexts the agent selects one
action at a time; call `agent.offer(arms)` before the first turn, and tell with each result what the coming step offers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from agents.core.protocol import Action, Actions, Capabilities, Feedback, Pending
from gpbandit_envs.arguments import as_count, as_number, shown
from gpbandit_envs.channels import Channel, Queue, as_channel
from gpbandit_envs.problem import Problem


@runtime_checkable
class Player(Protocol):
    """What plays: an agent, or what stands around one to look on."""

    @property
    def capabilities(self) -> Capabilities: ...
    def select(self, n: int, pending: Pending) -> Actions: ...
    def observe(self, feedback: Feedback) -> None: ...
    def offer(self, arms: Int[np.ndarray, " k"]) -> None: ...


class Evaluation:
    """An action to evaluate.

    Attributes:
        action: An index, or a point of the unit cube, shape `(d,)`.
        ticket: Its number, from 0.
    """

    __slots__ = ("_turns", "action", "ticket")

    def __init__(self, action: Action, ticket: int, turns: Turns) -> None:
        self.action, self.ticket, self._turns = action, ticket, turns

    def tell(
        self,
        reward: float | None = None,
        cost: float = 1.0,
        failed: bool = False,
        offered: Int[np.ndarray, " k"] | None = None,
    ) -> None:
        """Say what came of it, before the next evaluation.

        Args:
            reward: The reward; None if it failed.
            cost: What it cost, >= 0; with `workers:W` how long it took.
            failed: Whether there is no reward.
            offered: The arms that the coming step offers, on a problem with contexts.

        Raises:
            TypeError, ValueError: if a number is none or out of range, or this is not the evaluation at hand.
        """
        if self.ticket != self._turns.t:
            raise ValueError(f"tell: expected the result of evaluation {self._turns.t}, got that of {self.ticket}")
        y = math.nan if failed else as_number("reward", reward, "a finite number unless failed")
        self._turns.tell(y, as_number("cost", cost, "a finite number >= 0", lambda c: c >= 0), failed, offered)


class Turns(Iterator[Evaluation]):
    """The turns of an episode: tickets, open evaluations and deliveries.

    Args:
        agent: After `reset` on `problem`.
        problem: The problem description.
        queue: Decides when feedback arrives.
        horizon: Number of evaluations.

    Attributes:
        t: Evaluations so far.
        chosen: Evaluations that have been chosen; those from `t` on are not evaluated yet.
        deliveries: Deliveries of feedback so far.
        tickets, actions, rewards, costs, failed: The evaluations, shape `(T,)` or `(T, d)`. The agent gets read-only
            views of them: what it was given is never written again.
    """

    def __init__(self, agent: Player, problem: Problem, queue: Queue, horizon: int) -> None:
        self.agent, self.queue, self.horizon = agent, queue, horizon
        self.t = self.chosen = self.deliveries = 0
        self.tickets = np.arange(horizon)
        self.actions = np.zeros(horizon, np.int64) if problem.is_finite else np.zeros((horizon, problem.dim))
        self.rewards, self.costs, self.failed = np.zeros(horizon), np.zeros(horizon), np.zeros(horizon, bool)
        self._views = {name: getattr(self, name).view() for name in _COLUMNS}
        for view in self._views.values():
            view.flags.writeable = False
        self._open: dict[int, None] = {}
        self._at_hand = -1
        self._finite = problem.is_finite
        self._none_open = Pending.empty(problem)
        self._one_by_one = agent.capabilities.batch == "sequential" or problem.contexts

    @property
    def finished(self) -> bool:
        """Whether all evaluations are made and their feedback delivered."""
        return self.t >= self.horizon and not self._open

    def __next__(self) -> Evaluation:
        if self._at_hand == self.t:
            raise RuntimeError(f"turns: evaluation {self.t} has no result yet; call its tell(reward)")
        action = self.action()
        if action is None:
            raise StopIteration
        self._at_hand = self.t
        return Evaluation(action, self.t, self)

    def action(self) -> Action | None:
        """The action to evaluate now, which the agent selects unless it has already; None if there is none left."""
        while self.t == self.chosen:
            room = min(self.horizon - self.t, self.queue.room())
            if room > 0:
                pending = self._pending() if self._open else self._none_open
                actions = self.agent.select(1 if self._one_by_one else room, pending)
                if n := len(actions):
                    self.chosen += n
                    self.actions[self.t : self.chosen] = actions
                    break
            if self._open:
                self._deliver(self.queue.wait())
            elif room > 0:
                raise ValueError("select: expected an action, got none while no feedback is open")
            else:
                return None
        t = self.t
        return int(self.actions[t]) if self._finite else self._views["actions"][t]

    def _pending(self) -> Pending:
        first = next(iter(self._open))
        rows: Any = slice(first, self.t)
        if self.t - first != len(self._open):
            rows = np.fromiter(self._open, np.int64, len(self._open))
        return Pending(self._views["tickets"][rows], self._views["actions"][rows])

    def tell(
        self,
        reward: float,
        cost: float,
        failed: bool = False,
        offered: Int[np.ndarray, " k"] | None = None,
        breaks_off: bool = False,
    ) -> None:
        """Take the result of the evaluation at hand, as `Evaluation.tell` does, without checks.

        With `breaks_off` it is the last one of the episode, and the agent hears nothing of it.
        """
        t = self.t
        self.rewards[t], self.costs[t] = reward, cost
        if failed:
            self.failed[t] = True
        self._open[t] = None
        self.queue.start(t, cost)
        self.t = t = t + 1
        if breaks_off:
            return
        if offered is not None:
            self.agent.offer(offered)
        if t == self.chosen and (arrived := self.queue.arrived()):
            self._deliver(arrived)

    def _deliver(self, arrived: list[int]) -> None:
        first, n = arrived[0], len(arrived)
        rows: Any = slice(first, first + n)
        if n > 1 and arrived != list(range(first, first + n)):
            rows = np.array(arrived)
        for ticket in arrived:
            del self._open[ticket]
        # Results are checked when they are told; Feedback checks them once more, in 8 microseconds.
        feedback = object.__new__(Feedback)
        for name, view in self._views.items():
            feedback.__dict__[name] = view[rows]
        self.deliveries += 1
        self.agent.observe(feedback)

    def state_dict(self) -> dict[str, Any]:
        """The state between two turns, picklable, without that of the agent."""
        told = {name: getattr(self, name)[: self.t].copy() for name in _COLUMNS}
        return {"deliveries": self.deliveries, "open": list(self._open), "queue": self.queue, "told": told}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a state of `state_dict` of the same episode."""
        self.deliveries, self.queue = state["deliveries"], state["queue"]
        self._open = dict.fromkeys(state["open"])
        self.t = self.chosen = len(state["told"]["tickets"])
        for name, column in state["told"].items():
            getattr(self, name)[: self.t] = column


_COLUMNS = ("tickets", "actions", "rewards", "costs", "failed")  # the fields of Feedback


def turns(
    agent: Player,
    problem: Problem,
    channel: Channel | str = "on_request",
    horizon: int | None = None,
    rng: np.random.Generator | None = None,
) -> Turns:
    """The evaluations that `agent` asks for, one by one; the result of each is told before the next.

    Args:
        agent: After `reset` on `problem`.
        problem: The problem description.
        channel: When feedback arrives, see `gpbandit_envs.channels`.
        horizon: Number of evaluations; by default that of the problem.
        rng: Draws the delays; by default always the same ones.

    Raises:
        TypeError: if `agent` is no agent.
        ValueError: if there is no such channel, or the agent cannot act with it, or neither `horizon` nor the problem
            says how many evaluations.
    """
    if not isinstance(agent, Player):
        raise TypeError(f"agent: expected an agent after `reset`, got {shown(agent)}")
    given = problem.horizon if horizon is None else horizon
    if given is None:
        raise ValueError("horizon: expected a number of evaluations, since the problem states none")
    T, given_channel = as_count("horizon", given), as_channel(channel, "channel")
    if why := unfit_for(given_channel, agent.capabilities):
        raise ValueError(f"channel: {why}")
    rng = np.random.default_rng(0) if rng is None else rng
    most = T if agent.capabilities.batch == "adaptive" else 1
    return Turns(agent, problem, given_channel.queue(rng, most), T)


def unfit_for(channel: Channel, capabilities: Capabilities) -> str | None:
    """Why an agent cannot play with a channel; None if it can."""
    if channel.is_immediate or channel.name == "on_request":
        return None
    if channel.name == "batch":
        size, sequential = channel.text.partition(":")[2], capabilities.batch == "sequential"
        return f"the agent is sequential and feedback comes in batches of {size}" if sequential else None
    return None if capabilities.delayed else f"the agent cannot act under delayed feedback ({channel.text})"


# ---- what an agent answers, held to the protocol: for the harness, and for `check_agent` ----


class AgentError(Exception):
    """The agent broke its protocol; the text says what was expected and what came."""


def check_actions(actions: Actions, most: int, exactly: bool, problem: Problem) -> Actions:
    """`actions` as int64 indices `(n,)` or float64 points `(n, d)`.

    Raises:
        AgentError: if they are of another type or shape, too many, too few, or out of range.
    """
    shape = "(n,)" if problem.is_finite else f"(n, {problem.dim})"
    kind = f"an integer array of shape {shape}" if problem.is_finite else f"a float array of shape {shape}"
    if not isinstance(actions, np.ndarray):
        raise AgentError(f"select: expected {kind}, got {type(actions).__name__} {shown(actions)}")
    fits = actions.ndim == 1 if problem.is_finite else actions.ndim == 2 and actions.shape[1] == problem.dim
    if not fits or actions.dtype.kind not in ("iu" if problem.is_finite else "f"):
        if actions.size or len(actions):
            raise AgentError(f"select: expected {kind}, got {actions.dtype} of shape {actions.shape}")
        actions = Pending.empty(problem).actions  # an empty array of any type selects no action
    n = len(actions)
    if n > most or (exactly and n != most):
        expected = f"{most}" if exactly else f"at most {most}"
        raise AgentError(f"select: expected {expected} action{'' if most == 1 else 's'}, got {n}")
    if problem.is_finite:
        bad = (actions < 0) | (actions >= problem.n_arms)
        if bad.any():
            raise AgentError(f"select: expected indices in [0, {problem.n_arms}), got {actions[bad][0]}")
        return actions.astype(np.int64, copy=False)
    inside = (actions >= 0.0) & (actions <= 1.0)  # False for NaN
    if not inside.all():
        row = actions[~inside.all(axis=1)][0]
        raise AgentError(f"select: expected points of the unit cube [0, 1]^{problem.dim}, got {row.tolist()}")
    return actions.astype(np.float64, copy=False)


def check_recommendation(action: Any, problem: Problem, offered: Bool[np.ndarray, " A"] | None = None) -> Action:
    """The answer of `recommend`, as an index or a point.

    Raises:
        AgentError: if it is no action of the problem, or an arm that is not offered.
    """
    if problem.is_finite:
        if isinstance(action, int | np.integer) and not isinstance(action, bool) and 0 <= action < problem.n_arms:
            if offered is not None and not offered[action]:
                raise AgentError(f"recommend: expected an arm that is offered, got {action}")
            return int(action)
        raise AgentError(f"recommend: expected an index in [0, {problem.n_arms}), got {shown(action)}")
    try:
        point = np.asarray(action)
    except ValueError:  # NumPy's, for rows of unequal length
        point = np.zeros(0)
    if point.shape == (problem.dim,) and point.dtype.kind == "f" and bool(((point >= 0) & (point <= 1)).all()):
        return point
    raise AgentError(f"recommend: expected a point of shape ({problem.dim},) in the unit cube, got {shown(action)}")
