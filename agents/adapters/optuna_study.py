"""Samplers of Optuna that are asked and told, for tables of candidates and plates."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from agents.adapters.ask_tell import AskTell
from agents.adapters.optuna_samplers import load, quiet
from gpbandit_envs.arguments import as_word


class OptunaStudy(AskTell):
    """A study of Optuna over the unit cube, with a sampler in its defaults; recommends the best measured candidate.

    A trial that was asked for and not played is failed, and what was played is added. Needs the extra `optuna`, and
    the Gaussian process PyTorch besides.

    Args:
        sampler: `"tpe"` or `"gp"`.

    Raises:
        ImportError: if Optuna, or for `"gp"` PyTorch, is not installed.
        ValueError: for another sampler.

    Reference: as of `agents.adapters.optuna_samplers.Optuna`.
    """

    def __init__(self, sampler: Literal["tpe", "gp"] = "tpe") -> None:
        self.sampler = as_word("sampler", sampler, ("tpe", "gp"))
        load(sampler)

    def start(self, seed: int) -> Any:
        optuna = load(self.sampler)
        self._kinds = {f"x{j}": optuna.distributions.FloatDistribution(0.0, 1.0) for j in range(self.problem.dim)}
        kind = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}[self.sampler]
        with quiet(optuna):
            return optuna.create_study(sampler=kind(seed=seed))

    def ask(self, optimizer: Any) -> Any:
        with quiet(load(self.sampler)):
            return optimizer.ask(self._kinds)

    def point(self, candidate: Any) -> Any:
        return list(candidate.params.values())

    def candidate(self, optimizer: Any, x: Float[np.ndarray, " d"]) -> Any:
        return dict(zip(self._kinds, x.tolist(), strict=True))

    def drop(self, optimizer: Any, candidate: Any) -> None:
        optimizer.tell(candidate, state=load(self.sampler).trial.TrialState.FAIL)

    def tell(self, optimizer: Any, candidate: Any, loss: float) -> None:
        if not isinstance(candidate, dict):
            optimizer.tell(candidate, loss)
            return
        trial = load(self.sampler).trial.create_trial(params=candidate, distributions=self._kinds, value=loss)
        optimizer.add_trial(trial)
