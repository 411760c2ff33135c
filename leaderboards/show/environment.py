"""The page of one task: its facts, charts, scores, spread and theory."""

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
from leaderboards.play.measures import has_batches
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.score.metrics import METRICS, Metric
from leaderboards.score.statistics import LEAST_BLOCKS, iqm, quantile_intervals
from leaderboards.score.tasks import Task
from leaderboards.show.audit_tables import audits_of
from leaderboards.show.chart import Chart, page_json
from leaderboards.show.chart_registry import charts_on, task_view
from leaderboards.show.charts import best_first, metric_chart
from leaderboards.show.format import NONE, between, number, row_command
from leaderboards.show.overview import best_found_text, knowledge_text
from leaderboards.show.scores import of_task
from leaderboards.show.shared import Site
from leaderboards.show.table import (
    Row,
    TableCell,
    agent_row,
    deed_rows,
    growth_cell,
    number_cell,
    open_ranks,
    place_cell,
    score_cell,
    slope_cell,
    unfinished_rows,
)

__all__ = ["environment_page", "task_charts"]

_FACTS = {
    "optimum": "Best mean (unit of the reward, average of the instances)",
    "optimum_tol": "Error of the best mean, at most (unit of the reward)",
    "gap": "Gap to the second-best arm (unit of the reward)",
    MEAN_GAP: "Regret of a uniform draw (unit of the reward)",
    "norm": "RKHS norm",
}


def environment_page(site: Site, task: str) -> dict[str, Any]:
    """Context of `environment.html.j2`."""
    about = site.summary.tasks[task]
    cells = site.shown.on(task)
    found = site.rankings[task]
    metrics = _table_metrics(site, task)
    order = best_first(cells)
    return {
        "task": about,
        "lede": _first_sentence(about.env.id),
        "references": next((row.references for row in (*ENVIRONMENTS, TABLE) if row.id == about.env.id), ()),
        "settings": json.dumps(dict(about.env.kwargs)) if about.env.kwargs else "defaults",
        "members": _members_text(about),
        "facts": [
            (_FACTS.get(k, k), number(v))
            for k, v in site.summary.facts.get(task, {}).items()
            if not math.isnan(v) and (k, v) != ("optimum_tol", 0)
        ],
        "repetitions": max((len(cell) for cell in site.summary.on(task).values()), default=0),
        "metrics": metrics,
        "rows": _rows(site, task, metrics),
        "commands": {
            agent: row_command(about, site.summary.agents[agent], scores.blocks)
            for agent, scores in site.summary.on(task).items()
        },
        "score_table": of_task(site, task),
        "chart": page_json(task_charts(site, task), {name: site.styles[name] for name in order})
        | site.legend(order, [task]),
        "knowledge": knowledge_text(about),
        "best_found": best_found_text(site.summary.best_found.get(task, ())),
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
        "deeds": deed_rows(site, ((task, agent) for agent in site.best_agents(task))),
    }


def _members_text(task: Task) -> str:
    """The members of a family that were played, and in how many repetitions, as "dataset: cifar10 (3)"; else ""."""
    played = [next(iter(member.items())) for member in task.members.values()]  # the argument comes first
    if not played:
        return ""
    times = Counter(str(value) for _, value in played)
    return f"{played[0][0]}: " + ", ".join(f"{value} ({n})" for value, n in times.items())


def task_charts(site: Site, task: str) -> list[Chart]:
    """All charts of a task: metrics along the run, then those that are registered."""
    view = task_view(site, task)
    shown = [metric for metric in METRICS.values() if metric.has_curve and metric.in_charts]
    charts = [metric_chart(metric, view.scores) for metric in shown]
    return [*(chart for chart in charts if chart is not None), *charts_on("task", view)]


def _table_metrics(site: Site, task: str) -> list[Metric]:
    """Metrics with a column, the one that agents are ranked by first."""
    found = site.rankings[task]
    ranked_by = found.metric if found else site.ranked_by
    batches = has_batches(as_channel(site.summary.tasks[task].feedback))
    others = [
        metric
        for metric in METRICS.values()
        if metric.in_tables
        and metric.name not in (ranked_by, "regret_ratio")  # a ratio is known only where it ranks
        and (batches or metric.name != "batches")
    ]
    return [METRICS[ranked_by], *others]


def _rows(site: Site, task: str, metrics: list[Metric]) -> list[Row]:
    """A row an agent, the best first: its final scores, the growth exponent of its regret and its finished runs."""
    finished, found = site.summary.on(task), site.rankings[task]
    rows = []
    for name in site.summary.agents:
        link, place = site.comparison_with_best(name, task), TableCell(NONE)
        if found is not None and name in found.agents:
            i = found.agents.index(name)
            left = open_ranks(found.ranking, i)
            why = f"ranks that the tests leave open: {left}" if left else ""
            place = place_cell(found.ranking, i, why, link)
            if left and left != place.text:
                place = replace(place, interval=f"rank {left}")
        runs = len(finished.get(name, ()))
        cells = [score_cell(site, task, name, metric.name, ranked=i == 0) for i, metric in enumerate(metrics)]
        cells += [growth_cell(site, task, name), TableCell(str(runs), runs, site.origin(task, name))]
        rows.append(agent_row(site, name, cells, place=place))
    return sorted(rows, key=lambda row: (row.place.sort, row.cells[0].sort))


def _spread(site: Site, task: str) -> list[Row]:
    """How the ranked score is spread over repetitions; none where no agent has played twice."""
    found = site.rankings[task]
    if found is None or len(found.blocks) < 2:
        return []
    rows = []
    X = np.ascontiguousarray(found.Y.T)
    others = (iqm(X), np.quantile(X, 0.95, axis=1), X.min(axis=1), X.max(axis=1))
    for name, median, *values in zip(found.agents, quantile_intervals(X, 0.5), *(each.tolist() for each in others)):
        first = TableCell(number(median.estimate), median.estimate, between(median, values=found.Y))
        rows.append(agent_row(site, name, [first, *map(number_cell, values)]))
    return sorted(rows, key=lambda row: row.cells[0].sort)


def _first_sentence(id: str) -> str:
    """The first line of the environment's documentation; empty for environments of other packages."""
    row = next((row for row in (*ENVIRONMENTS, TABLE) if row.id == id), None)
    if row is None:
        return ""
    module, _, attribute = row.entry_point.partition(":")
    build = getattr(importlib.import_module(f"gpbandit_envs.envs.{module}"), attribute)
    return (inspect.getdoc(build) or "").partition("\n")[0]


def _theory(site: Site, task: str) -> dict[str, Any] | None:
    found = site.theory.get(task)
    if found is None:
        return None
    if isinstance(found, str):
        return {"problem": found}
    rows = []
    for comparison in found.comparisons:
        exponent, bound = comparison.proven.exponent, comparison.proven.bound
        cells = [
            slope_cell(comparison.fitted),
            TableCell(NONE) if exponent is None else TableCell(f"{exponent:.2f}", exponent),
            number_cell(comparison.measured.estimate),
            TableCell(NONE) if bound is None else TableCell(number(bound), bound, comparison.proven.theorem),
            number_cell(comparison.gain),
            number_cell(comparison.d_eff),
        ]
        rows.append(agent_row(site, comparison.agent, cells))
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
        "true": found.knowledge == "oracle",
        "unmet": found.unmet,
        "t": found.t,
        "gamma": number(float(found.greedy.gain[-1])),
        "d_eff": number(found.greedy.d_eff),
        "rows": [replace(row, cells=list(itertools.compress(row.cells, known))) for row in rows],
    }
