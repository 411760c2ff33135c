"""The page of the cost of delay on one environment: regret against delay and against batch size."""

from __future__ import annotations

from typing import Any

from leaderboards.score.delay_cost import KINDS, DelayCost, DelayStudy
from leaderboards.show.chart import charts_on, page_json
from leaderboards.show.charts import DELAY_TITLES
from leaderboards.show.format import number, percent, signed
from leaderboards.show.shared import Site
from leaderboards.show.table import TableCell, agent_row


def delay_links(site: Site) -> list[tuple[str, str, str]]:
    """File name, environment and kinds of every page of delay costs."""
    files: dict[str, list[DelayStudy]] = {}
    for study, file in site.delay_files:
        files.setdefault(file, []).append(study)
    return [
        (file, studies[0].env, " and ".join(DELAY_TITLES[study.kind].lower() for study in studies))
        for file, studies in files.items()
    ]


def delay_page(site: Site, file: str) -> dict[str, Any]:
    """Context of `delay_cost.html.j2`."""
    studies = [study for study, its_file in site.delay_files if its_file == file]
    base = site.summary.tasks[studies[0].base]
    charts = [chart for study in studies for chart in charts_on("study", study)]
    return {
        "env": studies[0].env,
        "task": base,
        "base_file": site.task_files[base.name],
        "chart": page_json(charts, site.styles),
        "kinds": [_table(site, study) for study in studies],
    }


def _table(site: Site, study: DelayStudy) -> dict[str, Any]:
    """One kind of delay: a row an agent, with its regret with feedback at once and its cost at each strength."""
    rows = []
    for agent, costs in study.costs.items():
        base = next(iter(costs.values())).base
        cells = [TableCell(number(base), base), *(_cell(costs.get(strength)) for strength in study.tasks)]
        rows.append(agent_row(site, agent, cells))
    return {
        "key": study.kind,
        "title": DELAY_TITLES[study.kind],
        "unit": KINDS[study.kind],
        "tasks": [(f"{strength:g}", site.task_files[task]) for strength, task in study.tasks.items()],
        "rows": rows,
        "absent": [agent for agent in site.summary.agents if agent not in study.costs],
    }


def _cell(cost: DelayCost | None) -> TableCell:
    if cost is None:
        return TableCell("n/a", why="not played")
    difference = cost.difference
    return TableCell(
        f"{signed(difference.estimate)} ({percent(cost.relative.estimate)})",
        difference.estimate,
        f"{signed(difference.low)} to {signed(difference.high)}" if difference.is_known else "too few repetitions",
        why=f"{difference.n} repetitions; regret {number(cost.regret)} against {number(cost.base)}",
        lead=difference.is_known and difference.low > 0,
    )
