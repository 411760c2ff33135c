"""EC-GP-UCB: GP-UCB for a mean function that is only close to the RKHS."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.core.existing_data import Initial
from agents.core.gp_settings import GPSettings, NormBound
from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import gp_ucb_bound, ucb_guarantee
from agents.core.space import Search
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS
from gpbandit_envs.arguments import as_number
from gpbandit_envs.problem import Problem

__all__ = ["ECGPUCB"]


class ECGPUCB(UCBAgent):
    """Evaluate `argmax mean_{t-1} + (width_t + eps sqrt(t / lam)) sd_{t-1}`, one arm or point at a time.

    The mean function need not be in the RKHS: it suffices that some function within the norm bound differs from it by
    at most `eps` everywhere. What such an error does to the posterior mean is at most `eps sqrt(t / lam)` standard
    deviations; see `docs/math/gp-ucb.md`. The band of `predict` is about the mean function itself, and so wider by
    another `eps`. The regret grows linearly, by a multiple of `eps` a step. With `eps = 0` this is GP-UCB.

    Args:
        misspecification: `eps >= 0`, unit of the reward; None for the problem's `misspecification["sup"]`, or 0 if it
            states none.
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        width: `"theory"`, `"amm"`, `"bayes"`, `"practical"`, `"growing"`, a number, or a `WidthSchedule`, as for
            `GPUCB`: the width of a mean function within the RKHS.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`.
        norm_bound: Bound `F` on the RKHS norm of the near function; None for the problem's, or 1 if it states none;
            `{"times": 3.0}` for a multiple of it.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
        n_start: Arms or points drawn uniformly and evaluated before the first bound is computed.
        candidates: On a box, Sobol points at which the bound is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.
        initial: On arms, existing data `{"arms": [...], "rewards": [...]}`; None for the problem's, if it has some.

    Attributes:
        eps: The `eps` of the episode, from `reset` on.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.

    Reference: Bogunovic and Krause (2021), Misspecified Gaussian process bandit optimization. Its width was taken from
    secondary sources; that it holds is proven in `docs/math/gp-ucb.md`.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}))

    def __init__(
        self,
        misspecification: float | None = None,
        kernel: Any = None,
        width: object = "theory",
        lam: float | None = None,
        norm_bound: NormBound = None,
        delta: float | None = None,
        n_start: int = 0,
        candidates: int = 1_024,
        starts: int = 8,
        iterations: int = 60,
        initial: Initial = None,
    ) -> None:
        settings = GPSettings(kernel, lam, norm_bound, delta, initial)
        if settings.doubling:
            raise ValueError(
                "norm_bound: expected a number or a multiple of the problem's, got a guess to be doubled: "
                "data that refute a norm may show a misspecification instead"
            )
        super().__init__(
            settings, width, SEQUENTIAL_WIDTHS, UniformDesign(n_start), search=Search(candidates, starts, iterations)
        )
        self.misspecification = misspecification
        if misspecification is not None:
            self.misspecification = as_number(
                "misspecification", misspecification, "a finite number >= 0 or None", lambda eps: eps >= 0
            )

    def _eps_on(self, problem: Problem) -> float:
        return problem.misspecification.get("sup", 0.0) if self.misspecification is None else self.misspecification

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.eps = self._eps_on(problem)
        super().reset(problem, rng)

    def _begin_batch(self) -> None:
        super()._begin_batch()
        self.width += self.eps * sqrt((self.beliefs.n_pulls + 1) / self.lam)

    def predict(self, X: Float[np.ndarray, "n d"]) -> tuple[np.ndarray, np.ndarray]:
        mean, half = super().predict(X)
        return mean, half + self.eps

    def band_guarantee(self) -> BandGuarantee:
        of_width = super().band_guarantee()
        source = "Bogunovic and Krause (2021)"
        return replace(of_width, theorem=of_width.theorem and f"{of_width.theorem}; {source}")

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        eps = self._eps_on(inputs.problem)
        inside = ucb_guarantee(inputs, self.settings.delta_on(inputs.problem), mixture=self.is_mixture)
        if eps == 0 or inside.bound is None:
            return inside if eps == 0 else RegretGuarantee(1.0)
        # The enlarged part of the width, by the same sum of standard deviations; and what separates the two functions.
        t = np.array([float(inputs.t)])
        enlarged = gp_ucb_bound(
            t, eps * np.sqrt(t / inputs.lam), inputs.gamma[inputs.t - 1 : inputs.t], inputs.prior_variance, inputs.lam
        )
        bound = inside.bound + float(enlarged[0]) + 2 * eps * inputs.t
        return RegretGuarantee(1.0, bound, f"{inside.theorem}; Bogunovic and Krause (2021)")
