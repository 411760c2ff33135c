"""Metrics of a run: the registry that the summary, pages, figures and tables read.

What a trace says along t, with its symbols, is in `leaderboards.play.measures`.

A new metric is one call, in this file or anywhere before the page is built. Its function reads any column of the trace
that it names, an agent's diagnostics too:

    register_metric(
        Metric(
            "best_reward",
            "Best reward",
            "max y_s, s <= t",
            REWARD,
            "The largest reward so far, with its noise.",
            lambda run: np.fmax.accumulate(run.others["reward"]),
            columns=("reward",),
        )
    )
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from leaderboards.play.measures import CURVES, IN_UNITS, RunColumns, at_shares, cumulative

REWARD = "unit of the reward"
BEST_SO_FAR = 1e-3
"""Share of the mean gap below which a smaller simple regret counts no more."""


# ---- functions of scores ----


def average_regret(regret: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Average regret `R_t / t`, in units of the reward."""
    R = cumulative(regret)
    return R / np.arange(1, R.shape[-1] + 1)


def regret_ratio(
    R: Float[np.ndarray, "*runs T"], R_uniform: Float[np.ndarray, "*runs T"]
) -> Float[np.ndarray, "*runs T"]:
    """Regret ratio `R_t / R_t^unif` against the uniform policy on the same episodes.

    Args:
        R: Cumulative regret, in units of the reward.
        R_uniform: That of the uniform policy on the same instances and noise.

    Returns:
        The ratio, without unit; NaN where the uniform policy has no regret yet.
    """
    ratio = np.full(R.shape, np.nan)
    np.divide(R, R_uniform, out=ratio, where=R_uniform > 0)
    return ratio


def best_so_far(
    t: Int[np.ndarray, " p"], relative: Float[np.ndarray, "n p"], least: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n p"]:
    """Mean over log s, s <= t, of `log10 max(r_s / gap, least)`, r_s being the simple regret: how soon how good.

    The simple regret is a step function; where it is kept at some evaluations alone, it counts as what it was at the
    last of them.

    Args:
        t: Evaluations at which it is kept, from 1, shape `(p,)`.
        relative: Simple regret over the mean gap there, shape `(n, p)`.
        least: What counts as no regret, shape `(n,)`, above 0.

    Returns:
        The mean up to each of them, shape `(n, p)`; NaN where the regret or the gap is unknown.
    """
    log_t, log_next = np.log(np.asarray(t, np.float64)), np.log1p(np.asarray(t, np.float64))
    logs = np.log10(np.maximum(relative, np.asarray(least)[:, None]))
    before = np.zeros_like(logs)
    np.cumsum(logs[:, :-1] * np.diff(log_t), axis=1, out=before[:, 1:])
    return np.asarray((before + logs * (log_next - log_t)) / log_next)


# ---- the registry ----


@dataclass(frozen=True)
class Metric:
    """A score of runs: how it is computed, what it means and where it is shown.

    Attributes:
        name: Key in frames of scores.
        title: Heading, in words.
        symbol: Formula in plain text.
        unit: Unit; "" for a pure number.
        meaning: One sentence.
        of: The function of a run: its values along t, shape `(T,)`, or one number where `has_curve` is False; NaN where
            the metric does not apply. None for what needs more than the run: the regret ratio, which needs those of the
            uniform policy, and the best so far, which needs the scale of the instance.
        columns: Columns of the trace that it reads from `RunColumns.others`. A board keeps no traces, but the scores of
            `leaderboards.play.measures.CURVES`: any other metric is NaN there.
        has_curve: Whether it is kept along t as well as at the end.
        in_tables: Whether the pages of environments and agents have a column for it.
        in_charts: Whether the page of an environment has a chart of it along t.
        in_figures: Whether `gpbandit figures` draws it.
        bands_in_figures: Whether figures show its intervals: they hide the curves where they reach down to 0.
        log_in_figures: Whether the axes of figures are logarithmic.
    """

    name: str
    title: str
    symbol: str
    unit: str
    meaning: str
    of: Callable[[RunColumns], Float[np.ndarray, " T"] | float] | None
    columns: tuple[str, ...] = ()
    has_curve: bool = True
    in_tables: bool = True
    in_charts: bool = True
    in_figures: bool = True
    bands_in_figures: bool = False
    log_in_figures: bool = True


METRICS: dict[str, Metric] = {}
"""All metrics by name, in the order of tables and tabs."""


def other_columns() -> tuple[str, ...]:
    """The columns of traces that registered metrics ask for."""
    return tuple(dict.fromkeys(name for metric in METRICS.values() for name in metric.columns))


def register_metric(metric: Metric) -> None:
    """Add a metric to the summary, the pages, the figures and the tables.

    Raises:
        ValueError: if there is a metric of that name.
    """
    if metric.name in METRICS:
        raise ValueError(f"metric: expected a new name, got {metric.name!r}, which is registered")
    METRICS[metric.name] = metric


def _in_units(name: str, run: RunColumns) -> Float[np.ndarray, " T"]:
    curve, shares = IN_UNITS[name]
    return at_shares(CURVES[curve](run), np.arange(1, len(run.regret) + 1), shares)


for _metric in (
    Metric(
        "cumulative_regret",
        "Cumulative regret",
        "R_t = sum of f* - f(x_s), s <= t",
        REWARD,
        "Regret of all evaluations so far against always pulling the best arm; noise-free means.",
        CURVES["cumulative_regret"],
        bands_in_figures=True,
    ),
    Metric(
        "simple_regret",
        "Simple regret",
        "f* - max f(x_s), s <= t",
        REWARD,
        "Distance of the best arm evaluated so far from the best there is.",
        CURVES["simple_regret"],
    ),
    Metric(
        "inference_regret",
        "Inference regret",
        "f* - f(recommended at t)",
        REWARD,
        "Distance of the arm that the agent would deploy now from the best there is.",
        CURVES["inference_regret"],
        bands_in_figures=True,
    ),
    Metric(
        "regret_ratio",
        "Regret ratio",
        "R_t / R_t of uniform sampling",
        "",
        "Cumulative regret over that of uniform sampling, by Uniform or Random, on the same instances: 1 is no better "
        "than chance.",
        None,
        bands_in_figures=True,
    ),
    Metric(
        "average_regret",
        "Average regret",
        "R_t / t",
        REWARD,
        "Cumulative regret per evaluation.",
        lambda run: average_regret(run.regret),
        in_tables=False,
        in_figures=False,
    ),
    Metric(
        "batches",
        "Batches",
        "number of batches begun up to t",
        "",
        "How often the agent waited for feedback: fewer means more evaluations in parallel. "
        "Only where feedback comes in batches.",
        CURVES["batches"],
        in_figures=False,
    ),
    Metric(
        "policy_seconds",
        "Policy time",
        "processor seconds in select and observe up to t",
        "s",
        "Processor time that the agent itself takes, without evaluations; it depends on the machine.",
        CURVES["policy_seconds"],
        in_figures=False,
    ),
    Metric(
        "best_so_far",
        "Best so far",
        "mean over log t of log10(simple regret at t / mean gap)",
        "",
        "How soon the best evaluation was good: -1 is a tenth of the regret of a uniform draw on average over log t; "
        "below a thousandth nothing counts.",
        None,
        in_tables=False,
        in_charts=False,
        in_figures=False,
    ),
    Metric(
        "simulated_time",
        "Experiment time",
        "time until the feedback of the first t evaluations is in",
        "unit of the cost",
        "How long the experiment takes: under workers:W on W workers that never wait for each other, else on ten, "
        "with a batch lasting until its last evaluation is done. Delays counted in evaluations have no clock.",
        CURVES["simulated_time"],
        in_tables=False,
        in_charts=False,
        in_figures=False,
    ),
):
    register_metric(_metric)
for _name, _title, _symbol, _meaning in (
    ("recommended", "Recommendation", "mean of i_t at t = T/4, T/2 and T", "as a mean after 1/4, 1/2 and all"),
    ("recommended_quarter", "After a quarter", "i_t at t = T/4", "after 1/4"),
    ("recommended_half", "After a half", "i_t at t = T/2", "after 1/2"),
    ("recommended_end", "At the end", "i_t at t = T", "after all"),
    ("best_measured", "Best measured", "mean of r_t at t = T/4, T/2 and T", "as a mean after 1/4, 1/2 and all"),
):
    register_metric(
        Metric(
            _name,
            _title,
            _symbol,
            REWARD,
            f"Regret of {'the best candidate measured' if _name == 'best_measured' else 'what the agent recommends'}, "
            f"{_meaning} of the evaluations.",
            functools.partial(_in_units, _name),
            in_tables=False,
            in_charts=False,
            in_figures=False,
        )
    )
