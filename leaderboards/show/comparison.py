"""The page on which two agents are compared: their paired difference on every task.

The page itself holds only the choice. The comparisons of each agent with all others are a script of their own, which
the page loads when that agent is chosen: scripts beside a page may be loaded from disk, other data may not.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from leaderboards.score.comparison import PairedComparison, compare
from leaderboards.score.metrics import METRICS
from leaderboards.score.statistics import ALPHA
from leaderboards.show.chart import page_json
from leaderboards.show.charts import difference_chart
from leaderboards.show.format import NONE, signed, sort_key
from leaderboards.show.site import Site

__all__ = ["Comparisons", "all_comparisons", "comparison_data", "comparison_page", "script_file"]

_BUDGET = 5_000  # characters of numbers in the charts of one pair
_MIDDLE, _HALF = 55.0, 50.0  # of a drawing of a difference, as the template has it

Comparisons = Mapping[tuple[str, str], Mapping[str, PairedComparison]]
"""By ordered pair of agents and by task; only tasks on which the two can be compared."""


def all_comparisons(site: Site) -> Comparisons:
    """The paired comparisons of all pairs of agents, in both orders."""
    found: dict[tuple[str, str], dict[str, PairedComparison]] = {}
    for first, second in itertools.combinations(site.summary.agents, 2):
        made = {task: compare(site.summary, task, first, second, site.rankings[task]) for task in site.summary.tasks}
        found[first, second] = {task: one for task, one in made.items() if one is not None}
        found[second, first] = {task: one.mirrored() for task, one in found[first, second].items()}
    return found


def comparison_page(site: Site) -> dict[str, Any]:
    """Context of `compare.html.j2`: the agents, best first, with the scripts that hold their comparisons."""
    return {
        "agents": [(name, script_file(site, name)) for name in site.best_agents()],
        "tasks": [(task, site.task_files[task], style.hue) for task, style in site.task_styles.items()],
    }


def script_file(site: Site, agent: str) -> str:
    """File name of the comparisons of one agent, from the folder of the pages."""
    return f"compare/{site.agent_files[agent].removesuffix('.html')}.js"


def comparison_data(site: Site, comparisons: Comparisons, first: str) -> dict[str, dict[str, Any]]:
    """By second agent: table rows, the chart, and the tasks on which the two cannot be compared."""
    styles = site.task_styles
    data = {}
    for second in site.summary.agents:
        if second == first:
            continue
        found = comparisons[first, second]
        charts = [
            difference_chart(first, second, found, METRICS[name])
            for name in dict.fromkeys(("regret_ratio", "cumulative_regret", site.ranked_by))
        ]
        data[second] = {
            "rows": _rows(site, first, second, found),
            "chart": page_json([chart for chart in charts if chart is not None], styles, _BUDGET),
            "apart": [task for task in site.summary.tasks if task not in found],
        }
    return data


def _rows(site: Site, first: str, second: str, found: Mapping[str, PairedComparison]) -> list[list[Any]]:
    ratios = [one.difference for one in found.values() if one.metric == "regret_ratio"]
    ends = [abs(x) for d in ratios for x in ((d.low, d.high) if d.is_known else (d.estimate,))]
    reach = max(ends, default=1.0) or 1.0
    number = {task: i for i, task in enumerate(site.summary.tasks)}
    return [[number[task], *_row(first, second, one, reach)] for task, one in found.items()]


def _row(first: str, second: str, found: PairedComparison, reach: float) -> list[Any]:
    """What the script puts into the cells of a row, each a text or a list of text, sort key and interval.

    They are: the metric, the difference, its drawing, how often the first wins, p, the verdict, the repetitions that
    both have finished, and how many would find such a difference. A drawing has the places of the lower end, the mean
    and the upper end; it is empty where the metric has a unit, which other tasks do not share.
    """
    difference, wins, p = found.difference, found.wins, found.p
    better = first if difference.estimate < 0 else second
    verdict = f"{better} is better" if p is not None and p < ALPHA else "no difference found"
    interval = "one repetition"
    if difference.is_known:
        interval = f"{signed(difference.low, plus=False)} to {signed(difference.high, plus=False)}"
    drawing: list[float] = []
    if found.metric == "regret_ratio":
        ends = (difference.low, difference.estimate, difference.high) if difference.is_known else (difference.estimate,)
        drawing = [round(_MIDDLE + _HALF * min(max(x / reach, -1.0), 1.0), 1) for x in ends]
    return [
        METRICS[found.metric].title.lower(),
        [signed(difference.estimate, plus=False), sort_key(difference.estimate), interval],
        drawing,
        [f"{wins.estimate:.0%}", sort_key(wins.estimate), f"{wins.low:.0%} – {wins.high:.0%}"],
        [NONE, ""] if p is None else ["< 0.001" if p < 0.001 else f"{p:.3f}", sort_key(p)],
        "not ranked: repetitions are missing" if p is None else verdict,
        len(found.blocks),
        [NONE, ""] if found.needed is None else [str(found.needed), str(found.needed)],
    ]
