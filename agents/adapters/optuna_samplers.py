"""Samplers of Optuna."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from agents.adapters.base import HistoryAgent, one_thread
from gpbandit_envs.arguments import as_word
from gpbandit_envs.domain import Dimension
from gpbandit_envs.lazy import optional


class Optuna(HistoryAgent):
    """Evaluate the suggestions of a sampler of Optuna: a tree-structured Parzen estimator or a Gaussian process.

    All settings of the samplers are Optuna's own, among them 10 random points to begin with. Failed evaluations are
    failed trials. Optuna gets the hyperparameters in their own units if the problem's notes state them. Needs the extra
    `optuna`, and the Gaussian process PyTorch besides.

    Args:
        sampler: `"tpe"` or `"gp"`.

    Raises:
        ImportError: if Optuna, or for `"gp"` PyTorch, is not installed.
        ValueError: for another sampler.

    References: Akiba et al. (2019), Optuna: A next-generation hyperparameter optimization framework; Bergstra et al.
    (2011), Algorithms for Hyper-Parameter Optimization, for Optuna-TPE.
    """

    def __init__(self, sampler: Literal["tpe", "gp"] = "tpe") -> None:
        self.sampler = as_word("sampler", sampler, ("tpe", "gp"))
        load(sampler)

    def suggest(self, seed: int) -> Float[np.ndarray, " d"]:
        optuna = load(self.sampler)
        build = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}[self.sampler]
        distributions = self._distributions(optuna)
        with quiet(optuna), one_thread():
            study = optuna.create_study(direction="maximize", sampler=build(seed=seed))
            study.add_trials(self._trials(optuna, distributions))
            found = study.ask(distributions).params
        typed = zip((found[name] for name in distributions), self.domain, strict=True)
        values = [d.choices.index(v) if d.choices else v for v, d in typed]
        point: np.ndarray = self.domain.unit([values])[0]
        return point

    def _distributions(self, optuna: ModuleType) -> dict[str, Any]:
        kinds = optuna.distributions
        return {
            d.name or f"x{j}": kinds.CategoricalDistribution(d.choices)
            if d.choices
            else kinds.IntDistribution(int(d.low), int(d.high), log=d.log)
            if d.integer
            else kinds.FloatDistribution(d.low, d.high, log=d.log)
            for j, d in enumerate(self.domain)
        }

    def _trials(self, optuna: ModuleType, distributions: dict[str, Any]) -> list[Any]:
        values = self.domain.values(self.X) if len(self.X) else self.X
        trials = []
        for row, y in zip(values.tolist(), self.y.tolist(), strict=True):
            typed = [_typed(v, d) for v, d in zip(row, self.domain, strict=True)]
            params = dict(zip(distributions, typed, strict=True))
            state = optuna.trial.TrialState.FAIL if np.isnan(y) else optuna.trial.TrialState.COMPLETE
            trials.append(
                optuna.trial.create_trial(
                    params=params, distributions=distributions, value=None if np.isnan(y) else y, state=state
                )
            )
        return trials


def _typed(value: float, dimension: Dimension) -> int | float | str:
    """A value as Optuna has it."""
    if dimension.choices:
        return dimension.choices[int(value)]
    return int(value) if dimension.integer else value


def load(sampler: str) -> ModuleType:
    """Optuna, and for `"gp"` PyTorch with it, or an ImportError that says what to install."""
    optuna: ModuleType = optional("Optuna is not installed", "optuna", "optuna")[0]
    if sampler == "gp":
        try:
            import torch  # noqa: F401
        except ImportError as error:
            raise ImportError("Optuna's Gaussian process needs PyTorch: pip install torch") from error
    return optuna


@contextmanager
def quiet(optuna: ModuleType) -> Iterator[None]:
    """Silence Optuna's log line per suggestion."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
