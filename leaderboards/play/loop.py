"""The interaction of one agent with one environment, evaluation by evaluation."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import gymnasium as gym
import numpy as np

from agents import Actions, Agent, Feedback, Pending
from gpbandit_envs.problem import Problem
from leaderboards.play.faults import AgentError, EnvError, check_actions, check_recommendation
from leaderboards.play.feedback import Channel
from leaderboards.play.oracle import Oracle
from leaderboards.play.trace import Trace

__all__ = ["Loop"]

_COLUMNS = ("actions", "rewards", "costs", "failed", "means", "regrets", "batches", "policy_seconds", "stated")
_FEEDBACK_FIELDS = ("tickets", "actions", "rewards", "costs", "failed")


class Loop:
    """A run in progress, which may stop after any turn and go on.

    One turn: the agent selects, the environment evaluates, what has arrived is delivered. The agent sees the card,
    rewards, costs and failures; `info["oracle"]` goes to the trace alone.

    Args:
        env: After `reset`.
        agent: After `reset` on `problem`.
        problem: The card.
        channel: Decides when feedback arrives.
        horizon: Number of evaluations.

    Attributes:
        t: Evaluations so far.
        trace: Their rows.
    """

    def __init__(self, env: gym.Env[Any, Any], agent: Agent, problem: Problem, channel: Channel, horizon: int) -> None:
        self.env = env
        self.agent = agent
        self.problem = problem
        self.channel = channel
        self.horizon = horizon
        self.oracle = Oracle(env, problem)
        self.trace = Trace(horizon, problem)
        self.t = 0
        self._deliveries = 0
        self._open: dict[int, None] = {}
        self._batch = agent.capabilities.batch
        self._given = self.trace.readonly()
        self._nothing_pending = Pending.empty(problem)
        self._n_arms = problem.n_arms if problem.is_finite else 0

    @property
    def finished(self) -> bool:
        """Whether all evaluations are made and their feedback delivered."""
        return self.t >= self.horizon and not self._open

    def turn(self) -> None:
        """Let the agent act once, or wait for feedback.

        Raises:
            AgentError: if the agent breaks its protocol.
            EnvError: if the environment does.
        """
        room = min(self.horizon - self.t, self.channel.room())
        if room <= 0:
            self._deliver(self.channel.wait())
            return
        if self._batch == "sequential":
            room = 1
        start = perf_counter()
        actions = self.agent.select(room, self._pending())
        seconds = perf_counter() - start
        chosen = self._single_arm(actions) if room == 1 else None
        if chosen is None:
            actions = check_actions(actions, room, self._batch == "fixed", self.problem)
            if len(actions) == 0:
                self._wait(seconds)
                return
            self._choose(actions, seconds)
        else:
            self.trace.actions[self.t] = chosen
            self.trace.policy_seconds[self.t] = seconds
            self.trace.batches[self.t] = self._deliveries + 1
            self._evaluate(chosen)
        arrived = self.channel.arrived()
        if arrived:
            self._deliver(arrived)

    def snapshot(self) -> dict[str, Any]:
        """The state of the loop between two turns, without agent and environment."""
        trace = self.trace
        return {
            "t": self.t,
            "deliveries": self._deliveries,
            "open": list(self._open),
            "channel": self.channel,
            "columns": {name: getattr(trace, name)[: self.t].copy() for name in _COLUMNS},
            "states": {name: column[: self.t].copy() for name, column in trace.states.items()},
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot of a loop of the same run."""
        self.t = state["t"]
        self._deliveries = state["deliveries"]
        self._open = dict.fromkeys(state["open"])
        self.channel = state["channel"]
        for name, column in state["columns"].items():
            getattr(self.trace, name)[: self.t] = column
        for name, column in state["states"].items():
            self.trace.states.setdefault(name, np.full(self.horizon, np.nan))[: self.t] = column

    def _single_arm(self, actions: Any) -> int | None:
        """The arm, if `actions` is one valid arm: the common case, in a tenth of the time of the full check."""
        if type(actions) is np.ndarray and actions.shape == (1,) and actions.dtype.kind == "i":
            arm = int(actions[0])
            if 0 <= arm < self._n_arms:
                return arm
        return None

    def _choose(self, actions: Actions, seconds: float) -> None:
        rows = slice(self.t, self.t + len(actions))
        self.trace.actions[rows] = actions
        self.trace.policy_seconds[rows] = seconds / len(actions)
        self.trace.batches[rows] = self._deliveries + 1
        for action in actions.tolist() if self._n_arms else self._given[1][rows]:
            self._evaluate(action)

    def _wait(self, seconds: float) -> None:
        if not self._open:
            raise AgentError("select: expected an action, got none while no feedback is open")
        self.trace.policy_seconds[self.t - 1] += seconds
        self._deliver(self.channel.wait())

    def _evaluate(self, action: Any) -> None:
        t, trace = self.t, self.trace
        _, reward, terminated, truncated, info = self.env.step(action)
        failed = bool(info.get("failed", False))
        reward = float(reward)
        if failed:
            trace.failed[t] = True
            reward = math.nan
        elif not math.isfinite(reward):
            raise EnvError(
                f"step: expected a finite reward or info['failed'], got {reward} for evaluation {t + 1} "
                f"(action {np.asarray(action).tolist()})"
            )
        cost = float(info.get("cost", 1.0))
        if not 0.0 <= cost < math.inf:
            raise EnvError(
                f"step: expected a finite info['cost'] >= 0, got {cost} for evaluation {t + 1} "
                f"(action {np.asarray(action).tolist()})"
            )
        trace.rewards[t] = reward
        trace.costs[t] = cost
        oracle = info.get("oracle")
        if oracle is not None:
            trace.means[t] = oracle["mean"]
            trace.regrets[t] = oracle["regret"]
        self._open[t] = None
        self.channel.start(t, cost)
        self.t = t + 1
        if (terminated or truncated) and self.t < self.horizon:
            raise EnvError(f"step: the environment ended after {self.t} of {self.horizon} evaluations")

    def _pending(self) -> Pending:
        if not self._open:
            return self._nothing_pending
        tickets, actions = self._given[:2]
        first = next(iter(self._open))
        if self.t - first == len(self._open):
            return Pending(tickets[first : self.t], actions[first : self.t])
        rows = np.fromiter(self._open, np.int64, len(self._open))
        return Pending(tickets[rows], actions[rows])

    def _deliver(self, arrived: list[int]) -> None:
        first, n = arrived[0], len(arrived)
        contiguous = n == 1 or arrived == list(range(first, first + n))
        rows: slice | np.ndarray = slice(first, first + n) if contiguous else np.array(arrived)
        for ticket in arrived:
            del self._open[ticket]
        feedback = self._feedback(rows)
        start = perf_counter()
        self.agent.observe(feedback)
        seconds = perf_counter() - start
        self.trace.policy_seconds[first if n == 1 else rows] += seconds / n
        self._deliveries += 1
        recommended = check_recommendation(self.agent.recommend(), self.problem)
        self.trace.state(self.t - 1, self.oracle.regret(recommended), self.agent.diagnostics())

    def _feedback(self, rows: slice | np.ndarray) -> Feedback:
        # `_evaluate` has made sure of everything that Feedback's own check looks at, which would cost 8 microseconds.
        feedback = object.__new__(Feedback)
        for name, array in zip(_FEEDBACK_FIELDS, self._given):
            feedback.__dict__[name] = array[rows]
        return feedback
