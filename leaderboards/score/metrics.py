"""Metrics of one run or of many: pure functions along the last axis, which is time.

| symbol | meaning | shape, unit |
|---|---|---|
| `r_t` (regret) | instantaneous regret `f* - f(x_t)` of the noise-free mean | (..., T), unit of the reward |
| `R_t` | cumulative regret `sum_{s<=t} r_s` | (..., T), unit of the reward |
| `b_t` (batch) | number of the batch that evaluation t belongs to, non-decreasing | (..., T) |
| `c_t` (cost) | cost of evaluation t | (..., T), unit stated by the environment |

NaN in the regret means that the environment does not know its mean; it is carried on, never dropped.
"""

from __future__ import annotations

import heapq

import numpy as np
from jaxtyping import Float, Int, Num

__all__ = [
    "average_regret",
    "batch_lengths",
    "batches_so_far",
    "completion_times",
    "cumulative",
    "inference_regret",
    "regret_per_batch",
    "regret_ratio",
    "simple_regret",
    "simulated_time",
]


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
    """Cumulative regret over the number of batches `R_T / B_T`: what a round of parallel evaluations costs."""
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
        spans = np.array([_span(cost[stop - n : stop], workers) for stop, n in zip(stops, lengths)])
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
    now, deliveries = 0.0, 0
    running: list[float] = []
    ends = np.empty(len(cost))
    for t, (c, b) in enumerate(zip(cost.tolist(), np.asarray(batch).tolist())):
        while deliveries < b - 1 and running:
            now = running[0]
            while running and running[0] <= now:
                heapq.heappop(running)
            deliveries += 1
        if deliveries != b - 1 or len(running) == workers:
            raise ValueError(f"batch: expected the deliveries of {workers} workers, got {b} for evaluation {t + 1}")
        ends[t] = now + c
        heapq.heappush(running, now + c)
    return ends


def _span(cost: np.ndarray, workers: int) -> float:
    """How long one batch takes: greedy list scheduling in the order given."""
    if len(cost) <= workers:
        return float(cost.max())
    free = cost[:workers].tolist()
    heapq.heapify(free)
    for c in cost[workers:].tolist():
        heapq.heapreplace(free, free[0] + c)
    return max(free)


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
