"""Exact posteriors of many repetitions over one set of arms, a pull of each at a time.

| symbol | meaning | shape |
|---|---|---|
| `R`, `A` | repetitions, arms | |
| `mean, v` | posterior mean and variance of every arm | (R, A) |
| `W` | whitened rows: the posterior covariance is `k(x, x') - sum_s W_s(x) W_s(x')` | (R, t, A) |
| `z` | whitened residuals: the mean is `sum_s z_s W_s` | |

A pull of x has the covariance `c = k(x, .) - sum_s W_s(x) W_s`, one product of a row with a matrix for each repetition;
with `d = c(x) + lam` it appends `W_t = c / sqrt(d)`, takes `W_t^2` off the variance, and once its feedback y is there
adds `z_t W_t` to the mean with `z_t = (y - m(x)) / sqrt(d)`, m being the mean just before. Kernel rows come from one
place for all repetitions, and everything else is arithmetic on (R, A).

Repeated pulls make W longer than the number u of distinct arms needs. Once it is much longer, its rows are computed
anew from counts: with `L L^T = K_uu + lam diag(1 / n)` they are `L^-1 k(U, .)`.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from agents.vector.protocol import VectorFeedback
from agents.vector.rows import SharedRows
from gpbandit_envs.gp.linalg import jittered_cholesky, solve_lower

__all__ = ["VectorPosterior"]

_SPARE, _LONG = 64, 1.25
_EPS = float(np.finfo(np.float64).eps)


class VectorPosterior:
    """The posteriors of `R` repetitions.

    Args:
        rows: Kernel rows, which posteriors on the same arms may share.
        lam: Noise variance of one feedback.
        R: Number of repetitions.
        horizon: Pulls to reserve address space for.

    Attributes:
        mean: Given the feedback that has arrived, shape (R, A).
        v: Given all pulls, with or without feedback, shape (R, A); never clipped.
        n: Pulls of each arm, shape (R, A).
        unique: Distinct arms pulled, shape (R,).
        information_gain: `0.5 logdet(I + K_t / lam)`, shape (R,), in nats.
        rounding: Largest difference seen between the two ways to a pulled arm's variance, shape (R,).
    """

    def __init__(self, rows: SharedRows, lam: float, R: int, horizon: int) -> None:
        A = len(rows.prior)
        self.rows, self.lam = rows, lam
        self._prior = float(rows.prior.max())
        self.mean, self.v, self.n = np.empty((R, A)), np.empty((R, A)), np.empty((R, A))
        # np.empty commits only what is written, and what was committed serves the next repetitions too.
        self._W = np.empty((R, min(horizon, 2 * A + _SPARE), A))
        self._each = np.arange(R)
        self._c, self._spare = np.empty((R, A)), np.empty((R, A))
        self.reset()

    def serves(self, lam: float, R: int) -> bool:
        """Whether these are, once reset, the posteriors of `R` repetitions with that noise variance."""
        return self.lam == lam and len(self._each) == R

    def reset(self) -> None:
        """Forget all pulls."""
        R = len(self._each)
        self.mean[:] = self.n[:] = 0.0
        self.v[:] = self.rows.prior
        self.unique, self.information_gain, self.rounding = np.zeros(R), np.zeros(R), np.zeros(R)
        self._largest = np.zeros(R)
        self._t = 0
        self._open, self._live = np.zeros(R, np.int64), np.ones(R, bool)
        # Of the last rows, as many as some repetition has open: which arms, and the square root of d.
        self._arms: list[Int[np.ndarray, " R"]] = []
        self._root: list[Float[np.ndarray, " R"]] = []

    def pull(self, arms: Int[np.ndarray, " R"]) -> None:
        """Account for a pull of one arm in each repetition, whose feedback comes later."""
        each = self._each
        self._make_room()
        c = self._covariance(arms)
        own = c[each, arms]
        np.maximum(self.rounding, np.abs(own - self.v[each, arms]), out=self.rounding)
        np.maximum(own, 0.0, out=own)
        self.information_gain += 0.5 * np.log1p(own / self.lam)
        root = np.sqrt(own + self.lam)
        row = np.divide(c, root[:, None], out=self._W[:, self._t])
        self.v -= np.square(row, out=self._spare)
        self.unique += self.n[each, arms] == 0
        self.n[each, arms] += 1.0
        self._t += 1
        self._open += 1
        self._arms.append(arms)
        self._root.append(root)

    def _covariance(self, arms: Int[np.ndarray, " R"]) -> Float[np.ndarray, "R A"]:
        c = self.rows.of(arms, out=self._c)
        if self._t:
            product = self._spare[0]
            for i, arm in enumerate(arms.tolist()):
                W = self._W[i, : self._t]
                c[i] -= np.dot(W[:, arm], W, out=product)
        return c

    def tell(self, feedback: VectorFeedback) -> None:
        """Give repetitions the feedback of all their open pulls."""
        i, arms, y = feedback.repetitions, feedback.arms, feedback.rewards
        np.maximum.at(self._largest, i, np.abs(y))
        if len(i) == len(self._each) and (self._open == 1).all():
            z = (y - self.mean[i, arms]) / self._root[-1]
            self.mean += np.multiply(self._W[:, self._t - 1], z[:, None], out=self._spare)
            self._open[:] = 0
        elif len(i) and (self._open[i] == 1).all():
            z = (y - self.mean[i, arms]) / self._root[-1][i]
            self.mean[i] += self._W[i, self._t - 1] * z[:, None]
            self._open[i] = 0
        else:
            for group in feedback.groups():
                self._tell(int(i[group.start]), arms[group], y[group])
        most = int(self._open[self._live].max(initial=0))
        del self._arms[: len(self._arms) - most], self._root[: len(self._root) - most]

    def _tell(self, i: int, arms: Int[np.ndarray, " k"], y: Float[np.ndarray, " k"]) -> None:
        k = len(arms)
        mean, W, z = self.mean[i], self._W[i, self._t - k : self._t], np.empty(k)
        for j, arm in enumerate(arms.tolist()):
            z[j] = (y[j] - mean[arm] - z[:j] @ W[:j, arm]) / self._root[j - k][i]
        mean += z @ W
        self._open[i] = 0

    def release(self, i: int) -> None:
        """Repetition `i` will get no feedback any more."""
        self._live[i] = False

    def effective_dimension(self) -> Float[np.ndarray, " R"]:
        """`Tr(K_t (K_t + lam I)^-1)` of each repetition."""
        np.maximum(self.v, 0.0, out=self._spare)
        return np.einsum("ij,ij->i", self.n, self._spare) / self.lam

    def variance_error(self) -> Float[np.ndarray, " R"]:
        """How far rounding may move a variance, here or in a posterior that is updated in another order.

        This and the next two are what rounding is seen to do to pulled arms, times factors found by comparing the
        posteriors on SE and Matern kernels with lam from 1e-6 to 1 times the prior variance: at most a quarter is
        used up by any of them.
        """
        return 100 * self._seen() * (1 + np.sqrt(self._prior / self.lam))

    def mean_error(self) -> Float[np.ndarray, " R"]:
        """The same for a mean; unit of the reward."""
        return 2000 * self._seen() * self._largest / np.sqrt(self._prior * self.lam)

    def sum_error(self) -> Float[np.ndarray, " R"]:
        """The same for information gain and effective dimension, sums of functions of `v / lam` over the pulls."""
        return 10 * self._seen() / self.lam * self.n.sum(axis=1)

    def _seen(self) -> Float[np.ndarray, " R"]:
        return np.maximum(self.rounding, _EPS * self._prior)

    def _make_room(self) -> None:
        """For one more row."""
        settled = self._t - len(self._arms)
        if settled > _LONG * self.unique.max() + _SPARE:
            self._renew(settled)
        if self._t == self._W.shape[1]:
            R, rows, A = self._W.shape
            W = np.empty((R, 2 * rows, A))
            W[:, :rows] = self._W
            self._W = W

    def _renew(self, settled: int) -> None:
        """Replace the first `settled` rows by one for each distinct arm; the others stay as they are."""
        n = self.n.copy()
        for arms in self._arms:
            n[self._each, arms] -= 1.0
        pulled = [np.flatnonzero(counts) for counts in n]
        most = max(map(len, pulled))
        for i, arms in enumerate(pulled):
            K = self.rows.of(arms)
            L, _ = jittered_cholesky(K[:, arms] + np.diag(self.lam / n[i, arms]))
            W = self._W[i]
            W[: len(arms)] = solve_lower(L, K)
            W[len(arms) : most] = 0.0
            W[most : most + self._t - settled] = W[settled : self._t].copy()
            W = W[: most + self._t - settled]
            self.v[i] = self.rows.prior - np.einsum("ij,ij->j", W, W)
        self._t -= settled - most
