"""GP-EI."""

from __future__ import annotations

from typing import Any

from agents.core.acquisition import LogExpectedImprovement
from agents.core.gp_agent import GPAgent
from agents.core.gp_settings import GPSettings
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Actions, Capabilities, Pending
from agents.core.space import Search

__all__ = ["GPEI"]


class GPEI(GPAgent):
    """Evaluate the arm or point of largest expected improvement over the largest posterior mean of an evaluated one.

    With noisy feedback the largest reward is no incumbent: it is likely to owe its size to the noise.

    Args:
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`.
        n_start: Arms or points drawn uniformly and evaluated before the first improvement is computed.
        candidates: On a box, Sobol points at which the improvement is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.

    Reference: Jones, Schonlau and Welch (1998), Efficient global optimization of expensive black-box functions; the
    incumbent: Wang and de Freitas (2014), Theoretical analysis of Bayesian optimisation, section 2.
    """

    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )

    def __init__(
        self,
        kernel: Any = None,
        lam: float | None = None,
        n_start: int = 0,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
    ) -> None:
        super().__init__(GPSettings(kernel, lam), UniformDesign(n_start), Search(candidates, starts, iterations))

    def _next(self, n: int, pending: Pending) -> Actions:
        self._closed = True
        if len(pending):
            return self._nothing
        return self.beliefs.maximise(LogExpectedImprovement(self.beliefs.incumbent), self.rng)
