"""The page of a board of guarantees: which rows keep their word, and why all others have no rank."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from markupsafe import Markup

from leaderboards.audit.guarantees import Cell, GuaranteeBoard, GuaranteeRow, ValidList, ValidRow, kept_words
from leaderboards.audit.validity import NEAR, most_violated
from leaderboards.show import palette
from leaderboards.show.format import NONE, number
from leaderboards.show.shared import Site
from leaderboards.show.table import LAST, Row, TableCell, agent_row, number_cell

GUARANTEE_FILE = "guarantees.html"

FIRST = 8
"""Rows of a ranking that are shown until it is unfolded, so that a common screen has the line below the valid rows."""

_SLACK = "num slack nowrap"
_TOP = 100  # slack beyond is drawn there: widths of large batches are millions of times what is needed


def guarantee_page(site: Site, board: GuaranteeBoard) -> dict[str, Any]:
    """Context of `guarantee.html.j2`."""
    return {
        "board": board,
        "sentence": kept_words(board.rows),
        "first": FIRST,
        "near": NEAR,
        "scatter": _scatter(board),
        "lists": [_list(site, board, ranking) for ranking in board.lists],
        "unlisted": [_row(site, board, row, board.tasks) for row in board.unlisted],
        "below": [_row(site, board, row, board.tasks) for row in board.below],
        "columns": [(task, site.task_files[task], task in board.tasks) for task in site.summary.tasks],
        "matrix": [
            agent_row(site, row.agent, (_mark(board, row, task) for task in site.summary.tasks))
            for row in board.rows
            if row.cells
        ],
    }


def _list(site: Site, board: GuaranteeBoard, ranking: ValidList) -> dict[str, Any]:
    """A ranking of valid rows that claim all tasks of a group."""
    rows = [_row(site, board, one.row, ranking.tasks, one) for one in ranking.rows]
    return {"name": ranking.name, "tasks": len(ranking.tasks), "rows": rows}


def _row(
    site: Site, board: GuaranteeBoard, row: GuaranteeRow, tasks: tuple[str, ...], ranked: ValidRow | None = None
) -> Row:
    """In how many runs the band held, the lower limit of that share, regret, and slack; then what tells rows apart.

    Of a ranked row that is its mean rank, on how many tasks it claims a theorem, and which; of others why they are not
    valid.
    """
    verdict, played = row.verdict, row.played(tasks)
    regret = number_cell(row.mean_regret(tasks))
    if played < len(tasks):
        regret = TableCell(regret.text, LAST, f"on {played} of {len(tasks)}", "not played on all environments")
    held = limit = TableCell(NONE)
    if verdict.runs:
        why = f"measured after every evaluation in {row.throughout(board.plan)} of {verdict.runs} runs"
        held = TableCell(f"{verdict.held} / {verdict.runs}", verdict.held / verdict.runs, why=why)
        limit = TableCell(f"{verdict.least_held:.3f}", verdict.least_held)
    cells = [held, limit, regret, _slack_cell(row, tasks)]
    if ranked is None:
        css = "words bad" if verdict.category == "fails" else "words"
        return agent_row(site, row.agent, [*cells, TableCell(row.reason, row.reason, css=css)])
    claimed, theorem = len(verdict.claimed), _theorem(row)
    cells += [
        number_cell(ranked.mean_rank),
        TableCell(str(claimed), claimed),
        TableCell(theorem, theorem, css="nowrap"),
    ]
    return agent_row(site, row.agent, cells, place=TableCell(ranked.place or NONE, ranked.mean_rank))


def _theorem(row: GuaranteeRow) -> str:
    """The theorem on most of the tasks that the row claims; "" if it claims none."""
    found = Counter(row.cells[task].theorem for task in row.verdict.claimed)
    return found.most_common(1)[0][0] if found else ""


def _slack_cell(row: GuaranteeRow, tasks: tuple[str, ...]) -> TableCell:
    """Stated over required width in the runs that held, and behind it the same of the violated ones."""
    slack, shortfall = row.mean_slack(tasks), row.mean_shortfall(tasks)
    text = f"×{number(slack)}" if math.isfinite(slack) else ""
    if math.isnan(shortfall):
        return TableCell(text or NONE, slack if text else LAST, css=_SLACK)
    n = sum((cell := row.cells[task]).count.violated - cell.unaudited for task in tasks if task in row.cells)
    runs = "the violated run" if n == 1 else f"the {n} violated runs"
    short = f"×{number(shortfall)}"
    return TableCell(
        text,
        slack if text else shortfall,
        why=f"stated over required width in {runs}: {short}",
        drawing=Markup(' <span class="shortfall">{}</span>').format(short),
        css=_SLACK,
    )


def _mark(board: GuaranteeBoard, row: GuaranteeRow, task: str) -> TableCell:
    """Whether the band of a row held on a task, as a sign, with the same in words."""
    cell: Cell | None = row.cells.get(task)
    if cell is None:
        return TableCell(NONE, why="not played, or without a band", css="mark none")
    k, n = cell.count.violated, cell.count.runs
    notes = [f"slack {number(cell.slack)}"] if k < n else []
    notes += [f"×{number(cell.shortfall)} in the violated ones"] if k > cell.unaudited else []
    notes += [f"{cell.unaudited} without an audit"] if cell.unaudited else []
    why = f"held in {n - k} of {n} runs, {', '.join(notes)}; {cell.why_not or 'claims a theorem'}"
    sign, kind = ("●", "claimed") if cell.count.claims else ("○", "held")
    if k > most_violated(n, board.plan.delta, len(board.tasks)):
        return TableCell("✕", why=why, css="mark broken")
    return TableCell(f"{sign}−{k}" if k else sign, why=why, css=f"mark {kind}")


def _scatter(board: GuaranteeBoard) -> Markup:
    """Regret against slack: the valid rows filled, all others hollow; those that fail in red, with their shortfall."""
    points = []
    for row in board.rows:
        fails = row.verdict.category == "fails"
        x = row.mean_regret(board.tasks)
        y = row.mean_shortfall(board.tasks) if fails else row.mean_slack(board.tasks)
        if row.cells and row.played(board.tasks) == len(board.tasks) and x > 0 and y > 0 and math.isfinite(x * y):
            kind = {"valid": "valid", "fails": "failed"}.get(row.verdict.category, "hollow")
            slack = f"×{number(y)} in its violated runs" if fails else f"slack {number(y)}"
            points.append((x, min(y, _TOP), kind, f"{row.agent}: regret {number(x)}, {slack}, {row.verdict.category}"))
    return palette.scatter(
        points, "Regret over that of uniform sampling", f"Slack, up to {_TOP}", "Regret against slack of each row"
    )
