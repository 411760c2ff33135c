"""The page of a board of guarantees: which rows keep their word, what that costs, and why all others have no rank."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from leaderboards.audit.guarantee import Cell, GuaranteeRow
from leaderboards.audit.guarantee_board import GuaranteeBoard, ValidList, ValidRow
from leaderboards.audit.price import Price
from leaderboards.audit.validity import NEAR, most_violated
from leaderboards.show import svg
from leaderboards.show.format import NONE, between, number
from leaderboards.show.shared import Site
from leaderboards.show.table import LAST, TableCell, number_cell

__all__ = ["GUARANTEE_FILE", "GuaranteeCard", "guarantee_card", "guarantee_page"]

GUARANTEE_FILE = "guarantees.html"

FIRST = 8
"""Rows of a ranking that are shown until it is unfolded, so that a common screen has the line below the valid rows."""

_LEADERS = 3
_TOP = 100  # slack beyond is drawn there: widths of large batches are millions of times what is needed


@dataclass(frozen=True)
class BandRow:
    """A row of a ranking.

    Attributes:
        name: The agent.
        file: File name of its page.
        swatch: Its line style.
        place: Of its tie group among valid rows; "" without.
        mean_rank: Among the valid rows.
        theorem: Source of the theorem behind its band; "" without one.
        held: In how many runs the band held.
        limit: One-sided lower limit of that share.
        slack: Stated over required width in the runs that held.
        shortfall: The same in the violated runs; without text if there are none.
        regret: Over that of uniform sampling.
        claimed: On how many tasks it claims a theorem.
        reason: Why it is not valid; "" if it is.
        failed: Whether the runs refute its band.
    """

    name: str
    file: str
    swatch: Markup
    place: str
    mean_rank: TableCell
    theorem: str
    held: TableCell
    limit: TableCell
    slack: TableCell
    shortfall: TableCell
    regret: TableCell
    claimed: int
    reason: str
    failed: bool


@dataclass(frozen=True)
class RankedRows:
    """A ranking of valid rows.

    Attributes:
        name: Name of the group of tasks.
        tasks: How many there are.
        rows: The valid rows that claim all of them.
        price: What validity costs on them, in words; "" where it is not known.
    """

    name: str
    tasks: int
    rows: list[BandRow]
    price: str


@dataclass(frozen=True)
class PriceRow:
    """The price of validity of a task.

    Attributes:
        task: Its label.
        file: File name of its page.
        ratio: The price.
        valid: The best valid row that claims the task.
        best: The best row of all.
    """

    task: str
    file: str
    ratio: TableCell
    valid: str
    best: str


@dataclass(frozen=True)
class Mark:
    """A cell of the matrix.

    Attributes:
        sign: What the table shows.
        kind: Class in the style sheet.
        why: The same in words.
    """

    sign: str
    kind: str
    why: str


@dataclass(frozen=True)
class GuaranteeCard:
    """What the front page says of a board of guarantees.

    Attributes:
        file: File name of its page.
        sentence: How many rows keep their word, and what that costs.
        tasks: How many tasks decide.
        lists: The leading valid rows of each group of tasks that has any.
        below: The first rows below the line.
    """

    file: str
    sentence: str
    tasks: int
    lists: list[RankedRows]
    below: list[BandRow]


def guarantee_card(site: Site, board: GuaranteeBoard) -> GuaranteeCard:
    """The sentence of a board, the leaders of its valid rows, and those with the least regret of all others."""
    lists = [
        replace(found, rows=found.rows[:_LEADERS]) for one in board.lists if (found := _list(site, board, one)).rows
    ]
    below = [_row(site, board, row, board.tasks) for row in board.below[:_LEADERS]]
    return GuaranteeCard(GUARANTEE_FILE, board.sentence, len(board.tasks), lists, below)


def guarantee_page(site: Site, board: GuaranteeBoard) -> dict[str, Any]:
    """Context of `guarantee.html.j2`."""
    lists = [_list(site, board, ranking) for ranking in board.lists]
    return {
        "board": board,
        "first": FIRST,
        "near": NEAR,
        "scatter": _scatter(board),
        "lists": lists,
        "unlisted": [_row(site, board, row, board.tasks) for row in board.unlisted],
        "below": [_row(site, board, row, board.tasks) for row in board.below],
        "prices": [_price_row(site, task, price) for task, price in board.prices.items()],
        "columns": [(task, site.task_files[task], task in board.tasks) for task in site.summary.tasks],
        "matrix": [
            (_row(site, board, row, board.tasks), [_mark(board, row, task) for task in site.summary.tasks])
            for row in board.rows
            if row.cells
        ],
    }


def _list(site: Site, board: GuaranteeBoard, ranking: ValidList) -> RankedRows:
    price = ""
    if ranking.price is not None:
        ends = between(ranking.price.ratio)
        price = number(ranking.price.ratio.estimate) + (f" ({ends})" if ends else "")
    rows = [_row(site, board, one.row, ranking.tasks, one) for one in ranking.rows]
    return RankedRows(ranking.name, len(ranking.tasks), rows, price)


def _row(
    site: Site, board: GuaranteeBoard, row: GuaranteeRow, tasks: tuple[str, ...], ranked: ValidRow | None = None
) -> BandRow:
    verdict, played = row.verdict, row.played(tasks)
    regret = number_cell(row.mean_regret(tasks))
    if played < len(tasks):
        regret = TableCell(regret.text, LAST, f"on {played} of {len(tasks)}", "not played on all environments")
    held = limit = TableCell(NONE)
    if verdict.runs:
        why = f"measured after every evaluation in {row.throughout(board.plan)} of {verdict.runs} runs"
        held = TableCell(f"{verdict.held} / {verdict.runs}", verdict.held / verdict.runs, why=why)
        limit = TableCell(f"{verdict.least_held:.3f}", verdict.least_held)
    return BandRow(
        name=row.agent,
        file=site.agent_files[row.agent],
        swatch=svg.swatch(site.styles[row.agent]),
        place="" if ranked is None else ranked.place,
        mean_rank=number_cell(None if ranked is None else ranked.mean_rank),
        theorem=_theorem(row),
        held=held,
        limit=limit,
        slack=_slack(row.mean_slack(tasks)),
        shortfall=_shortfall(row, tasks),
        regret=regret,
        claimed=len(verdict.claimed),
        reason=row.reason,
        failed=verdict.category == "fails",
    )


def _theorem(row: GuaranteeRow) -> str:
    """The theorem on most of the tasks that the row claims; "" if it claims none."""
    found = Counter(row.cells[task].theorem for task in row.verdict.claimed)
    return found.most_common(1)[0][0] if found else ""


def _slack(x: float) -> TableCell:
    return TableCell(f"×{number(x)}", x) if math.isfinite(x) else TableCell(NONE)


def _shortfall(row: GuaranteeRow, tasks: tuple[str, ...]) -> TableCell:
    x = row.mean_shortfall(tasks)
    if math.isnan(x):
        return TableCell("")
    cells = [row.cells[task] for task in tasks if task in row.cells]
    n = sum(cell.count.violated - cell.unaudited for cell in cells)
    runs = "the violated run" if n == 1 else f"the {n} violated runs"
    return TableCell(f"×{number(x)}", x, why=f"stated over required width in {runs}")


def _price_row(site: Site, task: str, price: Price) -> PriceRow:
    cell = TableCell(number(price.ratio.estimate), price.ratio.estimate, between(price.ratio))
    return PriceRow(task, site.task_files[task], cell, price.valid[task], price.best[task])


def _mark(board: GuaranteeBoard, row: GuaranteeRow, task: str) -> Mark:
    cell: Cell | None = row.cells.get(task)
    if cell is None:
        return Mark(NONE, "none", "not played, or without a band")
    k, n = cell.count.violated, cell.count.runs
    notes = [f"slack {number(cell.slack)}"] if k < n else []
    notes += [f"×{number(cell.shortfall)} in the violated ones"] if k > cell.unaudited else []
    notes += [f"{cell.unaudited} without an audit"] if cell.unaudited else []
    words = f"held in {n - k} of {n} runs, {', '.join(notes)}"
    reason = f"; {cell.why_not}" if cell.why_not else "; claims a theorem"
    if k > most_violated(n, board.plan.delta, len(board.tasks)):
        return Mark("✕", "broken", words + reason)
    few = f"−{k}" if k else ""
    return Mark(f"●{few}", "claimed", words + reason) if cell.count.claims else Mark(f"○{few}", "held", words + reason)


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
    return svg.scatter(
        points, "Regret over that of uniform sampling", f"Slack, up to {_TOP}", "Regret against slack of each row"
    )
