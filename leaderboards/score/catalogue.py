"""Every metric by name: how it is computed from a run, and its title, formula and unit for tables and axes.

Adding a metric is a function of a run's columns and one entry of `METRICS`; the reduction of runs, tables of scores and
pages go through the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from leaderboards.play.feedback import FeedbackRule
from leaderboards.score import metrics

__all__ = ["CURVES", "FINALS", "METRICS", "WORKERS", "Metric", "has_batches", "workers_of"]

WORKERS = 10
"""Evaluations at a time in the simulated experiment, where the feedback model does not say."""

Compute = Callable[[Mapping[str, np.ndarray], FeedbackRule], np.ndarray]
"""From columns of a trace, each of shape `(T,)`, to the metric after each evaluation, shape `(T,)`."""


@dataclass(frozen=True)
class Metric:
    """What a column of scores means.

    Attributes:
        name: Key in frames of scores.
        title: Heading, in words.
        symbol: Formula in plain text.
        unit: Unit; "" for a pure number.
        meaning: One sentence.
        compute: The metric of one run; None for the regret ratio, which needs the uniform policy's run as well.
        columns: Columns of the trace that it is computed from.
        lower_is_better: Whether small values win; None where neither end is better in itself.
        has_curve: Whether it is kept along t as well as at the end.
    """

    name: str
    title: str
    symbol: str
    unit: str
    meaning: str
    compute: Compute | None = None
    columns: tuple[str, ...] = ("regret",)
    lower_is_better: bool | None = True
    has_curve: bool = True


def has_batches(rule: FeedbackRule) -> bool:
    """Whether feedback comes in batches, so that their number says how often the experiment stood still for it.

    Under delays and with parallel workers almost every evaluation has a delivery of its own.
    """
    return rule.name in ("on_request", "batch")


def workers_of(rule: FeedbackRule) -> int | None:
    """How many evaluations run at once in the simulated experiment; None where there is no clock to simulate.

    Delays are counted in further evaluations, not in costs.
    """
    if rule.name == "workers":
        return int(rule.value)
    return WORKERS if has_batches(rule) else None


def _batches(trace: Mapping[str, np.ndarray], rule: FeedbackRule) -> np.ndarray:
    """Batches begun up to t; NaN where feedback does not come in batches."""
    if not has_batches(rule):
        return np.full(len(trace["batch"]), np.nan)
    return metrics.batches_so_far(trace["batch"]).astype(np.float64)


def _batch_length(trace: Mapping[str, np.ndarray], rule: FeedbackRule) -> np.ndarray:
    return np.arange(1, len(trace["batch"]) + 1) / _batches(trace, rule)


def _regret_per_batch(trace: Mapping[str, np.ndarray], rule: FeedbackRule) -> np.ndarray:
    return metrics.cumulative(trace["regret"]) / _batches(trace, rule)


def _simulated_time(trace: Mapping[str, np.ndarray], rule: FeedbackRule) -> np.ndarray:
    """Time at which the feedback of the first t evaluations is in; NaN without a clock, or if some cost is unknown."""
    cost, batch, workers = np.asarray(trace["cost"], np.float64), trace["batch"], workers_of(rule)
    if workers is None or not (np.isfinite(cost).all() and (cost >= 0).all()):
        return np.full(len(cost), np.nan)
    if has_batches(rule):
        return metrics.simulated_time(cost, batch, workers)
    return np.maximum.accumulate(metrics.completion_times(cost, batch, workers))


_REWARD = "unit of the reward"

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "regret_ratio",
            "Regret ratio",
            "R_t / R_t of Uniform",
            "",
            "Cumulative regret over that of the uniform policy on the same instances: 1 is no better than chance.",
        ),
        Metric(
            "cumulative_regret",
            "Cumulative regret",
            "R_t = sum of f* - f(x_s), s <= t",
            _REWARD,
            "What all evaluations so far have cost against always choosing the best arm; noise-free means.",
            lambda trace, _: metrics.cumulative(trace["regret"]),
        ),
        Metric(
            "average_regret",
            "Average regret",
            "R_t / t",
            _REWARD,
            "Cumulative regret per evaluation.",
            lambda trace, _: metrics.average_regret(trace["regret"]),
        ),
        Metric(
            "simple_regret",
            "Simple regret",
            "f* - max f(x_s), s <= t",
            _REWARD,
            "Distance of the best arm tried so far from the best there is.",
            lambda trace, _: metrics.simple_regret(trace["regret"]),
        ),
        Metric(
            "inference_regret",
            "Inference regret",
            "f* - f(recommended at t)",
            _REWARD,
            "Distance of the arm that the agent would deploy now from the best there is.",
            lambda trace, _: metrics.inference_regret(trace["inference_regret"]),
            ("inference_regret",),
        ),
        Metric(
            "batches",
            "Batches",
            "number of batches begun up to t",
            "",
            "How often the agent waited for feedback: fewer means more evaluations in parallel. "
            "Only where feedback comes in batches.",
            _batches,
            ("batch",),
        ),
        Metric(
            "batch_length",
            "Mean batch length",
            "T / batches",
            "evaluations",
            "Evaluations between two deliveries of feedback, where it comes in batches.",
            _batch_length,
            ("batch",),
            lower_is_better=None,
            has_curve=False,
        ),
        Metric(
            "regret_per_batch",
            "Regret per batch",
            "R_T / batches",
            _REWARD,
            "Regret for each round of parallel evaluations, where feedback comes in batches.",
            _regret_per_batch,
            ("regret", "batch"),
            lower_is_better=None,
            has_curve=False,
        ),
        Metric(
            "policy_seconds",
            "Policy time",
            "seconds in select and observe up to t",
            "s",
            "Time that the agent itself takes, without evaluations; it depends on the machine.",
            lambda trace, _: metrics.cumulative(trace["policy_seconds"]),
            ("policy_seconds",),
        ),
        Metric(
            "simulated_time",
            "Experiment time",
            "time until the feedback of the first t evaluations is in",
            "unit of the cost",
            "How long the experiment takes: under workers:W on W workers that never wait for each other, else on ten, "
            "with a batch lasting until its last evaluation is done. Delays counted in evaluations have no clock.",
            _simulated_time,
            ("cost", "batch"),
        ),
    )
}
"""All metrics, the headline first."""

CURVES: tuple[str, ...] = tuple(name for name, metric in METRICS.items() if metric.has_curve)
FINALS: tuple[str, ...] = tuple(METRICS)
