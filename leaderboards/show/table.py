"""Cells and rows that tables of several pages share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpbandit_envs.channels import as_channel
from leaderboards.score.metrics import has_batches
from leaderboards.score.statistics import Interval, Slope
from leaderboards.score.summary import NOT_ON_BOARD
from leaderboards.show.format import NONE, between, number
from leaderboards.show.shared import Site

__all__ = [
    "LAST",
    "DeedRow",
    "GapRow",
    "TableCell",
    "deed_rows",
    "fitted_slope",
    "gap_rows",
    "number_cell",
    "score_cell",
    "slope_cell",
    "tie_mark",
]

LAST = math.inf
"""Sort key of a cell without a value: behind all others."""

STATUS_WORDS = {"crashed": "crashed", "timeout": "timed out", "skipped": "n/a", "missing": "not run"}
_NOT_ON_BOARD = "not on the board yet"


@dataclass(frozen=True)
class TableCell:
    """A cell of a sortable table.

    Attributes:
        text: The value.
        sort: What the column is sorted by; `LAST` without a value.
        interval: Text of the interval below the value; "" without.
        why: Tooltip of the cell; "" without.
        lead: Whether the cell is shaded.
        rank: Rank of the tie group, such as "2="; "" without.
    """

    text: str
    sort: float = LAST
    interval: str = ""
    why: str = ""
    lead: bool = False
    rank: str = ""

    @property
    def is_known(self) -> bool:
        """Whether it has a value."""
        return self.sort < LAST


@dataclass(frozen=True)
class DeedRow:
    """What an agent did on a task, in a sentence.

    Attributes:
        name: The agent, or the task.
        file: File name of its page.
        rank: Rank of the agent's tie group there, such as "2="; "" if it is not ranked.
        rank_sort: The same as a number.
        text: The sentence.
    """

    name: str
    file: str
    rank: str
    rank_sort: float
    text: str


@dataclass(frozen=True)
class GapRow:
    """Runs that are not done, for one reason.

    Attributes:
        task: The task.
        agent: The agent.
        status: `"crashed"`, `"timeout"`, `"skipped"` or `"missing"`.
        word: The status in words.
        n: How many runs.
        repetitions: Which ones.
        reason: Why.
        error: Traceback; None without.
    """

    task: str
    agent: str
    status: str
    word: str
    n: int
    repetitions: str
    reason: str
    error: str | None


def number_cell(x: float | None) -> TableCell:
    """A number, or a dash for None and for non-finite values."""
    return TableCell(NONE) if x is None or not math.isfinite(x) else TableCell(number(x), x)


def score_cell(site: Site, task: str, agent: str, metric: str, ranked: bool = False) -> TableCell:
    """The mean final score of an agent on a task with its interval, or why there is none.

    Of an agent that is ranked there it is the mean over the repetitions that the rank rests on.

    Args:
        site: The site.
        task: The task.
        agent: The agent.
        metric: Name of the metric.
        ranked: Whether the task is ranked by this metric: then the cell shows the rank.
    """
    cell = site.shown.scores.get((task, agent))
    feedback = site.summary.tasks[task].feedback
    if cell is not None and metric == "batches" and not has_batches(as_channel(feedback)):
        return TableCell(NONE, why=f"feedback does not come in batches under {feedback}")
    if cell is None or not np.isfinite(cell.finals[metric]).all():
        gap = site.gap(task, agent)
        return TableCell(STATUS_WORDS[gap["status"]], why=gap["reason"] or "") if gap else TableCell("unknown")
    interval = cell.intervals[metric]
    rank = site.rank(task, agent)
    return TableCell(
        number(interval.estimate),
        interval.estimate,
        between(interval, values=cell.finals[metric]),
        why="" if rank else _unranked(site, task, len(cell)),
        lead=ranked and rank == 1,
        rank=tie_mark(site, task, rank) if ranked else "",
    )


def fitted_slope(site: Site, task: str, agent: str) -> TableCell:
    """The growth exponent of the regret that is shown of an agent on a task."""
    cell = site.shown.scores.get((task, agent))
    return slope_cell(cell.growth if cell else None)


def slope_cell(slope: Slope | None) -> TableCell:
    """The growth exponent of the cumulative regret."""
    if slope is None:
        return TableCell(NONE, why="no regret to fit")
    interval: Interval = slope.exponent
    ends = _with_minus(f"{interval.low:.2f} – {interval.high:.2f}") if interval.is_known else ""
    return TableCell(
        _with_minus(f"{interval.estimate:.2f}"), interval.estimate, ends, why=f"fitted from t = {slope.start}"
    )


def _with_minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def deed_rows(site: Site, pairs: Iterable[tuple[str, str]], of: Literal["task", "agent"]) -> list[DeedRow]:
    """What agents did on tasks, of those of which anything is known.

    Args:
        site: The site.
        pairs: Tasks and agents.
        of: What the rows are named by.
    """
    rows = []
    for task, agent in pairs:
        text = "" if site.why is None else site.why.sentence(task, agent)
        if text:
            name, file = (task, site.task_files[task]) if of == "task" else (agent, site.agent_files[agent])
            rank = site.rank(task, agent)
            rows.append(DeedRow(name, file, tie_mark(site, task, rank), rank or LAST, text))
    return rows


def tie_mark(site: Site, task: str, rank: int | None) -> str:
    """A rank as "2", or "2=" where it is shared."""
    found = site.rankings[task]
    if rank is None or found is None:
        return ""
    return found.ranking.marked(rank)


def gap_rows(site: Site, task: str | None = None, agent: str | None = None) -> list[GapRow]:
    """Rows of the table of runs that are not done; on one task or of one agent."""
    rows = site.gaps
    rows = rows if task is None else rows[rows["task"] == task]
    rows = rows if agent is None else rows[rows["agent"] == agent]
    return [
        GapRow(
            task=str(row["task"]),
            agent=str(row["agent"]),
            status=str(row["status"]),
            word=_NOT_ON_BOARD if row["reason"] == NOT_ON_BOARD else STATUS_WORDS[row["status"]],
            n=int(row["n"]),
            repetitions=str(row["repetitions"]),
            reason=str(row["reason"]),
            error=row["error"] if isinstance(row["error"], str) else None,
        )
        for row in rows.to_dict("records")
    ]


def _unranked(site: Site, task: str, n: int) -> str:
    found = site.rankings[task]
    if found is None:
        return "the environment does not know its regret"
    return f"not ranked: finished {n} of {len(found.blocks)} repetitions"
