"""What a policy with a Gaussian-process model is given, and how the problem card fills the rest."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from gpbandit_envs.gp import Kernel, as_kernel
from gpbandit_envs.problem import Problem

__all__ = ["GivenModel", "Model"]


@dataclass(frozen=True)
class Model:
    """The settings of one episode.

    Attributes:
        kernel: Prior covariance.
        lam: Noise variance in the posterior.
        noise_std: Noise standard deviation.
        norm_bound: Bound on the RKHS norm.
        delta: Allowed probability of failure.
        prior_variance: Largest prior variance of an arm or a point.
    """

    kernel: Kernel
    lam: float
    noise_std: float
    norm_bound: float
    delta: float
    prior_variance: float


class GivenModel:
    """The arguments of a policy, each None where the card decides.

    Args:
        kernel: Spec, kernel or scikit-learn kernel.
        lam: Noise variance in the posterior; else the card's `noise_std ** 2`.
        norm_bound: Bound on the RKHS norm; else the card's, or 1.
        delta: Allowed probability of failure; else `1 / horizon`, or 0.05 without a horizon.

    Raises:
        ValueError: if a number is out of range.
    """

    def __init__(self, kernel: Any, lam: float | None, norm_bound: float | None, delta: float | None) -> None:
        self.kernel: Kernel | None = None if kernel is None else as_kernel(kernel)
        for name, value in (("lam", lam), ("norm_bound", norm_bound)):
            if value is not None and not 0 < value < float("inf"):
                raise ValueError(f"{name}: expected a finite number > 0 or None, got {value!r}")
        if delta is not None and not 0 < delta < 1:
            raise ValueError(f"delta: expected a probability in (0, 1) or None, got {delta!r}")
        self.lam, self.norm_bound, self.delta = lam, norm_bound, delta

    def on(self, card: Problem) -> Model:
        """The settings on a problem.

        Raises:
            ValueError: if neither card nor argument states the kernel or the noise.
        """
        kernel = self.kernel if self.kernel is not None else card.kernel
        if kernel is None:
            raise ValueError(f"kernel: {card.name} offers none; give one, e.g. {{'name': 'se', 'lengthscale': 1.0}}")
        if card.noise_std is None and self.lam is None:
            raise ValueError(f"lam: {card.name} does not state its noise_std; give lam, the variance of the noise")
        # On a box no kernel of ours has a larger variance than at the corner farthest from the origin.
        largest = float(kernel.diag(np.ones((1, card.dim)) if card.arms is None else card.arms).max())
        noise_std = sqrt(self.lam or 0.0) if card.noise_std is None else card.noise_std
        return Model(
            kernel=kernel,
            # Noise-free feedback: the posterior still needs a positive lam, here at the level of rounding.
            lam=self.lam if self.lam is not None else max(noise_std**2, 1e-10 * largest),
            noise_std=noise_std,
            norm_bound=self.norm_bound or card.norm_bound or 1.0,
            delta=self.delta or (1 / card.horizon if card.horizon is not None and card.horizon > 1 else 0.05),
            prior_variance=largest,
        )
