"""The overview: a ranking over each class of tasks, charts over its tasks, a card per task."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpbandit_envs.channels import as_channel
from gpbandit_envs.registry import ENVIRONMENTS, OWN, TABLE
from leaderboards.play.protocol_checks import words_of
from leaderboards.score.answer import leader
from leaderboards.score.board_scores import why_no_score
from leaderboards.score.frames import OverallRanking
from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import TaskClass
from leaderboards.score.statistics import LEAST_BLOCKS
from leaderboards.score.tasks import Task
from leaderboards.show import palette
from leaderboards.show.audit_tables import coverage_table
from leaderboards.show.chart import charts_on, page_json, tasks_view
from leaderboards.show.charts import metric_chart
from leaderboards.show.delay_cost import delay_links
from leaderboards.show.format import NONE, number, span, suite_command
from leaderboards.show.honesty import honesty
from leaderboards.show.scores import CRITERIA, ScoreTable, class_scores, several
from leaderboards.show.shared import Site
from leaderboards.show.table import Row, TableCell, agent_row, open_ranks, place_cell, score_cell, unfinished_rows
from leaderboards.text import wall_time

_FAMILIES = {row.id: row.group for row in (*ENVIRONMENTS, TABLE)}
_UNSAID = "not recorded"
_LEADING_SHOWN = 5
_DRAWN = 8  # curves on a card, as in the charts, beside those of the reference and of one's own agents
_CHART_BUDGET = 60_000  # characters of numbers in the charts of a class
_FILTERS = {"domain": "Actions", "family": "Family", "feedback": "Feedback", "knowledge": "Knowledge", "half": "Half"}
_KNOWLEDGE = {
    "oracle": "oracle: the kernel and noise that agents are given are the true ones",
    "certified": "certified: the kernel is a modelling choice, and how near the mean is to its functions is proven",
    "learned": "learned: kernel and noise are a modelling choice, or unknown",
}

_KNOWN = {
    "oracle": "true kernel and noise given",
    "certified": "kernel assumed, distance from its functions proven",
    "learned": "kernel and noise assumed or unknown",
    "misspecified": "wrong kernel or noise given",
}

Filter = tuple[str, str, dict[str, str]]
"""A filter of environments: name, title, and values with their words."""


Card = dict[str, Any]
"""What a card on the overview says of a task: its `filters`, by name the value and that in words, among it."""


def overview_page(site: Site, directory: Path | None = None) -> dict[str, Any]:
    """Context of `index.html.j2`, for results in `directory`; None for those of a board."""
    summary, tables = site.summary, score_tables(site)
    cards = _cards(site)
    charts = {one.name: _charts(site, one.tasks, site.overall.get(one.name)) for one in site.classes}
    done = summary.runs[summary.runs["status"] == "done"]
    return {
        "description": "" if summary.suite is None else summary.suite.description,
        "counts": site.counts() | done["standing"].value_counts().to_dict(),
        "tasks": list(cards.values()),
        "filters": _filters(cards.values()),
        "entrants": several(map(site.entrant, summary.agents)),
        "score_tables": tables,
        "answers": _answers(site),
        "honesty": honesty(summary.suite),
        "unscored": [] if tables else [f"{task}: {why_no_score(summary, task)}" for task in summary.tasks],
        "criteria": [(by, METRICS[by].title) for by in CRITERIA],
        "rankings": [_ranking(site, one) for one in site.classes],
        "ranked_by": METRICS[site.ranked_by].title.lower(),
        "along": METRICS[site.along].title.lower(),
        "charts": {name: found for name, found in charts.items() if found["charts"]},
        "gaps": unfinished_rows(site),
        "delays": delay_links(site),
        "bands": coverage_table(site),
        "origins": summary.origins,
        "spent": wall_time(list(summary.runs["seconds"])),
        "command": suite_command(summary, directory),
    }


def score_tables(site: Site) -> list[ScoreTable]:
    """The tables of scores, one a class of tasks that has any."""
    found = (class_scores(site, one) for one in site.classes)
    return [table for table in found if table is not None]


def _answers(site: Site) -> list[tuple[str, str, str, list[Row]]]:
    """Of each class of tasks with scores its name, who leads, what that is by, and the rows of the first few."""
    answers = []
    for one in site.classes:
        table = class_scores(site, one)
        if table is None:
            continue
        first = table.tabs[0]
        found = site.scores(one.name, first.by)
        assert found is not None  # the table is made of it
        text = leader(found.agents, found.strata, found.ranking)
        answers.append((table.name, text, f"{first.title}: {first.meaning}", first.rows[:_LEADING_SHOWN]))
    return answers


Subsets = dict[str, tuple[str, list[Row]]]
"""By the positions of the tasks and the class of entrants that a choice of filters leaves, such as "0,2|": the basis of
the ranking, and its rows in the order of the whole one."""


def filtered_rankings(site: Site) -> list[Subsets]:
    """The rankings that filters leave, one entry a class of tasks."""
    found, classes = [], ("", *several(map(site.entrant, site.summary.agents)))
    for one in site.classes:
        names = [row.name for row in _ranking(site, one)["rows"]]
        subsets: Subsets = {}
        for kept, entrants in itertools.product(_kept(site, one), classes):
            agents = [name for name in names if not entrants or site.entrant(name) == entrants]
            if agents:
                key = f"{','.join(map(str, kept))}|{entrants}"
                subsets[key] = _rows(site, one, [one.tasks[i] for i in kept], agents)
        found.append(subsets)
    return found


def filtered_charts(site: Site) -> list[dict[str, dict[str, Any]]]:
    """The charts over the tasks that filters leave, by their positions such as "0,2", one entry a class of tasks.

    The charts over all tasks of a class are on the overview itself.
    """
    found = []
    for one in site.classes:
        some = [kept for kept in _kept(site, one) if len(kept) < len(one.tasks)]
        tasks = {",".join(map(str, kept)): [one.tasks[i] for i in kept] for kept in some}
        found.append({key: _charts(site, chosen, site.over(chosen)) for key, chosen in tasks.items()})
    return found


def _charts(site: Site, among: Sequence[str], found: OverallRanking | None) -> dict[str, Any]:
    """The charts over tasks of a class that are registered."""
    tasks = [task for task in among if site.summary.tasks[task].in_suite]
    placed = () if found is None else found.ordered
    charts = charts_on("tasks", tasks_view(site, tasks, found))
    order = list(dict.fromkeys([*placed, *site.summary.agents]))
    drawn = page_json(charts, {name: site.styles[name] for name in order}, _CHART_BUDGET)
    return drawn | site.legend(drawn["styles"], tasks)


def knowledge_text(task: Task) -> str:
    """The knowledge level of a task, in words."""
    wrong = ", ".join(
        f"{name} {'≤' if name in ('sup', 'corruption') else '×'} {number(size)}"
        for name, size in task.misspecification.items()
    )
    if task.knowledge != "misspecified":
        known = _KNOWLEDGE.get(task.knowledge, _UNSAID)
        return f"{known}; {wrong}" if wrong else known
    return f"misspecified: {wrong}" if wrong else "misspecified: the stated kernel or noise is not the true one"


def best_found_text(means: tuple[float, ...]) -> str:
    """From what regret is measured on a task whose optimum is unknown; empty for other tasks."""
    if not means:
        return ""
    what = f"found, {number(means[0], 5)}" if len(means) == 1 else "found on the same instance"
    bound = "it is a lower bound, and a run that finds better raises it for all"
    return f"Regret is measured from the best mean that any run here has {what}: {bound}."


def _ranking(site: Site, one: TaskClass) -> dict[str, Any]:
    """The ranking over a class of tasks: a row an agent, the best first, and on what it rests."""
    cards = _cards(site)
    agents = [agent for agent in site.summary.agents if any(_meant(site, task, agent) for task in one.tasks)]
    basis, rows = _rows(site, one, one.tasks, agents, is_whole=True)
    cited = {agent: i for i, agent in enumerate(site.cited_order(one.name))}
    rows.sort(key=lambda row: (cited.get(row.name, len(cited)), row.name))
    placed = site.scores(one.name) is None
    return {
        "name": one.name,
        "tasks": [cards[task] for task in one.tasks],
        "basis": basis,
        "rows": rows,
        "placed": placed,
    }


def _kept(site: Site, one: TaskClass) -> list[tuple[int, ...]]:
    """Positions of the tasks of a class that some choice of filters leaves; without those that leave none."""
    cards = _cards(site)
    filters = _filters(cards.values())
    about = [cards[task]["filters"] for task in one.tasks]
    names = [name for name, _, _ in filters]
    found = {
        tuple(i for i, of in enumerate(about) if all(value in ("", of[name][0]) for name, value in zip(names, values)))
        for values in itertools.product(*(["", *values] for _, _, values in filters))
    }
    return sorted(found - {()})


def _meant(site: Site, task: str, agent: str) -> bool:
    """Whether the agent has played the task, or was to: what it cannot play was skipped."""
    gap = site.why_missing.get((task, agent))
    # Without a suite, whatever another agent has played counts as missing.
    none = {"skipped"} if site.summary.suite is not None else {"skipped", "missing"}
    return (task, agent) in site.summary.scores or (gap is not None and gap["status"] not in none)


def _rows(
    site: Site, one: TaskClass, tasks: Sequence[str], agents: Sequence[str], is_whole: bool = False
) -> tuple[str, list[Row]]:
    """On what the ranks over `tasks` of a class rest, and a row an agent, with its scores on them if they are all.

    Only one ranking of a page has places: these have them where the class has no scores.
    """
    found, placed = site.over(tasks, agents), site.scores(one.name) is None
    listed = [task for task in tasks if site.summary.tasks[task].in_suite]
    rows = [_row(site, name, found, listed, tasks if is_whole else (), placed) for name in agents]
    if found is None:
        basis = f"No ranks: no two of the {len(agents)} agents have finished the same repetitions of every environment"
        return basis, rows
    ranked, others = len(found.agents), len(agents) - len(found.agents)
    what = "environment" if len(listed) == 1 else "environments"
    basis = f"Mean ranks rest on {len(listed)} {what} and are of {ranked} {'agent' if ranked == 1 else 'agents'}"
    if others:
        basis += f"; the other {'has' if others == 1 else f'{others} have'} not finished all repetitions of all"
    return basis + (f"; {found.ranking.caveat}" if found.ranking.caveat else ""), rows


def _row(
    site: Site, agent: str, found: OverallRanking | None, listed: Sequence[str], shown: Iterable[str], placed: bool
) -> Row:
    scores = [score_cell(site, task, agent, site.metric(task), ranked=True) for task in shown]
    if found is None or agent not in found.agents:
        ranked = sum((one := site.rankings[task]) is not None and agent in one.agents for task in listed)
        absent = TableCell("", interval=f"ranked on {ranked} of {len(listed)} environments", css="rank")
        return agent_row(site, agent, [absent, *scores], place=TableCell(NONE if placed else ""))
    i, k = found.agents.index(agent), len(found.agents)
    mean = found.mean_rank[i]
    # A mean rank lies between 1 and k, whatever the normal approximation says.
    ends = f"{max(mean.low, 1):.2f} – {min(mean.high, k):.2f}" if mean.is_known else ""
    drawing = palette.forest(mean, 1, k, site.styles[agent])
    cell = TableCell(f"{mean.estimate:.2f}", mean.estimate, ends, drawing=drawing, css="rank")
    why, link = open_ranks(found.ranking, i), site.comparison_with_best(agent, best=found.ordered)
    place = TableCell("compare", mean.estimate, link=link) if link else TableCell("")
    if placed:
        place = place_cell(found.ranking, i, f"ranks that the tests leave open: {why}" if why else "", link)
    return agent_row(site, agent, [cell, *scores], place=place)


def _cards(site: Site) -> dict[str, Card]:
    """The cards of all tasks."""
    return site.once(("cards",), lambda: {task: _card(site, task) for task in site.summary.tasks})


def _card(site: Site, task: str) -> Card:
    scores, found, there = site.summary.on(task), site.rankings[task], site.shown.on(task)
    drawn = _drawn(site, task, there)
    along = METRICS[site.along]
    chart = metric_chart(along, {name: there[name] for name in drawn})
    which = "all agents" if len(drawn) == len(there) else ", ".join(drawn)
    said = f"Mean {along.title.lower()} on {task}: {which}"
    finished = [len(each) for each in scores.values()]
    about = site.summary.tasks[task]
    domain, half = about.domain or _UNSAID, site.summary.halves.get(task, "")
    family = _FAMILIES.get(about.env.id, TABLE.group if about.env.id.startswith(f"{OWN}/") else "other")
    among = ""
    if found is not None and len(found.agents) < len(scores):  # others have not finished all repetitions
        among = f"of the {len(found.agents)} that finished all {len(found.blocks)} repetitions"
    return {
        "about": about,
        "file": site.task_files[task],
        "leading": _leading(site, task),
        "unranked": _unranked(site, task),
        "among": among,
        "drawing": palette.thumbnail(chart, site.styles, said) if chart else "",
        "repetitions": span(min(finished, default=0), max(finished, default=0)),
        "metric": METRICS[site.metric(task)].title.lower(),
        "best_found": task in site.summary.best_found,
        "filters": {
            "domain": (domain, domain),
            "family": (family, family),
            "feedback": (about.feedback, words_of(as_channel(about.feedback))),
            "knowledge": (about.knowledge or _UNSAID, _KNOWN.get(about.knowledge, f"knowledge {_UNSAID}")),
            "half": (half, half),
        },
    }


def _drawn(site: Site, task: str, there: Collection[str]) -> list[str]:
    """The agents on a card: those that lead, the reference, and those that play in the folder among a board's."""
    best = [agent for agent in site.best_agents(task) if agent in there][:_DRAWN]
    chosen = {*best, *site.legend(there, [task])["pinned"]}
    return [agent for agent in there if agent in chosen]


def _leading(site: Site, task: str) -> list[str]:
    """The leading tie group, the best mean first; of a large one, how many there are beyond the first few."""
    leading = [agent for agent in site.best_agents(task) if site.rank(task, agent) == 1]
    if len(leading) <= _LEADING_SHOWN + 1:
        return leading
    return [*leading[:_LEADING_SHOWN], f"and {len(leading) - _LEADING_SHOWN} more"]


def _unranked(site: Site, task: str) -> str:
    """Why a task has no leading agents, in words; "" if it has."""
    found, by_agent = site.rankings[task], site.summary.on(task)
    if not by_agent:
        reasons = [row["reason"] or row["status"] for (one, _), row in site.why_missing.items() if one == task]
        return f"no run is done{f', {Counter(reasons).most_common(1)[0][0]}' if reasons else ''}"
    if found is None:
        regrets = [scores.finals[site.ranked_by] for scores in by_agent.values()]
        known = any(np.isfinite(each).all() for each in regrets)
        return "no two agents have finished the same repetitions" if known else "the regret is unknown"
    if not found.ranking.is_told:
        return f"too few repetitions, {len(found.blocks)} where places begin at {LEAST_BLOCKS}"
    return ""


def _filters(cards: Iterable[Card]) -> list[Filter]:
    """Name, title and values of each filter of environments that has something to choose."""
    values = {name: dict(card["filters"][name] for card in cards) for name in _FILTERS}
    return [(name, _FILTERS[name], found) for name, found in values.items() if len(found) > 1]
