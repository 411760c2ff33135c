"""The page of one task: its facts, charts, scores, spread and theory; and the curves of its repetitions."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from gpbandit_envs.channels import as_channel
from gpbandit_envs.registry import ENVIRONMENTS, TABLE
from leaderboards.play.measures import RANKED_BY, has_batches
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.score.metrics import METRICS, Metric
from leaderboards.score.statistics import LEAST_BLOCKS, iqm, median_intervals
from leaderboards.show.audit_tables import audits_of
from leaderboards.show.chart import Chart, charts_on, page_json, task_view, thinned
from leaderboards.show.charts import best_first, metric_chart
from leaderboards.show.format import NONE, between, number, packed_each, row_command
from leaderboards.show.overview import best_found_text, knowledge_text
from leaderboards.show.scores import of_task
from leaderboards.show.shared import Site
from leaderboards.show.table import (
    Row,
    TableCell,
    agent_row,
    final_cells,
    number_cell,
    open_ranks,
    place_cell,
    slope_cell,
    unfinished_rows,
)

REPEATED = (*RANKED_BY, "regret_ratio")
"""Metrics whose repetitions can be shown."""

_BUDGET = 240_000  # characters of numbers in a script
_CHARACTERS = 16 / 3  # of a number, see `leaderboards.show.format.packed_each`
_FEWEST, _MOST = 16, 60  # points of a curve of a repetition

_FACTS = {
    "optimum": "Best mean (unit of the reward, average of the instances)",
    "optimum_tol": "Error of the best mean, at most (unit of the reward)",
    "gap": "Gap to the second-best arm (unit of the reward)",
    MEAN_GAP: "Regret of a uniform draw (unit of the reward)",
    "norm": "RKHS norm",
}


def environment_page(site: Site, task: str) -> dict[str, Any]:
    """Context of `environment.html.j2`."""
    summary, found, cells = site.summary, site.rankings[task], site.shown.on(task)
    about, by_agent = summary.tasks[task], summary.on(task)
    registered = next((row for row in (*ENVIRONMENTS, TABLE) if row.id == about.env.id), None)
    metrics, order = _table_metrics(site, task), best_first(cells)
    drawn = page_json(task_charts(site, task), {name: site.styles[name] for name in order})
    played = [next(iter(member.items())) for member in about.members.values()]  # the argument comes first
    members = Counter(f"{value}" for _, value in played)
    return {
        "task": about,
        "lede": "" if registered is None else _first_sentence(registered.entry_point),
        "references": () if registered is None else registered.references,
        "settings": json.dumps(dict(about.env.kwargs)) if about.env.kwargs else "defaults",
        "members": f"{played[0][0]}: {', '.join(f'{value} ({n})' for value, n in members.items())}" if played else "",
        "facts": [
            (_FACTS.get(k, k), number(v))
            for k, v in summary.facts.get(task, {}).items()
            if not math.isnan(v) and (k, v) != ("optimum_tol", 0)
        ],
        "repetitions": max(map(len, by_agent.values()), default=0),
        "metrics": metrics,
        "rows": _rows(site, task, metrics),
        "commands": {agent: row_command(about, summary.agents[agent], one.blocks) for agent, one in by_agent.items()},
        "score_table": of_task(site, task),
        "chart": drawn | site.legend(order, [task]),
        "knowledge": knowledge_text(about),
        "best_found": best_found_text(summary.best_found.get(task, ())),
        "audits": audits_of(site, task=task),
        "delays": next((file for study, file in site.delay_files if task in (study.base, *study.tasks.values())), None),
        "ranked_by": METRICS[found.metric].title.lower() if found else None,
        "n_ranked": len(found.agents) if found else 0,
        "n_blocks": len(found.blocks) if found else 0,
        "places": found is not None and found.ranking.is_told,
        "least_blocks": LEAST_BLOCKS,
        "gaps": unfinished_rows(site, task=task),
        "theory": _theory(site, task),
        "spread": _spread(site, task),
    }


def _first_sentence(entry_point: str) -> str:
    """The first line of the documentation of an environment of this project."""
    module, _, attribute = entry_point.partition(":")
    build = getattr(importlib.import_module(f"gpbandit_envs.envs.{module}"), attribute)
    return (inspect.getdoc(build) or "").partition("\n")[0]


def task_charts(site: Site, task: str) -> list[Chart]:
    """All charts of a task: metrics along the run, then those that are registered."""
    view = task_view(site, task)
    listed = [METRICS[site.along], *METRICS.values()]
    shown = [metric for metric in dict.fromkeys(listed) if metric.has_curve and metric.in_charts]
    charts = [metric_chart(metric, view.scores) for metric in shown]
    return [*(chart for chart in charts if chart is not None), *charts_on("task", view)]


def repetition_data(site: Site, task: str) -> dict[str, Any]:
    """By metric, times and the curves of each agent, thinned until they fit; empty where nobody has played twice.

    It is a script beside the page, loaded when the reader asks for it. The curves of an agent are one after another,
    packed.
    """
    by_agent = site.summary.on(task)
    if max(map(len, by_agent.values()), default=0) < 2:
        return {}
    n_curves = len(REPEATED) * sum(map(len, by_agent.values()))
    most = min(max(int(_BUDGET / (_CHARACTERS * n_curves)), _FEWEST), _MOST)
    found = {}
    for name in REPEATED:
        known = {agent: scores for agent, scores in by_agent.items() if np.isfinite(scores.curves[name]).any()}
        if known:
            t = next(iter(known.values())).t
            keep = thinned(len(t), most)
            runs = dict(zip(known, packed_each([scores.curves[name][:, keep] for scores in known.values()])))
            found[name] = {"x": t[keep].tolist(), "runs": runs}
    return {"metrics": found} if found else {}


def _table_metrics(site: Site, task: str) -> list[Metric]:
    """Metrics with a column, the one that agents are ranked by first."""
    ranked_by = site.metric(task)
    left_out = {ranked_by, "regret_ratio"}  # a ratio is known only where it ranks
    if not has_batches(as_channel(site.summary.tasks[task].feedback)):
        left_out.add("batches")
    others = [metric for metric in METRICS.values() if metric.in_tables and metric.name not in left_out]
    return [METRICS[ranked_by], *others]


def _rows(site: Site, task: str, metrics: list[Metric]) -> list[Row]:
    """A row an agent, the best first: its final scores, the growth exponent of its regret and its finished runs."""
    found, rows = site.rankings[task], []
    for name in site.summary.agents:
        place = TableCell(NONE)
        if found is not None and name in found.agents:
            i = found.agents.index(name)
            left = open_ranks(found.ranking, i)
            why = f"ranks that the tests leave open: {left}" if left else ""
            place = place_cell(found.ranking, i, why, site.comparison_with_best(name, task))
            if left and left != place.text:
                place = replace(place, interval=f"rank {left}")
        rows.append(agent_row(site, name, final_cells(site, task, name, metrics, site.origin(task, name)), place=place))
    return sorted(rows, key=lambda row: (row.place.sort, row.cells[0].sort))


def _spread(site: Site, task: str) -> list[Row]:
    """How the ranked score is spread over repetitions; none where no agent has played twice."""
    found = site.rankings[task]
    if found is None or len(found.blocks) < 2:
        return []
    rows = []
    X = np.ascontiguousarray(found.Y.T)
    others = (iqm(X), np.quantile(X, 0.95, axis=1), X.min(axis=1), X.max(axis=1))
    for name, median, *values in zip(found.agents, median_intervals(X), *(each.tolist() for each in others)):
        first = TableCell(number(median.estimate), median.estimate, between(median, values=found.Y))
        rows.append(agent_row(site, name, [first, *map(number_cell, values)]))
    return sorted(rows, key=lambda row: row.cells[0].sort)


def _theory(site: Site, task: str) -> dict[str, Any] | None:
    found = site.theory.get(task)
    if found is None or isinstance(found, str):
        return None if found is None else {"problem": found}
    rows = []
    for one in found.comparisons:
        exponent, bound = one.proven.exponent, one.proven.bound
        cells = [
            slope_cell(one.fitted),
            TableCell(NONE) if exponent is None else TableCell(f"{exponent:.2f}", exponent),
            number_cell(one.measured.estimate),
            TableCell(NONE) if bound is None else TableCell(number(bound), bound, one.proven.theorem),
            number_cell(one.gain),
            number_cell(one.d_eff),
        ]
        rows.append(agent_row(site, one.agent, cells))
    columns = [
        ("Fitted exponent", "slope of log R_t against log t over the last decade"),
        ("Proven exponent", "power of t in the proven bound, logarithms aside"),
        (f"Regret at t = {found.t:,}", "mean over repetitions"),
        ("Proven bound there", "with the constants of the theorem"),
        ("Information gain", "realised, in nats"),
        ("Effective dimension", "realised"),
    ]
    # A board keeps nothing of which some are worked out, and for some widths nothing is proven.
    known = [any(row.cells[i].is_known for row in rows) for i in range(len(columns))]
    return {
        "problem": None,
        "columns": [(*head, "num", "number") for head in itertools.compress(columns, known)],
        "unmet": found.unmet,
        "t": found.t,
        "gamma": number(float(found.greedy.gain[-1])),
        "d_eff": number(found.greedy.d_eff),
        "rows": [replace(row, cells=list(itertools.compress(row.cells, known))) for row in rows],
    }
