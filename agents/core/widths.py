"""Confidence-width schedules: every one multiplies the posterior standard deviation and cites its source.

| symbol | meaning |
|---|---|
| `F` | bound on the RKHS norm of the mean |
| `R`, `xi` | scale of the noise: sub-Gaussian constant, standard deviation |
| `lam` | noise variance in the posterior |
| `lev` | ridge leverage score `var / lam`; `lev_fb(x_s)`: at the start of the batch in which x_s was chosen |
| `gamma` | information gain of the pulls, `0.5 logdet(I + K_t / lam)` |
| `d_eff` | `sum_s lev_t(x_s)` over all pulls |

Papers differ in what their beta multiplies: GP-BUCB and BPE write `beta^(1/2) sigma`, BKB and BBKB `beta sqrt(lev)`.
The conversion to a factor of the standard deviation (`sqrt(beta)`, `beta / sqrt(lam)`) happens here and nowhere else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from math import inf, log, log1p, pi, sqrt
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from agents.core.guarantees import Assumption
from gpbandit_envs.arguments import as_number, positive_number, shown
from gpbandit_envs.problem import Approximation

__all__ = [
    "SEQUENTIAL_WIDTHS",
    "AbbasiYadkori",
    "AnalyticMixture",
    "BBKBTheorem2",
    "BKBTheorem2",
    "BoundedNoise",
    "CompactBayes",
    "Constant",
    "CorrectedBKB",
    "DualBand",
    "DualMixture",
    "EffectiveDimension",
    "Evidence",
    "FiniteBayes",
    "GrowingWidth",
    "InformationGain",
    "LikelihoodRatio",
    "LogDeterminant",
    "Logarithmic",
    "NonAdaptive",
    "OfflineTheorem",
    "Scaled",
    "SlackMixture",
    "TwoSidedNonAdaptive",
    "TwoSidedOffline",
    "WidthContext",
    "WidthSchedule",
    "as_width",
    "width_setting",
]

_ROUNDING = 1e-9  # relative error of a misfit, many times that of its sum


@dataclass(frozen=True)
class WidthContext:
    """The inputs of a width schedule, as of the last feedback.

    Attributes:
        t: Number of the next evaluation whose feedback is awaited, `fb[t] + 1 >= 1`.
        n_arms: Number of arms `A`.
        lam: Noise variance in the posterior.
        noise_std: Noise standard deviation `xi`, also used as the sub-Gaussian constant `R`.
        norm_bound: Bound `F` on the RKHS norm.
        delta: Allowed probability of failure.
        prior_variance: `kappa^2`, the largest `k(x, x)`.
        information_gain: `gamma` in nats.
        effective_dimension: `d_eff`.
        sum_log_leverage: `sum_s log(1 + lev_fb(x_s))` over the pulls with feedback.
        sum_log_3_leverage: `sum_s log(1 + 3 lev_fb(x_s))`, likewise.
        batch_ratio: How much a variance may shrink within a batch: `C`, `C~` or 1.
        dim: Number of coordinates `d` of a point, or features of an arm.
    """

    t: int
    n_arms: int
    lam: float
    noise_std: float
    norm_bound: float
    delta: float
    prior_variance: float = 1.0
    information_gain: float = 0.0
    effective_dimension: float = 0.0
    sum_log_leverage: float = 0.0
    sum_log_3_leverage: float = 0.0
    batch_ratio: float = 1.0
    dim: int = 1


class WidthSchedule(ABC):
    """A confidence width as a function of the data so far.

    Attributes:
        assumes: What the theorem behind the width assumes of the mean function, besides the true kernel and
            sub-Gaussian noise; None where no theorem says that such a band holds, or where it asks for more than that.
        theorem: Source of that theorem; "" without one.
        unmet: Condition of the theorem that a band at all arms or points never meets; "" if there is none.
        for_sketch: Whether the theorem is about a sketched posterior; the others are about the exact one.
        gaussian_noise: Whether the band is proven for Gaussian noise alone, instead of all that is sub-Gaussian.
        any_lam: Whether it is proven for every noise variance in the posterior, instead of that of the noise alone.
        depends_on_pulls: Whether it reads information gain, effective dimension or leverage scores of the pulls; False
            if it depends only on `t` and the problem, as is needed for batches that are planned before their pulls.
        counts_arms: Whether it is a bound of all arms together, and means nothing on a box.
    """

    assumes: ClassVar[Assumption | None] = None
    theorem: ClassVar[str] = ""
    unmet: ClassVar[str] = ""
    for_sketch: ClassVar[bool] = False
    gaussian_noise: ClassVar[bool] = False
    any_lam: ClassVar[bool] = False
    depends_on_pulls: ClassVar[bool] = True
    counts_arms: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, context: WidthContext) -> float:
        """Factor of the posterior standard deviation, >= 0."""


@dataclass(frozen=True)
class Constant(WidthSchedule):
    """The same width at every step, as in many experiments.

    Attributes:
        value: The width, >= 0.
    """

    depends_on_pulls: ClassVar[bool] = False

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "value", as_number("width", self.value, "a finite number >= 0", lambda width: width >= 0)
        )

    def __call__(self, context: WidthContext) -> float:
        return self.value


@dataclass(frozen=True)
class FiniteBayes(WidthSchedule):
    """`C sqrt(2 log(A t^2 pi^2 / (6 delta)))` for a draw from the prior on a finite set.

    Reference: Desautels et al. (2012), Theorem 1, case 1; Srinivas et al. (2010), Theorem 1.
    """

    assumes = "prior"
    theorem = "Srinivas et al. (2010), Theorem 1"
    gaussian_noise: ClassVar[bool] = True
    depends_on_pulls: ClassVar[bool] = False
    counts_arms: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> float:
        c = context
        return c.batch_ratio * sqrt(2 * log(c.n_arms * c.t**2 * pi**2 / (6 * c.delta)))


@dataclass(frozen=True)
class Logarithmic(WidthSchedule):
    """`C sqrt(3 log(2 t))`, for comparison: no theorem stands behind it.

    Reference: Li and Scarlett (2022), section 5, their `beta_i = 3 log(2 i)` with every evaluation a batch.
    """

    depends_on_pulls: ClassVar[bool] = False

    def __call__(self, context: WidthContext) -> float:
        return context.batch_ratio * sqrt(3 * log(2 * context.t))


@dataclass(frozen=True)
class CompactBayes(WidthSchedule):
    """`C sqrt(2 log(2 t^2 pi^2 / (3 delta)) + 2 d log(t^2 d b r sqrt(log(4 d a / delta))))` on a draw over `[0, r]^d`.

    The theorem bounds the regret: in its proof the band holds at the evaluated points and on a grid that grows finer,
    up to `1 / t^2`, and not at all points. So no theorem guarantees the band of `Agent.predict`.

    Reference: Desautels et al. (2012), Theorem 1, case 2; Srinivas et al. (2010), Theorem 2.

    Attributes:
        a: Constant of the assumption `P(sup |df / dx_j| > L) <= a exp(-(L / b)^2)` on the paths' slopes, > 0.
        b: Scale of the slopes in it, > 0, unit of the reward. The theorem needs the true one; it stands inside a
            logarithm.
        side: Side `r` of the cube, > 0; arms that are no box lie in one.
    """

    assumes = "prior"
    theorem = "Srinivas et al. (2010), Theorem 2"
    unmet = "its theorem covers a grid and the evaluated points, with constants of the slopes that are not known"
    gaussian_noise: ClassVar[bool] = True
    depends_on_pulls: ClassVar[bool] = False

    a: float = 1.0
    b: float = 1.0
    side: float = 1.0

    def __post_init__(self) -> None:
        for name in ("a", "b", "side"):
            object.__setattr__(self, name, positive_number(name, getattr(self, name)))

    def __call__(self, context: WidthContext) -> float:
        c, d = context, context.dim
        cover = c.t**2 * d * self.b * self.side * sqrt(max(log(4 * d * self.a / c.delta), 0.0))
        radius = 2 * log(2 * c.t**2 * pi**2 / (3 * c.delta)) + 2 * d * log(max(cover, 1.0))
        return c.batch_ratio * sqrt(radius)


@dataclass(frozen=True)
class BoundedNoise(WidthSchedule):
    """`C sqrt(2 F^2 + 300 gamma log(t / delta)^3)` for a mean of bounded norm and noise bounded by `sqrt(lam)`.

    The noise may be any martingale difference sequence. The theorem's gamma is the largest information gain of t pulls;
    here it is the gain of the pulls themselves, as in `InformationGain`, whose constants are far smaller.

    Reference: Desautels et al. (2012), Theorem 1, case 3; Srinivas et al. (2010), Theorem 3.
    """

    def __call__(self, context: WidthContext) -> float:
        c = context
        return c.batch_ratio * sqrt(2 * c.norm_bound**2 + 300 * c.information_gain * log(c.t / c.delta) ** 3)


@dataclass(frozen=True)
class InformationGain(WidthSchedule):
    """`C (F + R / sqrt(lam) sqrt(2 (gamma + 1 + log(1 / delta))))` with the gain of the pulls themselves.

    Reference: Chowdhury and Gopalan (2017), Theorem 2, with `lam = 1 + 2 / T` there, which its 1 pays for. It holds for
    any `lam`, since it is never below `AnalyticMixture`.
    """

    assumes = "norm"
    theorem = "Chowdhury and Gopalan (2017), Theorem 2"
    any_lam: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> float:
        c = context
        radius = sqrt(2 * (c.information_gain + 1 + log(1 / c.delta)))
        return c.batch_ratio * (c.norm_bound + c.noise_std / sqrt(c.lam) * radius)


@dataclass(frozen=True)
class AbbasiYadkori(WidthSchedule):
    """`C (F + R / sqrt(lam) sqrt(2 gamma + 2 log(1 / delta)))` with the gain of the pulls themselves, for any `lam`.

    The ellipsoid for linear bandits, with a kernel for the inner product; by `sqrt(a^2 + b^2) <= a + b` never below
    `AnalyticMixture` at the same `lam`. Whitehouse, Ramdas and Wu (2023) use it with a `lam` that grows with the
    horizon, `{"smoothness": c}` of `agents.core.gp_settings.Regulariser`.

    Reference: Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, Theorem 2;
    Abbasi-Yadkori (2012), Online learning for linearly parametrized control problems, Corollary 3.15, in a Hilbert
    space.
    """

    assumes = "norm"
    theorem = "Abbasi-Yadkori et al. (2011), Theorem 2"
    any_lam: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> float:
        c = context
        return c.batch_ratio * (c.norm_bound + c.noise_std / sqrt(c.lam) * sqrt(_log_ratio(c)))


@dataclass(frozen=True)
class AnalyticMixture(WidthSchedule):
    """AMM: `C sqrt(F^2 + R^2 / lam (2 gamma + 2 log(1 / delta)))` with the gain of the pulls themselves, for any `lam`.

    By `sqrt(a^2 + b^2) <= a + b` never above `F + R / sqrt(lam) sqrt(2 (gamma + log(1 / delta)))`, and so always below
    `InformationGain`.

    Reference: Flynn and Reeb (2025), Tighter confidence bounds for sequential kernel regression, the AMM bound.
    """

    assumes = "norm"
    theorem = "Flynn and Reeb (2025), AMM"
    any_lam: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> float:
        c = context
        return c.batch_ratio * sqrt(c.norm_bound**2 + c.noise_std**2 / c.lam * _log_ratio(c))


@dataclass(frozen=True)
class Evidence:
    """What the feedback tells a dual mixture. `y` is without the scatter of feedback on one arm that came together.

    Attributes:
        misfits: `a y^T (K_t + a I)^-1 y` for each regulariser of the grid, shape (G,), unit of y^2.
        scatter: The part of each misfit that is scatter of feedback on one arm that came at different times, unit of
            y^2: the same for all.
        squared_errors: `sum_s (y_s - mean_{s-1}(x_s))^2`, of the posterior mean with `lam` as of before the feedback.
    """

    misfits: Float[np.ndarray, " G"]
    scatter: float = 0.0
    squared_errors: float = 0.0


@dataclass(frozen=True)
class DualBand:
    """The intersection of `mean_a +- (w sd_a + slack)` over regularisers `a` and rows of factors `w`.

    Attributes:
        factors: `w` of each row and each regulariser, shape (P, G); infinite where the data refute it.
        slacks: What each row adds, shape (P,), unit of the reward.
    """

    factors: Float[np.ndarray, "P G"]
    slacks: Float[np.ndarray, " P"]

    @property
    def refuted(self) -> bool:
        """Whether the data refute one of them."""
        return bool(np.isinf(self.factors).any())


@dataclass(frozen=True)
class DualMixture(WidthSchedule):
    """DMM: the intersection of the bands of several regularisers, all valid on the event of `AnalyticMixture`.

    With `mean_a, sd_a` the posterior of the same data with noise variance `a` in the place of `lam`,
    `|f(x) - mean_a(x)| <= rad_a / sqrt(a) sd_a(x)` where
    `rad_a^2 = R_t^2 + a F^2 - a y^T (K_t + a I)^-1 y` and
    `R_t^2 = lam y^T (K_t + lam I)^-1 y + R^2 (2 gamma + 2 log(1 / delta))`.
    At `a = lam` this is `AnalyticMixture`, which is what the schedule itself returns; the policy intersects the bands.

    Every `a > 0` is a Lagrange multiplier of the same convex programme, so a larger grid costs no probability.
    `rad_a^2 < 0` does not happen on the event: it refutes `F`, `R` or the kernel.

    Reference: Flynn and Reeb (2025), Tighter confidence bounds for sequential kernel regression, the DMM bound.

    Attributes:
        grid: Regularisers in units of `lam`, numbers > 0; 1, whose posterior the radius needs, is always among them,
            and first.
    """

    assumes = "norm"
    theorem = "Flynn and Reeb (2025), DMM"
    any_lam: ClassVar[bool] = True

    grid: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)

    def __post_init__(self) -> None:
        try:
            given = [positive_number("grid", ratio) for ratio in self.grid]
        except (TypeError, ValueError):
            given = []
        if not given:
            raise ValueError(
                f"grid: expected finite numbers > 0, in units of lam and of moderate size, got {shown(self.grid)}"
            )
        object.__setattr__(self, "grid", (1.0, *sorted(set(given) - {1.0})))

    def __call__(self, context: WidthContext) -> float:
        return AnalyticMixture()(context)

    def factors(self, context: WidthContext, misfits: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
        """`rad_a / sqrt(a)` for each regulariser of the grid; infinite where the data refute the bound.

        Args:
            context: The inputs of the width.
            misfits: `a y^T (K_t + a I)^-1 y` for each, less what is the same for all of them.
        """
        return self._factors(
            context, misfits, misfits[0], context.noise_std**2 * _log_ratio(context), context.norm_bound
        )

    def _factors(
        self, context: WidthContext, misfits: Float[np.ndarray, " G"], misfit: float, radius: float, norm: float
    ) -> Float[np.ndarray, " G"]:
        """The same where `R_t^2 = misfit + radius`, for a norm of its own."""
        c, a = context, context.lam * np.array(self.grid)
        terms = radius + a * norm**2
        squares = terms + (misfit - misfits)
        # A difference of misfits has their rounding, which is no evidence; k(x, x) + lam knows lam to an eps of k.
        rounding = (_ROUNDING + 8 * np.finfo(float).eps * c.prior_variance / c.lam) * (terms + np.abs(misfits))
        factors = np.sqrt(np.maximum(squares, 0.0) / a)
        factors[squares < -rounding] = inf
        return factors

    def band(self, context: WidthContext, evidence: Evidence, pairs: tuple[Approximation, ...]) -> DualBand:
        """The band after the feedback so far.

        Args:
            context: The inputs of the width.
            evidence: What the feedback tells.
            pairs: What the mean is near; a band for a mean of bounded norm does not read them.
        """
        del pairs
        return DualBand(self.factors(context, evidence.misfits)[None], np.zeros(1))

    def plain_width(self, context: WidthContext, band: DualBand) -> float:
        """The width that is logged: that of the band at `a = lam`, before others are intersected."""
        del band
        return self(context)


@dataclass(frozen=True)
class SlackMixture(DualMixture):
    """DMM with slack, for a mean that is only near the RKHS: all pairs of a norm F and a distance eps are intersected.

    Let some function of norm at most F differ from the mean by at most eps everywhere. The event of `DualMixture` holds
    for any mean, and on it `|f(x) - mean_a(x)| <= rad_a / sqrt(a) sd_a(x) + eps`, where
    `rad_a^2 = (R_t + eps sqrt(t))^2 + a F^2 - a y^T (K_t + a I)^-1 y`. Scatter of feedback on one arm is in `R_t^2` and
    in the last term alike, and says nothing of the function; without it `R_t`, and with it the slack, is smaller.
    With eps = 0 it is DMM. Proof: `docs/math/slack.md`.

    What the distance adds is `2 eps sqrt(t) R_t + eps^2 t` for every `a`, so that larger regularisers than DMM's pay.

    Attributes:
        grid: As for `DualMixture`.
    """

    theorem = "DMM with slack (docs/math/slack.md)"

    grid: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4, 1e5)

    def band(self, context: WidthContext, evidence: Evidence, pairs: tuple[Approximation, ...]) -> DualBand:
        c, t = context, context.t - 1
        log_ratio = c.noise_std**2 * _log_ratio(c)
        R = sqrt(max(float(evidence.misfits[0]) - evidence.scatter + log_ratio, 0.0))
        rows = []
        for F, eps in pairs:
            reach = 2 * eps * sqrt(t) * R + eps**2 * t
            rows.append(self._factors(c, evidence.misfits, evidence.misfits[0], log_ratio + reach, F))
        return DualBand(np.array(rows), np.array([pair.distance for pair in pairs]))

    def plain_width(self, context: WidthContext, band: DualBand) -> float:
        return float(band.factors[:, 0].min())


@dataclass(frozen=True)
class LikelihoodRatio(DualMixture):
    """The likelihood-ratio confidence sequence with weights 1, and a bounded norm, by the dual bands of `DualMixture`.

    `sum_s (y_s - f(x_s))^2 <= sum_s (y_s - mean_{s-1}(x_s))^2 + 2 R^2 log(1 / delta)` with the ridge estimator of the
    pulls before, for all times at once: each factor `exp(((y_s - f(x_s))^2 - (y_s - mean_{s-1}(x_s))^2) / (2 R^2))` has
    a conditional mean of at most 1, whatever predictable number stands for the estimate. Any `lam` will do. The
    right-hand side takes the place of `R_t^2`; the event is another one than that of `DualMixture`.

    The paper's weights below 1, which keep early errors of the estimate out of the sum, are not here.

    Reference: Emmenegger, Mutny and Krause (2023), Likelihood ratio confidence sets for sequential decision making,
    Algorithm 1; its estimator is the penalised maximum of the likelihood, which for Gaussian noise is the ridge
    estimator.

    Attributes:
        grid: As for `DualMixture`.
    """

    theorem = "Emmenegger et al. (2023), Algorithm 1 with weights 1"

    def band(self, context: WidthContext, evidence: Evidence, pairs: tuple[Approximation, ...]) -> DualBand:
        del pairs
        c = context
        radius = 2 * c.noise_std**2 * log(1 / c.delta)
        row = self._factors(c, evidence.misfits, evidence.squared_errors, radius, c.norm_bound)
        return DualBand(row[None], np.zeros(1))

    def plain_width(self, context: WidthContext, band: DualBand) -> float:
        return float(band.factors[0, 0])


def _log_ratio(c: WidthContext) -> float:
    """`2 gamma + 2 log(1 / delta)`."""
    return 2 * (c.information_gain + log(1 / c.delta))


@dataclass(frozen=True)
class BKBTheorem2(WidthSchedule):
    """`beta / sqrt(lam)` with the radius of a fresh dictionary, as printed.

    `beta = 2 xi sqrt(alpha log(kappa^2 t) d_eff + log(1/delta)) + (1 + 1/sqrt(1-eps)) sqrt(lam) F`.

    The logarithm stands for a bound on `logdet(I + K_t / lam) / d_eff` that the proof has as `1 + log(1 + kappa^2 t)`,
    without its `lam`. It depends on the unit of the reward, and is 0 for a small kernel: then nothing is left for the
    noise. `CorrectedBKB` has the bound itself; this width is proven where it is not below that one.

    Reference: Calandriello et al. (2019), Theorem 2, with `alpha = (1 + eps) / (1 - eps)`.

    Attributes:
        eps: Accuracy of the dictionary, in (0, 1).
    """

    assumes = "norm"
    theorem = "Calandriello et al. (2019), Theorem 2"
    for_sketch: ClassVar[bool] = True

    eps: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps", as_number("eps", self.eps, "a number in (0, 1)", lambda eps: 0 < eps < 1))

    @property
    def alpha(self) -> float:
        """`(1 + eps) / (1 - eps)`: the factor within which the dictionary keeps every variance."""
        return (1 + self.eps) / (1 - self.eps)

    def log_ratio(self, prior_variance: float, lam: float, t: int) -> float:
        """What stands for a bound on `logdet(I + K_t / lam) / d_eff` after t pulls."""
        return max(log(prior_variance * t), 0.0)

    def is_proven(self, prior_variance: float, lam: float) -> bool:
        """Whether that is at least the bound of `CorrectedBKB`, for every t: their difference is least for t = 1."""
        needed = CorrectedBKB(self.eps).log_ratio(prior_variance, lam, 1)
        return self.log_ratio(prior_variance, lam, 1) >= needed

    def __call__(self, context: WidthContext) -> float:
        c = context
        gain = self.alpha * self.log_ratio(c.prior_variance, c.lam, c.t) * c.effective_dimension
        beta = 2 * c.noise_std * sqrt(gain + log(1 / c.delta))
        return beta / sqrt(c.lam) + (1 + 1 / sqrt(1 - self.eps)) * c.norm_bound


@dataclass(frozen=True)
class CorrectedBKB(BKBTheorem2):
    """`BKBTheorem2` with `1 + log(1 + kappa^2 t / lam)` in the place of `log(kappa^2 t)`, for which its proof holds.

    `logdet(I + K_t / lam) <= d_eff (1 + log(1 + |K_t| / lam))` and `|K_t| <= kappa^2 t`, so that it does not depend on
    the unit of the reward. See `docs/math/bkb.md`.

    Reference: Calandriello et al. (2019), Proposition 5 and appendix D.1.
    """

    theorem = "Calandriello et al. (2019), Theorem 2 with the logarithm of Proposition 5"

    def log_ratio(self, prior_variance: float, lam: float, t: int) -> float:
        return 1 + log1p(prior_variance * t / lam)


@dataclass(frozen=True)
class BBKBTheorem2(WidthSchedule):
    """`C~ beta / sqrt(lam)` with a radius that adapts to the data.

    `beta = 2 xi sqrt(sum_s log(1 + 3 lev_fb(x_s)) + log(1/delta)) + (1 + sqrt 2) sqrt(lam) F`.

    Reference: Calandriello et al. (2020), Theorem 2.
    """

    assumes = "norm"
    theorem = "Calandriello et al. (2020), Theorem 2"
    for_sketch: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> float:
        c = context
        beta = 2 * c.noise_std * sqrt(c.sum_log_3_leverage + log(1 / c.delta))
        return c.batch_ratio * (beta / sqrt(c.lam) + (1 + sqrt(2)) * c.norm_bound)


@dataclass(frozen=True)
class EffectiveDimension(WidthSchedule):
    """`C (F + xi / sqrt(lam) sqrt(log(t) d_eff + log(1 / delta)))`: practical, without the constants of the theorems.

    No theorem stands behind it, and it need not be narrow: `log(t) d_eff` is mostly more than the `2 gamma` of
    `InformationGain`, and the band then wider than the proven one.

    Reference: the form in which BKB, with `C = 1`, is run in the experiments of Calandriello et al. (2020). For GP-UCB,
    whose width there is not known, it is carried over.
    """

    def __call__(self, context: WidthContext) -> float:
        c = context
        radius = sqrt(log(c.t) * c.effective_dimension + log(1 / c.delta))
        return c.batch_ratio * (c.norm_bound + c.noise_std / sqrt(c.lam) * radius)


@dataclass(frozen=True)
class LogDeterminant(WidthSchedule):
    """`F + xi / sqrt(lam) sqrt(C~ sum_s log(1 + lev_fb(x_s)) + log(1 / delta))`: practical, also within batches.

    The sum begins with the first pull, or with existing data, as in Theorem 2. The authors' code begins it at
    `log(t) d_eff` of two random arms, or of the existing data, so that its first widths are others.

    Reference: the form in which BBKB is run in the experiments of Calandriello et al. (2020).
    """

    def __call__(self, context: WidthContext) -> float:
        c = context
        radius = sqrt(c.batch_ratio * c.sum_log_leverage + log(1 / c.delta))
        return c.norm_bound + c.noise_std / sqrt(c.lam) * radius


@dataclass(frozen=True)
class OfflineTheorem(WidthSchedule):
    """`Psi + R / sqrt(lam) sqrt(2 log(A B / delta))`, valid because a batch is chosen without its feedback.

    The theorem is about one arm and one side of the band. Both sides of A arms in B batches are `2 A B` events. For
    Gaussian noise the two tails of an arm together have the bound of one, and `A B` suffices; see `TwoSidedOffline` for
    other noise.

    Reference: Li and Scarlett (2022), Algorithm 1, line 15; Vakili et al. (2021), Theorem 1.

    Attributes:
        n_batches: Number of batches B, set by the policy.
    """

    assumes = "norm"
    theorem = "Vakili et al. (2021), Theorem 1"
    gaussian_noise: ClassVar[bool] = True
    sides: ClassVar[int] = 1
    """Bounds on the tail of one arm that are added up."""

    n_batches: int = 1
    depends_on_pulls: ClassVar[bool] = False
    counts_arms: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> float:
        c = context
        events = self.sides * c.n_arms * self.n_batches
        return c.norm_bound + c.noise_std / sqrt(c.lam) * sqrt(2 * log(events / c.delta))


@dataclass(frozen=True)
class TwoSidedOffline(OfflineTheorem):
    """`OfflineTheorem` with `2 A B` for `A B`, for all sub-Gaussian noise."""

    gaussian_noise: ClassVar[bool] = False
    sides: ClassVar[int] = 2


@dataclass(frozen=True)
class NonAdaptive(WidthSchedule):
    """`F + R / sqrt(lam) sqrt(2 log(A t^2 pi^2 / (6 delta)))`, at all times, for arms chosen without any feedback.

    The theorem is about one arm, one time and one side of the band; the logarithm is that of a union over the arms and
    over all times. Both sides need no factor of 2 where noise is Gaussian; see `TwoSidedNonAdaptive` for other noise.

    Reference: Vakili et al. (2021), Theorem 1; Garnett (2023), Bayesian optimization, section 10.5, for the union.
    """

    assumes = "norm"
    theorem = "Vakili et al. (2021), Theorem 1"
    gaussian_noise: ClassVar[bool] = True
    sides: ClassVar[int] = 1
    """Bounds on the tail of one arm that are added up."""
    depends_on_pulls: ClassVar[bool] = False
    counts_arms: ClassVar[bool] = True

    def __call__(self, context: WidthContext) -> float:
        c = context
        events = self.sides * c.n_arms * c.t**2
        return c.norm_bound + c.noise_std / sqrt(c.lam) * sqrt(2 * log(events * pi**2 / (6 * c.delta)))


@dataclass(frozen=True)
class TwoSidedNonAdaptive(NonAdaptive):
    """`NonAdaptive` with `2 A` for `A`, for all sub-Gaussian noise."""

    gaussian_noise: ClassVar[bool] = False
    sides: ClassVar[int] = 2


@dataclass(frozen=True)
class GrowingWidth(WidthSchedule):
    """`sqrt(3 log(2 i))` in batch i.

    Reference: Li and Scarlett (2022), section 5.

    Attributes:
        batch: Number i of the batch, set by the policy.
    """

    batch: int = 1
    depends_on_pulls: ClassVar[bool] = False

    def __call__(self, context: WidthContext) -> float:
        return sqrt(3 * log(2 * self.batch))


@dataclass(frozen=True)
class Scaled(WidthSchedule):
    """`scale` times another width, as experiments narrow those of theorems; no theorem says that such a band holds.

    Attributes:
        schedule: The width that is scaled.
        scale: Factor, > 0.
    """

    schedule: WidthSchedule
    scale: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_number("scale", self.scale))
        for name in ("depends_on_pulls", "counts_arms"):
            object.__setattr__(self, name, getattr(self.schedule, name))

    def __call__(self, context: WidthContext) -> float:
        return self.scale * self.schedule(context)


SEQUENTIAL_WIDTHS: Mapping[str, WidthSchedule] = MappingProxyType(
    {
        "theory": InformationGain(),
        "amm": AnalyticMixture(),
        "practical": EffectiveDimension(),
        "bayes": FiniteBayes(),
        "growing": Logarithmic(),
        "ay": AbbasiYadkori(),
    }
)
"""The named widths of GP-UCB on arms, and of all whose width is GP-UCB's.

They are wide: within a few dozen evaluations a policy that plays them hardly does better than uniform sampling. See
`GPUCB` for what a number such as 1.0 does."""


def width_setting(width: object) -> str:
    """The argument `width` of a policy as text: a name, `scale x name`, a name with settings, or a number.

    It is "" for a schedule.
    """
    if isinstance(width, str):
        return width
    if isinstance(width, Mapping):
        others = ", ".join(f"{key} {_text(value)}" for key, value in width.items() if key not in ("name", "scale"))
        scaled = f"{float(width['scale']):.3g} x " if "scale" in width else ""
        return f"{scaled}{width['name']}" + (f" ({others})" if others else "")
    return f"{float(width):g}" if not isinstance(width, bool) and isinstance(width, Real) else ""


def as_width(width: object, named: Mapping[str, WidthSchedule]) -> WidthSchedule:
    """The schedule given by a number, a name, a name with settings, or a schedule.

    Args:
        width: Such as `1.96`, `"dmm"`, `{"name": "dmm", "grid": [1, 10]}` or `{"name": "theory", "scale": 0.5}`.
        named: The schedules behind the names.

    Raises:
        TypeError: if it is none of these.
        ValueError: for an unknown name or setting, or a negative number.
    """
    if isinstance(width, WidthSchedule):
        return width
    wanted = f"one of {', '.join(map(repr, named))}, a number or a schedule"
    if isinstance(width, str):
        if width in named:
            return named[width]
        raise ValueError(f"width: expected {wanted}, got {width!r}")
    if isinstance(width, Mapping):
        return _with_settings(dict(width), named, wanted)
    if not isinstance(width, bool) and isinstance(width, Real):
        number: Any = width
        return Constant(number if isinstance(number, int) else float(number))  # an int may be beyond any float
    raise TypeError(f"width: expected {wanted}, got {shown(width)}")


def _with_settings(width: dict[str, Any], named: Mapping[str, WidthSchedule], wanted: str) -> WidthSchedule:
    name = width.pop("name", None)
    if not isinstance(name, str) or name not in named:
        raise ValueError(f"width: expected {wanted}, got {{'name': {name!r}}}")
    schedule = named[name]
    known = [field.name for field in dataclass_fields(schedule)]  # type: ignore[arg-type]
    if not isinstance(schedule, DualMixture):
        known.append("scale")  # an intersection of bands is no multiple of a standard deviation
    unknown = sorted(map(str, set(width) - set(known)))
    if unknown:
        raise ValueError(f"width: {name!r} has {', '.join(known)}, got {', '.join(unknown)}")
    scale = width.pop("scale", None)
    if isinstance(width.get("grid"), list):
        width["grid"] = tuple(width["grid"])
    schedule = replace(schedule, **width)  # type: ignore[type-var]
    return schedule if scale is None else Scaled(schedule, scale)


def _text(value: object) -> str:
    return " ".join(f"{part:g}" for part in value) if isinstance(value, (list, tuple)) else str(value)
