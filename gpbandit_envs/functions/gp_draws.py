"""Samples of a Gaussian process, on a finite arm set and on the unit cube."""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Float

from gpbandit_envs.arguments import positive_int
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, BoxFamily, BoxFunction, certify_arms
from gpbandit_envs.functions.maximum import certify_smooth
from gpbandit_envs.gp.features import draw_fourier_sample
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky

EXACT_LIMIT = 5_000
"""Largest arm set sampled exactly: the Cholesky factor costs A^3 / 3 flops once and 8 A^2 bytes (200 MB here)."""


class GPSampleArms(ArmFamily):
    """Draws `f ~ GP(0, k)`: `f = L z` with `L L^T = K` up to `EXACT_LIMIT` arms, random Fourier features beyond.

    A GP sample lies almost surely outside the RKHS of its own kernel, so there is no `norm_bound`. The certificate's
    `interpolant_norm = |z|` is the norm of the smoothest function through all arms, `sqrt(f^T K^-1 f)`; it
    grows as `sqrt(A)`.

    Args:
        kernel: Covariance of the process.
        arms: Arm set, shape (A, d).
        n_features: Random features used beyond `EXACT_LIMIT` arms.

    Raises:
        TypeError: if there are more arms than `EXACT_LIMIT` and the kernel has no random features.
    """

    fixed = False
    norm_bound = None

    def __init__(self, kernel: Kernel, arms: Float[np.ndarray, "A d"], n_features: int = 2_048) -> None:
        self.kernel: Kernel = kernel
        self.arms = arms
        self._n_features = positive_int("n_features", n_features)
        if len(arms) > EXACT_LIMIT:
            draw_fourier_sample(kernel, arms.shape[1], 1, np.random.default_rng(0))  # a wrong kernel fails here
        self._factor: np.ndarray | None = None
        self._jitter = 0.0

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        n_arms, dim = self.arms.shape
        if n_arms > EXACT_LIMIT:
            sample = draw_fourier_sample(self.kernel, dim, self._n_features, rng)
            return certify_arms(
                sample(self.arms), facts={"sampling": "random features", "n_features": self._n_features}
            )
        factor = self.factor
        z = rng.standard_normal(n_arms)
        facts = {"sampling": "exact", "jitter": self._jitter, "interpolant_norm": float(np.linalg.norm(z))}
        return certify_arms(factor @ z, facts=facts)

    @property
    def factor(self) -> Float[np.ndarray, "A A"]:
        """The Cholesky factor `L` of the arms' covariance, computed once; up to `EXACT_LIMIT` arms."""
        if self._factor is None:
            self._factor, self._jitter = jittered_cholesky(self.kernel(self.arms, self.arms))
        return self._factor


class GPSampleBox(BoxFamily):
    """Samples on the unit cube by random Fourier features, their optimum found by branch and bound.

    Args:
        kernel: Covariance that has random features, see `draw_fourier_sample`.
        dim: Number of coordinates `d`.
        n_features: Number of random features; the sample is Gaussian in the limit of many.

    Raises:
        TypeError: for another kernel.
    """

    fixed = False
    norm_bound = None

    def __init__(self, kernel: Kernel, dim: int, n_features: int = 1_024) -> None:
        self.kernel: Kernel = kernel
        self.dim = positive_int("dim", dim)
        self.low, self.high = np.zeros(self.dim), np.ones(self.dim)
        self._n_features = positive_int("n_features", n_features)
        draw_fourier_sample(kernel, self.dim, 1, np.random.default_rng(0))  # a wrong kernel fails here

    def draw(self, rng: np.random.Generator) -> BoxFunction:
        sample = draw_fourier_sample(self.kernel, self.dim, self._n_features, rng)
        facts = {"sampling": "random features", "n_features": self._n_features}
        return BoxFunction(sample, partial(certify_smooth, sample, self.dim, facts=facts))
