"""BoTorch on tables of candidates, in plates."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from agents.adapters.ask_tell import AskTell
from agents.adapters.base import one_thread
from agents.adapters.botorch_acquisitions import load
from agents.core.protocol import Capabilities


class BoTorchTable(AskTell):
    """Plates of largest noisy expected improvement (qLogNEI) among the candidates left, under a single-task process.

    Model, priors, fit and acquisition function are BoTorch's in their defaults. The first 8 candidates are random ones.
    It recommends the best measured candidate. Needs the extra `botorch`.

    Raises:
        ImportError: if BoTorch is not installed.

    References: Balandat et al. (2020); Ament et al. (2023), Unexpected improvements to expected improvement.
    """

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)
    n_start = 8

    def __init__(self) -> None:
        load()

    def start(self, seed: int) -> Any:
        return _Told(seed)

    def ask_many(self, optimizer: _Told, n: int) -> list[Any]:
        taken = {tuple(x) for x in (*optimizer.X, *optimizer.open)}
        left = np.array([x for x in self._all_arms if tuple(x) not in taken])
        left = left if len(left) >= n else self._all_arms
        n_first = min(max(self.n_start - len(taken), 0) if len(set(optimizer.losses)) > 1 else n, n)
        rows = optimizer.rng.permutation(len(left))
        found, left = list(left[rows[:n_first]]), left[rows[n_first:]]
        found += list(self._plate(optimizer, left, n - n_first, [*optimizer.open, *found])) if n > n_first else []
        optimizer.open += found
        return found

    def tell(self, optimizer: _Told, candidate: Any, loss: float) -> None:
        optimizer.open = [x for x in optimizer.open if not np.array_equal(x, candidate)]
        optimizer.X.append(np.asarray(candidate))
        optimizer.losses.append(loss)

    def _plate(self, told: _Told, left: np.ndarray, n: int, open_: list[np.ndarray]) -> np.ndarray:
        torch, botorch, gpytorch = load()
        with torch.random.fork_rng(devices=[]), one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(int(told.rng.integers(2**31)))
            X, y = torch.tensor(np.array(told.X)), -torch.tensor(told.losses, dtype=torch.float64)[:, None]
            model = botorch.models.SingleTaskGP(X, y)
            botorch.fit.fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
            pending = torch.tensor(np.array(open_)) if open_ else None
            score = botorch.acquisition.qLogNoisyExpectedImprovement(model, X_baseline=X, X_pending=pending)
            plate, _ = botorch.optim.optimize_acqf_discrete(score, q=n, choices=torch.tensor(left), unique=True)
        found: np.ndarray = plate.detach().numpy()
        return found


class _Told:
    """What was told and is open, with random numbers."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.X: list[np.ndarray] = []
        self.losses: list[float] = []
        self.open: list[np.ndarray] = []
