"""The best arm after every feedback, without looking at all arms every time.

| symbol | meaning |
|---|---|
| `m0, s0` | mean and standard deviation of an arm when the leaders were chosen |
| `c0` | posterior covariance at that time |
| `P, w` | arms pulled since, and weights with `mean = m0 + c0(., P) w` |
| `rho` | `sqrt(w^T c0(P, P) w)` |

By Cauchy-Schwarz `|mean(a) - m0(a)| <= s0(a) rho` for every arm a, and standard deviations only fall. So
`mean(a) + width sd(a) <= m0(a) + s0(a) (width + rho)`: while `width + rho` stays within the limit with which the
leaders were chosen, no other arm can exceed the best such bound outside, `tau`. As long as the best leader does, it is
the best of all; otherwise all arms are brought up to date and leaders are chosen anew. rho grows as slowly as the means
settle, so late in a run many steps pass between two looks at all arms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.gp.exact_arms import ExactArmPosterior
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

__all__ = ["Leaders"]

_BY_SCORE, _BY_MEAN = 48, 16
_LEAST_REACH, _MOST_REACH = 0.05, 5.0


class Leaders:
    """Keeps the few arms among which the maximiser of a UCB score or of the mean is to be found.

    Args:
        posterior: The posterior, updated by its owner, who reports every pull by `pulled`.
    """

    def __init__(self, posterior: ExactArmPosterior) -> None:
        self.posterior = posterior
        self._reach = 0.3
        self._arms = np.zeros(0, np.int64)
        self._known: tuple[np.ndarray, float] | None = None
        self._C = self._C0 = np.zeros((0, 0))
        self._m0 = self._v = np.zeros(0)

    def best_score(self, width: float) -> int:
        """`argmax mean + width * sd` over all arms; ties go to the lowest index."""
        if len(self._arms) and width + self._drift()[1] <= self._limit:
            scores = self._drift()[0] + width * np.sqrt(np.maximum(self._v, 0.0))
            j = int(np.argmax(scores))
            if scores[j] > self._tau_score:
                return int(self._arms[j])
        return self._choose(width)

    def best_mean(self) -> int:
        """`argmax mean` over all arms; ties go to the lowest index."""
        if len(self._arms) and self._drift()[1] <= self._mean_reach:
            mean = self._drift()[0]
            j = int(np.argmax(mean))
            if mean[j] > self._tau_mean:
                return int(self._arms[j])
        return int(np.argmax(self.posterior.mean))

    def pulled(
        self, arms: Int[np.ndarray, " p"], counts: Float[np.ndarray, " p"], sums: Float[np.ndarray, " p"]
    ) -> None:
        """Account for pulls that `posterior` has already been updated with."""
        if len(self._arms) == 0:
            return
        where = np.searchsorted(self._arms, arms)
        if (where == len(self._arms)).any() or (self._arms[where] != arms).any():
            self._arms = self._arms[:0]  # a pull from outside: nothing is known about its effect
            return
        for j, count, total in zip(where.tolist(), counts.tolist(), sums.tolist(), strict=True):
            c = self._C[j]
            scaled = c / (max(c[j], 0.0) + self.posterior.lam / count)
            self._v = self._v - c * scaled
            self._C = self._C - np.multiply.outer(scaled, c)
            self._counts[j] = self._counts.get(j, 0.0) + count
            self._sums[j] = self._sums.get(j, 0.0) + total
        self._known = None

    def _choose(self, width: float) -> int:
        """Bring all arms up to date, choose the leaders, and return the best arm of all."""
        mean, sd = self.posterior.mean, np.sqrt(self.posterior.variance)
        best = int(np.argmax(mean + width * sd))
        self._adapt(width)
        k = _BY_SCORE + _BY_MEAN
        if len(mean) <= 2 * k:
            self._arms = np.arange(len(mean))
            self._tau_score = self._tau_mean = -np.inf
        else:
            by_score, by_mean = mean + (width + self._reach) * sd, mean + self._reach * sd
            top = np.argpartition(by_score, len(mean) - _BY_SCORE)[len(mean) - _BY_SCORE :]
            top = np.concatenate([top, np.argpartition(by_mean, len(mean) - _BY_MEAN)[len(mean) - _BY_MEAN :], [best]])
            self._arms = np.unique(top)
            by_score[self._arms] = by_mean[self._arms] = -np.inf
            self._tau_score, self._tau_mean = float(by_score.max()), float(by_mean.max())
        self._limit, self._mean_reach = width + self._reach, self._reach
        self._start(mean)
        return best

    def _adapt(self, width: float) -> None:
        """Reach further if rho ended the last choice, and less far if another arm came up."""
        if len(self._arms):
            ended_by_reach = width + self._drift()[1] > self._limit
            factor = 2.0 if ended_by_reach else 0.7
            self._reach = float(np.clip(factor * self._reach, _LEAST_REACH, _MOST_REACH))

    def _start(self, mean: np.ndarray) -> None:
        self._m0 = mean[self._arms]
        self._C = self.posterior.covariance(self._arms, self._arms)
        self._C0 = self._C
        self._v = np.diagonal(self._C).copy()
        self._counts: dict[int, float] = {}
        self._sums: dict[int, float] = {}
        self._known = None

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        P = np.fromiter(self._counts, np.int64)
        n = np.fromiter(self._counts.values(), np.float64)
        y = np.fromiter(self._sums.values(), np.float64) / n
        L, _ = jittered_cholesky(self._C0[np.ix_(P, P)] + np.diag(self.posterior.lam / n))
        return P, solve_lower(L, solve_lower(L, y - self._m0[P]), transposed=True)

    def _drift(self) -> tuple[np.ndarray, float]:
        """The leaders' present means, and rho."""
        if self._known is None:
            if self._counts:
                P, w = self._weights()
                shift = w @ self._C0[P]
                self._known = self._m0 + shift, float(np.sqrt(max(float(shift[P] @ w), 0.0)))
            else:
                self._known = self._m0, 0.0
        return self._known

    def state_dict(self) -> dict[str, Any]:
        """The leaders and all that was learnt since they were chosen."""
        state: dict[str, Any] = {"arms": self._arms.copy(), "reach": self._reach}
        if len(self._arms):
            state |= {"m0": self._m0.copy(), "C": self._C.copy(), "C0": self._C0.copy(), "v": self._v.copy()}
            state |= {"counts": dict(self._counts), "sums": dict(self._sums)}
            state["bounds"] = [self._limit, self._mean_reach, self._tau_score, self._tau_mean]
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state of `state_dict`, for a posterior restored likewise."""
        self._arms, self._reach = np.array(state["arms"], np.int64), float(state["reach"])
        if len(self._arms):
            self._m0, self._C, self._C0, self._v = (np.array(state[name]) for name in ("m0", "C", "C0", "v"))
            self._counts = {int(k): float(v) for k, v in state["counts"].items()}
            self._sums = {int(k): float(v) for k, v in state["sums"].items()}
            self._limit, self._mean_reach, self._tau_score, self._tau_mean = map(float, state["bounds"])
            self._known = None
