"""The curve of every repetition on a task: a script beside its page, loaded when the reader asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import RANKED_BY
from leaderboards.score.scores import AgentScores
from leaderboards.show.chart import thinned
from leaderboards.show.shared import Site

__all__ = ["REPEATED", "repetition_data"]

REPEATED = (*RANKED_BY, "regret_ratio")
"""Metrics whose repetitions can be shown."""

_BUDGET = 240_000  # characters of numbers in a script
_CHARACTERS = 7.0  # of a number and its comma
_FEWEST, _MOST = 16, 60  # points of a curve


def repetition_data(site: Site, task: str) -> dict[str, Any]:
    """By metric, times and the curves of each agent, thinned until they fit; empty where nobody has played twice."""
    by_agent = site.summary.on(task)
    if max((len(scores) for scores in by_agent.values()), default=0) < 2:
        return {}
    n_curves = len(REPEATED) * sum(map(len, by_agent.values()))
    most = min(max(int(_BUDGET / (_CHARACTERS * n_curves)), _FEWEST), _MOST)
    found = {}
    for name in REPEATED:
        known = {agent: scores for agent, scores in by_agent.items() if np.isfinite(scores.curves[name]).any()}
        if known:
            keep = thinned(len(next(iter(known.values())).t), most)
            times = next(iter(known.values())).t[keep].tolist()
            runs = {agent: _curves(scores, name, keep) for agent, scores in known.items()}
            found[METRICS[name].name] = {"x": times, "runs": runs}
    return {"metrics": found} if found else {}


def _curves(scores: AgentScores, metric: str, keep: np.ndarray) -> list[list[float | None]]:
    Y = three_digits(scores.curves[metric][:, keep])
    return [[None if value != value else value for value in row] for row in Y.tolist()]


def three_digits(x: np.ndarray) -> np.ndarray:
    """`x` to three significant digits; NaN where it is not finite."""
    x = np.where(np.isfinite(x), x, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(x == 0, 0.0, np.floor(np.log10(np.abs(x))))
    # Division by a whole power of ten is exact to the last digit, so that numbers are written short.
    power = 10.0 ** np.abs(2 - size)
    return np.where(size <= 2, np.rint(x * power) / power, np.rint(x / power) * power)
