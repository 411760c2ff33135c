"""What a run's trace says along t: regret, batches, processor time and the time of the experiment; pure functions.

| symbol | meaning | shape, unit |
|---|---|---|
| `r_t` (regret) | instantaneous regret `f* - f(x_t)` of the noise-free mean | (..., T), unit of the reward |
| `R_t` | cumulative regret `sum_{s<=t} r_s` | (..., T), unit of the reward |
| `b_t` (batch) | number of the batch that evaluation t belongs to, non-decreasing | (..., T) |
| `c_t` (cost) | cost of evaluation t | (..., T), unit stated by the environment |

NaN in the regret means that the environment does not know its mean; it is carried on, never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int, Num

from gpbandit_envs.arguments import LARGEST
from gpbandit_envs.channels import Channel, WorkerClock

COLUMNS = ("regret", "inference_regret", "batch", "policy_seconds", "cost")
"""Columns of a trace from which all of this is computed."""

WORKERS = 10
"""Evaluations at a time in the simulated experiment, unless the feedback model states a number of workers."""


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

    @classmethod
    def of(cls, trace: Mapping[str, np.ndarray], rule: Channel, others: Sequence[str] = ()) -> RunColumns:
        """Those of a trace, `others` NaN where it lacks them.

        Raises:
            KeyError: if one of `COLUMNS` is missing.
            ValueError: if their numbers make no sense.
        """
        columns = {name: np.asarray(trace[name], np.float64) for name in COLUMNS}
        for name, values in columns.items():
            if (np.abs(values) > LARGEST).any():
                raise ValueError(
                    f"{name}: expected numbers of at most {LARGEST:g} in size, got {np.nanmax(np.abs(values)):g}"
                )
        unknown = np.full(len(columns["regret"]), np.nan)
        further = {name: np.asarray(trace[name], np.float64) if name in trace else unknown for name in others}
        return cls(**columns, rule=rule, others=further)


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


def cumulative(x: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Running sum `R_t = sum_{s<=t} r_s`; of regret, of policy seconds, of costs."""
    return np.cumsum(x, axis=-1)


def simple_regret(regret: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Regret of the best action so far, `f* - max_{s<=t} f(x_s)`, in units of the reward."""
    # fmin would forget an unknown mean; minimum carries it on.
    return np.minimum.accumulate(regret, axis=-1)


def inference_regret(recommended: Float[np.ndarray, "*runs T"]) -> Float[np.ndarray, "*runs T"]:
    """Regret `f* - f(x^_t)` of the action the agent would deploy after its last feedback before or at t.

    Args:
        recommended: Regret of the recommendation where there is a new one, NaN elsewhere, in units of the reward.

    Returns:
        The latest known entry at each t; NaN before the first recommendation.
    """
    last = np.where(np.isnan(recommended), 0, np.arange(recommended.shape[-1]))
    np.maximum.accumulate(last, axis=-1, out=last)
    return np.take_along_axis(recommended, last, axis=-1)


def batches_so_far(batch: Num[np.ndarray, "*runs T"]) -> Int[np.ndarray, "*runs T"]:
    """Number of batches begun up to t.

    Raises:
        ValueError: if the batch numbers decrease somewhere.
    """
    step = np.diff(batch, axis=-1, prepend=-np.inf)
    if (step < 0).any():
        raise ValueError("batch: expected non-decreasing batch numbers, got a decrease")
    return np.cumsum(step > 0, axis=-1)


def batch_lengths(batch: Num[np.ndarray, " T"]) -> Int[np.ndarray, " B"]:
    """Number of evaluations in each batch of one run, in order."""
    return np.bincount(batches_so_far(batch))[1:]


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
        ValueError: for negative or missing costs.
    """
    _check_costs(cost)
    lengths = batch_lengths(batch)
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
        ValueError: for negative or missing costs, or for deliveries that so many workers cannot have made.
    """
    _check_costs(cost)
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


def _check_costs(cost: np.ndarray) -> None:
    if not (np.isfinite(cost).all() and (cost >= 0).all()):
        raise ValueError("cost: expected finite costs >= 0, got a negative, infinite or missing one")


RANKED_BY = ("cumulative_regret", "simple_regret", "inference_regret", "best_so_far")
"""Criteria by which agents are ranked, of scores that a uniform draw scales."""

_THRICE = (0.25, 0.5, 1.0)
IN_UNITS = {
    "recommended": ("inference_regret", _THRICE),
    "recommended_quarter": ("inference_regret", (0.25,)),
    "recommended_half": ("inference_regret", (0.5,)),
    "recommended_end": ("inference_regret", (1.0,)),
    "best_measured": ("simple_regret", _THRICE),
}
"""Criteria in units of the reward: the curve that each is the mean of, and after which shares of the evaluations."""


def at_shares(
    curve: Float[np.ndarray, "*runs p"], t: Int[np.ndarray, " p"], shares: Sequence[float]
) -> Float[np.ndarray, "*runs p"]:
    """Mean of a curve after some shares of the first t evaluations; of those at which it is kept, the last before."""
    before = [np.searchsorted(t, share * t, side="right") - 1 for share in shares]
    return np.asarray(np.mean([curve[..., np.maximum(at, 0)] for at in before], axis=0))


def _batches(run: RunColumns) -> Float[np.ndarray, " T"]:
    batches = batches_so_far(run.batch).astype(np.float64)
    return batches if has_batches(run.rule) else np.full(len(batches), np.nan)


def _experiment_time(run: RunColumns) -> Float[np.ndarray, " T"]:
    """Time at which the feedback of the first t evaluations is in; NaN without a clock, or if some cost is unknown."""
    workers = workers_of(run.rule)
    if workers is None or not (np.isfinite(run.cost).all() and (run.cost >= 0).all()):
        return np.full(len(run.cost), np.nan)
    if has_batches(run.rule):
        return simulated_time(run.cost, run.batch, workers)
    return np.maximum.accumulate(completion_times(run.cost, run.batch, workers))


CURVES: dict[str, Callable[[RunColumns], Float[np.ndarray, " T"]]] = {
    "cumulative_regret": lambda run: cumulative(run.regret),
    "simple_regret": lambda run: simple_regret(run.regret),
    "inference_regret": lambda run: inference_regret(run.inference_regret),
    "batches": _batches,
    "policy_seconds": lambda run: cumulative(run.policy_seconds),
    "simulated_time": _experiment_time,
}
"""The curves that are kept of every run, by metric; the other metrics follow from these or need a trace."""
