"""RGP-UCB: GP-UCB for feedback that an adversary corrupts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee
from agents.exact.enlarged_ucb import EnlargedUCB
from gpbandit_envs.arguments import as_number


@dataclass(kw_only=True, eq=False, repr=False)
class RobustGPUCB(EnlargedUCB):
    """Evaluate `argmax mean_{t-1} + (width_t + C / sqrt(lam)) sd_{t-1}`, one arm or point at a time.

    Whatever an adversary adds to the feedback, a sum of sizes of at most C moves the posterior mean by at most
    `C / sqrt(lam)` standard deviations; see `docs/math/robust.md`. With `C = 0` this is GP-UCB. The larger width is
    paid for at every pull: the bound on the regret has `C sqrt(T gamma_T)` besides that of GP-UCB.
    `width` is that without corruption; a larger `lam` makes C weigh less.

    This is `RGP-UCB`, robust; `R-GP-UCB` is `agents.time_varying.forgetting.RestartGPUCB`, which restarts. Other
    arguments: see `UCBAgent`.

    Args:
        corruption: Budget `C >= 0`, unit of the reward; None for the problem's, or 0 if it states none.
        enlargement: `"theory"`, or a number b for `b C / sqrt(lam)`: 0.1 in the experiments of Bogunovic et al. (2022).
            Below 1 no theorem says that the band holds.

    Attributes:
        allowed: The C of the episode, from `reset` on.

    Reference: Bogunovic, Krause and Scarlett (2020), Corruption-tolerant Gaussian process bandit optimization,
    Algorithm 1, as Bogunovic, Li, Krause and Scarlett (2022), section 4, state it.
    """

    argument = "corruption"
    side_by_side = True
    deviation = "corruption"
    source = "Bogunovic, Krause and Scarlett (2020)"

    corruption: float | None = None
    enlargement: Literal["theory"] | float = "theory"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._share = 1.0
        if self.enlargement != "theory":
            wanted = "'theory' or a finite number >= 0"
            self._share = as_number("enlargement", self.enlargement, wanted, lambda share: share >= 0)

    def width_enlargement(self, allowed: float, t: float, lam: float) -> float:
        return self._share * allowed / sqrt(lam)

    def band_guarantee(self) -> BandGuarantee:
        stated = super().band_guarantee()
        return stated if self._share >= 1 else replace(stated, tolerates=frozenset())

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        if self._share < 1 and self.allowed_on(inputs.problem) > 0:
            return RegretGuarantee()
        return super().regret_guarantee(inputs)
