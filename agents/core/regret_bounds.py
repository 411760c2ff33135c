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
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from agents.core.gp_settings import GPSettings
from agents.core.guarantees import BoundInputs, RegretGuarantee
from agents.core.widths import AnalyticMixture, FiniteBayes, InformationGain, WidthContext, WidthSchedule
from gpbandit_envs.gp.kernels import SE, Matern
from gpbandit_envs.problem import Problem

V = TypeVar("V", float, Float[np.ndarray, " p"])


def variance_constant(kappa2: float, lam: float) -> float:
    """`C` in `sum_s var_{s-1}(x_s) <= 2 C gain`: `kappa2 / log(1 + kappa2 / lam)` (Srinivas et al. 2010, Lemma 5.4)."""
    if not (kappa2 > 0 and lam > 0):
        raise ValueError(f"kappa2, lam: expected numbers > 0, got {kappa2!r} and {lam!r}")
    return kappa2 / math.log1p(kappa2 / lam)


def proven_exponent(problem: Problem, optimal: bool = False) -> float | None:
    """Power of t in the bounds of the papers behind the policies here, logarithms aside; None for other kernels.

    `gamma_t = O(t^(d / (2 nu + d)))` for Matern (Vakili et al. 2021), polylogarithmic for SE. In an RKHS, GP-UCB with
    its sketched and batched relatives has `gamma_t sqrt(t)` and elimination (BPE) `sqrt(t gamma_t)`, whose power is
    also that of the lower bound (Scarlett et al. 2017). On draws from the prior GP-UCB has `sqrt(t gamma_t)` as well,
    since its width does not grow with the gain. Whether a theorem applies to the problem is not asked here.

    Args:
        problem: Its kernel and the dimension of its arms' features count.
        optimal: Whether the bound is of the order of `sqrt(t gamma_t)`.
    """
    bare = None if problem.kernel is None else problem.kernel.unscaled
    if isinstance(bare, SE):
        return 0.5
    if isinstance(bare, Matern):
        growth = problem.dim / (2 * bare.nu + problem.dim)
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
        ratio: Bound on how much a standard deviation shrinks within a batch, >= 1; see `gp_ucb_bound`.
        theorem: Source of the bound; "" for that of the width.
        start: Evaluations of the initial design, each of regret up to twice the largest mean; without a norm bound
            that is not known, and there is no bound.
        width: The width whose bound holds for the policy's; see `WidthSchedule.regret_as`.
        norm: Bound on the norm in the place of the problem's, as of a function that is near the mean.
    """
    if not width:
        return RegretGuarantee()
    problem, kappa2, lam = inputs.problem, inputs.prior_variance, inputs.lam
    F = norm or problem.norm_bound
    schedule: WidthSchedule
    if F is not None and width == "amm":
        schedule, source = AnalyticMixture(), "Flynn and Reeb (2025), AMM"
    elif F is not None:
        schedule, source = InformationGain(), "Chowdhury and Gopalan (2017), Theorem 3"
    else:
        schedule, source = FiniteBayes(), FiniteBayes.theorem
    told_more = problem.initial is not None or settings.initial is not None
    if told_more or (F is None and (problem.knowledge != "oracle" or start)):
        return RegretGuarantee()
    context = WidthContext(
        t=inputs.t,
        n_arms=problem.n_arms,
        lam=lam,
        noise_std=inputs.noise_std,
        norm_bound=F or 0.0,
        delta=settings.delta_on(problem),
        information_gain=inputs.gain,
    )
    bound = gp_ucb_bound(float(inputs.t), schedule(context), inputs.gain, kappa2, lam, ratio)
    bound += 2 * (F or 0.0) * math.sqrt(kappa2) * start
    exponent = proven_exponent(problem, optimal=F is None)
    return RegretGuarantee(
        exponent, bound, theorem or source, gaussian_noise=schedule.gaussian_noise, rests_on_band=True
    )


def gp_ucb_bound(t: V, width: V, gamma: V, kappa2: float, lam: float, ratio: float = 1.0) -> V:
    """`R_t <= ratio width_t sqrt(8 C t gamma_t)` for GP-UCB with `ratio` times a valid width, also in batches.

    From `r_s <= 2 width_s sd_{s-1}(x_s)` by Cauchy and Schwarz; `8 C` is `C_1` of the reference where kappa2 = 1.

    Args:
        t: Times, shape `(p,)`, or one of them, as what follows.
        width: Width, non-decreasing, that holds the mean at the beginning of every batch.
        gamma: Largest information gain at each time.
        kappa2: Largest prior variance.
        lam: Noise variance.
        ratio: Bound on `sd_fb(x) / sd(x)`, how much a standard deviation shrinks within a batch: 1 without batches;
            `exp(C)` for GP-BUCB, with C a bound on the information gained within a batch; the threshold C of its
            batches for GP-AUCB.

    Reference: Srinivas et al. (2010), Theorems 1 and 3; Chowdhury and Gopalan (2017), Theorem 3; Desautels et al.
    (2012), Theorem 1 by its Lemmas 4 and 5, for GP-BUCB; Calandriello et al. (2020), Propositions 2 and 3, for GP-AUCB.
    """
    if not ratio >= 1:
        raise ValueError(f"ratio: expected a number >= 1, got {ratio!r}")
    return ratio * (width * (8 * variance_constant(kappa2, lam) * t * gamma) ** 0.5)


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
