"""Settings that policies share, as fields that their dataclasses inherit: each is described here, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agents.core.gp_settings import NormBound, Regulariser
from agents.core.space import Search

__all__ = ["BandFields", "ModelFields", "SearchFields"]


@dataclass(kw_only=True, eq=False, repr=False)
class ModelFields:
    """Prior and noise of a given Gaussian process.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`; `{"smoothness": c}` for one that
            grows with the horizon, see `agents.core.gp_settings.Regulariser`.
    """

    kernel: Any = None
    lam: Regulariser = None


@dataclass(kw_only=True, eq=False, repr=False)
class BandFields:
    """What a confidence width is computed from besides the posterior.

    Args:
        norm_bound: Bound on the RKHS norm; None for the problem's, or 1 if it states none; `{"times": 3.0}` for a
            multiple of it. `UCBAgent`s also take `"double"` on arms, for a guess that the data revise; see
            `agents.core.norm_doubling.NormEstimate`.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
    """

    norm_bound: NormBound = None
    delta: float | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class SearchFields:
    """How an acquisition function is maximised on a box; on arms they have no effect.

    Args:
        candidates: On a box, Sobol points at which the acquisition function is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.
    """

    candidates: int = 1_024
    starts: int = 8
    iterations: int = 60

    def search(self) -> Search:
        """The search that they state.

        Raises:
            ValueError: if one of them is no integer from 1 to 100,000.
        """
        return Search(self.candidates, self.starts, self.iterations)
