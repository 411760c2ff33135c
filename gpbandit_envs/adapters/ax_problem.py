"""A task as a benchmark problem of Ax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from ax.benchmark.benchmark_problem import BenchmarkProblem, get_soo_opt_config
from ax.benchmark.benchmark_test_function import BenchmarkTestFunction
from ax.benchmark.noise import Noise
from ax.core.parameter import ChoiceParameter, Parameter, ParameterType, RangeParameter
from ax.core.search_space import SearchSpace

from gpbandit_envs.adapters.instance import Instance
from gpbandit_envs.domain import Dimension

__all__ = ["ax_problem"]

_DRAWS = 64  # of uniform points or arms for the baseline
_OUTCOME = "reward"


def ax_problem(instance: Instance, num_trials: int) -> BenchmarkProblem:
    """See `gpbandit_envs.adapters.to_ax`."""
    if instance.optimum is None:
        raise ValueError(f"env: expected a task whose optimum is known, got {instance.problem.name}")
    config, metrics = get_soo_opt_config(outcome_names=[_OUTCOME], lower_is_better=False, observe_noise_sd=False)
    return BenchmarkProblem(
        name=instance.problem.name,
        optimization_config=config,
        opt_config_metrics=metrics,
        num_trials=num_trials,
        test_function=_Mean(outcome_names=[_OUTCOME], instance=instance),
        noise=_OwnNoise(instance=instance),
        optimal_value=instance.optimum,
        baseline_value=_uniform_mean(instance),
        search_space=SearchSpace(
            [_parameter(name, d, instance.finite) for name, d in zip(instance.names(), instance.domain)]
        ),
    )


@dataclass(kw_only=True)
class _Mean(BenchmarkTestFunction):
    """The means of an instance."""

    outcome_names: Sequence[str]
    instance: Instance = field(repr=False)

    def evaluate_true(self, params: Mapping[str, Any]) -> torch.Tensor:
        return torch.tensor(self.instance.mean(self.instance.point(params)[None]), dtype=torch.double)[None]


@dataclass(kw_only=True)
class _OwnNoise(Noise):
    """The noise of an environment: its feedback less the mean, whatever Ax's generators are seeded with."""

    instance: Instance = field(repr=False)

    def _get_noise_and_sem(self, df: pd.DataFrame, outcome_names: Sequence[str], arm_weights: Any) -> tuple[Any, Any]:
        raise NotImplementedError  # the base asks for it; the noise of a table needs the trial, which it is not given

    def add_noise(
        self, df: pd.DataFrame, trial: Any, outcome_names: Sequence[str], arm_weights: Mapping[str, float] | None
    ) -> pd.DataFrame:
        if trial is None:
            raise ValueError("trial: expected one, as the feedback of a table depends on the arm, got None")
        arms = trial.arms_by_name
        df["mean"] = [self.instance.feedback(self.instance.point(arms[name].parameters)) for name in df["arm_name"]]
        df["sem"] = np.nan  # Ax estimates it
        return df


def _parameter(name: str, dimension: Dimension, arms: bool) -> Parameter:
    if arms or dimension.choices:
        values = range(int(dimension.high) + 1) if arms else dimension.choices
        kind = ParameterType.INT if arms else ParameterType.STRING
        return ChoiceParameter(name, kind, list(values), is_ordered=False, sort_values=False)
    kind = ParameterType.INT if dimension.integer else ParameterType.FLOAT
    number = int if dimension.integer else float
    return RangeParameter(name, kind, number(dimension.low), number(dimension.high), log_scale=dimension.log)


def _uniform_mean(instance: Instance) -> float:
    """Mean of uniform draws: of all arms, or of points of the unit cube."""
    if instance.finite:
        return float(instance.env.mean(np.arange(instance.problem.n_arms)).mean())
    return float(instance.env.mean(np.random.default_rng(0).random((_DRAWS, instance.problem.dim))).mean())
