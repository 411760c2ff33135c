"""A task as a benchmark problem of OptunaHub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import optuna
from optunahub.benchmarks import BaseProblem

from gpbandit_envs.adapters.instance import Instance
from gpbandit_envs.domain import Dimension


class OptunaHubProblem(BaseProblem):
    """See `gpbandit_envs.adapters.to_optunahub`.

    Attributes:
        instance: What is evaluated.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._space = {
            name: _distribution(dimension, instance.finite)
            for name, dimension in zip(instance.names(), instance.domain)
        }

    @property
    def search_space(self) -> dict[str, optuna.distributions.BaseDistribution]:
        return dict(self._space)

    @property
    def directions(self) -> list[optuna.study.StudyDirection]:
        return [optuna.study.StudyDirection.MAXIMIZE]

    def evaluate(self, params: Mapping[str, Any]) -> float:
        """One noisy evaluation."""
        return self.instance.feedback(self._point(params))

    def mean(self, params: Mapping[str, Any]) -> float:
        """The noise-free mean; for scoring."""
        return float(self.instance.mean(self._point(params)[None])[0])

    def _point(self, params: Mapping[str, Any]) -> np.ndarray:
        if set(params) != set(self._space):
            raise ValueError(f"params: expected {', '.join(self._space)}, got {', '.join(map(str, params)) or 'none'}")
        return self.instance.point(params)


def _distribution(dimension: Dimension, arms: bool) -> optuna.distributions.BaseDistribution:
    if arms:
        return optuna.distributions.CategoricalDistribution(range(int(dimension.high) + 1))
    if dimension.choices:
        return optuna.distributions.CategoricalDistribution(dimension.choices)
    if dimension.integer:
        return optuna.distributions.IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
    return optuna.distributions.FloatDistribution(dimension.low, dimension.high, log=dimension.log)
