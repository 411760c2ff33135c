"""What is proven of BKB and BBKB: their confidence widths, and bounds on their regret.

Symbols are those of `agents.core.widths` and `agents.core.regret_bounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, log1p, sqrt

from agents.core.gp_settings import WidthContext
from agents.core.regret_bounds import V
from agents.core.widths import WidthSchedule
from gpbandit_envs.arguments import as_number


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

    eps: float = 0.5

    def __post_init__(self) -> None:
        eps = as_number("eps", self.eps, "a number in (0, 1)", lambda eps: 0 < eps < 1)
        object.__setattr__(self, "eps", eps)
        object.__setattr__(self, "sketch_eps", eps)

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

    def unmet_on_sketch(self, prior_variance: float, lam: float) -> str:
        if self.is_proven(prior_variance, lam):
            return ""
        return "it is printed with log(kappa^2 t), which its proof bounds by 1 + log(1 + kappa^2 t / lam)"

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
    sketch_eps = 0.5

    def __call__(self, context: WidthContext) -> float:
        c = context
        beta = 2 * c.noise_std * sqrt(c.sum_log_3_leverage + log(1 / c.delta))
        return c.batch_ratio * (beta / sqrt(c.lam) + (1 + sqrt(2)) * c.norm_bound)


def bkb_bound(
    t: float, d_eff: float, norm: float, xi: float, delta: float, kappa2: float, lam: float, epsilon: float = 0.5
) -> float:
    """`2 (2 alpha)^(3/2) sqrt((1 + kappa2 / lam) t) (xi d L + sqrt(lam F^2 d L) + xi log(1 / delta))`.

    `d` is the exact effective dimension of the pulls, `alpha = (1 + epsilon) / (1 - epsilon)`, and
    `L = 1 + log(1 + kappa2 t / lam)`.

    The printed bound has neither the factor `sqrt(1 + kappa2 / lam)`, by which a deviation may shrink at its own pull,
    since its proof sums the deviations after the pulls where the regret has those before them; nor L, but
    `log(kappa2 t)`. It fails by any factor on independent arms; `docs/math/bkb.md` has the proof of this one.

    Reference: Calandriello et al. (2019), Theorem 2, by its Propositions 4 and 5.
    """
    alpha, L = (1 + epsilon) / (1 - epsilon), 1 + log1p(kappa2 * t / lam)
    inner = xi * d_eff * L + sqrt(lam * norm**2 * d_eff * L) + xi * log(1 / delta)
    return 2 * (2 * alpha) ** 1.5 * sqrt((1 + kappa2 / lam) * t) * inner


def bbkb_bound(t: V, sum_leverage: V, norm: float, xi: float, delta: float, lam: float, C: float) -> V:
    """`55 C^3 sqrt(t) (xi (S_t + log(1/delta)) + sqrt(lam F^2 S_t))` with `S_t = sum_s lev_{s-1}(x_s)`.

    Reference: Calandriello et al. (2020), Theorem 2; it asks for lam >= 1.
    """
    S = sum_leverage
    return 55 * C**3 * t**0.5 * (xi * (S + log(1 / delta)) + (lam * norm**2 * S) ** 0.5)
