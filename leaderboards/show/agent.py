"""What the page of one agent shows: where it wins and loses, and what it said of itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from leaderboards.score.catalogue import METRICS
from leaderboards.score.statistics import loglog_slope, mean_band
from leaderboards.show import svg
from leaderboards.show.charts import chart_of, curve, tab_texts
from leaderboards.show.environment import slope_cell
from leaderboards.show.inspection_charts import audit_tabs
from leaderboards.show.inspections import audits_of
from leaderboards.show.overview import gap_rows, score_cell
from leaderboards.show.palette import Look
from leaderboards.show.site import Site

__all__ = ["agent_page", "task_looks"]

_DIAGNOSTICS = {
    "width": ("Confidence width", "What multiplies the standard deviation in the confidence band."),
    "information_gain": ("Information gain", "Realised information gain of the evaluations so far, in nats."),
    "d_eff": ("Effective dimension", "Sum of the ridge leverage scores of the evaluations so far."),
    "unique_arms": ("Distinct arms", "How many different arms have been pulled."),
    "dictionary_size": ("Dictionary size", "Inducing arms of the sketched posterior."),
    "resparsifications": ("Resparsifications", "How often the dictionary was drawn anew."),
    "batch_length": ("Batch length", "Evaluations in the batch."),
    "epsilon": ("Exploration rate", "Probability of a uniform action."),
    "alive": ("Arms alive", "Arms that have not been ruled out."),
}
_COLUMNS = ("regret_ratio", "cumulative_regret", "simple_regret", "inference_regret", "batches", "policy_seconds")


def agent_page(site: Site, agent: str) -> dict[str, Any]:
    """Context of `agent.html.j2`."""
    summary, ref = site.summary, site.summary.agents[agent]
    looks = task_looks(site)
    rows = []
    for task in summary.tasks:
        cell = summary.cells.get((task, agent))
        slope = loglog_slope(cell.t, cell.curves["cumulative_regret"]) if cell else None
        scores = [score_cell(site, task, agent, metric) for metric in _COLUMNS]
        rows.append(
            {
                "task": task,
                "file": site.task_files[task],
                "place": scores[0]["place"],
                "place_sort": site.place(task, agent) or 1e9,
                "scores": [{**score, "place": "", "lead": i == 0 and score["lead"]} for i, score in enumerate(scores)],
                "slope": slope_cell(slope),
                "n": len(cell) if cell else 0,
            }
        )
    chart = _diagnostics(site, agent, looks)
    return {
        "agent": agent,
        "ref": ref,
        "settings": json.dumps(dict(ref.kwargs)) if ref.kwargs else "defaults",
        "swatch": svg.swatch(site.looks[agent]),
        "metrics": [METRICS[name] for name in _COLUMNS],
        "rows": rows,
        "rivals": [_rival(site, agent, other) for other in summary.agents if other != agent],
        "chart": chart,
        "tabs": tab_texts(chart),
        "audits": audits_of(site, agent=agent),
        "gaps": gap_rows(site, agent=agent),
    }


def task_looks(site: Site) -> dict[str, Look]:
    """A look for each task, where a figure compares tasks."""
    from leaderboards.show.palette import DASHES, HUES

    dashes = list(DASHES)
    return {
        task: Look(i % len(HUES), dashes[i // len(HUES) % len(dashes)]) for i, task in enumerate(site.summary.tasks)
    }


def _rival(site: Site, agent: str, other: str) -> dict[str, Any]:
    """On how many tasks the tests find the agent better, equal or worse than another."""
    better = worse = level = 0
    for found in site.standings.values():
        if found is None or agent not in found.agents or other not in found.agents:
            continue
        i, j = found.agents.index(agent), found.agents.index(other)
        if found.ranking.p[i, j] >= 0.05:
            level += 1
        elif found.Y[:, i].mean() < found.Y[:, j].mean():
            better += 1
        else:
            worse += 1
    return {
        "agent": other,
        "swatch": svg.swatch(site.looks[other]),
        "file": site.pair_files.get(frozenset((agent, other))),
        "better": better,
        "level": level,
        "worse": worse,
    }


def _diagnostics(site: Site, agent: str, looks: Mapping[str, Look]) -> dict[str, Any]:
    cells = {task: cell for (task, name), cell in site.summary.cells.items() if name == agent}
    names = dict.fromkeys(name for cell in cells.values() for name in cell.diagnostics)
    tabs: list[dict[str, Any]] = []
    for name in names:
        title, meaning = _DIAGNOSTICS.get(name, (name.replace("_", " ").capitalize(), "As the agent reports it."))
        series = {}
        for task, cell in cells.items():
            Y = cell.diagnostics.get(name)
            if Y is None or not np.isfinite(Y).all(axis=0).any():
                continue
            series[task] = curve(cell.t, *mean_band(Y), single=len(cell) == 1)
        if series:
            tabs.append(
                {
                    "key": f"said-{len(tabs)}",
                    "title": title,
                    "axis": title,
                    "meaning": meaning,
                    "log": False,
                    "series": series,
                    "alt": f"{title} of {agent} against the number of evaluations, one curve per environment.",
                }
            )
    audited = {task: one for (task, name), one in site.inspections.items() if name == agent}
    return chart_of([*tabs, *audit_tabs(audited)], {task: looks[task] for task in cells})
