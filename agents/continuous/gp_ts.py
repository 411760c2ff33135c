"""GP-TS on a box."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.continuous.base import BoxAgent
from agents.core.maximise import Acquisition, Values
from agents.core.settings import as_count
from gpbandit_envs.gp.features import draw_fourier_sample
from gpbandit_envs.gp.paths import draw_path
from gpbandit_envs.problem import Problem

__all__ = ["BoxGPTS"]


class BoxGPTS(BoxAgent):
    """Thompson sampling: evaluate the maximiser of a sample path of the posterior, drawn anew for each evaluation.

    A path is a prior sample by random Fourier features plus the exact correction by the data, so that it can be climbed
    with gradients. Other arguments: see `BoxAgent`.

    Args:
        n_features: Random features of a path.

    Raises:
        TypeError: at `reset`, if the kernel has no random features.

    References: Chowdhury and Gopalan (2017), Algorithm 2, without its factor of the standard deviation; Wilson et al.
    (2020), Efficiently sampling functions from Gaussian process posteriors, eq. 9.
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
        super().__init__(
            kernel=kernel,
            lam=lam,
            norm_bound=None,
            delta=None,
            n_start=n_start,
            candidates=candidates,
            starts=starts,
            iterations=iterations,
        )
        self.n_features = as_count("n_features", n_features)

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        draw_fourier_sample(self.model.kernel, problem.dim, 1, np.random.default_rng(0))  # a wrong kernel fails here

    def _acquisition(self) -> tuple[Acquisition, Values]:
        path = draw_path(self.model.kernel, self.X, self.y, self.lam, self.rng, self.n_features)
        return path.with_gradient, path
