"""What a practitioner would write: an exact Gaussian process over a table of arms, one whitened row a pull."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpbandit_envs.gp.kernels import Kernel


class RankOne:
    """Mean and variance of a Gaussian process at all arms `X`, after each pull, O(t A) a pull.

    With the rows of `W` whitened, the posterior covariance is `k(x, x') - W[:t, x] @ W[:t, x']`.
    """

    def __init__(self, kernel: Kernel, X: np.ndarray, lam: float, T: int) -> None:
        self.kernel, self.X, self.lam, self.t = kernel, X, lam, 0
        self.W = np.empty((T, len(X)))
        self.mean, self.variance = np.zeros(len(X)), kernel.diag(X)

    def pull(self, x: int, y: float) -> None:
        """Condition on the reward `y` of arm `x`."""
        c = self.kernel(self.X[x : x + 1], self.X)[0] - self.W[: self.t, x] @ self.W[: self.t]
        sd = np.sqrt(c[x] + self.lam)
        w = self.W[self.t] = c / sd
        self.mean += w * ((y - self.mean[x]) / sd)
        self.variance -= w**2
        self.t += 1


def gp_ucb(posterior: RankOne, width: float, T: int, reward: Callable[[int], float]) -> list[int]:
    """The arms that GP-UCB pulls with a constant confidence width."""
    arms = []
    for _ in range(T):
        x = int(np.argmax(posterior.mean + width * np.sqrt(np.maximum(posterior.variance, 0))))
        posterior.pull(x, reward(x))
        arms.append(x)
    return arms


def maximum_variance(posterior: RankOne, N: int) -> list[int]:
    """The arms of a batch of `N`, each with the largest variance after those before it."""
    arms = []
    for _ in range(N):
        x = int(np.argmax(posterior.variance))
        posterior.pull(x, 0.0)
        arms.append(x)
    return arms
