"""Proven bounds on the cumulative regret, with the constants of their theorems, and how fast they grow.

| symbol | meaning | unit |
|---|---|---|
| `lam` | regularisation, the noise variance unless stated otherwise | unit of y^2 |
| `kappa2` | largest prior variance `max k(x, x)` | unit of y^2 |
| `gamma` | largest information gain `max 0.5 logdet(I + K_t / lam)` at each time | nats |
| `width` | confidence width on the standard deviation | |

Bounds hold for the widths and conditions of their theorems, not for tuned widths: beside a tuned policy they show the
guarantee of its untuned version. They are bounds on the cumulative regret at every t with high probability.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int

from agents.core.gp_settings import GPSettings
from agents.core.guarantees import BoundInputs, RegretGuarantee
from gpbandit_envs.gp.kernels import SE, Kernel, Matern, Scale

__all__ = [
    "amm_width",
    "batched_ucb_bound",
    "bbkb_bound",
    "bkb_bound",
    "bpe_bound",
    "finite_bayes_width",
    "gain_within_batch",
    "gp_ucb_bound",
    "proven_exponent",
    "rkhs_width",
    "ucb_guarantee",
    "variance_constant",
]


def variance_constant(kappa2: float, lam: float) -> float:
    """`C` in `sum_s var_{s-1}(x_s) <= 2 C gain`: `kappa2 / log(1 + kappa2 / lam)` (Srinivas et al. 2010, Lemma 5.4)."""
    if not (kappa2 > 0 and lam > 0):
        raise ValueError(f"kappa2, lam: expected numbers > 0, got {kappa2!r} and {lam!r}")
    return kappa2 / math.log1p(kappa2 / lam)


def proven_exponent(kernel: Kernel | None, dim: int, optimal: bool = False) -> float | None:
    """Power of t in the bounds of the papers behind the policies here, logarithms aside; None for other kernels.

    `gamma_t = O(t^(d / (2 nu + d)))` for Matern (Vakili et al. 2021), polylogarithmic for SE. In an RKHS, GP-UCB with
    its sketched and batched relatives has `gamma_t sqrt(t)` and elimination (BPE) `sqrt(t gamma_t)`, whose power is
    also that of the lower bound (Scarlett et al. 2017).

    Args:
        kernel: Prior covariance; None if it is not known.
        dim: Dimension of the arms' features.
        optimal: Whether the policy is an elimination policy.
    """
    while isinstance(kernel, Scale):
        kernel = kernel.kernel
    if isinstance(kernel, SE):
        return 0.5
    if isinstance(kernel, Matern):
        growth = dim / (2 * kernel.nu + dim)
        return min(0.5 + (growth / 2 if optimal else growth), 1.0)
    return None


def ucb_guarantee(
    inputs: BoundInputs,
    settings: GPSettings,
    ratio: float = 1.0,
    theorem: str = "",
    start: int = 0,
    width: str = "theory",
    norm: float | None = None,
) -> RegretGuarantee:
    """The guarantee of GP-UCB, or of an exact relative that plays in batches, with a width that its theorem allows.

    The width is that of an RKHS where the problem states a norm bound. Where it states none and its kernel is the true
    one, the mean is a draw from the prior, and the width is the Bayesian one.

    Args:
        inputs: What the bound depends on.
        settings: Those of the policy. Existing data, which tell more than the gain of the pulls, have no bound.
        ratio: Bound on how much a standard deviation shrinks within a batch, >= 1; see `batched_ucb_bound`.
        theorem: Source of the bound; "" for that of the width.
        start: Evaluations of the initial design, each of regret up to twice the largest mean; without a norm bound
            that is not known, and there is no bound.
        width: The width whose bound holds for the policy's; see `WidthSchedule.regret_as`.
        norm: Bound on the norm in the place of the problem's, as of a function that is near the mean.
    """
    if not width:
        return RegretGuarantee()
    problem, kappa2, lam = inputs.problem, inputs.prior_variance, inputs.lam
    exponent = proven_exponent(problem.kernel, problem.dim)
    if problem.initial is not None or settings.initial is not None:
        return RegretGuarantee(exponent)
    F, gaussian, delta = norm or problem.norm_bound, False, settings.delta_on(problem)
    t, gamma = np.array([float(inputs.t)]), inputs.gamma[inputs.t - 1 : inputs.t]
    if F is not None and width == "amm":
        widths, source = amm_width(gamma, F, inputs.noise_std, delta, lam), "Flynn and Reeb (2025), AMM"
    elif F is not None:
        widths, source = rkhs_width(gamma, F, inputs.noise_std, delta, lam), "Chowdhury and Gopalan (2017), Theorem 3"
    elif problem.knowledge == "oracle" and not start:
        widths, source = finite_bayes_width(t, problem.n_arms, delta), "Srinivas et al. (2010), Theorem 1"
        gaussian = True
    else:
        return RegretGuarantee(exponent)
    bound = float(batched_ucb_bound(t, widths, gamma, ratio, kappa2, lam)[0])
    if start and F is not None:
        bound += 2 * F * math.sqrt(kappa2) * start
    return RegretGuarantee(exponent, bound, theorem or source, gaussian_noise=gaussian)


def gp_ucb_bound(
    t: Float[np.ndarray, " p"],
    width: Float[np.ndarray, " p"],
    gamma: Float[np.ndarray, " p"],
    kappa2: float,
    lam: float,
) -> Float[np.ndarray, " p"]:
    """`R_t <= width_t sqrt(8 C t gamma_t)` for GP-UCB with a valid, non-decreasing width.

    From `r_s <= 2 width_s sd_{s-1}(x_s)` by Cauchy and Schwarz; `8 C` is `C_1` of the reference where kappa2 = 1.

    Reference: Srinivas et al. (2010), Theorems 1 and 3; Chowdhury and Gopalan (2017), Theorem 3.
    """
    return np.asarray(width) * np.sqrt(8 * variance_constant(kappa2, lam) * np.asarray(t) * np.asarray(gamma))


def batched_ucb_bound(
    t: Float[np.ndarray, " p"],
    width: Float[np.ndarray, " p"],
    gamma: Float[np.ndarray, " p"],
    ratio: float,
    kappa2: float,
    lam: float,
) -> Float[np.ndarray, " p"]:
    """`R_t <= ratio width_t sqrt(8 C t gamma_t)` for GP-UCB in batches, with `ratio` times a valid width.

    Args:
        t: Times, shape `(p,)`.
        width: Width of the sequential policy, non-decreasing, that holds the mean at the beginning of every batch.
        gamma: Largest information gain at each time.
        ratio: Bound on `sd_fb(x) / sd(x)`, how much a standard deviation shrinks within a batch: `exp(C)` for GP-BUCB,
            with C a bound on the information gained within a batch; the threshold C of its batches for GP-AUCB.
        kappa2: Largest prior variance.
        lam: Noise variance.

    Reference: Desautels et al. (2012), Theorem 1 by its Lemmas 4 and 5, for GP-BUCB; Calandriello et al. (2020),
    Propositions 2 and 3, for GP-AUCB.
    """
    if not ratio >= 1:
        raise ValueError(f"ratio: expected a number >= 1, got {ratio!r}")
    return ratio * gp_ucb_bound(t, width, gamma, kappa2, lam)


def gain_within_batch(gamma: Float[np.ndarray, " T"], batch_size: int, t_init: int = 0) -> float:
    """Bound `C` on the information gained within a batch of GP-BUCB, by arms without feedback.

    `gamma_{B-1}`; after `t_init` pulls of uncertainty sampling also `(B - 1) / t_init gamma_{t_init}`, if that is less.

    Args:
        gamma: Largest information gain after 1, 2, ... pulls, at least `max(B - 1, t_init)` of them.
        batch_size: Largest number of open evaluations `B >= 1`.
        t_init: Pulls of the start.

    Reference: Desautels et al. (2012), section 4 and Lemma 2.
    """
    needed = max(batch_size - 1, t_init)
    if needed > len(gamma):
        raise ValueError(f"gamma: expected {needed} values, one a pull, got {len(gamma)}")
    if batch_size == 1:
        return 0.0
    C = float(gamma[batch_size - 2])
    return C if not t_init else min(C, (batch_size - 1) / t_init * float(gamma[t_init - 1]))


def finite_bayes_width(t: Float[np.ndarray, " p"], n_arms: int, delta: float) -> Float[np.ndarray, " p"]:
    """`alpha_t^(1/2) = sqrt(2 log(A t^2 pi^2 / (6 delta)))`, for a draw from the prior over A arms.

    Reference: Srinivas et al. (2010), Theorem 1; Desautels et al. (2012), Theorem 1, case 1.
    """
    return np.sqrt(2 * np.log(n_arms * np.asarray(t, np.float64) ** 2 * math.pi**2 / (6 * delta)))


def rkhs_width(
    gamma: Float[np.ndarray, " p"], norm: float, noise: float, delta: float, lam: float
) -> Float[np.ndarray, " p"]:
    """`F + R / sqrt(lam) sqrt(2 (gamma_t + 1 + log(1 / delta)))`, for a mean of RKHS norm at most F.

    Reference: Chowdhury and Gopalan (2017), Theorem 2; it takes the place of the alpha of Desautels et al. (2012),
    Theorem 1, case 3, which asks for bounded noise.
    """
    return norm + noise / math.sqrt(lam) * np.sqrt(2 * (np.asarray(gamma) + 1 + math.log(1 / delta)))


def amm_width(
    gamma: Float[np.ndarray, " p"], norm: float, noise: float, delta: float, lam: float
) -> Float[np.ndarray, " p"]:
    """`sqrt(F^2 + R^2 / lam (2 gamma_t + 2 log(1 / delta)))`, for a mean of RKHS norm at most F.

    Reference: Flynn and Reeb (2025), Tighter confidence bounds for sequential kernel regression, the AMM bound.
    """
    return np.sqrt(norm**2 + noise**2 / lam * 2 * (np.asarray(gamma) + math.log(1 / delta)))


def bkb_bound(
    t: Float[np.ndarray, " p"],
    d_eff: Float[np.ndarray, " p"],
    norm: float,
    xi: float,
    delta: float,
    kappa2: float,
    lam: float,
    epsilon: float = 0.5,
) -> Float[np.ndarray, " p"]:
    """`2 (2 alpha)^(3/2) sqrt((1 + kappa2 / lam) t) (xi d L + sqrt(lam F^2 d L) + xi log(1 / delta))`.

    `d` is the exact effective dimension of the pulls, `alpha = (1 + epsilon) / (1 - epsilon)`, and
    `L = 1 + log(1 + kappa2 t / lam)`.

    The printed bound has neither the factor `sqrt(1 + kappa2 / lam)`, by which a deviation may shrink at its own pull,
    since its proof sums the deviations after the pulls where the regret has those before them; nor L, but
    `log(kappa2 t)`. It fails by any factor on independent arms; `docs/math/bkb.md` has the proof of this one.

    Reference: Calandriello et al. (2019), Theorem 2, by its Propositions 4 and 5.
    """
    t, d = np.asarray(t, np.float64), np.asarray(d_eff, np.float64)
    alpha = (1 + epsilon) / (1 - epsilon)
    L = 1 + np.log1p(kappa2 * t / lam)
    inner = xi * d * L + np.sqrt(lam * norm**2 * d * L) + xi * math.log(1 / delta)
    return 2 * (2 * alpha) ** 1.5 * np.sqrt((1 + kappa2 / lam) * t) * inner


def bbkb_bound(
    t: Float[np.ndarray, " p"],
    sum_leverage: Float[np.ndarray, " p"],
    norm: float,
    xi: float,
    delta: float,
    lam: float,
    C: float,
) -> Float[np.ndarray, " p"]:
    """`55 C^3 sqrt(t) (xi (S_t + log(1/delta)) + sqrt(lam F^2 S_t))` with `S_t = sum_s lev_{s-1}(x_s)`.

    Reference: Calandriello et al. (2020), Theorem 2; it asks for lam >= 1.
    """
    S = np.asarray(sum_leverage, np.float64)
    return 55 * C**3 * np.sqrt(t) * (xi * (S + math.log(1 / delta)) + np.sqrt(lam * norm**2 * S))


def bpe_bound(
    lengths: Int[np.ndarray, " B"],
    gamma: Float[np.ndarray, " T"],
    norm: float,
    noise: float,
    n_arms: int,
    delta: float,
    kappa2: float,
    lam: float,
) -> float:
    """`2 w kappa N_1 + sum_{i>1} 4 w N_i sqrt(2 C gamma_{N_{i-1}} / N_{i-1})` for BPE with batches of lengths `N_i`.

    `w = F + R / sqrt(lam) sqrt(2 log(A B / delta))` is its width; after N pulls of largest variance no arm's variance
    exceeds the average of those of the pulled arms, `2 C gamma_N / N`.

    Args:
        lengths: Batch lengths, B of them.
        gamma: Largest information gain after 1, 2, ... pulls, at least as many as the longest batch but the last.
        norm: Bound `F` on the RKHS norm.
        noise: Sub-Gaussian scale `R` of the noise.
        n_arms: Number of arms.
        delta: Failure probability.
        kappa2: Largest prior variance.
        lam: Regularisation.

    Reference: Li and Scarlett (2022), Theorem 1 and its Appendix A.1.
    """
    lengths, gamma = np.asarray(lengths, np.int64), np.asarray(gamma, np.float64)
    if len(lengths) > 1 and lengths[:-1].max() > len(gamma):
        raise ValueError(
            f"gamma: expected {lengths[:-1].max()} values, one a pull of the longest batch, got {len(gamma)}"
        )
    width = norm + noise / math.sqrt(lam) * math.sqrt(2 * math.log(n_arms * len(lengths) / delta))
    before = lengths[:-1]
    later = 4 * width * lengths[1:] * np.sqrt(2 * variance_constant(kappa2, lam) * gamma[before - 1] / before)
    return float(2 * width * math.sqrt(kappa2) * lengths[0] + later.sum())
