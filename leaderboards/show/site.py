"""What every page needs to know: the summary, the rankings, looks and addresses, worked out once."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pandas as pd

from leaderboards.score.inspection import Inspection
from leaderboards.score.overlay import Overlay, overlay
from leaderboards.score.price import Price, prices
from leaderboards.score.standings import Overall, Standing, overall, standing
from leaderboards.score.summary import Summary, unfinished_runs
from leaderboards.show.names import file_names
from leaderboards.show.numbers import moment
from leaderboards.show.palette import Look, looks

__all__ = ["Site", "make_site"]


@dataclass(frozen=True)
class Site:
    """The material of all pages.

    Attributes:
        summary: The folder, reduced.
        standings: Ranking by task; None where no regret is known.
        overall: Ranking over all tasks that the suite asks for; None if no agent is ranked on all of them.
        gaps: Runs that are not done, see `leaderboards.score.summary.unfinished_runs`.
        looks: Look by agent.
        task_files: File name of the page of each task.
        agent_files: File name of the page of each agent.
        pair_files: File name of the page of each pair of agents.
        overlays: Theory by task: the overlay, or the reason why it could not be worked out; absent where none applies.
        inspections: What `gpbandit audit` found, by (task, agent); empty before it ran.
        price_files: The prices of feedback, each with the file name of its page; an environment's prices share one.
    """

    summary: Summary
    standings: dict[str, Standing | None]
    overall: Overall | None
    gaps: pd.DataFrame
    looks: dict[str, Look]
    task_files: dict[str, str]
    agent_files: dict[str, str]
    pair_files: dict[frozenset[str], str]
    overlays: dict[str, Overlay | str]
    inspections: dict[tuple[str, str], Inspection]
    price_files: list[tuple[Price, str]]

    @property
    def title(self) -> str:
        """Name of the suite."""
        return "results" if self.summary.suite is None else self.summary.suite.name

    @property
    def newest(self) -> str:
        """When the newest run finished."""
        runs = self.summary.runs
        return moment(float(runs["finished"].max())) if len(runs) else "never"

    def counts(self) -> dict[str, int]:
        """How many runs have each status, and how many are missing."""
        counts = {str(status): int(n) for status, n in self.summary.runs["status"].value_counts().items()}
        missing = int(self.gaps.loc[self.gaps["status"] == "missing", "n"].sum())
        return counts | ({"missing": missing} if missing else {})

    def place(self, task: str, agent: str) -> int | None:
        """Place of an agent's tie group on a task; None if it is not ranked there."""
        found = self.standings[task]
        if found is None or agent not in found.agents:
            return None
        return int(found.ranking.group[found.agents.index(agent)])

    def origin(self, task: str, agent: str) -> str:
        """How many of a cell's runs came from elsewhere, and how many of those were played again here; "" if none."""
        runs = self.summary.runs
        mine = runs[(runs["task"] == task) & (runs["agent"] == agent) & (runs["status"] == "done")]
        counts = mine["standing"].value_counts()
        return ", ".join(f"{counts[word]} {word}" for word in ("verified", "submitted") if counts.get(word))

    def gap(self, task: str, agent: str) -> dict[str, Any] | None:
        """The gap that says most about why a cell is empty: what was tried before what was not."""
        rows = self.gaps[(self.gaps["task"] == task) & (self.gaps["agent"] == agent)]
        rows = rows.iloc[(rows["status"] == "missing").argsort(kind="stable")]
        return None if rows.empty else {str(name): value for name, value in rows.iloc[0].items()}


def make_site(
    summary: Summary, theory: bool = False, inspections: dict[tuple[str, str], Inspection] | None = None
) -> Site:
    """Rank, colour and address everything in `summary`; `theory` builds every environment again for its overlay."""
    charged = prices(summary)
    files = file_names("feedback", dict.fromkeys(price.base for price in charged))
    standings = {task: standing(summary, task) for task in summary.tasks}
    gaps = unfinished_runs(summary)
    pairs = list(itertools.combinations(summary.agents, 2))
    numbered = file_names("pair", (f"{first} vs {second}" for first, second in pairs))
    return Site(
        summary,
        standings,
        overall({task: found for task, found in standings.items() if summary.tasks[task].asked}),
        gaps,
        looks(summary.agents),
        file_names("env", summary.tasks),
        file_names("agent", summary.agents),
        {frozenset(pair): file for pair, file in zip(pairs, numbered.values())},
        _overlays(summary) if theory else {},
        inspections or {},
        [(price, files[price.base]) for price in charged],
    )


def _overlays(summary: Summary) -> dict[str, Overlay | str]:
    found: dict[str, Overlay | str] = {}
    for task in summary.tasks:
        try:
            about = overlay(summary, task)
        except Exception as error:
            # Third-party environments may raise anything; the page says what instead of having no page at all.
            found[task] = f"{type(error).__name__}: {error}"
            continue
        if about is not None:
            found[task] = about
    return found
