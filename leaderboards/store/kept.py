"""What is kept of a run besides its trace: its scores at sixty evaluations at most, a digest of the trace.

A trace of 1,000 evaluations takes 30 KB, what is kept of it 0.6 KB: thousands of runs come with the package, without
their traces. Whoever plays a run again has its trace, and the digest says whether it is the same, bit for bit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from gpbandit_envs.channels import Channel, as_channel
from leaderboards.play.measures import COLUMNS, CURVES, RunColumns
from leaderboards.play.record import TRACE_COLUMNS
from leaderboards.play.spec import RunSpec

KEPT = tuple(CURVES)
"""Metrics of `leaderboards.score.metrics` that are kept along t; the others follow from these, or need the trace."""

MOST_KEPT = 60
"""Largest number of evaluations at which they are kept."""

FEW_PLATES = 16
"""Number of batches up to which they are kept at the ends of these, as those of 12 plates of 8 are."""

CLOCK = ("policy_seconds",)
"""Columns of a trace that differ each time a run is played."""

_ON_REQUEST = as_channel("on_request")
_BITS = {"policy_seconds": 4}  # other work on the machine changes a time by more than 2^-4
_MOST_BITS = 16  # of the mantissa: a relative error of 2^-16, beyond what a chart shows; it halves the size of a file


@dataclass(frozen=True)
class KeptRun:
    """What is kept of a run that is done.

    Attributes:
        t: The evaluations, of which the last is the horizon; shape `(p,)`.
        curves: The metrics of `KEPT` at them, each of shape `(p,)`: single precision, and double at the horizon.
        best_mean: Largest mean among the evaluations where the optimum is unknown, NaN where it is known. Cumulative
            and simple regret are then those against a best mean of 0.
        digest: Of the whole trace, see `trace_digest`.
    """

    t: Int[np.ndarray, " p"]
    curves: Mapping[str, Float[np.ndarray, " p"]]
    best_mean: float
    digest: str

    @property
    def finals(self) -> dict[str, float]:
        """The values of the curves at the horizon."""
        return {name: float(curve[-1]) for name, curve in self.curves.items()}


def kept_times(T: int, channel: Channel = _ON_REQUEST) -> Int[np.ndarray, " p"]:
    """The evaluations at which a run of `T` is kept, evenly on a logarithmic axis, both ends included.

    In few batches all of the first and the ends of the others: later a recommendation changes nowhere else.
    """
    if T <= MOST_KEPT:
        return np.arange(1, T + 1)
    if channel.name == "batch" and FEW_PLATES * channel.value >= T:
        size = int(channel.value)
        return np.concatenate([np.arange(1, size), np.arange(size, T, size), [T]])
    return np.unique(np.rint(np.geomspace(1, T, MOST_KEPT)).astype(np.int64))


def keep(spec: RunSpec, trace: pd.DataFrame) -> KeptRun | None:
    """What is kept of a run that is done; None if the numbers of its trace make no sense."""
    best = math.nan
    try:
        columns: dict[str, np.ndarray] = {name: trace[name].to_numpy() for name in COLUMNS}
        mean = trace["mean"].to_numpy()
        if np.isnan(columns["regret"]).all() and np.isfinite(mean).all():
            best, columns["regret"] = float(mean.max()), -mean
        channel = as_channel(spec.feedback)
        run = RunColumns.of(columns, channel)
        along = {name: curve(run) for name, curve in CURVES.items()}
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return None
    t = kept_times(spec.horizon, channel)
    return KeptRun(
        t, {name: _rounded(name, values[t - 1]) for name, values in along.items()}, best, trace_digest(trace)
    )


def _rounded(name: str, curve: Float[np.ndarray, " p"], last: bool = False) -> Float[np.ndarray, " p"]:
    """A curve as it is kept: fewer bits of the mantissa, to nearest, but for its last value unless `last`."""
    bits = _BITS.get(name, _MOST_BITS)
    mantissa, exponent = np.frexp(np.asarray(curve, np.float64))
    found = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits).astype(np.float32).astype(np.float64)
    if not last:
        found[-1] = curve[-1]
    return np.asarray(found)


def published(run: KeptRun) -> KeptRun:
    """The run as boards have it: clocks have few bits at the horizon too, which takes 3 % off a file."""
    return replace(run, curves={**run.curves, **{name: _rounded(name, run.curves[name], last=True) for name in CLOCK}})


def trace_digest(trace: pd.DataFrame) -> str:
    """Hash of what was done and what came of it: equal for traces that are equal bit for bit.

    The columns of `CLOCK` are left out, and what an agent says of itself, which it may say or not.
    """
    digest = hashlib.sha256()
    for name in sorted(name for name in trace.columns if name in TRACE_COLUMNS or name.startswith("action_")):
        if name in CLOCK:
            continue
        values = trace[name].to_numpy()
        whole = values.dtype.kind in "iub"
        digest.update(f"{name} {'i' if whole else 'f'}{len(values)};".encode())
        # Not a number has many bit patterns, which mean the same.
        plain = values.astype("<i8") if whole else np.where(np.isnan(values), np.nan, values).astype("<f8")
        digest.update(np.ascontiguousarray(plain).tobytes())
    return digest.hexdigest()[:32]
