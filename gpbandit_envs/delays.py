"""Late feedback: the laws of delays, what a policy may know of them, and the clocks that say when it is due."""

from __future__ import annotations

import heapq
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gpbandit_envs.arguments import as_count, as_number

__all__ = ["ConstantLaw", "Delay", "DelayLaw", "GeometricLaw", "PoissonLaw", "StepClock", "WorkerClock"]


@dataclass(frozen=True, kw_only=True)
class Delay:
    """A sub-exponential delay D: `log E exp(s (D - mean)) <= (s scale)^2 / 2` for all `|s| <= 1 / tail`.

    Attributes:
        mean: `E[D] >= 0`, in further evaluations.
        scale: `xi >= 0`, likewise; 0 for a delay that is constant.
        tail: `b >= 0`, likewise; 0 if the inequality holds for all s.

    Raises:
        ValueError: if a number is negative or not finite.

    Reference: Vakili, Ahmed, Bernacchia and Pike-Burke (2023), Delayed feedback in kernel bandits, which writes
    `E[tau]`, `xi` and `b`.
    """

    mean: float
    scale: float = 0.0
    tail: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mean", "scale", "tail"):
            value = as_number(name, getattr(self, name), "a finite number >= 0", lambda number: number >= 0)
            object.__setattr__(self, name, value)


class DelayLaw(ABC):
    """A distribution of delays, in whole steps."""

    @property
    @abstractmethod
    def stated(self) -> Delay:
        """What a policy may know of it."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> int:
        """A delay."""


@dataclass(frozen=True)
class ConstantLaw(DelayLaw):
    """Every delay is `steps`.

    Attributes:
        steps: A whole number >= 0.
    """

    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", as_count("delay", self.steps, 0))

    @property
    def stated(self) -> Delay:
        return Delay(mean=self.steps)

    def draw(self, rng: np.random.Generator) -> int:
        return self.steps


@dataclass(frozen=True)
class GeometricLaw(DelayLaw):
    """`P(D = n) = p (1 - p)^n` with `p = 1 / (1 + mean)`: memoryless.

    Attributes:
        mean: Mean delay, >= 0.
    """

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _mean(self.mean))

    @property
    def stated(self) -> Delay:
        if self.mean == 0:
            return Delay(mean=0.0)
        # E exp(s D) = 1 / (1 - mean (e^s - 1)) is finite for s < log(1 + 1 / mean); half of that bounds |s|.
        s = math.log1p(1 / self.mean) / 2
        return _sub_exponential(self.mean, 1 / s, -math.log1p(-self.mean * math.expm1(s)) - self.mean * s)

    def draw(self, rng: np.random.Generator) -> int:
        # Generator.geometric counts from 1, so a success probability of 1/(1 + m) has mean m from 0.
        return int(rng.geometric(1 / (1 + self.mean))) - 1


@dataclass(frozen=True)
class PoissonLaw(DelayLaw):
    """`P(D = n) = mean^n e^-mean / n!`.

    Attributes:
        mean: Mean delay, >= 0.
    """

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", _mean(self.mean))

    @property
    def stated(self) -> Delay:
        # log E exp(s (D - mean)) = mean (e^s - 1 - s), here for |s| <= 1.
        return Delay(mean=0.0) if self.mean == 0 else _sub_exponential(self.mean, 1.0, self.mean * (math.e - 2))

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.poisson(self.mean))


def _mean(mean: float) -> float:
    return as_number("mean", mean, "a finite number >= 0", lambda number: number >= 0)


def _sub_exponential(mean: float, tail: float, largest: float) -> Delay:
    """The least `scale` for a law whose cumulants are all positive, as those of both laws are.

    Then `2 log E exp(s (D - mean)) / s^2` grows with s, up to `largest` times `2 tail^2` at `s = 1 / tail`.
    """
    return Delay(mean=mean, scale=tail * math.sqrt(2 * largest), tail=tail)


class StepClock:
    """Time in steps; feedback is due a number of steps after that of its evaluation.

    Attributes:
        now: The step, from 0.
    """

    def __init__(self) -> None:
        self.now: float = 0

    def step(self) -> None:
        """Go on to the next step."""
        self.now += 1

    def start(self, delay: float) -> float:
        """Start an evaluation; the step at which its feedback is due."""
        return self.now + delay

    def wait(self, until: float) -> float:
        """Let time pass until a step, unless it has passed already; the step it is then."""
        self.now = max(self.now, until)
        return self.now


class WorkerClock:
    """Simulated time of workers that evaluate in parallel, in the unit of the cost; feedback is due when one is done.

    Args:
        workers: Number of workers, >= 1.

    Attributes:
        now: The time, from 0.
    """

    def __init__(self, workers: int) -> None:
        self.now = 0.0
        self._workers = workers
        self._ends: list[float] = []  # heap, of the evaluations that run

    @property
    def free(self) -> int:
        """Number of workers without work; one that has just finished has some until `wait` says so."""
        return self._workers - len(self._ends)

    def start(self, cost: float) -> float:
        """Start an evaluation now, or as soon as a worker is free; the time at which it is done."""
        if self.free:
            end = self.now + cost
            heapq.heappush(self._ends, end)
        else:
            self.now = self._ends[0]
            end = self.now + cost
            heapq.heapreplace(self._ends, end)
        return end

    def wait(self) -> float:
        """Let time pass until the next evaluation is done, if any runs; the time it is then."""
        if self._ends:
            self.now = self._ends[0]
        while self._ends and self._ends[0] <= self.now:
            heapq.heappop(self._ends)
        return self.now
