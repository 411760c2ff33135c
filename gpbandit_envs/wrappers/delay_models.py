"""When the feedback of an evaluation arrives.

A model keeps simulated time. `launch(cost)` starts an evaluation and says when it ends; `tick()` ends a step and says
what time it is when the next action is due. Feedback that has ended by then arrives with the step.
"""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from gpbandit_envs.functions.arm_sets import positive_int

__all__ = ["ConstantDelay", "DelayModel", "GeometricDelay", "OnRequest", "ParetoDelay", "Workers", "as_delay"]


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


class _Steps(DelayModel):
    """Delay in whole steps after the step of the evaluation; 0 is no delay."""

    def reset(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._step = 0

    def launch(self, cost: float) -> float:
        return self._step + self.draw(self._rng)

    def tick(self) -> float:
        self._step += 1
        return float(self._step - 1)

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> float:
        """A delay, in steps."""


class ConstantDelay(_Steps):
    """Every delay is `steps`.

    Args:
        steps: Delay, an integer >= 0.
    """

    def __init__(self, steps: int | np.integer[Any]) -> None:
        if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
            raise ValueError(f"delay: expected an integer >= 0, got {steps!r}")
        self._steps = int(steps)

    def draw(self, rng: np.random.Generator) -> float:
        return self._steps


class GeometricDelay(_Steps):
    """`P(D = n) = p (1 - p)^n` with `p = 1 / (1 + mean)`: memoryless.

    Args:
        mean: Mean delay, > 0.
    """

    def __init__(self, mean: float) -> None:
        self._p = 1 / (1 + _positive("mean", mean))

    def draw(self, rng: np.random.Generator) -> float:
        return float(rng.geometric(self._p) - 1)


class ParetoDelay(_Steps):
    """`D = floor(X)` with `P(X > x) = (1 + x / scale)^-shape`: heavy tails, no mean for `shape <= 1`.

    Args:
        shape: Tail exponent, > 0.
        scale: Scale in steps, > 0.
    """

    def __init__(self, shape: float, scale: float = 1.0) -> None:
        self._shape, self._scale = _positive("shape", shape), _positive("scale", scale)

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
        self._free = [0.0] * self._workers

    def launch(self, cost: float) -> float:
        end = self._free[0] + cost
        heapq.heapreplace(self._free, end)
        return end

    def tick(self) -> float:
        return self._free[0]


class OnRequest(_Steps):
    """Feedback waits until it is asked for: adaptive batches."""

    def draw(self, rng: np.random.Generator) -> float:
        return math.inf


def as_delay(delay: int | str | Mapping[str, Any]) -> DelayModel:
    """The model that a number of steps, `"on_request"`, or a spec stands for.

    Args:
        delay: Steps; or `"on_request"`; or `{"name": "geometric", "mean": m}`,
            `{"name": "pareto", "shape": a, "scale": s}`, `{"name": "workers", "workers": W}`,
            `{"name": "constant", "steps": n}`.

    Raises:
        TypeError: if it is none of these, or a parameter is unknown or missing.
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
    "pareto": ParetoDelay,
    "workers": Workers,
    "on_request": OnRequest,
}


def _positive(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name}: expected a finite number > 0, got {value!r}")
    return float(value)
