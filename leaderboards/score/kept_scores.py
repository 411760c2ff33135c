"""Scores of runs of which only `leaderboards.store.kept.KEPT` is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from leaderboards.score.metrics import METRICS
from leaderboards.score.scores import RunScores
from leaderboards.store.kept import KEPT, KeptRun

__all__ = ["KeptScores", "scores_of"]


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
        return replace(self, curves=curves, finals=finals, measured_from=best, best=self.best + gain)


def scores_of(kept: KeptRun) -> KeptScores:
    """The scores of a run; metrics that are neither kept nor follow from what is are NaN."""
    T = int(kept.t[-1])
    curves = {name: np.asarray(kept.curves[name], np.float64) for name in KEPT}
    finals = {name: float(kept.finals[name]) for name in KEPT}
    curves["average_regret"] = curves["cumulative_regret"] / kept.t
    finals["average_regret"] = finals["cumulative_regret"] / T
    finals["batch_length"] = T / finals["batches"]
    finals["regret_per_batch"] = finals["cumulative_regret"] / finals["batches"]
    unknown = np.full(len(kept.t), np.nan)
    ordered = {name: metric.has_curve for name, metric in METRICS.items() if metric.of is not None}
    return KeptScores(
        {name: curves.get(name, unknown) for name, has_curve in ordered.items() if has_curve or name in curves},
        {name: finals.get(name, np.nan) for name in ordered},
        {},
        kept.best_mean,
        best=curves["simple_regret"],
        t=kept.t,
    )
