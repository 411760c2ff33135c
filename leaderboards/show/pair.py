"""What the page of two agents shows: their paired difference on every task."""

from __future__ import annotations

from typing import Any

from leaderboards.score.catalogue import METRICS
from leaderboards.score.statistics import Interval, mean_band
from leaderboards.score.pairs import Duel, duel
from leaderboards.show import svg
from leaderboards.show.agent import task_looks
from leaderboards.show.charts import chart_of, curve, tab_texts
from leaderboards.show.numbers import number
from leaderboards.show.site import Site

__all__ = ["pair_page"]

_FIRST = 0.02  # ratios of the first few evaluations are mostly noise and would flatten the rest


def pair_page(site: Site, first: str, second: str) -> dict[str, Any]:
    """Context of `pair.html.j2`."""
    duels = {task: found for task in site.summary.tasks if (found := duel(site.summary, task, first, second))}
    ends = [x for d in duels.values() if d.metric == "regret_ratio" for x in _ends(d.difference)]
    reach = max((abs(x) for x in ends), default=1.0) or 1.0
    chart = _chart(site, first, second, duels)
    return {
        "first": first,
        "second": second,
        "looks": [svg.swatch(site.looks[first]), svg.swatch(site.looks[second])],
        "files": [site.agent_files[first], site.agent_files[second]],
        "rows": [_row(site, task, first, second, found, reach) for task, found in duels.items()],
        "apart": [task for task in site.summary.tasks if task not in duels],
        "chart": chart,
        "tabs": tab_texts(chart),
    }


def _ends(interval: Interval) -> tuple[float, ...]:
    return (interval.low, interval.high) if interval.is_known else (interval.estimate,)


def _row(site: Site, task: str, first: str, second: str, found: Duel, reach: float) -> dict[str, Any]:
    difference, standing = found.difference, site.standings[task]
    p = None
    if standing and first in standing.agents and second in standing.agents:
        p = float(standing.ranking.p[standing.agents.index(first), standing.agents.index(second)])
    if p is not None and p < 0.05:
        verdict = f"{first if difference.estimate < 0 else second} is better"
    else:
        verdict = "not told apart"
    drawn = found.metric == "regret_ratio"
    ends = f"{_signed(difference.low)} to {_signed(difference.high)}" if difference.is_known else "one repetition"
    return {
        "task": task,
        "file": site.task_files[task],
        "metric": METRICS[found.metric].title.lower(),
        "difference": _signed(difference.estimate),
        "ends": ends,
        "sort": difference.estimate,
        "forest": svg.forest(difference, -reach, reach, task_looks(site)[task], 0.0) if drawn else "",
        "wins": f"{found.wins.estimate:.0%}",
        "wins_ends": f"{found.wins.low:.0%} – {found.wins.high:.0%}",
        "wins_sort": found.wins.estimate,
        "p": "–" if p is None else ("< 0.001" if p < 0.001 else f"{p:.3f}"),
        "p_sort": 2.0 if p is None else p,
        "verdict": verdict,
        "n": len(found.units),
        "needed": "–" if found.needed is None else str(found.needed),
    }


def _signed(x: float) -> str:
    """A difference with a minus as wide as a digit."""
    text = number(x)
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def _chart(site: Site, first: str, second: str, duels: dict[str, Duel]) -> dict[str, Any]:
    looks = task_looks(site)
    tabs: list[dict[str, Any]] = []
    for metric, key in (("regret_ratio", "ratio"), ("cumulative_regret", "regret")):
        series = {}
        for task, found in duels.items():
            if found.metric == metric:
                late = found.t >= found.t[-1] * _FIRST
                band = mean_band(found.curves[:, late])
                series[task] = curve(found.t[late], *band, single=len(found.units) == 1, least=None)
        if series:
            title = f"{METRICS[metric].title}: difference"
            tabs.append(
                {
                    "key": key,
                    "title": title,
                    "axis": f"{first} minus {second}",
                    "meaning": f"Below 0, {first} does better on the same instances; above 0, {second} does.",
                    "log": False,
                    "signed": True,
                    "series": series,
                    "alt": f"{title} of {first} and {second} against the number of evaluations, by environment.",
                }
            )
    return chart_of(tabs, {task: looks[task] for task in duels})
