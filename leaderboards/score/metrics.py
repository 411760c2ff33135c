"""Metrics of a run: the pure functions, and the registry that the summary, pages, figures and tables read.

| symbol | meaning | shape, unit |
|---|---|---|
| `r_t` (regret) | instantaneous regret `f* - f(x_t)` of the noise-free mean | (..., T), unit of the reward |
| `R_t` | cumulative regret `sum_{s<=t} r_s` | (..., T), unit of the reward |
| `b_t` (batch) | number of the batch that evaluation t belongs to, non-decreasing | (..., T) |
| `c_t` (cost) | cost of evaluation t | (..., T), unit stated by the environment |

NaN in the regret means that the environment does not know its mean; it is carried on, never dropped.

A new metric is one call, in this file or anywhere before the page is built. Its function reads any column of the trace
that it names, an agent's diagnostics too:

    register(
        Metric(
            "best_reward",
            "Best reward",
            "max y_s, s <= t",
            REWARD,
            "The largest reward so far, with its noise.",
            lambda run: np.fmax.accumulate(run.others["reward"]),
            columns=("reward",),
            lower_is_better=False,
        )
    )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int, Num

from gpbandit_envs.channels import Channel, WorkerClock

__all__ = [
    "BEST_SO_FAR",
    "METRICS",
    "REWARD",
    "WORKERS",
    "Metric",
    "RunColumns",
    "average_regret",
    "batch_lengths",
    "batches_so_far",
    "best_so_far",
    "completion_times",
    "cumulative",
    "has_batches",
    "inference_regret",
    "other_columns",
    "register",
    "regret_per_batch",
    "regret_ratio",
    "simple_regret",
    "simulated_time",
    "workers_of",
]

REWARD = "unit of the reward"
WORKERS = 10
"""Evaluations at a time in the simulated experiment, unless the feedback model states a number of workers."""
BEST_SO_FAR = 1e-3
"""Share of the mean gap below which a smaller simple regret counts no more."""


# ---- the functions ----


def cumulative(x: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Running sum `R_t = sum_{s<=t} r_s`; of regret, of policy seconds, of costs."""
    return np.cumsum(_timed("x", x), axis=-1)


def average_regret(regret: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Average regret `R_t / t`, in units of the reward."""
    R = cumulative(regret)
    return R / np.arange(1, R.shape[-1] + 1)


def simple_regret(regret: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Regret of the best action so far, `f* - max_{s<=t} f(x_s)`, in units of the reward."""
    # fmin would forget an unknown mean; minimum carries it on.
    return np.minimum.accumulate(_timed("regret", regret), axis=-1)


def inference_regret(recommended: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Regret `f* - f(x^_t)` of the action the agent would deploy after its last feedback before or at t.

    Args:
        recommended: Regret of the recommendation where there is a new one, NaN elsewhere, in units of the reward.

    Returns:
        The latest known entry at each t; NaN before the first recommendation.
    """
    x = _timed("recommended", recommended)
    last = np.where(np.isnan(x), 0, np.arange(x.shape[-1]))
    np.maximum.accumulate(last, axis=-1, out=last)
    return np.take_along_axis(x, last, axis=-1)


def regret_ratio(
    R: Float[np.ndarray, "*runs T"], R_uniform: Float[np.ndarray, "*runs T"]
) -> Float[np.ndarray, "*runs T"]:
    """Regret ratio `R_t / R_t^unif` against the uniform policy on the same episodes.

    Args:
        R: Cumulative regret, in units of the reward.
        R_uniform: That of the uniform policy on the same instances and noise.

    Returns:
        The ratio, without unit; NaN where the uniform policy has no regret yet.

    Raises:
        ValueError: if the shapes differ: the runs are then not paired.
    """
    R, R_uniform = np.asarray(R, np.float64), np.asarray(R_uniform, np.float64)
    if R.shape != R_uniform.shape:
        raise ValueError(f"R_uniform: expected the shape {R.shape} of R, one run a run, got {R_uniform.shape}")
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


def batches_so_far(batch: Num[np.ndarray, "*runs T"]) -> Int[np.ndarray, "*runs T"]:
    """Number of batches begun up to t.

    Raises:
        ValueError: if the batch numbers decrease somewhere.
    """
    step = np.diff(_timed("batch", batch), axis=-1, prepend=-np.inf)
    if (step < 0).any():
        raise ValueError("batch: expected non-decreasing batch numbers, got a decrease")
    return np.cumsum(step > 0, axis=-1)


def batch_lengths(batch: Num[np.ndarray, " T"]) -> Int[np.ndarray, " B"]:
    """Number of evaluations in each batch of one run, in order."""
    number = batches_so_far(np.atleast_1d(batch))
    if number.ndim != 1:
        raise ValueError(f"batch: expected one run, shape (T,), got {number.shape}")
    return np.bincount(number)[1:]


def regret_per_batch(regret: Float[np.ndarray, " T"], batch: Num[np.ndarray, " T"]) -> float:
    """Cumulative regret over the number of batches `R_T / B_T`: the cost of a round of parallel evaluations."""
    return float(np.sum(_timed("regret", regret)) / batches_so_far(batch)[-1])


def simulated_time(
    cost: Float[np.ndarray, " T"], batch: Num[np.ndarray, " T"], workers: int
) -> Float[np.ndarray, " T"]:
    """Experiment time at the end of the batch of each evaluation, with `workers` evaluations in parallel.

    For feedback that comes in batches; see `completion_times` for workers that wait for nobody.

    Within a batch, evaluations start in the order they were chosen, each on the worker that is free first; the next
    batch starts when the last of them is done.

    Args:
        cost: How long each evaluation takes, shape `(T,)`, unit stated by the environment.
        batch: Batch number of each evaluation, shape `(T,)`.
        workers: How many evaluations run at once, at least 1.

    Returns:
        Time since the start at which the feedback of each evaluation's batch is complete, shape `(T,)`.

    Raises:
        ValueError: for negative or missing costs, or no worker.
    """
    cost, lengths = _costs(cost, batch, workers), batch_lengths(batch)
    stops = np.cumsum(lengths)
    if (cost == cost[0]).all():
        spans = cost[0] * np.ceil(lengths / workers)
    else:
        spans = np.array([_span(cost[stop - n : stop].tolist(), workers) for stop, n in zip(stops, lengths)])
    return np.repeat(np.cumsum(spans), lengths)


def completion_times(
    cost: Float[np.ndarray, " T"], batch: Num[np.ndarray, " T"], workers: int
) -> Float[np.ndarray, " T"]:
    """Time at which each evaluation is done where feedback comes as `workers:W` says, without barriers.

    An evaluation starts on a free worker as soon as the agent chooses it. Time goes on to the next completion where no
    worker is free or the agent would rather wait; each such step is a delivery.

    Args:
        cost: How long each evaluation takes, shape `(T,)`, unit stated by the environment.
        batch: One more than the deliveries before each evaluation, shape `(T,)`, as the harness records it.
        workers: How many evaluations run at once, at least 1.

    Returns:
        Times since the start, shape `(T,)`; not sorted, since a later evaluation may be done earlier.

    Raises:
        ValueError: for negative or missing costs, no worker, or deliveries that so many workers cannot have made.
    """
    cost = _costs(cost, batch, workers)
    clock, deliveries = WorkerClock(workers), 0
    ends = np.empty(len(cost))
    for t, (c, b) in enumerate(zip(cost.tolist(), np.asarray(batch).tolist())):
        while deliveries < b - 1 and clock.free < workers:
            clock.wait()
            deliveries += 1
        if deliveries != b - 1 or not clock.free:
            raise ValueError(f"batch: expected the deliveries of {workers} workers, got {b} for evaluation {t + 1}")
        ends[t] = clock.start(c)
    return ends


def _span(cost: Sequence[float], workers: int) -> float:
    """How long one batch takes: greedy list scheduling in the order given."""
    clock = WorkerClock(workers)
    return max(clock.start(c) for c in cost)


def _costs(cost: np.ndarray, batch: np.ndarray, workers: int) -> np.ndarray:
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        raise ValueError(f"workers: expected an integer >= 1, got {workers!r}")
    cost = _timed("cost", cost)
    if not (np.isfinite(cost).all() and (cost >= 0).all()):
        raise ValueError("cost: expected finite costs >= 0, got a negative, infinite or missing one")
    if np.shape(batch) != cost.shape:
        raise ValueError(f"batch: expected one number for each of {len(cost)} costs, got shape {np.shape(batch)}")
    return cost


def _timed(name: str, x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"{name}: expected at least one evaluation along the last axis, got shape {x.shape}")
    return x


# ---- the registry ----


@dataclass(frozen=True)
class RunColumns:
    """What a metric is computed from: the columns of one trace and its feedback model.

    Attributes:
        regret: Instantaneous regret, shape `(T,)`.
        inference_regret: Regret of each new recommendation, NaN between them, shape `(T,)`.
        batch: Batch number of each evaluation, shape `(T,)`.
        policy_seconds: Processor time in `select` and `observe`, shape `(T,)`, in s.
        cost: Cost of each evaluation, shape `(T,)`, unit stated by the environment.
        rule: Feedback model of the run.
        others: The further columns that registered metrics ask for, by name, each of shape `(T,)`; NaN where the run
            has none, as it has none of another agent's diagnostics.
    """

    regret: Float[np.ndarray, " T"]
    inference_regret: Float[np.ndarray, " T"]
    batch: Num[np.ndarray, " T"]
    policy_seconds: Float[np.ndarray, " T"]
    cost: Float[np.ndarray, " T"]
    rule: Channel
    others: Mapping[str, Num[np.ndarray, " T"]] = field(default_factory=dict)


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
            `leaderboards.store.kept`: any other metric is NaN there.
        lower_is_better: Whether small values win; None where neither end is better in itself.
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
    lower_is_better: bool | None = True
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


def register(metric: Metric) -> None:
    """Add a metric to the summary, the pages, the figures and the tables.

    Raises:
        ValueError: if there is a metric of that name.
    """
    if metric.name in METRICS:
        raise ValueError(f"metric: expected a new name, got {metric.name!r}, which is registered")
    METRICS[metric.name] = metric


def has_batches(rule: Channel) -> bool:
    """Whether feedback comes in batches, so that their number says how often the experiment waited for it.

    Under delays and with parallel workers almost every evaluation has a delivery of its own.
    """
    return rule.name in ("on_request", "batch")


def workers_of(rule: Channel) -> int | None:
    """How many evaluations run at once in the simulated experiment; None where there is no clock to simulate.

    Delays are counted in further evaluations, not in costs.
    """
    if rule.name == "workers":
        return int(rule.value)
    return WORKERS if has_batches(rule) else None


def _batches(run: RunColumns) -> Float[np.ndarray, " T"]:
    batches = batches_so_far(run.batch).astype(np.float64)
    return batches if has_batches(run.rule) else np.full(len(batches), np.nan)


def _mean_batch_length(run: RunColumns) -> float:
    return len(run.regret) / float(_batches(run)[-1])


def _regret_per_batch(run: RunColumns) -> float:
    return regret_per_batch(run.regret, run.batch) if has_batches(run.rule) else np.nan


def _experiment_time(run: RunColumns) -> Float[np.ndarray, " T"]:
    """Time at which the feedback of the first t evaluations is in; NaN without a clock, or if some cost is unknown."""
    workers = workers_of(run.rule)
    if workers is None or not (np.isfinite(run.cost).all() and (run.cost >= 0).all()):
        return np.full(len(run.cost), np.nan)
    if has_batches(run.rule):
        return simulated_time(run.cost, run.batch, workers)
    return np.maximum.accumulate(completion_times(run.cost, run.batch, workers))


register(
    Metric(
        "cumulative_regret",
        "Cumulative regret",
        "R_t = sum of f* - f(x_s), s <= t",
        REWARD,
        "Regret of all evaluations so far against always pulling the best arm; noise-free means.",
        lambda run: cumulative(run.regret),
        bands_in_figures=True,
    )
)
register(
    Metric(
        "simple_regret",
        "Simple regret",
        "f* - max f(x_s), s <= t",
        REWARD,
        "Distance of the best arm evaluated so far from the best there is.",
        lambda run: simple_regret(run.regret),
    )
)
register(
    Metric(
        "inference_regret",
        "Inference regret",
        "f* - f(recommended at t)",
        REWARD,
        "Distance of the arm that the agent would deploy now from the best there is.",
        lambda run: inference_regret(run.inference_regret),
        bands_in_figures=True,
    )
)
register(
    Metric(
        "regret_ratio",
        "Regret ratio",
        "R_t / R_t of uniform sampling",
        "",
        "Cumulative regret over that of uniform sampling, by Uniform or Random, on the same instances: 1 is no better "
        "than chance.",
        None,
        bands_in_figures=True,
    )
)
register(
    Metric(
        "average_regret",
        "Average regret",
        "R_t / t",
        REWARD,
        "Cumulative regret per evaluation.",
        lambda run: average_regret(run.regret),
        in_tables=False,
        in_figures=False,
    )
)
register(
    Metric(
        "batches",
        "Batches",
        "number of batches begun up to t",
        "",
        "How often the agent waited for feedback: fewer means more evaluations in parallel. "
        "Only where feedback comes in batches.",
        _batches,
        in_figures=False,
    )
)
register(
    Metric(
        "policy_seconds",
        "Policy time",
        "processor seconds in select and observe up to t",
        "s",
        "Processor time that the agent itself takes, without evaluations; it depends on the machine.",
        lambda run: cumulative(run.policy_seconds),
        in_figures=False,
    )
)
register(
    Metric(
        "batch_length",
        "Mean batch length",
        "T / batches",
        "evaluations",
        "Evaluations between two deliveries of feedback, where it comes in batches.",
        _mean_batch_length,
        lower_is_better=None,
        has_curve=False,
        in_tables=False,
    )
)
register(
    Metric(
        "regret_per_batch",
        "Regret per batch",
        "R_T / batches",
        REWARD,
        "Regret for each round of parallel evaluations, where feedback comes in batches.",
        _regret_per_batch,
        lower_is_better=None,
        has_curve=False,
        in_tables=False,
    )
)
register(
    Metric(
        "median_regret",
        "Median regret",
        "median of f* - f(x_t)",
        REWARD,
        "Regret of the median evaluation; that of uniform sampling is the median arm's gap.",
        lambda run: float(np.median(run.regret)),
        has_curve=False,
        in_tables=False,
    )
)
register(
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
    )
)
register(
    Metric(
        "simulated_time",
        "Experiment time",
        "time until the feedback of the first t evaluations is in",
        "unit of the cost",
        "How long the experiment takes: under workers:W on W workers that never wait for each other, else on ten, "
        "with a batch lasting until its last evaluation is done. Delays counted in evaluations have no clock.",
        _experiment_time,
        in_tables=False,
        in_charts=False,
        in_figures=False,
    )
)
