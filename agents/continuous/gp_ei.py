"""GP-EI on a box."""

from __future__ import annotations

from typing import Any

from agents.continuous.base import BoxAgent
from agents.core.acquisition import LogExpectedImprovement, of_gradients, of_values
from agents.core.maximise import Acquisition, Values

__all__ = ["BoxGPEI"]


class BoxGPEI(BoxAgent):
    """Evaluate the point of largest expected improvement over the largest posterior mean at an evaluated point.

    With noisy feedback the largest reward is no incumbent: it is likely to be luck. Arguments: see `BoxAgent`.

    Reference: Jones, Schonlau and Welch (1998), Efficient global optimization of expensive black-box functions, with
    the incumbent of Wang and de Freitas (2014), Theoretical analysis of Bayesian optimisation, section 2.
    """

    def __init__(
        self,
        kernel: Any = None,
        lam: float | None = None,
        n_start: int = 0,
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

    def _acquisition(self) -> tuple[Acquisition, Values]:
        score = LogExpectedImprovement(float(self._means.max()) if len(self._means) else 0.0)
        return of_gradients(score, self.posterior), of_values(score, self.posterior)
