"""Kernel and posteriors of the papers' equations, on all arms at once."""

from __future__ import annotations

import numpy as np


def squared_exponential(X: np.ndarray, lengthscale: float) -> np.ndarray:
    """`exp(-|x - x'|^2 / (2 l^2))` between all arms (Li and Scarlett 2022, section 2)."""
    squares = np.sum((X[:, None] - X[None]) ** 2, axis=-1)
    return np.exp(-squares / (2 * lengthscale**2))


def mean(K: np.ndarray, arms: list[int], rewards: np.ndarray, lam: float) -> np.ndarray:
    """`k_t(x)^T (K_t + lam I)^-1 y_t` at every arm (Li and Scarlett 2022, equation 1)."""
    return K[:, arms] @ np.linalg.solve(K[np.ix_(arms, arms)] + lam * np.eye(len(arms)), rewards)


def variance(K: np.ndarray, arms: list[int], lam: float) -> np.ndarray:
    """`k(x, x) - k_t(x)^T (K_t + lam I)^-1 k_t(x)` at every arm (Li and Scarlett 2022, equation 2)."""
    lower = np.linalg.cholesky(K[np.ix_(arms, arms)] + lam * np.eye(len(arms)))
    return np.diag(K) - np.sum(np.linalg.solve(lower, K[:, arms].T) ** 2, axis=0)


class NystromPosterior:
    """Equations 1 to 3 of Calandriello et al. (2020), whose sigma^2 is the posterior variance over lam."""

    def __init__(self, K: np.ndarray, dictionary: list[int], lam: float) -> None:
        self.K, self.lam = K, lam
        values, vectors = np.linalg.eigh(K[np.ix_(dictionary, dictionary)])
        kept = values > 1e-13 * values.max(initial=0)
        inverse_root = vectors[:, kept] / np.sqrt(values[kept]) @ vectors[:, kept].T
        self.Z = K[:, dictionary] @ inverse_root

    def _inverse(self, arms: list[int]) -> np.ndarray:
        pulled = self.Z[arms]
        return np.linalg.inv(pulled.T @ pulled + self.lam * np.eye(self.Z.shape[1]))

    def mean(self, arms: list[int], rewards: np.ndarray) -> np.ndarray:
        """Equation 1 at every arm."""
        return self.Z @ self._inverse(arms) @ self.Z[arms].T @ rewards

    def covariance(self, arms: list[int]) -> np.ndarray:
        """Equation 2 between all arms."""
        return (self.K - self.Z @ self.Z.T) / self.lam + self.Z @ self._inverse(arms) @ self.Z.T

    def leverage(self, arms: list[int]) -> np.ndarray:
        """Equation 3 at every arm."""
        return np.diag(self.covariance(arms))
