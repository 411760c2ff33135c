"""What theory says of a task: information gain, effective dimension, and the proven bounds with their constants.

| symbol | meaning | unit |
|---|---|---|
| `lam` | regularisation, the noise variance unless said otherwise | unit of y^2 |
| `kappa2` | largest prior variance `max k(x, x)` | unit of y^2 |
| `gain` | `0.5 logdet(I + K_t / lam)`, of the arms pulled or the largest there is (`gamma_t`) | nats |
| `d_eff` | `Tr(K_t (K_t + lam I)^-1)` | |
| `width` | confidence width on the standard deviation | |

Bounds hold for the widths and conditions of their theorems, not for tuned widths: beside a tuned policy they show what
its untuned relative is promised. They are bounds on the cumulative regret at every t with high probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.exact_arms import ExactArmPosterior
from gpbandit_envs.gp.kernels import SE, Kernel, Matern, Scale

__all__ = [
    "Information",
    "bbkb_bound",
    "bkb_bound",
    "bpe_bound",
    "gp_bucb_bound",
    "gp_ucb_bound",
    "greedy_information",
    "proven_exponent",
    "realised_information",
    "variance_constant",
]


@dataclass(frozen=True)
class Information:
    """Information along a sequence of pulls.

    Attributes:
        arms: The pulls, shape `(t,)`.
        gain: `0.5 logdet(I + K_s / lam)` after each, in nats, shape `(t,)`.
        d_eff: Effective dimension after the last.
    """

    arms: Int[np.ndarray, " t"]
    gain: Float[np.ndarray, " t"]
    d_eff: float


def greedy_information(kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, T: int) -> Information:
    """Uncertainty sampling, whose gain is at least `(1 - 1/e)` of the largest, `gamma_t`, at every t.

    Args:
        kernel: Prior covariance.
        X: Arms, shape `(A, d)`.
        lam: Noise variance of one feedback, > 0.
        T: Number of pulls, at least 1.

    Reference: Nemhauser et al. (1978); Krause and Guestrin (2005); Srinivas et al. (2010), section 4.
    """
    if T < 1:
        raise ValueError(f"T: expected at least 1, got {T!r}")
    posterior = ExactArmPosterior(kernel, X, lam)
    arms = np.zeros(T, np.int64)
    steps = np.zeros(T)
    for t in range(T):
        variance = posterior.variance
        arms[t] = arm = int(np.argmax(variance))
        steps[t] = 0.5 * math.log1p(max(float(variance[arm]), 0.0) / lam)
        posterior.update(arms[t : t + 1], np.ones(1), np.zeros(1))
    return Information(arms, np.cumsum(steps), posterior.effective_dimension())


def realised_information(
    kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, actions: Int[np.ndarray, " T"]
) -> Information:
    """Information of the pulls that were made, in their order."""
    actions = np.asarray(actions, np.int64)
    if actions.ndim != 1 or not len(actions):
        raise ValueError(f"actions: expected at least one arm, shape (T,), got {actions.shape}")
    distinct, index = np.unique(actions, return_inverse=True)
    posterior = ExactArmPosterior(kernel, np.asarray(X, np.float64)[distinct], lam)
    steps = np.zeros(len(actions))
    for t in range(len(actions)):
        arm = index[t : t + 1]
        steps[t] = 0.5 * math.log1p(max(float(posterior.variance_at(arm)[0]), 0.0) / lam)
        posterior.update(arm, np.ones(1), np.zeros(1))
    return Information(actions, np.cumsum(steps), posterior.effective_dimension())


def variance_constant(kappa2: float, lam: float) -> float:
    """`C` in `sum_s var_{s-1}(x_s) <= 2 C gain`: `kappa2 / log(1 + kappa2 / lam)` (Srinivas et al. 2010, Lemma 5.4)."""
    if not (kappa2 > 0 and lam > 0):
        raise ValueError(f"kappa2, lam: expected numbers > 0, got {kappa2!r} and {lam!r}")
    return kappa2 / math.log1p(kappa2 / lam)


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


def gp_bucb_bound(
    t: Float[np.ndarray, " p"],
    gamma: Float[np.ndarray, " p"],
    n_arms: int,
    delta: float,
    C: float,
    kappa2: float,
    lam: float,
) -> Float[np.ndarray, " p"]:
    """`R_t <= sqrt(C_1 t exp(2 C) alpha_t gamma_t) + 2` for GP-BUCB on a draw from the prior over a finite set.

    Args:
        t: Times, shape `(p,)`.
        gamma: Largest information gain at each, shape `(p,)`.
        n_arms: Number of arms `A`, in `alpha_t = 2 log(A t^2 pi^2 / (6 delta))`.
        delta: Failure probability.
        C: Bound on the information gained within a batch.
        kappa2: Largest prior variance.
        lam: Noise variance.

    Reference: Desautels et al. (2012), Theorem 1, case 1.
    """
    t = np.asarray(t, np.float64)
    alpha = 2 * np.log(n_arms * t**2 * math.pi**2 / (6 * delta))
    return np.sqrt(8 * variance_constant(kappa2, lam) * t * math.exp(2 * C) * alpha * np.asarray(gamma)) + 2


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
    """`2 (2 alpha)^(3/2) sqrt(t) (xi d log(kappa2 t) + sqrt(lam F^2 d log(kappa2 t)) + xi log(1/delta))`.

    `d` is the effective dimension of the pulls and `alpha = (1 + epsilon) / (1 - epsilon)`.

    Reference: Calandriello et al. (2019), Theorem 2.
    """
    t, d = np.asarray(t, np.float64), np.asarray(d_eff, np.float64)
    alpha = (1 + epsilon) / (1 - epsilon)
    # The logarithm stands for a bound on logdet / d_eff, which is never below 1.
    log = np.maximum(np.log(kappa2 * t), 1.0)
    inner = xi * d * log + np.sqrt(lam * norm**2 * d * log) + xi * math.log(1 / delta)
    return 2 * (2 * alpha) ** 1.5 * np.sqrt(t) * inner


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
    exceeds the average of those met, `2 C gamma_N / N`.

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


def proven_exponent(kernel: Kernel, dim: int, optimal: bool = False) -> float | None:
    """Power of t in the bounds of the papers behind the policies here, logarithms aside; None for other kernels.

    `gamma_t = O(t^(d / (2 nu + d)))` for Matern (Vakili et al. 2021), polylogarithmic for SE. In an RKHS, GP-UCB with
    its sketched and batched relatives has `gamma_t sqrt(t)` and elimination (BPE) `sqrt(t gamma_t)`, whose power is
    also that of the lower bound (Scarlett et al. 2017).

    Args:
        kernel: Prior covariance.
        dim: Dimension of the arms' features.
        optimal: Whether the policy is of the second kind.
    """
    while isinstance(kernel, Scale):
        kernel = kernel.kernel
    if isinstance(kernel, SE):
        return 0.5
    if isinstance(kernel, Matern):
        growth = dim / (2 * kernel.nu + dim)
        return min(0.5 + (growth / 2 if optimal else growth), 1.0)
    return None
