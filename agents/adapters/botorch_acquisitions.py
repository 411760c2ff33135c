"""Acquisition functions of BoTorch."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.stats import qmc

from agents.adapters.base import HistoryAgent, one_thread
from gpbandit_envs.arguments import as_count, as_number, as_word
from gpbandit_envs.lazy import optional


class BoTorch(HistoryAgent):
    """Evaluate the maximiser of one of BoTorch's acquisition functions under its single-task Gaussian process.

    The model, its priors and their fit are BoTorch's own; it learns kernel and noise from the feedback, which it
    standardises. Failed evaluations are left out, integers are rounded. Needs the extra `botorch`.

    Args:
        acquisition: `"ei"` for the logarithm of noisy expected improvement, `"ucb"` for an upper confidence bound.
        width: Factor of the standard deviation for `"ucb"`, >= 0.
        n_start: Sobol points to begin with; None for `2 (d + 1)`.
        raw_samples: Points at which the acquisition function is evaluated first.
        num_restarts: Points from which it is climbed.

    Raises:
        ImportError: if BoTorch is not installed.
        ValueError: if an argument is out of range.

    Reference: Balandat et al. (2020), BoTorch: A Framework for Efficient Monte-Carlo Bayesian Optimization.
    """

    def __init__(
        self,
        acquisition: Literal["ei", "ucb"] = "ei",
        width: float = 1.96,
        n_start: int | None = None,
        raw_samples: int = 512,
        num_restarts: int = 8,
    ) -> None:
        self.acquisition = as_word("acquisition", acquisition, ("ei", "ucb"))
        self.width = as_number("width", width, "a finite number >= 0", lambda width: width >= 0)
        self.n_start = None if n_start is None else as_count("n_start", n_start)
        self.raw_samples = as_count("raw_samples", raw_samples, most=100_000)
        self.num_restarts = as_count("num_restarts", num_restarts, most=10_000)
        load()

    def start_episode(self) -> None:
        dim = self.problem.dim
        n = 2 * (dim + 1) if self.n_start is None else self.n_start
        sobol = qmc.Sobol(dim, rng=np.random.default_rng(self.rng.integers(2**32, size=4, dtype=np.uint32)))
        self._first = sobol.random_base2((n - 1).bit_length())[:n]

    def suggest(self, seed: int) -> Float[np.ndarray, " d"]:
        known = ~np.isnan(self.y)
        if len(self.y) < len(self._first):
            first: np.ndarray = self._first[len(self.y)]
            return first
        if known.sum() < 2 or np.ptp(self.y[known]) == 0:
            # No spread to standardise by.
            return np.random.default_rng(seed).random(self.problem.dim)
        return self._maximiser(self.X[known], self.y[known], seed)

    def _maximiser(self, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], seed: int) -> Float[np.ndarray, " d"]:
        torch, botorch, gpytorch = load()
        # BoTorch draws from PyTorch's global generator: it is seeded here and put back afterwards.
        with torch.random.fork_rng(devices=[]), one_thread(), warnings.catch_warnings():
            # Its fits and climbs are repeated when one fails, with a warning.
            warnings.simplefilter("ignore")
            torch.manual_seed(seed)
            train_x, train_y = torch.tensor(X), torch.tensor(y)[:, None]
            model = botorch.models.SingleTaskGP(
                train_x, train_y, outcome_transform=botorch.models.transforms.Standardize(m=1)
            )
            botorch.fit.fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
            bounds = torch.tensor([[0.0] * X.shape[1], [1.0] * X.shape[1]], dtype=torch.float64)
            candidate, _ = botorch.optim.optimize_acqf(
                self._acquisition_of(botorch, model, train_x),
                bounds=bounds,
                q=1,
                num_restarts=self.num_restarts,
                raw_samples=self.raw_samples,
            )
        point: np.ndarray = candidate[0].detach().numpy()
        return point

    def _acquisition_of(self, botorch: ModuleType, model: Any, train_x: Any) -> Any:
        if self.acquisition == "ucb":
            return botorch.acquisition.UpperConfidenceBound(model, beta=self.width**2)
        return botorch.acquisition.qLogNoisyExpectedImprovement(model, X_baseline=train_x, prune_baseline=True)


def load() -> list[Any]:
    """PyTorch, BoTorch and GPyTorch, or an ImportError that says what to install."""
    return optional("BoTorch is not installed", "botorch", "torch", "botorch", "gpytorch")
