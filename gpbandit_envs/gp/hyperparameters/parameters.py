"""The hyperparameters of a stationary ARD kernel with noise, as a value and as a vector of logarithms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.kernels import SE, Kernel, Matern, Scale, Stationary

__all__ = ["FAMILIES", "Hyperparameters", "as_family"]

FAMILIES: Mapping[str, Callable[[tuple[float, ...]], Stationary]] = MappingProxyType(
    {"matern52": partial(Matern, nu=2.5), "matern32": partial(Matern, nu=1.5), "se": SE}
)
"""Kernels of variance 1 whose lengthscales can be learned, by name."""


def as_family(family: str) -> Callable[[tuple[float, ...]], Stationary]:
    """The family of that name.

    Raises:
        ValueError: if there is none.
    """
    if family not in FAMILIES:
        raise ValueError(f"family: expected one of {', '.join(FAMILIES)}, got {family!r}")
    return FAMILIES[family]


@dataclass(frozen=True)
class Hyperparameters:
    """Kernel variance, noise variance and lengthscales.

    Attributes:
        variance: Kernel variance `s^2`, unit of y^2.
        noise: Noise variance `lam`, unit of y^2.
        lengthscales: `l`, one per feature, unit of the features.

    Raises:
        ValueError: if one of them is not finite and positive.
    """

    variance: float
    noise: float
    lengthscales: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengthscales", tuple(map(float, self.lengthscales)))
        for name in ("variance", "noise", "lengthscales"):
            if not all(np.isfinite(v) and v > 0 for v in np.atleast_1d(getattr(self, name)).tolist()):
                raise ValueError(f"{name}: expected finite numbers > 0, got {getattr(self, name)!r}")

    @classmethod
    def from_vector(cls, theta: Float[np.ndarray, " d+2"]) -> Hyperparameters:
        """The hyperparameters whose logarithms are `theta`."""
        variance, noise, *lengthscales = np.exp(theta).tolist()
        return cls(variance, noise, tuple(lengthscales))

    def vector(self) -> Float[np.ndarray, " d+2"]:
        """`theta`: logarithms of variance, noise and lengthscales."""
        return np.log([self.variance, self.noise, *self.lengthscales])

    def kernel(self, family: str = "matern52") -> Kernel:
        """The kernel with these values."""
        return Scale(as_family(family)(self.lengthscales), self.variance)

    def rescaled(self, scale: float) -> Hyperparameters:
        """What they are for feedback `scale` times as large."""
        return Hyperparameters(self.variance * scale**2, self.noise * scale**2, self.lengthscales)
