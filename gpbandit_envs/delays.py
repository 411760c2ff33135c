"""Delays of feedback: what a policy may know of them, and the laws that they are drawn from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from gpbandit_envs.arguments import as_count, as_number, positive_number


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
    def stated(self) -> Delay | None:
        """What a policy may know of it; None if it has no such form."""
        return None

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> float:
        """A delay, a whole number."""


@dataclass(frozen=True)
class ConstantLaw(DelayLaw):
    """Every delay is `steps`, a whole number >= 0."""

    steps: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", as_count("steps", self.steps, 0))

    @property
    def stated(self) -> Delay:
        return Delay(mean=self.steps)

    def draw(self, rng: np.random.Generator) -> float:
        return self.steps


@dataclass(frozen=True)
class _MeanLaw(DelayLaw):
    mean: float

    def __post_init__(self) -> None:
        mean = as_number("mean", self.mean, "a finite number >= 0", lambda number: number >= 0)
        object.__setattr__(self, "mean", mean)


@dataclass(frozen=True)
class GeometricLaw(_MeanLaw):
    """`P(D = n) = p (1 - p)^n` with `p = 1 / (1 + mean)` and `mean >= 0`: memoryless."""

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
class PoissonLaw(_MeanLaw):
    """`P(D = n) = mean^n e^-mean / n!` with `mean >= 0`: light tails."""

    @property
    def stated(self) -> Delay:
        # log E exp(s (D - mean)) = mean (e^s - 1 - s), here for |s| <= 1.
        return Delay(mean=0.0) if self.mean == 0 else _sub_exponential(self.mean, 1.0, self.mean * (math.e - 2))

    def draw(self, rng: np.random.Generator) -> int:
        return int(rng.poisson(self.mean))


@dataclass(frozen=True)
class ParetoLaw(DelayLaw):
    """`D = floor(X)` with `P(X > x) = (1 + x / scale)^-shape`: heavy tails, no mean for `shape <= 1`; both are > 0."""

    shape: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("shape", "scale"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name)))

    def draw(self, rng: np.random.Generator) -> float:
        return float(np.floor(self.scale * rng.pareto(self.shape)))


def _sub_exponential(mean: float, tail: float, largest: float) -> Delay:
    """The least `scale` for a law whose cumulants are all positive, as those of both laws are.

    Then `2 log E exp(s (D - mean)) / s^2` grows with s, up to `largest` times `2 tail^2` at `s = 1 / tail`.
    """
    return Delay(mean=mean, scale=tail * math.sqrt(2 * largest), tail=tail)
