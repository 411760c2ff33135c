"""The page on which two agents are compared: their paired difference on every task.

The page itself holds only the choice. The numbers are in scripts, one an agent, which the page loads when a pair is
chosen: scripts beside a page may be loaded from disk, other data may not.

A pair stands in the script of one of its agents, and `static/charts.js` turns the signs for the other order. With the
agents numbered as the page lists them, the earlier one has it where their numbers add up to an odd one, and the later
one otherwise: all scripts are about as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leaderboards.score.comparison import PairedComparison, compare_with
from leaderboards.score.metrics import METRICS
from leaderboards.score.statistics import ALPHA, LEAST_BLOCKS, Interval
from leaderboards.show.chart import page_json, styles_json
from leaderboards.show.charts import difference_chart
from leaderboards.show.format import NONE, signed, sort_key
from leaderboards.show.shared import Site

_BUDGET = 5_000  # characters of numbers in the charts of one pair
_MIDDLE, _HALF = 55.0, 50.0  # of a drawing of a difference, as the template has it
_FIRST, _SECOND = "{first}", "{second}"  # where the script puts the names of the pair


def comparison_page(site: Site) -> dict[str, Any]:
    """Context of `compare.html.j2`: the agents, best first, with the scripts that hold their comparisons.

    Without a choice in the address it shows the first of the `pairs` that an agent of the user's own makes with the
    best of the board and with uniform sampling; or else the two best agents.
    """
    best, pairs = site.best_agents(), _own_pairs(site)
    return {
        "chosen": pairs[0] if pairs else tuple(best[:2]),
        "pairs": [(first, second, site.comparison_link(first, second)) for first, second in pairs],
        "agents": [(name, script_file(site, name)) for name in site.compared],
        "of": len(site.summary.agents),
        "tasks": [(task, site.task_files[task], style.hue) for task, style in site.task_styles.items()],
        "styles": styles_json(site.task_styles),
    }


def _own_pairs(site: Site) -> list[tuple[str, str]]:
    """Agents that play in the folder with the best of the board and the reference of the regret ratio."""
    best, own = site.best_agents(), site.summary.own
    references = [site.summary.reference(task) for task in site.summary.tasks]
    others = dict.fromkeys([*[name for name in best if name not in own][:1], *references])
    return [(mine, other) for mine in best if mine in own for other in others if other is not None and other != mine]


def script_file(site: Site, agent: str) -> str:
    """File name of the comparisons of one agent, from the folder of the pages."""
    return f"compare/{site.agent_files[agent].removesuffix('.html')}.js"


def comparison_data(site: Site, first: str) -> dict[str, Any]:
    """The pairs in the script of one agent, by second agent.

    Each has its table rows, its charts, what can be said of the two over all tasks, and the tasks on which they cannot
    be compared. The charts have no styles,
    which the page holds for all of them.
    """
    tasks, agents, pairs = site.summary.tasks, site.compared, {}
    i = agents.index(first)
    seconds = [second for j, second in enumerate(agents) if j != i and (i < j) == ((i + j) % 2 == 1)]
    made = {
        task: compare_with(site.summary, task, first, seconds, site.rankings[task], site.ranked_by) for task in tasks
    }
    for second in seconds:
        found = {task: by_second[second] for task, by_second in made.items() if second in by_second}
        charts = [
            difference_chart(_FIRST, _SECOND, found, METRICS[name])
            for name in dict.fromkeys(("regret_ratio", "cumulative_regret", site.ranked_by))
        ]
        drawn = page_json([chart for chart in charts if chart is not None], site.task_styles, _BUDGET, as_digits=False)
        pairs[second] = {
            "rows": _rows(site, found),
            "said": site.sentence(first, second),
            "chart": {"xs": drawn["xs"], "charts": drawn["charts"]},
            "apart": [task for task in tasks if task not in found],
        }
    return pairs


def _rows(site: Site, found: Mapping[str, PairedComparison]) -> list[list[Any]]:
    ratios = (one.difference for one in found.values() if one.metric == "regret_ratio")
    reach = max((abs(x) for difference in ratios for x in _ends(difference)), default=1.0) or 1.0
    number = {task: i for i, task in enumerate(site.summary.tasks)}
    return [[number[task], *_row(one, reach)] for task, one in found.items()]


def _ends(difference: Interval) -> tuple[float, ...]:
    """Low end, mean and high end, or the mean alone."""
    low, mean, high = difference.low, difference.estimate, difference.high
    return (low, mean, high) if difference.is_known else (mean,)


def _row(found: PairedComparison, reach: float) -> list[Any]:
    """What the script puts into the cells of a row.

    They are: the metric; the difference as text, sort key and the ends of its interval, if known; its drawing; how
    often the first wins, in per cent, with its sort key and the ends of its interval; p of the pair and p over all
    pairs, each as text and sort key; the verdict; the repetitions that both have finished; and how many would find such
    a difference, as text and sort key. A drawing has the places of the lower end, the mean and the upper end; it is
    empty where the metric has a unit, which other tasks do not share.
    """
    difference, wins, p = found.difference, found.wins, found.p
    better = _FIRST if difference.estimate < 0 else _SECOND
    if not found.is_ranked:
        verdict = "not ranked: repetitions are missing"
    elif p is None:
        verdict = f"too few repetitions to tell: {LEAST_BLOCKS} are the least"
    else:
        verdict = f"{better} is better" if p < ALPHA else "no difference found"
    ends = _ends(difference)
    drawn = ends if found.metric == "regret_ratio" else ()
    drawing = [round(_MIDDLE + _HALF * min(max(x / reach, -1.0), 1.0), 1) for x in drawn]
    interval = [signed(x, plus=False) for x in ends[:1] + ends[2:]] if difference.is_known else []
    return [
        METRICS[found.metric].title.lower(),
        [signed(difference.estimate, plus=False), sort_key(difference.estimate), *interval],
        drawing,
        [round(100 * wins.estimate), sort_key(wins.estimate), round(100 * wins.low), round(100 * wins.high)],
        _p(found.p_single if len(found.blocks) >= LEAST_BLOCKS else None),
        _p(p),
        verdict,
        len(found.blocks),
        [NONE, ""] if found.needed is None else [str(found.needed), str(found.needed)],
    ]


def _p(p: float | None) -> list[str]:
    """A p-value as text and sort key."""
    return [NONE, ""] if p is None else ["< 0.001" if p < 0.001 else f"{p:.3f}", sort_key(p)]
