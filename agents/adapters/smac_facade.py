"""SMAC3, on boxes, tables of candidates and in plates."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
from jaxtyping import Float

from agents.adapters.ask_tell import AskTell


class SMAC(AskTell):
    """SMAC3's facade for hyperparameters over the unit cube, in its defaults; recommends the best measured candidate.

    Its initial design depends on the horizon. It repeats itself only where the environment variable `PYTHONHASHSEED`
    is fixed. Needs the extra `smac`.

    Raises:
        ImportError: if SMAC3 is not installed.

    Reference: Lindauer et al. (2022), SMAC3: A Versatile Bayesian Optimization Package for Hyperparameter Optimization.
    """

    def __init__(self) -> None:
        _load()

    def start(self, seed: int) -> Any:
        smac, space = _load()
        self._space = space.ConfigurationSpace({f"x{j:03}": (0.0, 1.0) for j in range(self.problem.dim)}, seed=seed)
        # It writes what it has done to disk, and goes on from what it finds there.
        with tempfile.TemporaryDirectory() as folder:
            n = self.problem.horizon or 100
            scenario = smac.Scenario(self._space, deterministic=True, n_trials=n, seed=seed, output_directory=folder)
        return smac.HyperparameterOptimizationFacade(scenario, _never_called, overwrite=True, logging_level=False)

    def ask(self, optimizer: Any) -> Any:
        return optimizer.ask()

    def point(self, candidate: Any) -> Any:
        return candidate.config.get_array()

    def candidate(self, optimizer: Any, x: Float[np.ndarray, " d"]) -> Any:
        smac, space = _load()
        return smac.runhistory.TrialInfo(space.Configuration(self._space, vector=x), seed=0)

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        smac, _ = _load()
        optimizer.tell(candidate, smac.runhistory.TrialValue(cost=loss), save=False)


def _never_called(config: Any, seed: int = 0) -> float:  # noqa: ARG001 - SMAC3 looks for these names
    raise AssertionError("the harness evaluates")


def _load() -> tuple[Any, Any]:
    try:
        import ConfigSpace
        import smac
        import smac.runhistory
    except ImportError as error:
        raise ImportError('SMAC3 is not installed: pip install "gpbandit-envs[smac]"') from error
    return smac, ConfigSpace
