"""Sample paths of a Gaussian process posterior: functions that can be evaluated, and climbed, anywhere.

| symbol | meaning | shape |
|---|---|---|
| `g` | sample of the prior, by random Fourier features | |
| `X` | distinct inputs of the observations | (u, d) |
| `m, n` | mean feedback and number of observations at each | (u,) |
| `e` | noise, `e_u ~ N(0, lam / n_u)` | (u,) |

By Matheron's rule `f = g + k(., X) (K + lam / n)^-1 (m - g(X) - e)` is a sample of the posterior. Only `g` is
approximate: the correction by the data is exact, so that the variance at and near the data is right however few the
features.

Reference: Wilson et al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9-13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.features import FourierSample, draw_fourier_sample
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower
from gpbandit_envs.gp.observations import Observations


@dataclass(frozen=True)
class SamplePath:
    """`f(z) = g(z) + k(z, X) w`.

    Attributes:
        prior: The sample `g` of the prior.
        kernel: Covariance `k`.
        X: Inputs, shape (u, d).
        weights: `w`, shape (u,).
    """

    prior: FourierSample
    kernel: Kernel
    X: Float[np.ndarray, "u d"]
    weights: Float[np.ndarray, " u"]

    def __call__(self, Z: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """Values at `Z`."""
        return self.prior(Z) + self.kernel(Z, self.X) @ self.weights

    def with_gradient(self, Z: Float[np.ndarray, "m d"]) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]:
        """Values and gradients at `Z`."""
        _, gradient = self.kernel.with_input_gradient(Z, self.X)
        return self(Z), self.prior.gradient(Z) + gradient(self.weights[None])


def draw_path(
    kernel: Kernel,
    X: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    lam: float,
    rng: np.random.Generator,
    n_features: int = 1_024,
) -> SamplePath:
    """A sample of the posterior given feedback `y` at `X`.

    Args:
        kernel: Prior covariance, one that has random features.
        X: Inputs, shape (n, d); n may be 0.
        y: Feedback, shape (n,).
        lam: Noise variance, >= 0.
        rng: Draws the prior sample and the noise.
        n_features: Random features of the prior sample.

    Raises:
        TypeError: if the kernel has no random features.
    """
    prior = draw_fourier_sample(kernel, X.shape[1], n_features, rng)
    if len(X) == 0:
        return SamplePath(prior, kernel, X, np.zeros(0))
    seen = Observations.of(X, y)
    noise = lam / seen.counts
    K = kernel(seen.X, seen.X)
    K[np.diag_indices_from(K)] += noise
    L = jittered_cholesky(K)[0]
    residual = seen.means - prior(seen.X) - np.sqrt(noise) * rng.standard_normal(len(noise))
    return SamplePath(prior, kernel, seen.X, solve_lower(L, solve_lower(L, residual), transposed=True))
