"""The overview: the ranking over all tasks, the score of every agent on every task, a card per task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from gpbandit_envs.registry import ENVIRONMENTS, OWN, TABLE
from leaderboards.score.metrics import METRICS
from leaderboards.score.statistics import Interval
from leaderboards.score.tasks import Task
from leaderboards.show import svg
from leaderboards.show.audit_tables import coverage_table
from leaderboards.show.charts import metric_chart
from leaderboards.show.delay_cost import delay_links
from leaderboards.show.format import number, span, suite_command
from leaderboards.show.site import Site
from leaderboards.show.table import LAST, TableCell, gap_rows, score_cell

__all__ = ["best_found_text", "knowledge_text", "overview_page"]

_FAMILIES = {row.id: row.group for row in (*ENVIRONMENTS, TABLE)}
_UNSAID = "not recorded"
_KNOWLEDGE = {
    "oracle": "oracle: the kernel and noise that agents are given are the true ones",
    "learned": "learned: kernel and noise are a modelling choice, or unknown",
}


@dataclass(frozen=True)
class RankingRow:
    """An agent in the ranking over all tasks.

    Attributes:
        agent: Name.
        file: File name of its page.
        swatch: Its line style.
        rank: Rank of its tie group, such as "2="; "" if it is not ranked.
        rank_sort: The same as a number.
        compare: Address of its comparison with the best other agent; None if there is no other.
        range: Ranks that the tests leave open; "" if it is not ranked.
        mean_rank: Mean rank and its interval; the reason why there is none.
        forest: The mean rank as a drawing.
        cells: One score a task.
    """

    agent: str
    file: str
    swatch: Markup
    rank: str
    rank_sort: float
    compare: str | None
    range: str
    mean_rank: TableCell
    forest: Markup
    cells: list[TableCell]


@dataclass(frozen=True)
class TaskCard:
    """A task on the overview.

    Attributes:
        name: Name of the task.
        file: File name of its page.
        leading: Agents of the leading tie group.
        among: How many agents are ranked, where some have not finished; "" otherwise.
        drawing: Mean cumulative regret of all agents; "" if it is unknown.
        horizon: Number of evaluations T.
        feedback: Feedback model.
        in_suite: Whether the suite lists the task.
        knowledge: Knowledge level.
        family: Group of environments.
        repetitions: Largest number of finished repetitions.
        metric: What the task is ranked by: "ratio" or "regret".
        best_found: Whether the optimum is unknown, so that regret is measured from the best mean found.
    """

    name: str
    file: str
    leading: list[str]
    among: str
    drawing: Markup
    horizon: int
    feedback: str
    in_suite: bool
    knowledge: str
    family: str
    repetitions: int
    metric: str
    best_found: bool


def overview_page(site: Site) -> dict[str, Any]:
    """Context of `index.html.j2`."""
    summary = site.summary
    cards = [_card(site, task) for task in summary.tasks]
    return {
        "description": "" if summary.suite is None else summary.suite.description,
        "counts": site.counts() | summary.runs["standing"].value_counts().to_dict(),
        "tasks": cards,
        "filters": _filters(cards),
        "rows": sorted((_row(site, name) for name in summary.agents), key=lambda row: (row.mean_rank.sort, row.agent)),
        "n_tasks_overall": len(site.overall.tasks) if site.overall else 0,
        "gaps": gap_rows(site),
        "delays": delay_links(site),
        "bands": coverage_table(site),
        "origins": summary.origins,
        "command": suite_command(summary.suite),
    }


def knowledge_text(task: Task) -> str:
    """The knowledge level of a task, in words."""
    if task.knowledge != "misspecified":
        return _KNOWLEDGE.get(task.knowledge, _UNSAID)
    wrong = ", ".join(f"{name} × {number(factor)}" for name, factor in task.misspecification.items())
    return f"misspecified: {wrong}" if wrong else "misspecified: the stated kernel or noise is not the true one"


def best_found_text(means: tuple[float, ...]) -> str:
    """From what regret is measured on a task whose optimum is unknown; empty for other tasks."""
    if not means:
        return ""
    what = "the best mean that any run here has found"
    if len(means) == 1:
        what += f", {number(means[0], 5)}"
    else:
        what += " on the same instance"
    return f"Regret is measured from {what}: it is a lower bound, and a run that finds better raises it for all."


def _row(site: Site, name: str) -> RankingRow:
    found = site.overall
    cells = [score_cell(site, task, name, _metric(site, task), ranked=True) for task in site.summary.tasks]
    head = (name, site.agent_files[name], svg.swatch(site.styles[name]))
    compare = site.comparison_with_best(name)
    if found is None or name not in found.agents:
        listed = [task for task, about in site.summary.tasks.items() if about.in_suite]
        ranked = sum(site.rank(task, name) is not None for task in listed)
        why = f"ranked on {ranked} of {len(listed)} environments"
        return RankingRow(*head, "", LAST, compare, "", TableCell("", why=why), Markup(""), cells)
    i, k = found.agents.index(name), len(found.agents)
    interval, group = found.mean_rank[i], int(found.ranking.group[i])
    shared = int((found.ranking.group == group).sum()) > 1
    return RankingRow(
        *head,
        f"{group}=" if shared else str(group),
        group,
        compare,
        span(int(found.ranking.best[i]), int(found.ranking.worst[i])),
        TableCell(f"{interval.estimate:.2f}", interval.estimate, _rank_interval(interval, k)),
        svg.forest(interval, 1, k, site.styles[name]),
        cells,
    )


def _metric(site: Site, task: str) -> str:
    found = site.rankings[task]
    return found.metric if found else "regret_ratio"


def _rank_interval(interval: Interval, k: int) -> str:
    if not interval.is_known:
        return ""
    # A mean rank lies between 1 and k, whatever the normal approximation says.
    return f"{max(interval.low, 1):.2f} – {min(interval.high, k):.2f}"


def _card(site: Site, task: str) -> TaskCard:
    scores = site.summary.on(task)
    found = site.rankings[task]
    chart = metric_chart(METRICS["cumulative_regret"], scores)
    about = site.summary.tasks[task]
    return TaskCard(
        name=task,
        file=site.task_files[task],
        leading=[] if found is None else [a for a, g in zip(found.agents, found.ranking.group) if g == 1],
        # Agents that have not finished all repetitions are not ranked.
        among=f"of the {len(found.agents)} that finished all {len(found.blocks)} repetitions"
        if found is not None and len(found.agents) < len(scores)
        else "",
        drawing=svg.thumbnail(chart, site.styles, f"Mean cumulative regret on {task}, all agents")
        if chart
        else Markup(""),
        horizon=about.horizon,
        feedback=about.feedback,
        in_suite=about.in_suite,
        knowledge=about.knowledge or _UNSAID,
        family=_FAMILIES.get(about.env.id, TABLE.group if about.env.id.startswith(f"{OWN}/") else "other"),
        repetitions=max((len(each) for each in scores.values()), default=0),
        best_found=task in site.summary.best_found,
        metric="ratio" if _metric(site, task) == "regret_ratio" else "regret",
    )


def _filters(cards: list[TaskCard]) -> list[tuple[str, str, list[str]]]:
    """Name, title and values of each filter of environments that has something to choose."""
    found = []
    for name, title in (("family", "Family"), ("feedback", "Feedback"), ("knowledge", "Knowledge")):
        values = list(dict.fromkeys(str(getattr(card, name)) for card in cards))
        if len(values) > 1:
            found.append((name, title, values))
    return found
