"""Every metric by name: its title, formula and unit, for tables, axes and explanations."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CURVES", "FINALS", "METRICS", "Metric"]


@dataclass(frozen=True)
class Metric:
    """What a column of scores means.

    Attributes:
        name: Key in frames of scores.
        title: Heading, in words.
        symbol: Formula in plain text.
        unit: Unit; "" for a pure number.
        meaning: One sentence.
        lower_is_better: Whether small values win; None where neither end is better in itself.
        has_curve: Whether it is kept along t as well as at the end.
    """

    name: str
    title: str
    symbol: str
    unit: str
    meaning: str
    lower_is_better: bool | None = True
    has_curve: bool = True


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
        ),
        Metric(
            "average_regret",
            "Average regret",
            "R_t / t",
            _REWARD,
            "Cumulative regret per evaluation.",
        ),
        Metric(
            "simple_regret",
            "Simple regret",
            "f* - max f(x_s), s <= t",
            _REWARD,
            "Distance of the best arm tried so far from the best there is.",
        ),
        Metric(
            "inference_regret",
            "Inference regret",
            "f* - f(recommended at t)",
            _REWARD,
            "Distance of the arm that the agent would deploy now from the best there is.",
        ),
        Metric(
            "batches",
            "Batches",
            "number of batches begun up to t",
            "",
            "How often the agent waited for feedback: fewer means more evaluations in parallel. "
            "Only where feedback comes in batches.",
        ),
        Metric(
            "batch_length",
            "Mean batch length",
            "T / batches",
            "evaluations",
            "Evaluations between two deliveries of feedback, where it comes in batches.",
            lower_is_better=None,
            has_curve=False,
        ),
        Metric(
            "regret_per_batch",
            "Regret per batch",
            "R_T / batches",
            _REWARD,
            "Regret for each round of parallel evaluations, where feedback comes in batches.",
            lower_is_better=None,
            has_curve=False,
        ),
        Metric(
            "policy_seconds",
            "Policy time",
            "seconds in select and observe up to t",
            "s",
            "Time that the agent itself takes, without evaluations; it depends on the machine.",
        ),
        Metric(
            "simulated_time",
            "Experiment time",
            "time until the feedback of the first t evaluations is in",
            "unit of the cost",
            "How long the experiment takes: under workers:W on W workers that never wait for each other, else on ten, "
            "with a batch lasting until its last evaluation is done. Delays counted in evaluations have no clock.",
        ),
    )
}
"""All metrics, the headline first."""

CURVES: tuple[str, ...] = tuple(name for name, metric in METRICS.items() if metric.has_curve)
FINALS: tuple[str, ...] = tuple(METRICS)
