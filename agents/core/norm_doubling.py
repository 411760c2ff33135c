"""Guess-and-double for an unknown bound on the RKHS norm.

| symbol | meaning | shape |
|---|---|---|
| `n`, `m` | pulls of each distinct pulled arm, its mean feedback | (u,) |
| `K` | prior covariance of these arms | (u, u) |
| `s`, `U` | eigenvalues and eigenvectors of `N^1/2 K N^1/2` with `N = diag(n)` | (u,), (u, u) |
| `z` | `U^T N^1/2 m`: the feedback in that basis | (u,) |
| `rho` | `R sqrt(2 (gamma + log(1 / delta)))` with `gamma = 0.5 sum log(1 + s / lam)` | |

The self-normalised bound behind every RKHS width says that, with probability at least `1 - delta` for all times at
once, the noise `z - g` of the mean's values `g = U^T N^1/2 f` obeys `sum_i s_i / (s_i + lam) (z_i - g_i)^2 <= rho^2`.
The smallest norm among all functions that obey it is therefore a lower bound on the norm of the mean, on the very event
on which the widths are valid. A guess below it is certainly wrong.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from agents.core.gp_settings import Model

_GROWTH = 1.25
_STEPS = 80


def norm_lower_bound(
    K: Float[np.ndarray, "u u"],
    pulls: Float[np.ndarray, " u"],
    sums: Float[np.ndarray, " u"],
    lam: float,
    noise_std: float,
    delta: float,
) -> float:
    """A lower bound on the RKHS norm of the mean, valid at all times at once with probability at least `1 - delta`.

    `min sqrt(sum g_i^2 / s_i)` subject to `sum s_i / (s_i + lam) (z_i - g_i)^2 <= rho^2`, in O(u^3).

    Args:
        K: Prior covariance of the distinct pulled arms, shape (u, u).
        pulls: Pulls of each, shape (u,), > 0.
        sums: Sum of the feedback of each, shape (u,), unit of the reward.
        lam: Noise variance in the posterior.
        noise_std: Sub-Gaussian constant `R` of the noise, > 0, unit of the reward.
        delta: Allowed probability of failure.

    Reference: Abbasi-Yadkori, Pal and Szepesvari (2011), Improved algorithms for linear stochastic bandits, Theorem 1;
    in an RKHS, Chowdhury and Gopalan (2017), Theorem 1.
    """
    root = np.sqrt(pulls)
    s, U = eigh(root[:, None] * K * root)
    z = U.T @ (sums / root)
    # Directions that the kernel does not have carry noise alone.
    kept = s > len(s) * np.finfo(float).eps * max(s[-1], 0.0)
    s, z = s[kept], z[kept]
    w = s / (s + lam)
    rho2 = 2 * noise_std**2 * (0.5 * float(np.log1p(s / lam).sum()) + log(1 / delta))
    if float(w @ z**2) <= rho2:
        return 0.0

    # The multiplier mu of the constraint: g_i = z_i mu w_i s_i / (1 + mu w_i s_i); the misfit falls in mu from above
    # rho^2 towards 0. Bisection on log(mu) from below, so that the bound is never too large.
    def misfit(log_mu: float) -> float:
        return float(w @ (z / (1 + np.exp(log_mu) * w * s)) ** 2)

    scale = -log(float((w * s).max()))
    low, high = scale - 1.0, scale + 1.0
    while misfit(low) < rho2:
        low -= 2.0
    while misfit(high) > rho2:
        low, high = high, high + 2.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if misfit(middle) > rho2 else (low, middle)
    ratio = np.exp(low) * w * s / (1 + np.exp(low) * w * s)
    return sqrt(float(((ratio * z) ** 2 / s).sum()))


class NormEstimate:
    """A guess at the RKHS norm that doubles whenever the data show that it is too small.

    The test runs each time the number of pulls has grown by a quarter: O(log T) eigendecompositions.
    With probability at least `1 - delta`, which is that of the widths themselves, the guess never exceeds the larger of
    the first guess and twice the norm, so at most `log2(norm / first) + 1` doublings occur and the regret bounds hold
    with twice the norm wherever the guess has passed it. A guess that has not been refuted may still be below the norm:
    then some function of that norm explains all feedback so far, and no policy can distinguish it from the mean.

    Under a misspecified kernel the norm may be huge or infinite, and the guess keeps growing: valid but loose.
    On Abalone at lengthscale 5, where papers use a norm of 1 with success, it reaches 512 within 2,000 pulls.

    Args:
        model: The settings of the episode; its norm bound is the first guess.

    Attributes:
        value: The current guess.
        lower_bound: The largest lower bound on the norm so far.

    Reference: Calandriello et al. (2019), section 4, names the technique for an unknown norm; the test is by
    `norm_lower_bound`.
    """

    def __init__(self, model: Model) -> None:
        self.value = model.norm_bound
        self.lower_bound = 0.0
        self._model = model
        self._next = 1.0

    def revise(
        self, X: Float[np.ndarray, "u d"], pulls: Float[np.ndarray, " u"], sums: Float[np.ndarray, " u"]
    ) -> None:
        """Double the guess until the data do not refute it; does nothing before they have grown enough.

        Args:
            X: Distinct pulled arms, shape (u, d).
            pulls: Pulls of each, shape (u,).
            sums: Sum of the feedback of each, shape (u,).
        """
        total, model = float(pulls.sum()), self._model
        if total < self._next:
            return
        self._next = max(total + 1, _GROWTH * total)
        # Noise-free feedback: any positive scale is one of its sub-Gaussian constants.
        noise_std = model.noise_std or sqrt(model.lam)
        bound = norm_lower_bound(model.kernel(X, X), pulls, sums, model.lam, noise_std, model.delta)
        self.lower_bound = max(self.lower_bound, bound)
        while self.value < self.lower_bound:
            self.value *= 2
