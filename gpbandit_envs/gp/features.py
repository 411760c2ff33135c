"""Random Fourier features: prior samples of a stationary kernel that cost O(m) a point.

Rahimi and Recht (2007), Random features for large-scale kernel machines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.kernels import SE, ActiveDims, Kernel, Matern, Product, RationalQuadratic, Scale, Sum

_CHUNK = 8_192  # points evaluated at once: (8192, m) cosines, 128 MB at m = 2048


@dataclass(frozen=True)
class FourierSample:
    """`f(x) = sum_i w_i cos(<omega_i, x> + b_i)`.

    Attributes:
        frequencies: `omega`, shape (m, d).
        phases: `b`, shape (m,).
        weights: `w`, shape (m,).
    """

    frequencies: Float[np.ndarray, "m d"]
    phases: Float[np.ndarray, " m"]
    weights: Float[np.ndarray, " m"]

    def __call__(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Values at `X`, in blocks of bounded memory."""
        values = np.empty(len(X))
        for start in range(0, len(X), _CHUNK):
            block = slice(start, start + _CHUNK)
            values[block] = np.cos(X[block] @ self.frequencies.T + self.phases) @ self.weights
        return values

    def gradient(self, X: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Gradients at `X`."""
        slopes: np.ndarray = -(np.sin(X @ self.frequencies.T + self.phases) * self.weights) @ self.frequencies
        return slopes

    @property
    def curvature_bound(self) -> float:
        """Bound on the operator norm of the Hessian: `sum_i |w_i| |omega_i|^2`."""
        return float(np.abs(self.weights) @ np.square(self.frequencies).sum(axis=1))


def draw_fourier_sample(kernel: Kernel, dim: int, n_features: int, rng: np.random.Generator) -> FourierSample:
    """A sample whose covariance, over the draw of everything, is the kernel's; Gaussian in the limit of many features.

    Args:
        kernel: SE, Matern or rational quadratic; scaled, of some of the coordinates, sums and products of them.
        dim: Number of coordinates `d`.
        n_features: Number of features `m`, for each term of a sum.
        rng: Draws everything.

    Raises:
        TypeError: if the kernel's spectral density is not known here.
    """
    if isinstance(kernel, Sum):
        parts = [draw_fourier_sample(part, dim, n_features, rng) for part in (kernel.left, kernel.right)]
        return FourierSample(
            np.concatenate([part.frequencies for part in parts]),
            np.concatenate([part.phases for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )
    frequencies, variance = _frequencies(kernel, dim, n_features, rng)
    phases = rng.uniform(0.0, 2 * np.pi, n_features)
    weights = rng.standard_normal(n_features) * np.sqrt(2 * variance / n_features)
    return FourierSample(frequencies, phases, weights)


def _frequencies(kernel: Kernel, dim: int, n: int, rng: np.random.Generator) -> tuple[Float[np.ndarray, "n d"], float]:
    """Frequencies from the spectral density of a kernel, and its variance."""
    if isinstance(kernel, Scale):
        frequencies, variance = _frequencies(kernel.kernel, dim, n, rng)
        return frequencies, variance * kernel.variance
    if isinstance(kernel, ActiveDims):
        seen, variance = _frequencies(kernel.kernel, len(kernel.dims), n, rng)
        frequencies = np.zeros((n, dim))
        frequencies[:, kernel.dims] = seen
        return frequencies, variance
    if isinstance(kernel, Product):
        # The spectral density of a product is the convolution of its factors' densities.
        (one, v), (other, w) = (_frequencies(part, dim, n, rng) for part in (kernel.left, kernel.right))
        return one + other, v * w
    if not isinstance(kernel, (SE, Matern, RationalQuadratic)):
        raise TypeError(
            f"kernel: random features need an SE, Matern or rational quadratic kernel, or sums and products of them, "
            f"got {kernel!r}"
        )
    frequencies = rng.standard_normal((n, dim))
    if isinstance(kernel, Matern):
        # The Matern spectral density is a multivariate Student-t with 2 nu degrees of freedom.
        frequencies /= np.sqrt(rng.chisquare(2 * kernel.nu, (n, 1)) / (2 * kernel.nu))
    elif isinstance(kernel, RationalQuadratic):
        # A mixture of SE kernels whose inverse squared lengthscales are Gamma distributed.
        frequencies *= np.sqrt(rng.gamma(kernel.alpha, 1 / kernel.alpha, (n, 1)))
    frequencies /= np.asarray(kernel.lengthscale)
    return frequencies, 1.0
