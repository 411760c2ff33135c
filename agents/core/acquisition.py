"""Acquisition functions of the posterior mean and standard deviation, with what their gradients need.

| symbol | meaning |
|---|---|
| `m, s` | posterior mean and standard deviation |
| `b` | incumbent: the value to improve on |
| `z` | `(m - b) / s` |
| `phi, Phi` | density and distribution function of the standard normal |
| `h` | `phi(z) + z Phi(z)`, so that expected improvement is `s h(z)` |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr

from gpbandit_envs.arrays import Array, namespace_of, special

Vector = Float[np.ndarray, " n"]

_HALF_LOG_2_PI = 0.5 * log(2 * pi)
_FAR = -1e3  # where `h` is its asymptotic series to 10 digits, and the closed form has lost 6
_LEAST_SD, _LEAST_Z = 1e-150, -1e150  # so that no square overflows


@runtime_checkable
class Objective(Protocol):
    """A function of the point that can be maximised: a score under a posterior, or a sample path of the posterior."""

    def __call__(self, X: Float[np.ndarray, "n d"], /) -> Vector:
        """Values at `X`."""

    def with_gradient(self, X: Float[np.ndarray, "n d"], /) -> tuple[Vector, Float[np.ndarray, "n d"]]:
        """Values and gradients at `X`."""


@runtime_checkable
class Predictive(Protocol):
    """A posterior that can be evaluated at any point, such as `gpbandit_envs.gp.regression.GPRegression`."""

    def at(self, Z: Float[np.ndarray, "n d"], /) -> tuple[Vector, Vector]:
        """Mean and variance."""

    def mean_and_bound(self, Z: Float[np.ndarray, "n d"], /) -> tuple[Vector, Vector]:
        """Mean, and an upper bound of the variance that takes less time than the variance."""

    def at_with_gradient(
        self, Z: Float[np.ndarray, "n d"], /
    ) -> tuple[Vector, Vector, Float[np.ndarray, "n d"], Float[np.ndarray, "n d"]]:
        """Mean, standard deviation, and their gradients in the point."""


class Score(ABC):
    """An acquisition function as a function of mean and standard deviation, which decreases in neither.

    Its values are of arrays of any shape and namespace; its numbers may be arrays that broadcast with them.
    """

    @abstractmethod
    def __call__(self, m: Array, s: Array) -> Array:
        """Values, of the shape of both."""

    @abstractmethod
    def slopes(self, m: Vector, s: Vector) -> tuple[Vector, Vector]:
        """Derivatives in the mean and in the standard deviation, each of shape (n,)."""


@dataclass(frozen=True)
class UpperConfidenceBound(Score):
    """`m + width s`.

    Attributes:
        width: Factor of the standard deviation, >= 0.
    """

    width: Any

    def __call__(self, m: Array, s: Array) -> Array:
        return m + self.width * s

    def slopes(self, m: Vector, s: Vector) -> tuple[Vector, Vector]:
        return np.ones_like(m), np.full_like(s, self.width)


@dataclass(frozen=True)
class LogExpectedImprovement(Score):
    """`log E max(f - b, 0) = log s + log h(z)`: it has the maximisers of expected improvement, and slopes everywhere.

    Expected improvement itself underflows to 0 a few dozen standard deviations below the incumbent, so that
    its gradient vanishes. With `M(z) = Phi(z) / phi(z)` the derivative of `log h` is `M / (1 + z M)`.

    Attributes:
        incumbent: Value to improve on, unit of the reward.

    Reference: Jones, Schonlau and Welch (1998), eq. 15; Ament et al. (2023), Unexpected improvements to expected
    improvement for Bayesian optimization, section 4.1.
    """

    incumbent: Any

    def __call__(self, m: Array, s: Array) -> Array:
        s, z = self._standardised(m, s)
        return namespace_of(s).log(s) + _log_h(z)

    def slopes(self, m: Vector, s: Vector) -> tuple[Vector, Vector]:
        s, z = self._standardised(m, s)
        r = _log_h_slope(z)
        return r / s, (1 - r * z) / s

    def _standardised(self, m: Array, s: Array) -> tuple[Array, Array]:
        xp = namespace_of(s)
        s = xp.clip(s, _LEAST_SD, None)
        with np.errstate(over="ignore"):
            return s, xp.clip((m - self.incumbent) / s, _LEAST_Z, None)


@dataclass(frozen=True)
class PosteriorScore:
    """A score under a posterior, as an `Objective`.

    Attributes:
        score: The acquisition function of mean and standard deviation.
        posterior: Gives both at any point.
    """

    score: Score
    posterior: Predictive

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Vector:
        """Values at `X`."""
        m, variance = self.posterior.at(X)
        return self.score(m, np.sqrt(variance))

    def with_gradient(self, X: Float[np.ndarray, "n d"]) -> tuple[Vector, Float[np.ndarray, "n d"]]:
        """Values and gradients at `X`, by the chain rule."""
        m, s, m_gradient, s_gradient = self.posterior.at_with_gradient(X)
        by_m, by_s = self.score.slopes(m, s)
        return self.score(m, s), by_m[:, None] * m_gradient + by_s[:, None] * s_gradient


def _log_h(z: Array) -> Array:
    xp = namespace_of(z)
    near, far = z > -1.0, z < _FAR
    out = xp.empty_like(z)
    a = z[near]
    # From 30 standard deviations on, h is z to rounding, and the density would underflow.
    out[near] = xp.log(xp.exp(-0.5 * xp.clip(a, None, 30.0) ** 2 - _HALF_LOG_2_PI) + a * special("ndtr", a))
    c = z[far]
    out[far] = -0.5 * c * c - _HALF_LOG_2_PI - 2 * xp.log(-c) + xp.log1p(-3 / (c * c))
    b = z[~near & ~far]
    # h = phi (1 + z M), and M is between 0 and 1 / |z|.
    out[~near & ~far] = -0.5 * b * b - _HALF_LOG_2_PI + xp.log1p(b * _mills(b))
    return out


def _log_h_slope(z: Vector) -> Vector:
    near, far = z > -1.0, z < _FAR
    out = np.empty_like(z)
    a = z[near]
    out[near] = np.exp(log_ndtr(a) - _log_h(a))
    c = z[far]
    out[far] = -c - 2 / c
    b = z[~near & ~far]
    M = _mills(b)
    out[~near & ~far] = M / (1 + b * M)
    return out


def _mills(z: Array) -> Array:
    """`Phi(z) / phi(z)` for negative `z`."""
    return sqrt(pi / 2) * special("erfcx", -z / sqrt(2))
