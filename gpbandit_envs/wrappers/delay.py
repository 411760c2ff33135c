"""Feedback that comes back late: the wrapper, and the models of when the feedback of an evaluation arrives.

A delay model keeps simulated time. `launch(cost)` starts an evaluation and returns when it ends; `tick()` ends a step
and returns the time at which the next action is due. Feedback that has ended by then arrives with the step.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, SupportsIndex

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from gpbandit_envs.arguments import as_truth, positive_int, positive_number
from gpbandit_envs.delays import ConstantLaw, Delay, DelayLaw, GeometricLaw, PoissonLaw, StepClock, WorkerClock
from gpbandit_envs.envs.bandit import BanditEnv
from gpbandit_envs.wrappers.batch import BatchFeedback
from gpbandit_envs.wrappers.layers import layers

__all__ = [
    "ConstantDelay",
    "DelayModel",
    "DelayedFeedback",
    "GeometricDelay",
    "OnRequest",
    "ParetoDelay",
    "PoissonDelay",
    "Workers",
    "as_delay",
]

_MANY = 2**53  # bound of the counters' spaces; the integers up to it are exact in float64 too


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
    then the sum of all feedback. With `drain=False` the episode ends at once and open tickets are lost.

    Args:
        env: A bandit environment or a `BatchFeedback` around one, whose feedback then is delayed one by one.
        delay: Number of steps (0 is no delay), `"on_request"`, or a spec: `{"name": "geometric", "mean": m}`,
            `{"name": "poisson", "mean": m}`, `{"name": "pareto", "shape": a, "scale": s}`,
            `{"name": "workers", "workers": W}`.
        capacity: Most feedback `C` that one step delivers.
        drain: Whether open tickets are delivered at the end.

    Raises:
        TypeError: if `drain` is no truth value, the environment is no bandit of this package, its feedback is delayed
            already, a wrapper that may change feedback is around `BatchFeedback`, or its steps offer only some of the
            arms: the observation of what arrives would take the place of the context.
        ValueError: if `delay` or `capacity` is wrong.
    """

    def __init__(
        self, env: gym.Env[Any, Any], delay: int | str | Mapping[str, Any], capacity: int = 64, drain: bool = True
    ) -> None:
        capacity, drain = positive_int("capacity", capacity), as_truth("drain", drain)
        RecordConstructorArgs.__init__(self, delay=_plain(delay), capacity=capacity, drain=drain)
        super().__init__(env)
        bandit = env.unwrapped
        if not isinstance(bandit, BanditEnv):
            raise TypeError(f"env: expected a bandit environment, whose delay stream is seeded, got {bandit}")
        if bandit.recipe.offers is not None:
            raise TypeError("env: its steps offer other arms each, and a delayed observation has no place for them")
        self._bandit = bandit
        self._batch = _batch(env)
        self._model = as_delay(delay)
        self._on_request = isinstance(self._model, OnRequest)
        self._capacity = capacity
        self._drain = drain
        if self._on_request:
            self.action_space = gym.spaces.Dict(action=env.action_space, flush=gym.spaces.Discrete(2))
        self.observation_space = gym.spaces.Dict(
            ticket=gym.spaces.Box(-1, _MANY, (capacity,), np.int64),
            reward=gym.spaces.Box(-np.inf, np.inf, (capacity,), np.float64),
            n=gym.spaces.Discrete(capacity + 1),
            pending=gym.spaces.Box(0, _MANY, (1,), np.int64),
        )
        self._clear()

    @property
    def delay(self) -> Delay | None:
        """What a policy may know of the delay; None if it has no such form.

        Around batches it has none: the delay counts steps, each of them several evaluations.
        """
        return self._model.stated if self._batch is None or self._batch.batch_size == 1 else None

    def _clear(self) -> None:
        self._tickets = 0
        self._time = 0.0
        self._open: list[tuple[float, int, float]] = []  # heap of arrival time, ticket, reward
        self._arrived: deque[tuple[int, float]] = deque()
        self._draining = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        self._clear()
        self._model.reset(self._bandit.stream("delay"))
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
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._batch is not None:
            n_evals = info["n_evals"]
            feedback, costs = observation["rewards"][:n_evals].tolist(), info["cost"][:n_evals].tolist()
        else:
            feedback, costs = [float(reward)], [info["cost"]]
        for y, cost in zip(feedback, costs, strict=True):
            heapq.heappush(self._open, (self._model.launch(cost), self._tickets, y))
            self._tickets += 1
        self._time = self._model.tick()
        over = terminated or truncated
        self._arrive(everything=flush or (over and self._drain))
        delivered, total = self._deliver()
        if truncated and self._drain and self._arrived:
            truncated, self._draining = False, True
        return delivered, total, terminated, truncated, {**info, "n_evals": len(feedback), "time": self._time}

    def _arrive(self, everything: bool) -> None:
        """Move what has arrived by now, or everything, from open to arrived."""
        while self._open and (everything or self._open[0][0] <= self._time):
            _, ticket, y = heapq.heappop(self._open)
            self._arrived.append((ticket, y))

    def _deliver(self) -> tuple[dict[str, Any], float]:
        """The observation with up to `C` arrivals, and their sum."""
        n = min(len(self._arrived), self._capacity)
        tickets, rewards = np.full(self._capacity, -1, np.int64), np.zeros(self._capacity)
        total = 0.0
        for i in range(n):
            tickets[i], rewards[i] = self._arrived.popleft()
            total += float(rewards[i])
        pending = np.array([len(self._open) + len(self._arrived)], np.int64)
        return {"ticket": tickets, "reward": rewards, "n": n, "pending": pending}, total


def _plain(delay: Any) -> Any:
    """`delay` without NumPy's numbers, which the JSON of a spec cannot hold."""
    if isinstance(delay, Mapping):
        return {name: _plain(value) for name, value in delay.items()}
    return delay.item() if isinstance(delay, np.generic) else delay


_CHANGE_NO_FEEDBACK = (
    gym.wrappers.OrderEnforcing,
    gym.wrappers.PassiveEnvChecker,
    gym.wrappers.RecordEpisodeStatistics,
    gym.wrappers.TimeLimit,
)


def _batch(env: gym.Env[Any, Any]) -> BatchFeedback | None:
    """The batches among the wrappers around the bandit, whose feedback is delayed one by one.

    Raises:
        TypeError: if the feedback is delayed already, or a wrapper around the batches may change what they return.
    """
    wrappers = layers(env)
    if any(isinstance(wrapper, DelayedFeedback) for wrapper in wrappers):
        raise TypeError("env: its feedback is delayed already")
    found = next((wrapper for wrapper in wrappers if isinstance(wrapper, BatchFeedback)), None)
    for wrapper in () if found is None else wrappers[: wrappers.index(found)]:
        if not isinstance(wrapper, _CHANGE_NO_FEEDBACK):
            raise TypeError(
                f"env: expected nothing around BatchFeedback that may change feedback, got {type(wrapper).__name__}; "
                "put it inside BatchFeedback, or around DelayedFeedback"
            )
    return found


class DelayModel(ABC):
    """How long feedback takes."""

    @abstractmethod
    def reset(self, rng: np.random.Generator) -> None:
        """Start an episode at time 0."""

    @abstractmethod
    def launch(self, cost: float) -> float:
        """Start an evaluation; the time at which its feedback arrives."""

    @abstractmethod
    def tick(self) -> float:
        """End the step; the time at which the next action is due."""

    @property
    def stated(self) -> Delay | None:
        """What a policy may know of the delay; None if it has no such form."""
        return None


class _Steps(DelayModel):
    """Delay in whole steps after the step of the evaluation; 0 is no delay."""

    def reset(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._clock = StepClock()

    def launch(self, cost: float) -> float:
        return self._clock.start(self.draw(self._rng))

    def tick(self) -> float:
        now = float(self._clock.now)
        self._clock.step()
        return now

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> float:
        """A delay, in steps."""


class _Stated(_Steps):
    """Delay of a law that policies may know."""

    law: DelayLaw

    def draw(self, rng: np.random.Generator) -> float:
        return self.law.draw(rng)

    @property
    def stated(self) -> Delay | None:
        return self.law.stated


class ConstantDelay(_Stated):
    """Every delay is `steps`.

    Args:
        steps: Delay, an integer >= 0.
    """

    def __init__(self, steps: SupportsIndex) -> None:
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
            raise ValueError(f"delay: expected an integer >= 0, got {steps!r}")
        self.law = ConstantLaw(int(steps))


class GeometricDelay(_Stated):
    """`P(D = n) = p (1 - p)^n` with `p = 1 / (1 + mean)`: memoryless.

    Args:
        mean: Mean delay, > 0.
    """

    def __init__(self, mean: float) -> None:
        self.law = GeometricLaw(positive_number("mean", mean))


class PoissonDelay(_Stated):
    """`P(D = n) = mean^n e^-mean / n!`: light tails.

    Args:
        mean: Mean delay, > 0.
    """

    def __init__(self, mean: float) -> None:
        self.law = PoissonLaw(positive_number("mean", mean))


class ParetoDelay(_Steps):
    """`D = floor(X)` with `P(X > x) = (1 + x / scale)^-shape`: heavy tails, no mean for `shape <= 1`.

    Args:
        shape: Tail exponent, > 0.
        scale: Scale in steps, > 0.
    """

    def __init__(self, shape: float, scale: float = 1.0) -> None:
        self._shape, self._scale = positive_number("shape", shape), positive_number("scale", scale)

    def draw(self, rng: np.random.Generator) -> float:
        return float(np.floor(self._scale * rng.pareto(self._shape)))


class Workers(DelayModel):
    """`W` workers evaluate in parallel, each for the action's cost; the next action is due when one is free.

    Args:
        workers: Number of workers `W >= 1`; 1 is a sequential run.
    """

    def __init__(self, workers: int) -> None:
        self._workers = positive_int("workers", workers)

    def reset(self, rng: np.random.Generator) -> None:
        self._clock = WorkerClock(self._workers)

    def launch(self, cost: float) -> float:
        return self._clock.start(cost)

    def tick(self) -> float:
        return self._clock.now if self._clock.free else self._clock.wait()


class OnRequest(_Steps):
    """Feedback waits until it is requested: adaptive batches."""

    def draw(self, rng: np.random.Generator) -> float:
        return math.inf


def as_delay(delay: int | str | Mapping[str, Any]) -> DelayModel:
    """The model that a number of steps, `"on_request"`, or a spec stands for.

    Args:
        delay: Steps; or `"on_request"`; or `{"name": "geometric", "mean": m}`,
            `{"name": "poisson", "mean": m}`, `{"name": "pareto", "shape": a, "scale": s}`,
            `{"name": "workers", "workers": W}`, `{"name": "constant", "steps": n}`.

    Raises:
        TypeError: if it is none of these, or a parameter is unknown, missing or no number.
        ValueError: if a name or value is wrong.
    """
    if isinstance(delay, (int, np.integer)):
        return ConstantDelay(delay)
    spec = {"name": delay} if isinstance(delay, str) else dict(delay) if isinstance(delay, Mapping) else None
    if spec is None:
        raise TypeError(f"delay: expected steps, 'on_request' or a spec such as {{'name': 'geometric'}}, got {delay!r}")
    name = spec.pop("name", None)
    if name not in _MODELS:
        raise ValueError(f"delay: expected one of {', '.join(_MODELS)}, got {name!r}")
    return _MODELS[name](**spec)


_MODELS: dict[str, type[DelayModel]] = {
    "constant": ConstantDelay,
    "geometric": GeometricDelay,
    "poisson": PoissonDelay,
    "pareto": ParetoDelay,
    "workers": Workers,
    "on_request": OnRequest,
}
