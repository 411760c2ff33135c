"""Mean functions that change from step to step: a Gaussian process that drifts, and one function after another.

| symbol | meaning |
|---|---|
| `f_t` | mean function of the t-th evaluation |
| `g_t` | independent draws of the same process |
| `eps` | rate of drift |
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import as_number
from gpbandit_envs.functions.base import ArmFamily, ArmFunction
from gpbandit_envs.functions.gp_draws import EXACT_LIMIT, GPSampleArms
from gpbandit_envs.gp.kernels import Kernel

_BLOCK = 64


class MeanPath:
    """The means of one episode from its second evaluation on; this one never changes.

    Args:
        first: Mean of each arm at the first evaluation, shape `(A,)`.
    """

    def __init__(self, first: Float[np.ndarray, " A"]) -> None:
        self.mean = first

    def next(self) -> Float[np.ndarray, " A"]:
        """The means of the next evaluation; not to be written to."""
        return self.mean


class TimeVaryingArms(ArmFamily):
    """A distribution over sequences of mean functions on one arm set; `draw` draws the first of a sequence."""

    @abstractmethod
    def path(self, first: ArmFunction, rng: np.random.Generator) -> MeanPath:
        """How the means go on from `first`."""


class DriftingGP(TimeVaryingArms):
    """`f_{t+1} = sqrt(1 - eps) f_t + sqrt(eps) g_{t+1}`: at every step a draw of the same Gaussian process.

    Draws are exact, by a Cholesky factor of the arms' covariance. A step costs `2 A^2` operations.

    Args:
        kernel: Covariance of the process.
        arms: Arm set, shape `(A, d)`, at most 5,000.
        eps: Rate of drift in [0, 1]: 0 for a constant function, 1 for independent ones.

    Raises:
        ValueError: if there are more arms, or the rate is out of range.

    Reference: Bogunovic, Scarlett and Cevher (2016), Time-varying Gaussian process bandit optimization, section 2.
    """

    fixed = False
    norm_bound = None

    def __init__(self, kernel: Kernel, arms: Float[np.ndarray, "A d"], eps: float) -> None:
        if len(arms) > EXACT_LIMIT:
            raise ValueError(f"n_arms: expected at most {EXACT_LIMIT:,} arms whose function drifts, got {len(arms):,}")
        self.kernel: Kernel = kernel
        self.arms = arms
        self.eps = as_number("eps", eps, "a rate in [0, 1]", lambda rate: 0 <= rate <= 1)
        self._draws = GPSampleArms(kernel, arms)

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        return self._draws.draw(rng)

    def path(self, first: ArmFunction, rng: np.random.Generator) -> MeanPath:
        return MeanPath(first.mean) if self.eps == 0 else _Drift(first.mean, self._draws.factor, self.eps, rng)


class _Drift(MeanPath):
    def __init__(self, first: np.ndarray, factor: np.ndarray, eps: float, rng: np.random.Generator) -> None:
        super().__init__(first)
        self._factor, self._keep, self._add, self._rng = factor, np.sqrt(1 - eps), np.sqrt(eps), rng
        self._innovations: list[np.ndarray] = []

    def next(self) -> Float[np.ndarray, " A"]:
        if not self._innovations:
            # Many at a time: a product of two matrices takes a tenth of the time of as many with a vector.
            z = self._rng.standard_normal((_BLOCK, len(self.mean)))
            self._innovations = list(self._add * (z @ self._factor.T))[::-1]
        self.mean = self._keep * self.mean + self._innovations.pop()
        return self.mean


class ChangePointArms(TimeVaryingArms):
    """A function of a family until a change point, then another one, drawn independently.

    Every evaluation but the first is a change point with the same probability, independently.

    Args:
        family: The family, which is not moving itself.
        rate: The probability of a change, in [0, 1].

    Raises:
        ValueError: if the rate is out of range.
    """

    fixed = False

    def __init__(self, family: ArmFamily, rate: float) -> None:
        self._family = family
        self.arms, self.kernel, self.norm_bound = family.arms, family.kernel, family.norm_bound
        self.rate = as_number("rate", rate, "a probability in [0, 1]", lambda p: 0 <= p <= 1)

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        return self._family.draw(rng)

    def path(self, first: ArmFunction, rng: np.random.Generator) -> MeanPath:
        return MeanPath(first.mean) if self.rate == 0 else _Changes(first.mean, self._family, self.rate, rng)


class _Changes(MeanPath):
    def __init__(self, first: np.ndarray, family: ArmFamily, rate: float, rng: np.random.Generator) -> None:
        super().__init__(first)
        self._family, self._rate, self._rng = family, rate, rng
        self._left = int(rng.geometric(rate))

    def next(self) -> Float[np.ndarray, " A"]:
        self._left -= 1
        if self._left == 0:
            self.mean = self._family.draw(self._rng).mean
            self._left = int(self._rng.geometric(self._rate))
        return self.mean
