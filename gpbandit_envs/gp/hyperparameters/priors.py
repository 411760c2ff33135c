"""Priors of positive hyperparameters, as densities of their logarithm.

The mode of a density depends on the parameter it is a density of. Estimates here are modes over `theta = log x`: with
`p` the density of `x`, that of `log x` is `x p(x)`. For the Gamma priors of the UHE-BO paper, whose density of `x`
itself is infinite at 0, this is the reading under which a mode exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import lgamma, log, pi
from typing import Any

import numpy as np
from jaxtyping import Float

__all__ = ["Flat", "Gamma", "LogNormal", "Prior", "as_prior"]


class Prior(ABC):
    """A density of `theta = log x`."""

    @abstractmethod
    def log_density(self, theta: Float[np.ndarray, " k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Logarithm of the density at each `theta`, and its derivative."""


@dataclass(frozen=True)
class Flat(Prior):
    """Every `log x` alike: with it alone the MAP estimate is the maximum-likelihood one."""

    def log_density(self, theta: Float[np.ndarray, " k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        return np.zeros_like(theta), np.zeros_like(theta)


@dataclass(frozen=True)
class Gamma(Prior):
    """`x ~ Gamma(a, b)` of mean `a / b`: the density of `log x` is `b^a x^a exp(-b x) / G(a)`.

    The UHE-BO paper's "Gamma(1e-3, 10)" does not say what its numbers are. The default reads it as shape 1e-3 and mean
    10; as expectation and variance, GPy's `Gamma.from_EV(1e-3, 10)`, it would be shape 1e-7 and rate 1e-4. Both are
    flat in `log x` up to `x` of some thousands, so that the data decide.

    Attributes:
        shape: `a > 0`.
        rate: `b > 0`, unit of 1 / x.
    """

    shape: float = 1e-3
    rate: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ValueError(f"{name}: expected a finite number > 0, got {getattr(self, name)!r}")

    def log_density(self, theta: Float[np.ndarray, " k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        scaled = self.rate * np.exp(theta)
        constant = self.shape * log(self.rate) - lgamma(self.shape)
        return constant + self.shape * theta - scaled, self.shape - scaled


@dataclass(frozen=True)
class LogNormal(Prior):
    """`log x ~ Normal(location, scale^2)`.

    Attributes:
        location: Median of `log x`.
        scale: Standard deviation of `log x`, > 0.
    """

    location: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.location):
            raise ValueError(f"location: expected a finite number, got {self.location!r}")
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale: expected a finite number > 0, got {self.scale!r}")

    def log_density(self, theta: Float[np.ndarray, " k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        z = (theta - self.location) / self.scale
        return -0.5 * z * z - log(self.scale) - 0.5 * log(2 * pi), -z / self.scale


_BY_NAME: dict[str, Callable[..., Prior]] = {"flat": Flat, "gamma": Gamma, "log_normal": LogNormal}


def as_prior(prior: Prior | Mapping[str, Any]) -> Prior:
    """A prior, or the one that `{"name": "gamma", "shape": 2.0, "rate": 1.0}` and the like stand for.

    Raises:
        TypeError: if it is neither, or a parameter is unknown.
        ValueError: if the name is unknown or a value out of range.
    """
    if isinstance(prior, Prior):
        return prior
    if not isinstance(prior, Mapping):
        raise TypeError(f"prior: expected a Prior or a mapping with its name, got {prior!r}")
    parameters = dict(prior)
    name = parameters.pop("name", None)
    if name not in _BY_NAME:
        raise ValueError(f'prior: expected "name" to be one of {", ".join(_BY_NAME)}, got {name!r}')
    return _BY_NAME[name](**parameters)
