"""The page of a board of guarantees: which rows keep their word, what that costs, and why all others have no rank."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from leaderboards.audit.guarantee import Cell, GuaranteeRow
from leaderboards.audit.guarantee_board import GuaranteeBoard, ValidList, ValidRow
from leaderboards.audit.price import Price
from leaderboards.audit.validity import most_violated
from leaderboards.show import svg
from leaderboards.show.format import NONE, between, number
from leaderboards.show.shared import Site
from leaderboards.show.table import LAST, TableCell, number_cell

__all__ = ["GUARANTEE_FILE", "guarantee_page"]

GUARANTEE_FILE = "guarantees.html"


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
        slack: Stated over required width.
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


def guarantee_page(site: Site, board: GuaranteeBoard) -> dict[str, Any]:
    """Context of `guarantee.html.j2`."""
    lists = [_list(site, ranking) for ranking in board.lists]
    return {
        "board": board,
        "scatter": _scatter(board),
        "lists": lists,
        "unlisted": [_row(site, row, board.tasks) for row in board.unlisted],
        "below": [_row(site, row, board.tasks) for row in board.below],
        "prices": [_price_row(site, task, price) for task, price in board.prices.items()],
        "columns": [(task, site.task_files[task], task in board.tasks) for task in site.summary.tasks],
        "matrix": [
            (_row(site, row, board.tasks), [_mark(board, row, task) for task in site.summary.tasks])
            for row in board.rows
            if row.cells
        ],
    }


def _list(site: Site, ranking: ValidList) -> RankedRows:
    price = ""
    if ranking.price is not None:
        ends = between(ranking.price.ratio)
        price = number(ranking.price.ratio.estimate) + (f" ({ends})" if ends else "")
    return RankedRows(
        ranking.name, len(ranking.tasks), [_row(site, one.row, ranking.tasks, one) for one in ranking.rows], price
    )


def _row(site: Site, row: GuaranteeRow, tasks: tuple[str, ...], ranked: ValidRow | None = None) -> BandRow:
    verdict, played = row.verdict, row.played(tasks)
    regret = number_cell(row.mean_regret(tasks))
    if played < len(tasks):
        regret = TableCell(regret.text, LAST, f"on {played} of {len(tasks)}", "not played on all environments")
    held = limit = TableCell(NONE)
    if verdict.runs:
        held = TableCell(f"{verdict.held} / {verdict.runs}", verdict.held / verdict.runs)
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


def _price_row(site: Site, task: str, price: Price) -> PriceRow:
    cell = TableCell(number(price.ratio.estimate), price.ratio.estimate, between(price.ratio))
    return PriceRow(task, site.task_files[task], cell, price.valid[task], price.best[task])


def _mark(board: GuaranteeBoard, row: GuaranteeRow, task: str) -> Mark:
    cell: Cell | None = row.cells.get(task)
    if cell is None:
        return Mark(NONE, "none", "not played, or without a band")
    k, n = cell.count.violated, cell.count.runs
    words = f"held in {n - k} of {n} runs, slack {number(cell.slack)}"
    reason = f"; {cell.why_not}" if cell.why_not else "; claims a theorem"
    if k > most_violated(n, board.delta, len(board.tasks)):
        return Mark("✕", "broken", words + reason)
    few = f"−{k}" if k else ""
    return Mark(f"●{few}", "claimed", words + reason) if cell.count.claims else Mark(f"○{few}", "held", words + reason)


def _scatter(board: GuaranteeBoard) -> Markup:
    """Regret against slack: the valid rows filled, all others hollow, those that fail in red."""
    points = []
    for row in board.rows:
        x, y = row.mean_regret(board.tasks), row.mean_slack(board.tasks)
        if row.cells and row.played(board.tasks) == len(board.tasks) and x > 0 and y > 0 and math.isfinite(x * y):
            kind = {"valid": "valid", "fails": "failed"}.get(row.verdict.category, "hollow")
            points.append((x, y, kind, f"{row.agent}: regret {number(x)}, slack {number(y)}, {row.verdict.category}"))
    return svg.scatter(points, "Regret over that of uniform sampling", "Slack", "Regret against slack of each row")
