"""The log posterior of hyperparameters: likelihood, priors and the box they are looked for in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.hyperparameters.likelihood import LogMarginalLikelihood
from gpbandit_envs.gp.hyperparameters.priors import Gamma, Prior, as_prior
from gpbandit_envs.gp.observations import Observations

__all__ = ["HyperPrior", "LogPosterior", "as_hyper_prior"]

_PAPER = Gamma()


@dataclass(frozen=True)
class HyperPrior:
    """Independent priors of kernel variance, noise variance and every lengthscale, cut off at bounds.

    Variances are those of standardised feedback. The bounds are needed: where the data say nothing, as on an
    irrelevant feature, flat priors alone give no proper posterior.

    Attributes:
        variance: Prior of the kernel variance.
        noise: Prior of the noise variance.
        lengthscale: Prior of each lengthscale.
        variance_bounds: Smallest and largest kernel variance.
        noise_bounds: Smallest and largest noise variance.
        lengthscale_bounds: Smallest and largest lengthscale, for features that span about 1.

    Raises:
        ValueError: if bounds are not positive and in order.
    """

    variance: Prior = _PAPER
    noise: Prior = _PAPER
    lengthscale: Prior = _PAPER
    variance_bounds: tuple[float, float] = (1e-3, 1e3)
    noise_bounds: tuple[float, float] = (1e-8, 1e1)
    lengthscale_bounds: tuple[float, float] = (5e-3, 1e2)

    def __post_init__(self) -> None:
        for name in ("variance_bounds", "noise_bounds", "lengthscale_bounds"):
            low, high = getattr(self, name)
            if not 0 < low < high < float("inf"):
                raise ValueError(f"{name}: expected finite numbers 0 < low < high, got {(low, high)!r}")

    def bounds(self, dim: int) -> tuple[Float[np.ndarray, " d+2"], Float[np.ndarray, " d+2"]]:
        """Lower and upper bounds of `theta`."""
        rows = [self.variance_bounds, self.noise_bounds, *[self.lengthscale_bounds] * dim]
        low, high = np.log(rows).T
        return low, high

    def log_density(self, theta: Float[np.ndarray, " d+2"]) -> tuple[float, Float[np.ndarray, " d+2"]]:
        """Logarithm of the density of `theta`, up to the constant that the bounds cost, and its gradient."""
        if self.variance is self.noise is self.lengthscale:
            value, slope = self.variance.log_density(theta)
            return float(value.sum()), slope
        parts = [
            self.variance.log_density(theta[:1]),
            self.noise.log_density(theta[1:2]),
            self.lengthscale.log_density(theta[2:]),
        ]
        return float(sum(value.sum() for value, _ in parts)), np.concatenate([slope for _, slope in parts])


def as_hyper_prior(prior: HyperPrior | Mapping[str, Any] | None) -> HyperPrior:
    """The priors that a JSON form stands for.

    Args:
        prior: A `HyperPrior`; a mapping of its fields, a prior being `{"name": "flat"}`, `{"name": "gamma", "shape": a,
            "rate": b}` or `{"name": "log_normal", "location": m, "scale": s}`; or None for the defaults.

    Raises:
        TypeError: if it is none of these.
        ValueError: if a name or a value is wrong.
    """
    if prior is None:
        return HyperPrior()
    if isinstance(prior, HyperPrior):
        return prior
    if not isinstance(prior, Mapping):
        raise TypeError(f"prior: expected a HyperPrior, a mapping of its fields or None, got {prior!r}")
    known = [entry.name for entry in fields(HyperPrior)]
    unknown = sorted(set(prior) - set(known))
    if unknown:
        raise ValueError(f"prior: unknown field {unknown[0]!r}; it has {', '.join(known)}")
    stated: dict[str, Any] = {
        name: tuple(value) if name.endswith("_bounds") else as_prior(value) for name, value in prior.items()
    }
    return HyperPrior(**stated)


class LogPosterior:
    """`log p(theta | data)` up to a constant, with its gradient.

    Args:
        data: Observations, standardised.
        prior: Priors and bounds.
        family: `"matern52"`, `"matern32"` or `"se"`.

    Attributes:
        lower: Smallest `theta`, shape (d + 2,).
        upper: Largest `theta`, shape (d + 2,).
    """

    def __init__(self, data: Observations, prior: HyperPrior, family: str = "matern52") -> None:
        self.prior = prior
        self.likelihood = LogMarginalLikelihood(data, family)
        self.lower, self.upper = prior.bounds(data.X.shape[1])

    def __call__(self, theta: Float[np.ndarray, " d+2"]) -> tuple[float, Float[np.ndarray, " d+2"]]:
        """Value and gradient at `theta`, which lies within the bounds."""
        value, gradient = self.likelihood(theta)
        prior_value, prior_gradient = self.prior.log_density(theta)
        return value + prior_value, gradient + prior_gradient
