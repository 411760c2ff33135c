"""The curve of every repetition on a task: a script beside its page, loaded when the reader asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import RANKED_BY
from leaderboards.show.chart import thinned
from leaderboards.show.format import packed_each
from leaderboards.show.shared import Site

__all__ = ["REPEATED", "repetition_data"]

REPEATED = (*RANKED_BY, "regret_ratio")
"""Metrics whose repetitions can be shown."""

_BUDGET = 240_000  # characters of numbers in a script
_CHARACTERS = 16 / 3  # of a number, see `leaderboards.show.format.packed_each`
_FEWEST, _MOST = 16, 60  # points of a curve


def repetition_data(site: Site, task: str) -> dict[str, Any]:
    """By metric, times and the curves of each agent, thinned until they fit; empty where nobody has played twice.

    The curves of an agent are one after another, packed.
    """
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
            runs = dict(zip(known, packed_each([scores.curves[name][:, keep] for scores in known.values()])))
            found[METRICS[name].name] = {"x": times, "runs": runs}
    return {"metrics": found} if found else {}
