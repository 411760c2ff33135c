"""The data of the interactive charts, small enough to sit in the page; `static/page.js` draws them with Plotly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leaderboards.score.catalogue import METRICS
from leaderboards.score.cell import Cell
from leaderboards.score.intervals import mean_band
from leaderboards.show.numbers import number, rounded
from leaderboards.show.palette import Look

__all__ = ["TABS", "chart_data", "describe_chart"]

TABS = (
    "cumulative_regret",
    "simple_regret",
    "inference_regret",
    "regret_ratio",
    "average_regret",
    "batches",
    "policy_seconds",
)
"""Metrics with a tab, in order."""

_BUDGET = 190_000  # characters of numbers in a page
_WIDE = 10.0  # spread from which a linear axis would press the good agents into one line
_CHARACTERS = 8.0  # of a number and its comma


def chart_data(cells: Mapping[str, Cell], looks: Mapping[str, Look], metrics: Sequence[str] = TABS) -> dict[str, Any]:
    """Mean curves with 95 % bands of every agent and metric, as JSON values.

    `t` is shared; `series[metric][agent]` holds the mean `m` and, for more than one run, the ends `l` and `h`. The
    curves are thinned until a page stays under its size, whatever the number of agents.
    """
    if not cells:
        return {"t": [], "agents": [], "tabs": []}
    t = next(iter(cells.values())).t
    most = int(_BUDGET / (_CHARACTERS * 3 * len(metrics) * len(cells)))
    keep = np.arange(len(t))
    if most < len(t):
        keep = np.unique(np.rint(np.linspace(0, len(t) - 1, max(most, 30))).astype(np.int64))
    tabs = []
    for metric in metrics:
        series = {}
        for name, cell in cells.items():
            mean, low, high = mean_band(cell.curves[metric])
            if not np.isfinite(mean).any():
                continue
            series[name] = {"m": _list(mean[keep])}
            if len(cell) > 1:
                # No metric here is ever negative; the symmetric interval does not know that.
                series[name] |= {"l": _list(np.maximum(low, 0.0)[keep]), "h": _list(high[keep])}
        if series:
            about = METRICS[metric]
            tabs.append(
                {
                    "key": metric,
                    "title": about.title,
                    "axis": f"{about.title} ({about.unit})" if about.unit else about.title,
                    "log": _spread(metric, cells) > _WIDE,
                    "series": series,
                    "alt": describe_chart(metric, cells),
                }
            )
    last = {name: float(cell.curves["cumulative_regret"][:, -1].mean()) for name, cell in cells.items()}
    order = sorted(cells, key=lambda name: (not np.isfinite(last[name]), last[name]))
    agents = [{"name": name, "hue": looks[name].hue, "dash": looks[name].dash} for name in order]
    return {"t": t[keep].tolist(), "agents": agents, "tabs": tabs}


def _spread(metric: str, cells: Mapping[str, Cell]) -> float:
    """How many times the smallest final mean goes into the largest; 1 where one of them is 0."""
    ends = np.array([cell.curves[metric][:, -1].mean() for cell in cells.values()])
    ends = ends[np.isfinite(ends)]
    return float(ends.max() / ends.min()) if len(ends) and ends.min() > 0 else 1.0


def describe_chart(metric: str, cells: Mapping[str, Cell]) -> str:
    """What a reader who cannot see the chart would want to know: where each curve ends, best first."""
    ends = {name: float(cell.curves[metric][:, -1].mean()) for name, cell in cells.items()}
    known = sorted((value, name) for name, value in ends.items() if np.isfinite(value))
    T = int(next(iter(cells.values())).t[-1])
    text = ", ".join(f"{name} {number(value)}" for value, name in known)
    return f"{METRICS[metric].title} against the number of evaluations; means at t = {T}: {text}."


def _list(x: np.ndarray) -> list[float | None]:
    return [rounded(value) for value in x.tolist()]
