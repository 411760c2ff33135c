"""RGP-UCB: GP-UCB for feedback that an adversary corrupts."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any, Literal

from agents.core.existing_data import Initial
from agents.core.gp_settings import NormBound
from agents.core.guarantees import BandGuarantee, BoundInputs, RegretGuarantee
from agents.exact.enlarged_ucb import EnlargedUCB
from gpbandit_envs.arguments import as_number

__all__ = ["RobustGPUCB"]


class RobustGPUCB(EnlargedUCB):
    """Evaluate `argmax mean_{t-1} + (width_t + C / sqrt(lam)) sd_{t-1}`, one arm or point at a time.

    Whatever an adversary adds to the feedback, a sum of sizes of at most C moves the posterior mean by at most
    `C / sqrt(lam)` standard deviations; see `docs/math/robust.md`. With `C = 0` this is GP-UCB. The larger width is
    paid for at every pull: the bound on the regret has `C sqrt(T gamma_T)` besides that of GP-UCB.

    Args:
        corruption: Budget `C >= 0`, unit of the reward; None for the problem's, or 0 if it states none.
        enlargement: `"theory"`, or a number b for `b C / sqrt(lam)`: 0.1 in the experiments of Bogunovic et al. (2022).
            Below 1 no theorem says that the band holds.
        kernel: Prior covariance: spec, kernel or scikit-learn kernel; None for the problem's.
        width: `"theory"`, `"amm"`, `"bayes"`, `"practical"`, `"growing"`, a number, or a `WidthSchedule`, as for
            `GPUCB`: the width without corruption.
        lam: Noise variance in the posterior; None for the problem's `noise_std ** 2`. A larger one makes C weigh less.
        norm_bound: Bound `F` on the RKHS norm; None for the problem's, or 1 if it states none; `{"times": 3.0}` for a
            multiple of it.
        delta: Allowed probability of failure, in (0, 1); None for `1 / horizon`, or 0.05 without a horizon.
        n_start: Arms or points drawn uniformly and evaluated before the first bound is computed.
        candidates: On a box, Sobol points at which the bound is evaluated first.
        starts: On a box, points from which L-BFGS-B climbs.
        iterations: On a box, largest number of steps of a climb.
        initial: On arms, existing data `{"arms": [...], "rewards": [...]}`; None for the problem's, if it has some.

    Attributes:
        allowed: The C of the episode, from `reset` on.

    Raises:
        ValueError: if a number is out of range, or at `reset` if neither problem nor argument states what is needed.

    Reference: Bogunovic, Krause and Scarlett (2020), Corruption-tolerant Gaussian process bandit optimization,
    Algorithm 1, as Bogunovic, Li, Krause and Scarlett (2022), section 4, state it.
    """

    deviation = "corruption"
    source = "Bogunovic, Krause and Scarlett (2020)"

    def __init__(
        self,
        corruption: float | None = None,
        enlargement: Literal["theory"] | float = "theory",
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
        box = (candidates, starts, iterations)
        super().__init__(corruption, "corruption", kernel, width, lam, norm_bound, delta, n_start, *box, initial)
        self._share = 1.0
        if enlargement != "theory":
            wanted = "'theory' or a finite number >= 0"
            self._share = as_number("enlargement", enlargement, wanted, lambda share: share >= 0)

    def _enlargement(self, allowed: float, t: float, lam: float) -> float:
        return self._share * allowed / sqrt(lam)

    def band_guarantee(self) -> BandGuarantee:
        stated = super().band_guarantee()
        return stated if self._share >= 1 else replace(stated, tolerates=frozenset())

    def regret_guarantee(self, inputs: BoundInputs) -> RegretGuarantee:
        if self._share < 1 and self._allowed_on(inputs.problem) > 0:
            return RegretGuarantee()
        return super().regret_guarantee(inputs)
