"""GP-TS."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.core.protocol import Actions
from agents.core.settings import GivenModel, as_count
from agents.core.space import Search
from agents.sequential.base import SequentialAgent
from gpbandit_envs.gp.features import draw_fourier_sample
from gpbandit_envs.problem import Problem

__all__ = ["GPTS"]


class GPTS(SequentialAgent):
    """Thompson sampling: evaluate the maximiser of a joint draw from the posterior, one arm or point at a time.

    On finite arms this is ASYNC-TS with one worker. On a box the draw is a sample path: a prior sample by random
    Fourier features plus the exact correction by the data, whose gradients are known.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`.
        n_start: Arms or points drawn uniformly and evaluated before the first draw.
        n_features: On a box, random features of a path.
        candidates: On a box, Sobol points at which a path is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.
        TypeError: at `reset` on a box, if the kernel has no random features.

    References: Chowdhury and Gopalan (2017), Algorithm 2; its factor of the standard deviation is left out. Paths:
    Wilson et al. (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9.
    """

    def __init__(
        self,
        kernel: Any = None,
        lam: float | None = None,
        n_start: int = 0,
        n_features: int = 1_024,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
    ) -> None:
        super().__init__(GivenModel(kernel, lam, None, None), n_start, Search(candidates, starts, iterations))
        self.n_features = as_count("n_features", n_features)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        if not problem.is_finite:
            draw_fourier_sample(self.model.kernel, problem.dim, 1, np.random.default_rng(0))  # refuses other kernels

    def _choose(self) -> Actions:
        return self.beliefs.maximise_draw(self.n_features, self.rng)
