"""Several posteriors taken together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.regression import GPRegression

__all__ = ["Mixture"]


class Mixture:
    """Means and standard deviations averaged over posteriors with different hyperparameters.

    An upper confidence bound is linear in both, so that the bound of the averages is the average of the bounds: the
    acquisition function integrated over the hyperparameters. The spread of the means is not added to the deviation.

    Args:
        parts: The posteriors, at least one.

    Reference: Snoek, Larochelle and Adams (2012), Practical Bayesian optimization of machine learning algorithms,
    section 3.2.
    """

    def __init__(self, parts: Sequence[GPRegression]) -> None:
        self.parts = tuple(parts)

    def at(self, Z: Float[np.ndarray, "m d"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"]]:
        """Average mean, and the square of the average standard deviation."""
        answers = [part.at(Z) for part in self.parts]
        mean = np.mean([mean for mean, _ in answers], axis=0)
        return mean, np.mean([np.sqrt(variance) for _, variance in answers], axis=0) ** 2

    def at_with_gradient(
        self, Z: Float[np.ndarray, "m d"]
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"], Float[np.ndarray, "m d"], Float[np.ndarray, "m d"]]:
        """Averages of mean, standard deviation and of their gradients."""
        answers = [part.at_with_gradient(Z) for part in self.parts]
        mean, sd, mean_gradient, sd_gradient = (np.mean(column, axis=0) for column in zip(*answers, strict=True))
        return mean, sd, mean_gradient, sd_gradient
