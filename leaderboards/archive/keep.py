"""What a board keeps of a run that was played, see `leaderboards.store.kept`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from gpbandit_envs.channels import as_channel
from leaderboards.play.measures import COLUMNS
from leaderboards.score.scores import best_times, reduce_run
from leaderboards.store.kept import KEPT, KeptRun, trace_digest
from leaderboards.store.run_file import RunEntry

__all__ = ["keep"]


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
    t = best_times(run.spec.horizon)
    scores = reduce_run(columns, t, as_channel(run.spec.feedback))
    finals = {name: scores.finals[name] for name in KEPT}
    return KeptRun(t, {name: scores.curves[name] for name in KEPT}, finals, best, trace_digest(trace))
