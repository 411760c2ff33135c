"""Information gain: what pulls tell of the mean function, and the most that they can tell.

| symbol | meaning | unit |
|---|---|---|
| `lam` | noise variance of one feedback | unit of y^2 |
| `kappa2` | largest prior variance `max k(x, x)` | unit of y^2 |
| `gain` | `0.5 logdet(I + K_t / lam)`; the largest there is for t pulls is `gamma_t` | nats |
| `d_eff` | `Tr(K_t (K_t + lam I)^-1)` | |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import solve_triangular

from agents.core.gp_settings import Model
from gpbandit_envs.gp import Kernel
from gpbandit_envs.gp.exact import ExactPosterior

_GREEDY_SHARE = 1 - 1 / math.e  # of the largest gain that the greedy one reaches at least
_SOME = 64  # arms among which as many pulls at most are chosen together


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
    X = np.asarray(X, np.float64)
    arms, told = np.zeros(T, np.int64), np.zeros(T)  # told: the variance of a pulled arm before the pull
    variance = kernel.diag(X).astype(np.float64)
    # Row s is what pull s explained: cov_t(x, .) = k(x, .) - sum_s B[s, x] B[s, .]. A row at a time, all of B would be
    # read for each pull. So pulls are chosen among the arms of largest variance for as long as no other arm can have
    # more, since no variance grows, and their rows then follow together: a third of the time with thousands of arms.
    B = np.empty((T, len(X)))
    t = 0
    while t < T:
        ordered = np.argsort(-variance, kind="stable")  # of equal ones the first
        some, others = ordered[:_SOME], ordered[_SOME:]
        most = float(variance[others[0]]) if len(others) else 0.0
        left = variance[some]
        between = kernel(X[some], X[some]) - B[:t, some].T @ B[:t, some]
        rows = np.empty((min(T - t, _SOME), len(some)))
        chosen: list[int] = []
        while len(chosen) < len(rows) and (not chosen or left.max() >= most):
            n, at = len(chosen), int(np.argmax(left))
            told[t + n] = max(float(left[at]), 0.0)
            rows[n] = (between[at] - rows[:n, at] @ rows[:n]) / math.sqrt(told[t + n] + lam)
            left -= rows[n] ** 2
            chosen.append(at)
        stop, pulled = t + len(chosen), some[chosen]
        arms[t:stop] = pulled
        covariance = kernel(X[pulled], X) - B[:t, pulled].T @ B[:t]
        lower = np.tril(rows[: stop - t, chosen].T, -1) + np.diag(np.sqrt(told[t:stop] + lam))
        B[t:stop] = solve_triangular(lower, covariance, lower=True, check_finite=False)
        variance -= (B[t:stop] ** 2).sum(axis=0)
        t = stop
    gain = 0.5 * np.cumsum(np.log1p(told / lam))
    return Information(arms, gain, float(np.maximum(variance[arms], 0.0).sum()) / lam)


def realised_information(
    kernel: Kernel, X: Float[np.ndarray, "A d"], lam: float, actions: Int[np.ndarray, " T"]
) -> Information:
    """Information of the pulls that were made, in their order."""
    actions = np.asarray(actions, np.int64)
    if actions.ndim != 1 or not len(actions):
        raise ValueError(f"actions: expected at least one arm, shape (T,), got {actions.shape}")
    distinct, index = np.unique(actions, return_inverse=True)
    posterior = ExactPosterior(kernel, np.asarray(X, np.float64)[distinct], lam)
    steps = np.zeros(len(actions))
    for t in range(len(actions)):
        arm = index[t : t + 1]
        steps[t] = 0.5 * math.log1p(max(float(posterior.variance_at(arm)[0]), 0.0) / lam)
        posterior.update(arm, np.ones(1), np.zeros(1))
    return Information(actions, np.cumsum(steps), posterior.effective_dimension())


def largest_gain(greedy: Float[np.ndarray, " T"], kappa2: float, lam: float) -> Float[np.ndarray, " T"]:
    """Upper bounds on the largest information gain of 1, ..., T pulls, in nats.

    The greedy gain is at least `1 - 1/e` of it, and no gain exceeds that of independent arms.

    Args:
        greedy: Greedy information gain after 1, ..., T pulls, in nats.
        kappa2: Largest prior variance.
        lam: Noise variance.
    """
    independent = 0.5 * math.log1p(kappa2 / lam) * np.arange(1, len(greedy) + 1)
    return np.minimum(greedy / _GREEDY_SHARE, independent)


def most_uncertain(
    model: Model, X: Float[np.ndarray, "A d"], most: int | None, min_batch: float | None = None
) -> Int[np.ndarray, " n"]:
    """A start by uncertainty sampling: pull the arm of largest posterior variance, again and again.

    Args:
        model: Prior and noise.
        X: Arms, shape (A, d).
        most: Largest number of pulls; None for no limit.
        min_batch: End once the largest leverage score is at most `1 / min_batch`. That bounds all later batches of BBKB
            from below by about `min_batch (C~ - 1)`; BBKB's Algorithm 3 states the bound on sigma, its proof and
            Proposition 4 on sigma^2, the leverage score.

    References: Desautels et al. (2012), section 4, Lemma 2; Calandriello et al. (2020), Algorithm 3.
    """
    posterior = ExactPosterior(model.kernel, X, model.lam)
    arms: list[int] = []
    while len(arms) != most:
        arm = int(np.argmax(posterior.ahead()))
        if min_batch is not None and max(posterior.ahead()[arm], 0.0) / model.lam <= 1 / min_batch:
            break  # the arm that shows the bound to hold need not be pulled
        posterior.pull(arm)
        arms.append(arm)
    return np.array(arms, np.int64)
