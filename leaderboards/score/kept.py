"""Scores of runs of which only `leaderboards.play.kept.KEPT` is kept, and how they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Int

from leaderboards.play.feedback import parse_feedback
from leaderboards.play.kept import KEPT, MOST_KEPT, KeptRun, trace_digest
from leaderboards.play.run_file import RunEntry
from leaderboards.score.metrics import METRICS
from leaderboards.score.scores import COLUMNS, RunScores, reduce_run, subsample_times

__all__ = ["keep", "kept_times", "scores_of"]


def kept_times(horizon: int) -> Int[np.ndarray, " p"]:
    """The evaluations at which a run is kept: spread evenly on a logarithmic axis, both ends included."""
    return subsample_times(horizon, MOST_KEPT, "log")


def keep(run: RunEntry, trace: pd.DataFrame) -> KeptRun:
    """What a board keeps of a run that is done.

    Raises:
        ValueError: if the numbers of the trace make no sense.
    """
    columns: Mapping[str, np.ndarray] = {name: trace[name].to_numpy() for name in COLUMNS}
    mean = trace["mean"].to_numpy()
    best = np.nan
    if np.isnan(columns["regret"]).all() and np.isfinite(mean).all():
        best, columns = float(mean.max()), {**columns, "regret": -mean}
    t = kept_times(run.spec.horizon)
    scores = reduce_run(columns, t, parse_feedback(run.spec.feedback))
    finals = {name: scores.finals[name] for name in KEPT}
    return KeptRun(t, {name: scores.curves[name] for name in KEPT}, finals, best, trace_digest(trace))


@dataclass(frozen=True)
class KeptScores(RunScores):
    """Scores of a run of which no trace is at hand."""

    t: Int[np.ndarray, " p"] | None = None

    def measured(self, best: float) -> KeptScores:
        """The same with regret measured from the mean `best`, where the optimum is unknown."""
        assert self.t is not None
        gain = best - (self.measured_from or 0.0)
        curves, finals = dict(self.curves), dict(self.finals)
        for name, evaluations in (("cumulative_regret", self.t), ("simple_regret", 1), ("average_regret", 1)):
            curves[name] = curves[name] + gain * evaluations
            finals[name] = float(curves[name][-1])
        finals["regret_per_batch"] = finals["cumulative_regret"] / finals["batches"]
        return replace(self, curves=curves, finals=finals, measured_from=best)


def scores_of(kept: KeptRun) -> KeptScores:
    """The scores of a run; metrics that are neither kept nor follow from what is are NaN."""
    T = int(kept.t[-1])
    curves = {name: np.asarray(kept.curves[name], np.float64) for name in KEPT}
    finals = {name: float(kept.finals[name]) for name in KEPT}
    curves["average_regret"] = curves["cumulative_regret"] / kept.t
    finals["average_regret"] = finals["cumulative_regret"] / T
    finals["batch_length"] = T / finals["batches"]
    finals["regret_per_batch"] = finals["cumulative_regret"] / finals["batches"]
    for name, metric in METRICS.items():
        if metric.of is not None:
            finals.setdefault(name, np.nan)
            if metric.has_curve:
                curves.setdefault(name, np.full(len(kept.t), np.nan))
    ordered = [name for name, metric in METRICS.items() if metric.of is not None]
    return KeptScores(
        {name: curves[name] for name in ordered if name in curves},
        {name: finals[name] for name in ordered},
        {},
        kept.best_mean,
        t=kept.t,
    )
