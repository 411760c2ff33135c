"""GP-UCB with a width that allows for feedback off the mean of the model: misspecified, or corrupted."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from agents.core.existing_data import Initial
from agents.core.gp_settings import GPSettings, NormBound
from agents.core.guarantees import BandGuarantee, BoundInputs, Deviation, RegretGuarantee
from agents.core.initial_design import UniformDesign
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import gp_ucb_bound, ucb_guarantee
from agents.core.space import Search
from agents.core.ucb import UCBAgent
from agents.core.widths import SEQUENTIAL_WIDTHS, WidthContext
from gpbandit_envs.arguments import as_number
from gpbandit_envs.problem import Problem

__all__ = ["EnlargedUCB"]


class EnlargedUCB(UCBAgent):
    """Evaluate `argmax mean_{t-1} + (width_t + enlargement_t) sd_{t-1}`, one arm or point at a time.

    If the feedback of t pulls is off by a vector e altogether, the posterior mean at x is off by
    `abs(k_t(x)^T (K_t + lam I)^-1 e) <= norm(e) sd(x) / sqrt(lam)`: a subclass says what it knows of that norm.

    Args:
        size: What the subclass allows for, >= 0; None for what the problem states, or 0 if it states nothing.
        argument: Name of the subclass's argument for it.
        The others: As for `GPUCB`.

    Attributes:
        allowed: What the policy allows for in the episode, unit of the reward; from `reset` on.
        deviation: Which entry of the problem's `misspecification` that is.
        source: The paper.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )
    deviation: ClassVar[Deviation]
    source: ClassVar[str]

    def __init__(
        self,
        size: float | None,
        argument: str,
        kernel: Any,
        width: object,
        lam: float | None,
        norm_bound: NormBound,
        delta: float | None,
        n_start: int,
        candidates: int,
        starts: int,
        iterations: int,
        initial: Initial,
    ) -> None:
        settings = GPSettings(kernel, lam, norm_bound, delta, initial)
        if settings.doubling:
            raise ValueError(
                "norm_bound: expected a number or a multiple of the problem's, got a guess to be doubled: "
                f"data that refute a norm may show a {argument} instead"
            )
        super().__init__(
            settings, width, SEQUENTIAL_WIDTHS, UniformDesign(n_start), search=Search(candidates, starts, iterations)
        )
        self._size = None
        if size is not None:
            self._size = as_number(argument, size, "a finite number >= 0 or None", lambda number: number >= 0)

    @abstractmethod
    def _enlargement(self, allowed: float, t: float, lam: float) -> float:
        """By how many standard deviations the width of the t-th pull is larger."""

    def _allowed_on(self, problem: Problem) -> float:
        return problem.misspecification.get(self.deviation, 0.0) if self._size is None else self._size

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.allowed = self._allowed_on(problem)
        super().reset(problem, rng)

    def next_width(self, context: WidthContext | None, t: int, rng: np.random.Generator) -> float:
        return super().next_width(context, t, rng) + self._enlargement(self.allowed, t, self.lam)

    def band_guarantee(self) -> BandGuarantee:
        of_width = super().band_guarantee()
        theorem = of_width.theorem and f"{of_width.theorem}; {self.source}"
        return replace(of_width, theorem=theorem, tolerates=self._tolerated(self.problem))

    def _tolerated(self, problem: Problem) -> frozenset[Deviation]:
        """The deviation, if the policy allows for as much of it as the problem states."""
        enough = self._allowed_on(problem) >= problem.misspecification.get(self.deviation, 0.0)
        return frozenset({self.deviation} if enough else ())

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        allowed = self._allowed_on(inputs.problem)
        inside = ucb_guarantee(inputs, self.settings, start=self.uniform_start, mixture=self.is_mixture)
        if allowed == 0:
            return inside
        if inside.bound is None:
            return RegretGuarantee(1.0)
        # The enlarged part of the width, by the same sum of standard deviations.
        t, lam = np.array([float(inputs.t)]), inputs.lam
        width = np.array([self._enlargement(allowed, inputs.t, lam)])
        enlarged = gp_ucb_bound(t, width, inputs.gamma[inputs.t - 1 : inputs.t], inputs.prior_variance, lam)
        bound = inside.bound + float(enlarged[0]) + self._outside(allowed, inputs.t)
        theorem = f"{inside.theorem}; {self.source}"
        tolerated = self._tolerated(inputs.problem)
        return RegretGuarantee(self._exponent(inside), bound, theorem, tolerated, inside.gaussian_noise)

    def _outside(self, allowed: float, t: int) -> float:
        """What the bound on the regret of t pulls has besides."""
        return 0.0

    def _exponent(self, inside: RegretGuarantee) -> float | None:
        """Power of t in the bound on the regret, where something is allowed for."""
        return inside.exponent
