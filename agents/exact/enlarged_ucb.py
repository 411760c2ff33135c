"""GP-UCB with a width that allows for feedback off the mean of the model: misspecified, or corrupted."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from agents.core.gp_settings import Number
from agents.core.guarantees import BandGuarantee, BoundInputs, Deviation, RegretGuarantee
from agents.core.protocol import Capabilities
from agents.core.regret_bounds import gp_ucb_bound, ucb_guarantee
from agents.core.space import SearchFields
from agents.core.ucb import UCBAgent
from gpbandit_envs.arguments import as_number
from gpbandit_envs.problem import Problem


@dataclass(kw_only=True, eq=False, repr=False)
class EnlargedUCB(SearchFields, UCBAgent):
    """Evaluate `argmax mean_{t-1} + (width_t + enlargement_t) sd_{t-1}`, one arm or point at a time.

    If the feedback of t pulls is off by a vector e altogether, the posterior mean at x is off by
    `abs(k_t(x)^T (K_t + lam I)^-1 e) <= norm(e) sd(x) / sqrt(lam)`: a subclass says what it knows of that norm.
    It has an argument for what it allows for, None for what the problem states, or 0 if it states nothing. The norm
    bound is no guess to be doubled. Other arguments: see `UCBAgent`.

    Attributes:
        allowed: What the policy allows for in the episode, unit of the reward; from `reset` on.
        argument: Name of the subclass's argument for it.
        deviation: Which entry of the problem's `misspecification` that is.
        source: The paper.
    """

    policy_family = "GP-UCB"
    capabilities = Capabilities(
        frozenset({"finite", "box"}), batch="sequential", needs=frozenset({"kernel", "noise"}), contexts=True
    )
    deviation: ClassVar[Deviation]
    source: ClassVar[str]
    argument: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.settings.doubling:
            raise ValueError(
                "norm_bound: expected a number or a multiple of the problem's, got a guess to be doubled: "
                f"data that refute a norm may show a {self.argument} instead"
            )
        size, expected = getattr(self, self.argument), "a finite number >= 0 or None"
        self._size = None if size is None else as_number(self.argument, size, expected, lambda number: number >= 0)

    @abstractmethod
    def width_enlargement(self, allowed: float, t: float, lam: float) -> float:
        """By how many standard deviations the width of the t-th pull is larger."""

    def allowed_on(self, problem: Problem) -> float:
        """What the policy allows for on a problem."""
        return problem.misspecification.get(self.deviation, 0.0) if self._size is None else self._size

    def norm_on(self, problem: Problem) -> float | None:
        """The norm bound on a problem, where what is allowed for goes with one of its own; None for the problem's."""
        return None

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.allowed = self.allowed_on(problem)
        super().reset(problem, rng)

    def next_width(self, t: int) -> Number:
        return super().next_width(t) + self.width_enlargement(self.allowed, t, self.model.lam)

    def band_guarantee(self) -> BandGuarantee:
        of_width = super().band_guarantee()
        theorem = of_width.theorem and f"{of_width.theorem}; {self.source}"
        return replace(of_width, theorem=theorem, tolerates=self._tolerated(self.problem))

    def _tolerated(self, problem: Problem) -> frozenset[Deviation]:
        """The deviation, if the policy allows for as much of it as the problem states."""
        enough = self.allowed_on(problem) >= problem.misspecification.get(self.deviation, 0.0)
        return frozenset({self.deviation} if enough else ())

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        allowed = self.allowed_on(inputs.problem)
        norm = self.norm_on(inputs.problem)
        inside = ucb_guarantee(inputs, self.settings, start=self.n_start, width=self.regret_width, norm=norm)
        if allowed == 0:
            return inside
        if inside.bound is None:
            return RegretGuarantee()
        # The enlarged part of the width, by the same sum of standard deviations.
        width = self.width_enlargement(allowed, inputs.t, inputs.lam)
        enlarged = gp_ucb_bound(float(inputs.t), width, inputs.gain, inputs.prior_variance, inputs.lam)
        bound = inside.bound + enlarged + self.regret_outside(allowed, inputs.t)
        theorem = f"{inside.theorem}; {self.source}"
        tolerated = self._tolerated(inputs.problem)
        exponent = self.regret_exponent(inside)
        return RegretGuarantee(exponent, bound, theorem, tolerated, inside.gaussian_noise, rests_on_band=True)

    def regret_outside(self, allowed: float, t: int) -> float:
        """What the bound on the regret of t pulls has besides."""
        return 0.0

    def regret_exponent(self, inside: RegretGuarantee) -> float | None:
        """Power of t in the bound on the regret, where something is allowed for."""
        return inside.exponent
