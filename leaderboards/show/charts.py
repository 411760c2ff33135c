"""The data of the interactive charts, small enough to sit in the page; `static/page.js` draws them with Plotly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from leaderboards.play.feedback import FeedbackRule, parse_feedback
from leaderboards.score.catalogue import METRICS
from leaderboards.score.cell import Cell, has_batches, workers_of
from leaderboards.score.statistics import mean_band
from leaderboards.show.numbers import number, rounded
from leaderboards.show.palette import Look

__all__ = ["TABS", "chart_data", "chart_of", "curve", "describe_chart", "tab_texts"]

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

_BUDGET = 130_000  # characters of numbers in a page
_SMALL = 100  # curves on a page for which one of many small charts is thinned
_FEWEST = 18  # points below which a curve would no longer be one
_WIDE = 10.0  # spread from which a linear axis would press the good agents into one line
_CHARACTERS = 8.0  # of a number and its comma


def chart_data(
    cells: Mapping[str, Cell],
    looks: Mapping[str, Look],
    metrics: Sequence[str] = TABS,
    more: Sequence[dict[str, Any]] = (),
    feedback: str = "on_request",
) -> dict[str, Any]:
    """Mean curves with 95 % bands of every agent, a tab for each metric, and the tabs `more`.

    What the regime of `feedback` has none of, such as batches under delays, has no tab. The curves are thinned until a
    page stays under its size, whatever the number of agents.
    """
    if not cells:
        return chart_of([], {})
    t = next(iter(cells.values())).t
    keep = _kept(len(t), len(metrics) * len(cells))
    tabs = []
    for metric in metrics:
        series = {}
        for name, cell in cells.items():
            mean, low, high = mean_band(cell.curves[metric])
            if np.isfinite(mean).any():
                series[name] = curve(None, mean[keep], low[keep], high[keep], single=len(cell) == 1)
        if series:
            about = METRICS[metric]
            tabs.append(
                {
                    "key": metric,
                    "title": about.title,
                    "meaning": about.meaning,
                    "formula": about.symbol,
                    "axis": f"{about.title} ({about.unit})" if about.unit else about.title,
                    "log": _spread(metric, cells) > _WIDE,
                    "series": series,
                    "alt": describe_chart(metric, cells),
                }
            )
    if "cumulative_regret" in metrics and (timed := _against_time(cells, keep, parse_feedback(feedback))):
        tabs.append(timed)
    last = {name: float(cell.curves["cumulative_regret"][:, -1].mean()) for name, cell in cells.items()}
    order = sorted(cells, key=lambda name: (not np.isfinite(last[name]), last[name]))
    return chart_of([*tabs, *more], {name: looks[name] for name in order}, t[keep])


def tab_texts(chart: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Key, title, alternative text, meaning and formula of each tab, as the templates want them."""
    return [(tab["key"], tab["title"], tab["alt"], tab["meaning"], tab.get("formula", "")) for tab in chart["tabs"]]


def _against_time(cells: Mapping[str, Cell], keep: np.ndarray, rule: FeedbackRule) -> dict[str, Any] | None:
    """Cumulative regret against the time of the simulated experiment, where that has a clock and costs are known."""
    workers = workers_of(rule)
    if workers is None:
        return None
    at_once = f"{workers} worker{'' if workers == 1 else 's'}"
    series = {}
    for name, cell in cells.items():
        time = cell.curves["simulated_time"].mean(axis=0)
        mean, low, high = mean_band(cell.curves["cumulative_regret"])
        if np.isfinite(time).all() and np.isfinite(mean).any():
            series[name] = {"t": _list(time[keep]), **curve(None, mean[keep], low[keep], high[keep], len(cell) == 1)}
    if not series:
        return None
    about = METRICS["simulated_time"]
    ends = ", ".join(f"{name} {number(float(cells[name].finals['simulated_time'].mean()))}" for name in series)
    return {
        "key": "simulated_time",
        "title": "Regret against time",
        "meaning": f"How long the experiment takes with {at_once}: "
        + ("a batch lasts until its last evaluation is done." if has_batches(rule) else "none waits for another."),
        "formula": about.symbol,
        "axis": f"{METRICS['cumulative_regret'].title} ({METRICS['cumulative_regret'].unit})",
        "x": f"experiment time with {at_once} ({about.unit})",
        "log": _spread("cumulative_regret", cells) > _WIDE,
        "series": series,
        "alt": f"Cumulative regret against experiment time with {at_once}, which ends at: {ends}.",
    }


def chart_of(tabs: list[dict[str, Any]], looks: Mapping[str, Look], t: np.ndarray | None = None) -> dict[str, Any]:
    """The JSON value of a chart: its tabs, the look of every curve in order of the legend, and times they share."""
    lines = [{"name": name, "hue": look.hue, "dash": look.dash} for name, look in looks.items()]
    return {"t": [] if t is None else t.tolist(), "lines": lines, "tabs": tabs}


def curve(
    t: np.ndarray | None,
    mean: Float[np.ndarray, " p"],
    low: Float[np.ndarray, " p"],
    high: Float[np.ndarray, " p"],
    single: bool,
    least: float | None = 0.0,
    curves: int = _SMALL,
) -> dict[str, Any]:
    """One curve as JSON: mean `m` and, for more than one run, the ends `l` and `h` of its band.

    Args:
        t: Times of its own, thinned to what small charts need; None if it shares those of the chart.
        mean: Means.
        low: Lower ends.
        high: Upper ends.
        single: Whether there is a single run, and so no band.
        least: What no value is below, though a symmetric interval does not know it; None for differences.
        curves: How many like it the page holds.
    """
    keep = np.arange(len(mean)) if t is None else _kept(len(t), curves)
    found: dict[str, Any] = {"m": _list(mean[keep])}
    if not single:
        found |= {"l": _list((low if least is None else np.maximum(low, least))[keep]), "h": _list(high[keep])}
    return found if t is None else {"t": t[keep].tolist(), **found}


def _kept(p: int, curves: int) -> np.ndarray:
    """Which of `p` points are kept where a page holds so many curves."""
    most = max(int(_BUDGET / (_CHARACTERS * 3 * curves)), _FEWEST)
    return np.arange(p) if most >= p else np.unique(np.rint(np.linspace(0, p - 1, most)).astype(np.int64))


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
