"""The log posterior of hyperparameters: likelihood, priors, and the box that bounds them.

Priors of positive hyperparameters are densities of their logarithm. The mode of a density depends on the parameter it
is a density of. Estimates here are modes over `theta = log x`: with `p` the density of `x`, that of `log x` is
`x p(x)`. For the Gamma priors of the UHE-BO paper, whose density of `x` itself is infinite at 0, this is the reading
under which a mode exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import lgamma, log, pi, sqrt
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import as_number, positive_number, shown
from gpbandit_envs.gp.hyperparameters.likelihood import Groups, LogMarginalLikelihood, free_dim
from gpbandit_envs.gp.observations import Observations


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

    The UHE-BO paper's "Gamma(1e-3, 10)" does not say what its numbers are; `HYPER_PRIORS` has two readings. The default
    one, shape 1e-3 and mean 10, is flat in `log x` up to `x` of some thousands, so that the data decide; so would be
    expectation and variance. Shape 1e-3 and rate 10, as GPy's `Gamma` has its arguments, falls off beyond `x = 0.1`.

    Attributes:
        shape: `a > 0`.
        rate: `b > 0`, unit of 1 / x.
    """

    shape: float = 1e-3
    rate: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("shape", "rate"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name)))

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
        object.__setattr__(self, "location", as_number("location", self.location, "a finite number"))
        object.__setattr__(self, "scale", positive_number("scale", self.scale))

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
        raise TypeError(f"prior: expected a Prior or a mapping with its name, got {shown(prior)}")
    parameters = dict(prior)
    name = parameters.pop("name", None)
    if name not in _BY_NAME:
        raise ValueError(f'prior: expected "name" to be one of {", ".join(_BY_NAME)}, got {name!r}')
    return _BY_NAME[name](**parameters)


_UHE_PRIOR = Gamma()


@dataclass(frozen=True)
class HyperPrior:
    """Independent priors of kernel variance, noise variance and every lengthscale, cut off at bounds.

    Variances refer to standardised feedback. The bounds are needed: where the data are uninformative, as on an
    irrelevant feature, flat priors alone give no proper posterior.

    Attributes:
        variance: Prior of the kernel variance.
        noise: Prior of the noise variance.
        lengthscale: Prior of each lengthscale of a number.
        category: Prior of each lengthscale of a category; by default the median correlation of two levels is a half.
        level: Prior of each variance of a level alone, which has the bounds of the kernel variance.
        variance_bounds: Smallest and largest kernel variance.
        noise_bounds: Smallest and largest noise variance.
        lengthscale_bounds: Smallest and largest lengthscale, for features that span about 1.

    Raises:
        ValueError: if bounds are not positive and in order.
    """

    variance: Prior = _UHE_PRIOR
    noise: Prior = _UHE_PRIOR
    lengthscale: Prior = _UHE_PRIOR
    category: Prior = LogNormal(-0.5 * log(log(2)), 0.5)
    level: Prior = LogNormal(log(0.3), 1.0)
    variance_bounds: tuple[float, float] = (1e-3, 1e3)
    noise_bounds: tuple[float, float] = (1e-8, 1e1)
    lengthscale_bounds: tuple[float, float] = (5e-3, 1e2)

    def __post_init__(self) -> None:
        for name in ("variance_bounds", "noise_bounds", "lengthscale_bounds"):
            object.__setattr__(self, name, _bounds(name, getattr(self, name)))
        for name in ("variance", "noise", "lengthscale", "category", "level"):
            if not isinstance(getattr(self, name), Prior):
                raise TypeError(f"{name}: expected a Prior, got {shown(getattr(self, name))}")

    @classmethod
    def informative(cls, dim: int) -> HyperPrior:
        """Log-normal priors around the standard start: for fewer data than can tell `d` lengthscales apart.

        The medians are variance 1, a noise variance of 1e-2, and lengthscales of `0.4 sqrt(d)`, about the mean distance
        of two points of the cube, so that a function is no rougher for having more coordinates. The logarithms
        have standard deviations 1, 1.5 and 1.

        Reference: Hvarfner, Hellsten and Nardi (2024), Vanilla Bayesian optimization performs great in high dimensions,
        section 5, on why the lengthscale's median is to grow with the root of `d`.
        """
        return cls(
            variance=LogNormal(0.0, 1.0),
            noise=LogNormal(log(1e-2), 1.5),
            lengthscale=LogNormal(log(0.4 * sqrt(dim)), 1.0),
        )

    def bounds(self, dim: int, categories: int = 0) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
        """Lower and upper bounds of `theta`, each of shape (k,); `dim` counts a category once."""
        rows = [self.variance_bounds, self.noise_bounds, *[self.lengthscale_bounds] * dim]
        rows += [self.variance_bounds] * categories
        low, high = np.log(rows).T
        return low, high

    def log_density(self, theta: Float[np.ndarray, " k"], categories: int = 0) -> tuple[float, Float[np.ndarray, " k"]]:
        """Logarithm of the density of `theta` (k,), up to the constant that the bounds cost, and its gradient."""
        if not categories and self.variance is self.noise is self.lengthscale:
            value, slope = self.variance.log_density(theta)
            return float(value.sum()), slope
        parts = [
            self.variance.log_density(theta[:1]),
            self.noise.log_density(theta[1:2]),
            self.lengthscale.log_density(theta[2 : len(theta) - 2 * categories]),
        ]
        if categories:
            parts.append(self.category.log_density(theta[-2 * categories : -categories]))
            parts.append(self.level.log_density(theta[-categories:]))
        return float(sum(value.sum() for value, _ in parts)), np.concatenate([slope for _, slope in parts])


def _bounds(name: str, given: Any) -> tuple[float, float]:
    expected = "finite numbers 0 < low < high"
    if not isinstance(given, (tuple, list, np.ndarray)) or len(given) != 2:
        raise TypeError(f"{name}: expected {expected}, got {shown(given)}")
    low, high = (as_number(name, number, expected, lambda number: number > 0) for number in given)
    if not low < high:
        raise ValueError(f"{name}: expected {expected}, got {(low, high)!r}")
    return low, high


_LITERAL = Gamma(1e-3, 10.0)
HYPER_PRIORS: Mapping[str, HyperPrior] = MappingProxyType(
    {"gamma-mean": HyperPrior(), "gamma-rate": HyperPrior(_LITERAL, _LITERAL, _LITERAL)}
)
"""The UHE-BO paper's Gamma(1e-3, 10) on all hyperparameters, its second number read as the mean or as the rate."""


def as_hyper_prior(prior: HyperPrior | Mapping[str, Any] | str | None) -> HyperPrior:
    """The priors given by a name or a JSON form.

    Args:
        prior: A `HyperPrior`; a name in `HYPER_PRIORS`; a mapping of its fields, a prior being `{"name": "flat"}`,
            `{"name": "gamma", "shape": a, "rate": b}` or `{"name": "log_normal", "location": m, "scale": s}`; or None
            for the defaults.

    Raises:
        TypeError: if it is none of these.
        ValueError: if a name or a value is wrong.
    """
    if prior is None:
        return HyperPrior()
    if isinstance(prior, HyperPrior):
        return prior
    if isinstance(prior, str):
        if prior not in HYPER_PRIORS:
            raise ValueError(f"prior: expected one of {', '.join(map(repr, HYPER_PRIORS))}, got {prior!r}")
        return HYPER_PRIORS[prior]
    if not isinstance(prior, Mapping):
        raise TypeError(f"prior: expected a HyperPrior, a name, a mapping of its fields or None, got {shown(prior)}")
    known = [entry.name for entry in fields(HyperPrior)]
    unknown = sorted(set(prior) - set(known))
    if unknown:
        raise ValueError(f"prior: unknown field {unknown[0]!r}; it has {', '.join(known)}")
    stated: dict[str, Any] = {
        name: _bounds(name, value) if name.endswith("_bounds") else as_prior(value) for name, value in prior.items()
    }
    return HyperPrior(**stated)


class LogPosterior:
    """`log p(theta | data)` up to a constant, with its gradient.

    Args:
        data: Observations, standardised.
        prior: Priors and bounds.
        family: `"matern52"`, `"matern32"` or `"se"`.
        groups: The columns of each category, see `Hyperparameters`.

    Attributes:
        lower: Smallest `theta`, shape (k,).
        upper: Largest `theta`, shape (k,).
    """

    def __init__(self, data: Observations, prior: HyperPrior, family: str = "matern52", groups: Groups = ()) -> None:
        self.prior, self.groups, self.dim = prior, groups, data.X.shape[1]
        self.likelihood = LogMarginalLikelihood(data, family, groups)
        self.lower, self.upper = prior.bounds(free_dim(self.dim, groups), len(groups))

    def value(self, theta: Float[np.ndarray, " k"]) -> float:
        """The value at `theta`, which lies within the bounds; in about half of the time."""
        return self.likelihood.value(theta) + self.prior.log_density(theta, len(self.groups))[0]

    def __call__(self, theta: Float[np.ndarray, " k"]) -> tuple[float, Float[np.ndarray, " k"]]:
        """Value and gradient at `theta`, which lies within the bounds."""
        value, gradient = self.likelihood(theta)
        prior_value, prior_gradient = self.prior.log_density(theta, len(self.groups))
        return value + prior_value, gradient + prior_gradient
