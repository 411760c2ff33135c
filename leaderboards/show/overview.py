"""What the overview shows: the ranking over all tasks, the score of every cell, a glance at every task."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.play.feedback import parse_feedback
from leaderboards.score.cell import has_batches
from leaderboards.score.intervals import Interval, mean_interval
from leaderboards.score.tasks import Task
from leaderboards.show import svg
from leaderboards.show.commands import suite_command
from leaderboards.show.inspections import bands_at_a_glance
from leaderboards.show.numbers import NONE, between, number, span
from leaderboards.show.price import price_links
from leaderboards.show.site import Site

__all__ = ["gap_rows", "knowledge_text", "overview", "score_cell", "tie_mark"]

STATUS_WORDS = {"crashed": "crashed", "timeout": "timed out", "skipped": "n/a", "missing": "not run"}
_FAMILIES = {row.id: row.group for row in ENVIRONMENTS}
_UNSAID = "not recorded"
_KNOWLEDGE = {
    "oracle": "oracle: the kernel and noise that agents are told are the true ones",
    "learned": "learned: kernel and noise are a modelling choice, or unknown",
}
_LAST = 1e9  # what cannot be ranked sorts behind everything


def overview(site: Site) -> dict[str, Any]:
    """Context of `index.html.j2`."""
    summary = site.summary
    tasks = [_glance(site, task) for task in summary.tasks]
    return {
        "description": "" if summary.suite is None else summary.suite.description,
        "counts": site.counts() | summary.runs["standing"].value_counts().to_dict(),
        "tasks": tasks,
        "filters": _filters(tasks),
        "rows": _rows(site),
        "n_tasks_overall": len(site.overall.tasks) if site.overall else 0,
        "gaps": gap_rows(site),
        "prices": price_links(site),
        "bands": bands_at_a_glance(site),
        "origins": summary.origins,
        "command": suite_command(summary.suite),
    }


def knowledge_text(task: Task) -> str:
    """How true what agents are told about a task is, in words."""
    if task.knowledge != "misspecified":
        return _KNOWLEDGE.get(task.knowledge, _UNSAID)
    wrong = ", ".join(f"{name} × {number(factor)}" for name, factor in task.misspecification.items())
    return f"misspecified: {wrong}" if wrong else "misspecified: what agents are told of kernel or noise is not true"


def gap_rows(site: Site, task: str | None = None, agent: str | None = None) -> list[dict[str, Any]]:
    """Rows of the table of what is not there; on one task or of one agent."""
    rows = site.gaps
    rows = rows if task is None else rows[rows["task"] == task]
    rows = rows if agent is None else rows[rows["agent"] == agent]
    return [
        {
            **{str(name): value for name, value in row.items()},
            "word": STATUS_WORDS[row["status"]],
            "error": row["error"] if isinstance(row["error"], str) else None,
        }
        for row in rows.to_dict("records")
    ]


def score_cell(site: Site, task: str, agent: str, metric: str) -> dict[str, Any]:
    """One score with its interval and tie group, or why there is none."""
    cell = site.summary.cells.get((task, agent))
    place = site.place(task, agent)
    feedback = site.summary.tasks[task].feedback
    if cell is not None and metric == "batches" and not has_batches(parse_feedback(feedback)):
        why = f"feedback does not come in batches under {feedback}"
        return {"text": NONE, "interval": "", "sort": _LAST, "lead": False, "place": "", "why": why}
    if cell is None or not np.isfinite(cell.finals[metric]).all():
        gap = site.gap(task, agent)
        text = STATUS_WORDS[gap["status"]] if gap else "unknown"
        return {"text": text, "interval": "", "sort": _LAST, "lead": False, "place": "", "why": gap and gap["reason"]}
    interval = mean_interval(cell.finals[metric])
    return {
        "text": number(interval.estimate),
        "interval": between(interval),
        "sort": interval.estimate,
        "lead": place == 1,
        "place": tie_mark(site, task, place),
        "why": None if place else _unranked(site, task, len(cell)),
    }


def tie_mark(site: Site, task: str, place: int | None) -> str:
    """A place as "2", or "2=" where it is shared."""
    found = site.standings[task]
    if place is None or found is None:
        return ""
    return f"{place}=" if int((found.ranking.group == place).sum()) > 1 else str(place)


def _unranked(site: Site, task: str, n: int) -> str:
    found = site.standings[task]
    if found is None:
        return "the environment does not know its regret"
    return f"not ranked: finished {n} of {len(found.units)} repetitions"


def _rows(site: Site) -> list[dict[str, Any]]:
    rows = []
    for name in site.summary.agents:
        row = {
            "agent": name,
            "file": site.agent_files[name],
            "swatch": svg.swatch(site.looks[name]),
            "cells": [score_cell(site, task, name, _metric(site, task)) for task in site.summary.tasks],
            **_overall(site, name),
        }
        rows.append(row)
    return sorted(rows, key=lambda row: (row["rank_sort"], row["agent"]))


def _metric(site: Site, task: str) -> str:
    found = site.standings[task]
    return found.metric if found else "regret_ratio"


def _overall(site: Site, name: str) -> dict[str, Any]:
    found = site.overall
    if found is None or name not in found.agents:
        asked = [task for task, about in site.summary.tasks.items() if about.asked]
        ranked = sum(site.place(task, name) is not None for task in asked)
        why = f"ranked on {ranked} of {len(asked)} environments"
        return {"place": "", "place_sort": _LAST, "rank_sort": _LAST, "rank": "", "rank_interval": "", "why": why}
    i = found.agents.index(name)
    interval, group = found.mean_rank[i], int(found.ranking.group[i])
    shared = int((found.ranking.group == group).sum()) > 1
    return {
        "place": f"{group}=" if shared else str(group),
        "place_sort": group,
        "range": span(int(found.ranking.best[i]), int(found.ranking.worst[i])),
        "rank_sort": interval.estimate,
        "rank": f"{interval.estimate:.2f}",
        "rank_interval": _ranks(interval, len(found.agents)),
        "forest": svg.forest(interval, 1, len(found.agents), site.looks[name]),
        "why": None,
    }


def _ranks(interval: Interval, k: int) -> str:
    if not interval.is_known:
        return ""
    # A mean rank lies between 1 and k, whatever the normal approximation says.
    return f"{max(interval.low, 1):.2f} – {min(interval.high, k):.2f}"


def _glance(site: Site, task: str) -> dict[str, Any]:
    cells = site.summary.on(task)
    found = site.standings[task]
    leaders = [] if found is None else [a for a, g in zip(found.agents, found.ranking.group) if g == 1]
    drawing = None
    means = {name: cell.curves["cumulative_regret"].mean(axis=0) for name, cell in cells.items()}
    lines = {name: mean for name, mean in means.items() if np.isfinite(mean).any()}
    if lines:
        t = next(iter(cells.values())).t
        drawing = svg.curves(t, lines, site.looks, f"Mean cumulative regret on {task}, all agents")
    about = site.summary.tasks[task]
    return {
        "name": task,
        "file": site.task_files[task],
        "leaders": leaders,
        # Where some lag behind or have failed, who leads is said of the others alone.
        "among": f"of the {len(found.agents)} that finished all {len(found.units)} repetitions"
        if found is not None and len(found.agents) < len(cells)
        else "",
        "drawing": drawing,
        "horizon": about.horizon,
        "feedback": about.feedback,
        "asked": about.asked,
        "knowledge": about.knowledge or _UNSAID,
        "family": _FAMILIES.get(about.env.id, "other"),
        "repetitions": max((len(cell) for cell in cells.values()), default=0),
        "metric": "ratio" if _metric(site, task) == "regret_ratio" else "regret",
        "known": math.isfinite(site.summary.facts.get(task, {}).get("optimum", math.nan)),
    }


def _filters(tasks: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Name, title and values of each filter of environments that has something to choose."""
    found = []
    for name, title in (("family", "Family"), ("feedback", "Feedback"), ("knowledge", "Knowledge")):
        values = list(dict.fromkeys(task[name] for task in tasks))
        if len(values) > 1:
            found.append((name, title, values))
    return found
