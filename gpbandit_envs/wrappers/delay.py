"""Feedback that comes back late."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from gpbandit_envs.arguments import MANY, as_count, positive_int
from gpbandit_envs.channels import Channel, WorkerQueue, as_channel
from gpbandit_envs.delays import Delay
from gpbandit_envs.envs.bandit import BanditEnv
from gpbandit_envs.wrappers.batch import BatchFeedback

_COUNTERS = 2**53  # bound of the counters' spaces; the integers up to it are exact in float64 too


class DelayedFeedback(gym.Wrapper[dict[str, Any], Any, Any, Any], RecordConstructorArgs):
    """Each evaluation opens a ticket, numbered from 0; its feedback arrives in a later step, or in the same.

    ## Action space
    That of the environment; with `delay="on_request"` it is `Dict(action=..., flush=Discrete(2))`, where `flush = 1`
    asks for all feedback that is open, that of this action included.

    ## Observation space
    `Dict(ticket=Box(C,) int64, reward=Box(C,), n=Discrete(C + 1), pending=Box(1,) int64)`: the first `n` entries are
    the feedback that arrived, in order of arrival and then of ticket; `pending` counts the tickets still open. Empty
    entries are ticket -1 and reward 0. What arrives beyond the capacity `C` is carried over to the next step.

    ## Reward
    The sum of the feedback that arrived.

    ## Information
    That of the environment, `oracle` being of the action taken now, with `"n_evals"` and the simulated `"time"`: steps,
    or for workers the unit of cost.

    ## End of the episode
    After the last evaluation nothing is waited for: all open tickets are delivered, `C` a step, before `truncated` is
    True. Such further steps evaluate nothing (`n_evals` is 0) and ignore their action. The return of an episode is
    then the sum of all feedback.

    Args:
        env: A bandit environment, whose feedback comes at once and one by one.
        delay: Number of steps (0 is no delay), or a channel as text or JSON, see `gpbandit_envs.channels`: such as
            `"geometric:5"` or `{"name": "geometric", "mean": 5}`; with workers the next action is due when one is free.
        capacity: Most feedback `C` that one step delivers.

    Attributes:
        channel: When feedback arrives.

    Raises:
        TypeError: if the environment is no bandit of this package, its feedback is delayed already or comes in batches,
            or its steps offer only some of the arms: the observation of what arrives would take the place of the
            context.
        ValueError: if `delay` or `capacity` is wrong.
    """

    def __init__(
        self, env: gym.Env[Any, Any], delay: int | str | Mapping[str, Any] | Channel, capacity: int = 64
    ) -> None:
        capacity = positive_int("capacity", capacity)
        if isinstance(delay, (int, np.integer)):
            delay = Channel("delay", (as_count("delay", delay, 0),))
        self.channel = as_channel(delay, "delay")
        RecordConstructorArgs.__init__(self, delay=self.channel.text, capacity=capacity)
        super().__init__(env)
        bandit = env.unwrapped
        if not isinstance(bandit, BanditEnv):
            raise TypeError(f"env: expected a bandit environment, whose delay stream is seeded, got {bandit}")
        if bandit.recipe.offers is not None:
            raise TypeError("env: its steps offer other arms each, and a delayed observation has no place for them")
        inside = env
        while isinstance(inside, gym.Wrapper):
            if isinstance(inside, DelayedFeedback | BatchFeedback):
                raise TypeError(f"env: expected feedback at once and one by one, got {type(inside).__name__}")
            inside = inside.env
        self._bandit = bandit
        self._on_request = self.channel.name == "on_request"
        self._capacity = capacity
        if self._on_request:
            self.action_space = gym.spaces.Dict(action=env.action_space, flush=gym.spaces.Discrete(2))
        self.observation_space = gym.spaces.Dict(
            ticket=gym.spaces.Box(-1, _COUNTERS, (capacity,), np.int64),
            reward=gym.spaces.Box(-np.inf, np.inf, (capacity,), np.float64),
            n=gym.spaces.Discrete(capacity + 1),
            pending=gym.spaces.Box(0, _COUNTERS, (1,), np.int64),
        )
        self._clear()

    @property
    def delay(self) -> Delay | None:
        """What a policy may know of the delay; None if it has no such form."""
        return self.channel.stated

    def _clear(self) -> None:
        self._tickets = 0
        self._rewards: dict[int, float] = {}  # by ticket, of the evaluations that are open
        self._arrived: deque[int] = deque()
        self._draining, self._time, self._steps = False, 0.0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        self._clear()
        self._queue = self.channel.queue(self._bandit.stream("delay"), most=MANY)
        return self._deliver()[0], info

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Evaluate an action and deliver what has arrived.

        Raises:
            TypeError: with `delay="on_request"`, if the action is not a mapping with action and flush.
        """
        if self._draining:
            observation, total = self._deliver()
            return observation, total, False, not self._arrived, {"n_evals": 0, "time": self._time}
        flush = False
        if self._on_request:
            if not (isinstance(action, Mapping) and {"action", "flush"} <= action.keys()):
                raise TypeError(f"action: expected {{'action': ..., 'flush': 0 or 1}}, got {action!r}")
            action, flush = action["action"], bool(action["flush"])
        _, reward, terminated, truncated, info = self.env.step(action)
        self._queue.start(self._tickets, info["cost"])
        self._rewards[self._tickets] = float(reward)
        self._tickets += 1
        self._arrived += self._queue.arrived()
        self._time = self._queue.clock.now if isinstance(self._queue, WorkerQueue) else float(self._steps)
        self._steps += 1
        over = terminated or truncated
        while (flush or over) and (further := self._queue.wait()):
            self._arrived += further
        delivered, total = self._deliver()
        if truncated and self._arrived:
            truncated, self._draining = False, True
        return delivered, total, terminated, truncated, {**info, "n_evals": 1, "time": self._time}

    def _deliver(self) -> tuple[dict[str, Any], float]:
        """The observation with up to `C` arrivals, and their sum."""
        n = min(len(self._arrived), self._capacity)
        tickets, rewards = np.full(self._capacity, -1, np.int64), np.zeros(self._capacity)
        total = 0.0
        for i in range(n):
            tickets[i] = ticket = self._arrived.popleft()
            rewards[i] = self._rewards.pop(ticket)
            total += float(rewards[i])
        return {
            "ticket": tickets,
            "reward": rewards,
            "n": n,
            "pending": np.array([len(self._rewards)], np.int64),
        }, total
