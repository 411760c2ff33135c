"""Data shared by all pages: the summary, the rankings, line styles and file names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pandas as pd

from leaderboards.audit.report import AuditReport
from leaderboards.score.delay_cost import DelayStudy, delay_studies
from leaderboards.score.rankings import (
    OverallRanking,
    TaskClass,
    TaskRanking,
    class_rankings,
    ranking_over,
    task_classes,
    task_ranking,
)
from leaderboards.score.summary import Summary, unfinished_runs
from leaderboards.score.theory import TheoryReport, theory_report
from leaderboards.show.format import file_names, moment
from leaderboards.show.palette import DASHES, HUES, LineStyle, line_styles

__all__ = ["COMPARISON_FILE", "Site", "make_site"]

COMPARISON_FILE = "compare.html"


@dataclass(frozen=True)
class Site:
    """The material of all pages.

    Attributes:
        summary: The folder, reduced.
        rankings: Ranking by task; None where no regret is known.
        ranked_by: What agents are ranked by, one of `leaderboards.score.rankings.RANKED_BY`.
        classes: Classes of tasks, within which agents are ranked over several tasks.
        overall: By name of the class, the ranking over its tasks; absent if there is none.
        gaps: Runs that are not done, see `leaderboards.score.summary.unfinished_runs`.
        styles: Line style by agent.
        task_files: File name of the page of each task.
        agent_files: File name of the page of each agent.
        theory: Theory by task: the report, or the reason why it could not be worked out; absent where none applies.
        audits: Audit reports by (task, agent); empty before `gpbandit audit` ran.
        delay_files: The delay studies, each with the file name of its page; studies of one environment share a page.
    """

    summary: Summary
    rankings: dict[str, TaskRanking | None]
    ranked_by: str
    classes: tuple[TaskClass, ...]
    overall: dict[str, OverallRanking]
    gaps: pd.DataFrame
    styles: dict[str, LineStyle]
    task_files: dict[str, str]
    agent_files: dict[str, str]
    theory: dict[str, TheoryReport | str]
    audits: dict[tuple[str, str], AuditReport]
    delay_files: list[tuple[DelayStudy, str]]

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

    @property
    def task_styles(self) -> dict[str, LineStyle]:
        """Line style by task, where a chart compares tasks."""
        dashes = list(DASHES)
        return {
            task: LineStyle(i % len(HUES), dashes[i // len(HUES) % len(dashes)])
            for i, task in enumerate(self.summary.tasks)
        }

    def rank(self, task: str, agent: str) -> int | None:
        """Rank of an agent's tie group on a task; None if it is not ranked there."""
        found = self.rankings[task]
        if found is None or agent not in found.agents:
            return None
        return int(found.ranking.group[found.agents.index(agent)])

    def over(self, tasks: Iterable[str]) -> OverallRanking | None:
        """The ranking over some tasks, see `leaderboards.score.rankings.ranking_over`."""
        return ranking_over(self.summary, tasks, self.rankings)

    def best_agents(self, task: str | None = None) -> list[str]:
        """Agents from the best to the worst, by mean score on a task or by mean rank in each class."""
        if task is not None:
            found = self.rankings[task]
            means = {} if found is None else dict(zip(found.agents, found.Y.mean(axis=0)))
            return sorted(self.summary.agents, key=lambda agent: means.get(agent, np.inf))
        ranked = [agent for over in self.overall.values() for agent in over.ordered]
        return list(dict.fromkeys([*ranked, *self.summary.agents]))

    def comparison_link(self, first: str, second: str, task: str | None = None) -> str:
        """Address of the paired comparison of two agents, from the folder of the pages."""
        chosen = {"first": first, "second": second} | ({} if task is None else {"task": task})
        return f"{COMPARISON_FILE}#{urlencode(chosen, quote_via=quote)}"

    def comparison_with_best(self, agent: str, task: str | None = None, best: Sequence[str] = ()) -> str | None:
        """Address of the comparison of an agent with the best other one, or first other of `best`; None if alone."""
        others = [other for other in (best or self.best_agents(task)) if other != agent]
        return self.comparison_link(agent, others[0], task) if others else None

    def origin(self, task: str, agent: str) -> str:
        """How many runs of a task and agent are verified, submitted or historical; "" if all are of this folder."""
        runs = self.summary.runs
        mine = runs[(runs["task"] == task) & (runs["agent"] == agent) & (runs["status"] == "done")]
        counts = mine["standing"].value_counts()
        return ", ".join(
            f"{counts[word]} {word}" for word in ("verified", "submitted", "historical") if counts.get(word)
        )

    def gap(self, task: str, agent: str) -> dict[str, Any] | None:
        """The main reason why a task and agent have no score: failed runs come before missing ones."""
        rows = self.gaps[(self.gaps["task"] == task) & (self.gaps["agent"] == agent)]
        rows = rows.iloc[(rows["status"] == "missing").argsort(kind="stable")]
        return None if rows.empty else {str(name): value for name, value in rows.iloc[0].items()}


def make_site(
    summary: Summary,
    theory: bool = False,
    audits: dict[tuple[str, str], AuditReport] | None = None,
    ranked_by: str = "cumulative_regret",
) -> Site:
    """Rank, colour and address everything in `summary`; `theory` builds every environment again for its theory."""
    studies = delay_studies(summary)
    files = file_names("feedback", dict.fromkeys(study.base for study in studies))
    rankings = {task: task_ranking(summary, task, ranked_by) for task in summary.tasks}
    classes = task_classes(summary)
    return Site(
        summary,
        rankings,
        ranked_by,
        classes,
        class_rankings(summary, classes, rankings),
        unfinished_runs(summary),
        line_styles(summary.agents),
        file_names("env", summary.tasks),
        file_names("agent", summary.agents),
        _theory_reports(summary) if theory else {},
        audits or {},
        [(study, files[study.base]) for study in studies],
    )


def _theory_reports(summary: Summary) -> dict[str, TheoryReport | str]:
    reports: dict[str, TheoryReport | str] = {}
    for task in summary.tasks:
        try:
            report = theory_report(summary, task)
        except Exception as error:
            # Third-party environments may raise anything; the page then shows the error in place of the theory.
            reports[task] = f"{type(error).__name__}: {error}"
            continue
        if report is not None:
            reports[task] = report
    return reports
