"""The page of one agent: its scores on all tasks, its comparisons with the others and its diagnostics."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from leaderboards.score.answer import standing
from leaderboards.score.metrics import METRICS
from leaderboards.score.statistics import ALPHA
from leaderboards.show.agent_card import bibtex
from leaderboards.show.audit_tables import audits_of
from leaderboards.show.chart import AgentView, charts_on, page_json
from leaderboards.show.charts import diagnostic_charts
from leaderboards.show.format import NONE
from leaderboards.show.palette import swatch
from leaderboards.show.scores import class_scores
from leaderboards.show.shared import Site
from leaderboards.show.table import (
    Row,
    TableCell,
    agent_row,
    final_cells,
    task_place,
    task_row,
    unfinished_rows,
)


def agent_page(site: Site, agent: str) -> dict[str, Any]:
    """Context of `agent.html.j2`."""
    summary, ref, card = site.summary, site.summary.agents[agent], site.cards.get(agent)
    # The first metric is the one by which most tasks are ranked.
    first = METRICS["regret_ratio" if site.ranked_by == "cumulative_regret" else site.ranked_by]
    metrics = [first, *(m for m in METRICS.values() if m.in_tables and m is not first)]
    rows = [
        task_row(site, task, final_cells(site, task, agent, metrics), place=task_place(site, task, agent))
        for task in summary.tasks
    ]
    scores = {task: cell for (task, name), cell in site.shown.scores.items() if name == agent}
    audits = {task: report for (task, name), report in site.audits.items() if name == agent}
    charts = [*diagnostic_charts(agent, scores), *charts_on("agent", AgentView(agent, scores, audits))]
    entries = () if summary.suite is None else summary.suite.agents
    return {
        "agent": agent,
        "ref": ref,
        "settings": json.dumps(dict(ref.kwargs)) if ref.kwargs else "defaults",
        "tuned": next((entry.tuned for entry in entries if entry.ref.key == ref.key), ""),
        "swatch": swatch(site.styles[agent]),
        "metrics": metrics,
        "rows": rows,
        "rivals": _rivals(site, agent),
        "chart": page_json(charts, site.task_styles),
        "audits": audits_of(site, agent=agent),
        "gaps": unfinished_rows(site, agent=agent),
        "card": card,
        "bibtex": bibtex(card.references) if card else "",
        "entrant": site.entrant(agent),
        "standings": _standings(site, agent),
    }


def _standings(site: Site, agent: str) -> list[tuple[str, str]]:
    """By class of tasks, where the agent stands by the first criterion and what that is."""
    found = []
    for one in site.classes:
        table = class_scores(site, one)
        scores = None if table is None else site.scores(one.name, table.tabs[0].by)
        text = "" if scores is None else standing(scores, agent)
        if table is not None and text:
            of = f"{table.name}, {table.tabs[0].title.lower()}" if table.name else table.tabs[0].title
            found.append((of, text))
    return found


def _rivals(site: Site, agent: str) -> list[Row]:
    """The others, best first: on how many tasks the tests find the agent better, do not tell, or find it worse."""
    better, level, worse = Counter[str](), Counter[str](), Counter[str]()
    for found in site.rankings.values():
        if found is None or agent not in found.agents:
            continue
        i, means = found.agents.index(agent), found.Y.mean(axis=0)
        for other, p, mean in zip(found.agents, found.ranking.p[i].tolist(), means.tolist()):
            (level if p >= ALPHA else better if means[i] < mean else worse)[other] += 1
    rows = []
    for other in site.compared:
        if other != agent:
            cells = [TableCell(str(count[other]), count[other]) for count in (better, level, worse)]
            address = site.comparison_link(agent, other)
            link = TableCell("compare", why=f"{agent} with {other}", link=address) if address else TableCell(NONE)
            rows.append(agent_row(site, other, [*cells, link]))
    return rows
