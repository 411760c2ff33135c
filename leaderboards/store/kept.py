"""What is kept of a run besides its trace: its scores at sixty evaluations at most, a digest of the trace, its audit.

A trace of 1,000 evaluations takes 30 KB, what is kept of it 0.6 KB: thousands of runs come with the package, without
their traces. Whoever plays a run again has its trace, and the digest says whether it is the same, bit for bit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from gpbandit_envs.channels import as_channel
from leaderboards.play.measures import COLUMNS, CURVES, RunColumns
from leaderboards.play.record import TRACE_COLUMNS, Text
from leaderboards.play.spec import RunSpec

KEPT = tuple(CURVES)
"""Metrics of `leaderboards.score.metrics` that are kept along t; the others follow from these, or need the trace."""

MOST_KEPT = 60
"""Largest number of evaluations at which they are kept."""

CLOCK = ("policy_seconds",)
"""Columns of a trace that differ each time a run is played."""

_BITS = {"policy_seconds": 8}
_MOST_BITS = 16  # of the mantissa: a relative error of 2^-17, beyond what a chart shows; it halves the size of a file


_NOT_NUMBERS = ("required_scaling", "half_width", "informative")
"""Numbers that may be NaN, which JSON does not know."""


@dataclass(frozen=True, kw_only=True)
class BandFacts:
    """What is true of the band of an audited run as a whole.

    Attributes:
        width: The agent's setting of its confidence width; "" if it has none.
        kind: What the width is, see `agents.core.guarantees.Kind`; "" without a width.
        theorem: Source of the theorem behind the width; "" without one.
        no_guarantee: Why no theorem guarantees the band in this run; "" if one does.
        no_band: Why the run has no audited band; "" if it has one.
        delta: Failure probability that the agent states; None if it states none.
        refuted: Whether the data refuted the norm, the noise or the kernel that the agent was given.
        regret_bound: The number that the policy's theorem has for its cumulative regret at the end, unit of the reward;
            None where there is none.
        regret_held: Whether the regret of this run is within it; None where either is unknown.
        every_turn: Whether a checkpoint followed every turn, so that nothing was missed; False too where it was not
            recorded.
    """

    width: Text
    kind: Text = ""
    theorem: Text = ""
    no_guarantee: Text
    no_band: Text
    delta: float | None
    refuted: bool = False
    regret_bound: float | None = None
    regret_held: bool | None = None
    every_turn: bool = False


@dataclass(frozen=True, kw_only=True)
class KeptAudit(BandFacts):
    """What is kept of the audit of a run: whether the band held at all arms and times, and by how much.

    Attributes:
        times: Number of checkpoints.
        first_violation: The first checkpoint at which some mean was outside the band; None if there was none.
        violations: Largest number of arms outside the band at one checkpoint.
        required_scaling: Smallest scaling of the band that covers every mean at every checkpoint; NaN without a band,
            infinite where a band without width is off.
        half_width: Largest half-width at the last checkpoint, unit of the reward; NaN without a band.
        informative: Share of arms whose band at the last checkpoint is narrower than the range of the means; NaN
            without a band.
    """

    times: int
    first_violation: int | None
    violations: int
    required_scaling: float
    half_width: float
    informative: float

    @property
    def held(self) -> bool:
        """Whether there is a band, and every mean was inside it at every checkpoint."""
        return not self.no_band and self.first_violation is None

    def to_dict(self) -> dict[str, Any]:
        """JSON form; NaN is null."""
        values = asdict(self)
        return values | {name: None if math.isnan(values[name]) else values[name] for name in _NOT_NUMBERS}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> KeptAudit:
        """The audit with this JSON form.

        Raises:
            KeyError: if a value is missing.
        """
        found = {field.name: values[field.name] for field in fields(cls)}
        return cls(**found | {name: math.nan if found[name] is None else float(found[name]) for name in _NOT_NUMBERS})


@dataclass(frozen=True)
class KeptRun:
    """What is kept of a run that is done.

    Attributes:
        t: The evaluations, of which the last is the horizon; shape `(p,)`.
        curves: The metrics of `KEPT` at them, each of shape `(p,)`: single precision, and double at the horizon.
        best_mean: Largest mean among the evaluations where the optimum is unknown, NaN where it is known. Cumulative
            and simple regret are then those against a best mean of 0.
        digest: Of the whole trace, see `trace_digest`.
        audit: Of its audit; None if it was not audited.
    """

    t: Int[np.ndarray, " p"]
    curves: Mapping[str, Float[np.ndarray, " p"]]
    best_mean: float
    digest: str
    audit: KeptAudit | None = None

    @property
    def finals(self) -> dict[str, float]:
        """The values of the curves at the horizon."""
        return {name: float(curve[-1]) for name, curve in self.curves.items()}


def kept_times(T: int) -> Int[np.ndarray, " p"]:
    """The evaluations at which a run of `T` is kept, evenly on a logarithmic axis, both ends included."""
    if T <= MOST_KEPT:
        return np.arange(1, T + 1)
    return np.unique(np.rint(np.geomspace(1, T, MOST_KEPT)).astype(np.int64))


def keep(spec: RunSpec, trace: pd.DataFrame) -> KeptRun | None:
    """What is kept of a run that is done; None if the numbers of its trace make no sense."""
    best = math.nan
    try:
        columns: dict[str, np.ndarray] = {name: trace[name].to_numpy() for name in COLUMNS}
        mean = trace["mean"].to_numpy()
        if np.isnan(columns["regret"]).all() and np.isfinite(mean).all():
            best, columns["regret"] = float(mean.max()), -mean
        run = RunColumns.of(columns, as_channel(spec.feedback))
        along = {name: curve(run) for name, curve in CURVES.items()}
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return None
    t = kept_times(spec.horizon)
    return KeptRun(
        t, {name: _rounded(name, values[t - 1]) for name, values in along.items()}, best, trace_digest(trace)
    )


def _rounded(name: str, curve: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """A curve as it is kept: fewer bits of the mantissa, to nearest, but for its last value."""
    bits = _BITS.get(name, _MOST_BITS)
    mantissa, exponent = np.frexp(np.asarray(curve, np.float64))
    found = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits).astype(np.float32).astype(np.float64)
    found[-1] = curve[-1]
    return np.asarray(found)


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
