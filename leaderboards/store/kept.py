"""What a board keeps of a run: scores at sixty evaluations at most, and a digest of the whole trace.

A trace of 1,000 evaluations takes 30 KB, what is kept of it 0.6 KB: thousands of runs come with the package. The whole
trace is made again by playing the run, and the digest says whether it is the same, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from leaderboards.play.record import TRACE_COLUMNS
from leaderboards.store.kept_audit import KeptAudit

__all__ = ["CLOCK", "KEPT", "MOST_KEPT", "KeptRun", "trace_digest"]

KEPT = ("cumulative_regret", "simple_regret", "inference_regret", "batches", "policy_seconds", "simulated_time")
"""Metrics of `leaderboards.score.metrics` that are kept along t; the others follow from these."""

MOST_KEPT = 60
"""Largest number of evaluations at which they are kept."""

CLOCK = ("policy_seconds",)
"""Columns of a trace that differ each time a run is played."""


@dataclass(frozen=True)
class KeptRun:
    """What is kept of the trace of a run.

    Attributes:
        t: The evaluations, of which the last is the horizon; shape `(p,)`.
        curves: The metrics of `KEPT` at them, each of shape `(p,)`; single precision.
        finals: Their values at the horizon; double precision.
        best_mean: Largest mean among the evaluations where the optimum is unknown, NaN where it is known. Cumulative
            and simple regret are then those against a best mean of 0.
        digest: Of the whole trace, see `trace_digest`.
        audit: Of its audit; None if it was not audited.
    """

    t: Int[np.ndarray, " p"]
    curves: Mapping[str, Float[np.ndarray, " p"]]
    finals: Mapping[str, float]
    best_mean: float
    digest: str
    audit: KeptAudit | None = None


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
