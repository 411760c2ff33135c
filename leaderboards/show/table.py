"""Tables of all pages: rows about an agent or a task, and their cells."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from gpbandit_envs.channels import as_channel
from leaderboards.play.measures import has_batches
from leaderboards.score.metrics import Metric
from leaderboards.score.statistics import Interval, Ranking, Slope
from leaderboards.score.summary import NOT_ON_BOARD
from leaderboards.show import palette
from leaderboards.show.format import NONE, between, number, span
from leaderboards.show.shared import Site

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
        interval: Small text below the value, most often its interval; "" without.
        why: Tooltip of the cell; "" without.
        lead: Whether the cell is shaded.
        rank: Rank of the tie group, such as "2="; "" without.
        drawing: What stands beside the value; "" without.
        link: Address that the value leads to, from the folder of the pages; "" for none.
        css: Classes in the style sheet; "" for plain text.
    """

    text: str
    sort: float | str = LAST
    interval: str = ""
    why: str = ""
    lead: bool = False
    rank: str = ""
    drawing: Markup | str = ""
    link: str = ""
    css: str = "num"

    @property
    def is_known(self) -> bool:
        """Whether it has a value."""
        return self.sort != LAST


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        name: The agent or task that it is about.
        file: File name of its page.
        swatch: Line style of an agent; "" for a task.
        cells: The cells behind the name.
        place: Rank or place of its tie group, in tables that have any.
        entrant: Class of entrants of an agent; "" for a task, or if its class is not loaded.
        own: Whether it plays in this folder, among the agents of a board.
        also: Agents that played like it.
        batching: How it plays, one of `leaderboards.score.board_scores`; "" where no table asks.
        places: As JSON, its places among all, among those told as much, among those that batch as it does, and among
            those that do both; "" where nothing can be chosen.
    """

    name: str
    file: str
    swatch: Markup
    cells: list[TableCell]
    place: TableCell = TableCell(NONE)
    entrant: str = ""
    own: bool = False
    also: tuple[str, ...] = ()
    batching: str = ""
    places: str = ""


def agent_row(site: Site, agent: str, cells: Iterable[TableCell], **more: Any) -> Row:
    """A row about an agent."""
    about = {"entrant": site.entrant(agent), "own": agent in site.summary.own}
    return Row(agent, site.agent_files[agent], palette.swatch(site.styles[agent]), list(cells), **{**about, **more})


def task_row(site: Site, task: str, cells: Iterable[TableCell], **more: Any) -> Row:
    """A row about a task."""
    return Row(task, site.task_files[task], Markup(""), list(cells), **more)


# ---- cells ----


def number_cell(x: float | None) -> TableCell:
    """A number, or a dash for None and for non-finite values."""
    return TableCell(number(x), x) if x is not None and math.isfinite(x) else TableCell(NONE)


def share_cell(share: Interval, refuted: int = 0) -> TableCell:
    """A share of repetitions with its interval, and in how many of them the data refuted what was told."""
    count = f"{round(share.estimate * share.n)} of {share.n}; {share.low:.0%} – {share.high:.0%}"
    return TableCell(f"{share.estimate:.0%}", share.estimate, count + (f"; refuted in {refuted}" if refuted else ""))


def place_cell(ranking: Ranking | None, i: int, why: str = "", link: str = "") -> TableCell:
    """The place of agent i's tie group; a dash where there is none."""
    if ranking is None or not ranking.is_told:
        return TableCell(NONE, link=link)
    group = int(ranking.group[i])
    return TableCell(ranking.marked(group), group, why=why, link=link)


def open_ranks(ranking: Ranking | None, i: int) -> str:
    """The ranks that the tests leave open to agent i, such as "2–4"; "" where nothing is told."""
    return "" if ranking is None or not ranking.is_told else span(int(ranking.best[i]), int(ranking.worst[i]))


def task_place(site: Site, task: str, agent: str) -> TableCell:
    """The rank of an agent's tie group on a task."""
    found = site.rankings[task]
    if found is None or agent not in found.agents:
        return TableCell(NONE)
    return place_cell(found.ranking, found.agents.index(agent))


def score_cell(site: Site, task: str, agent: str, metric: str, ranked: bool = False) -> TableCell:
    """The mean final score of an agent on a task with its interval, or why there is none.

    Of an agent that is ranked there it is the mean over the repetitions that the rank rests on. Where the task is
    `ranked` by this metric the cell shows the rank.
    """
    cell = site.shown.scores.get((task, agent))
    feedback = site.summary.tasks[task].feedback
    if cell is not None and metric == "batches" and not has_batches(as_channel(feedback)):
        return TableCell(NONE, why=f"feedback does not come in batches under {feedback}")
    if cell is None or not np.isfinite(cell.finals[metric]).all():
        gap = site.why_missing.get((task, agent))
        return TableCell(STATUS_WORDS[gap["status"]], why=gap["reason"] or "") if gap else TableCell("unknown")
    interval, rank, found = cell.intervals[metric], site.rank(task, agent), site.rankings[task]
    unranked = "the environment does not know its regret"
    if found is not None:
        unranked = f"not ranked: finished {len(cell)} of {len(found.blocks)} repetitions"
    return TableCell(
        number(interval.estimate),
        interval.estimate,
        between(interval, values=cell.finals[metric]),
        why="" if rank else unranked,
        lead=ranked and rank == 1,
        rank=task_place(site, task, agent).text if ranked and rank else "",
    )


def final_cells(site: Site, task: str, agent: str, metrics: Iterable[Metric], origin: str = "") -> list[TableCell]:
    """The final scores of an agent on a task, the growth exponent of its regret, and how many runs it has finished."""
    scores, runs = site.shown.scores.get((task, agent)), len(site.summary.scores.get((task, agent), ()))
    cells = [score_cell(site, task, agent, metric.name, ranked=i == 0) for i, metric in enumerate(metrics)]
    return [*cells, slope_cell(scores.growth if scores else None), TableCell(str(runs), runs, origin)]


def slope_cell(slope: Slope | None) -> TableCell:
    """The growth exponent of the cumulative regret."""
    if slope is None:
        return TableCell(NONE, why="no regret to fit")
    found = slope.exponent
    ends = f"{found.low:.2f} – {found.high:.2f}" if found.is_known else ""
    text, below = (text.replace("-", "\N{MINUS SIGN}") for text in (f"{found.estimate:.2f}", ends))
    return TableCell(text, found.estimate, below, why=f"fitted from t = {slope.start}")


# ---- rows ----


def unfinished_rows(site: Site, task: str | None = None, agent: str | None = None) -> list[dict[str, Any]]:
    """Runs that are not done, as `leaderboards.score.summary.unfinished_runs` has them, and a word for why."""
    rows = site.unfinished
    rows = rows if task is None else rows[rows["task"] == task]
    rows = rows if agent is None else rows[rows["agent"] == agent]
    found: list[dict[str, Any]] = [dict(zip(rows.columns, row)) for row in rows.itertuples(index=False, name=None)]
    for row in found:
        row["word"] = _NOT_ON_BOARD if row["reason"] == NOT_ON_BOARD else STATUS_WORDS[row["status"]]
        row["error"] = row["error"] if isinstance(row["error"], str) else None
    return found
