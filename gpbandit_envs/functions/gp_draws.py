"""Samples of a Gaussian process on a finite arm set."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from gpbandit_envs.functions.arm_sets import positive_int
from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms
from gpbandit_envs.functions.features import draw_fourier_sample
from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.gp.linalg import jittered_cholesky

__all__ = ["EXACT_LIMIT", "GPSampleArms"]

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
    """

    fixed = False
    norm_bound = None

    def __init__(self, kernel: Kernel, arms: Float[np.ndarray, "A d"], n_features: int = 2_048) -> None:
        self.kernel: Kernel = kernel
        self.arms = arms
        self._n_features = positive_int("n_features", n_features)
        self._factor: np.ndarray | None = None
        self._jitter = 0.0

    def draw(self, rng: np.random.Generator) -> ArmFunction:
        n_arms, dim = self.arms.shape
        if n_arms > EXACT_LIMIT:
            sample = draw_fourier_sample(self.kernel, dim, self._n_features, rng)
            return certify_arms(
                sample(self.arms), facts={"sampling": "random features", "n_features": self._n_features}
            )
        if self._factor is None:
            self._factor, self._jitter = jittered_cholesky(self.kernel(self.arms, self.arms))
        z = rng.standard_normal(n_arms)
        facts = {"sampling": "exact", "jitter": self._jitter, "interpolant_norm": float(np.linalg.norm(z))}
        return certify_arms(self._factor @ z, facts=facts)
