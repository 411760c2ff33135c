"""Data shared by all pages: the summary, the rankings, line styles and file names."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import numpy as np
import pandas as pd

from gpbandit_envs.datasets import FetchError
from leaderboards.audit.guarantee_board import GuaranteeBoard
from leaderboards.audit.report import AuditReport
from leaderboards.score.criteria import BoardScores, board_scores
from leaderboards.score.delay_cost import DelayStudy, delay_studies
from leaderboards.score.frames import OverallRanking, TaskRanking, ranked_among
from leaderboards.score.instance import Instance
from leaderboards.score.kinds import alike
from leaderboards.score.profile import GroupScore, group_scores, grouped
from leaderboards.score.rankings import (
    TaskClass,
    class_rankings,
    ranked_scores,
    ranking_over,
    task_classes,
    task_ranking,
)
from leaderboards.score.summary import NOT_ON_BOARD, Summary, unfinished_runs
from leaderboards.score.targets import task_times
from leaderboards.score.theory import TheoryReport
from leaderboards.show.agent_card import AgentCard, agent_card
from leaderboards.show.format import file_names, moment
from leaderboards.show.palette import DASHES, HUES, LineStyle, line_styles
from leaderboards.show.rebuilt import first_instance, task_theory

__all__ = ["COMPARISON_FILE", "NOT_TOLD", "TOLD", "Site", "make_site"]

T = TypeVar("T")

COMPARISON_FILE = "compare.html"
TOLD, NOT_TOLD = "told the kernel", "not told the kernel"
"""Classes of entrants: those that must be told a kernel, and those that estimate one or need none."""


@dataclass(frozen=True)
class Site:
    """The material of all pages.

    Attributes:
        summary: The folder, reduced.
        shown: The same with the scores that pages show: of ranked agents those that the ranks rest on, see
            `leaderboards.score.rankings.ranked_scores`.
        rankings: Ranking by task; None where no regret is known.
        ranked_by: What agents are ranked by, one of `leaderboards.score.rankings.RANKED_BY`.
        classes: Classes of tasks, within which agents are ranked over several tasks.
        overall: By name of the class, the ranking over its tasks; absent if there is none.
        unfinished: Runs that are not done, see `leaderboards.score.summary.unfinished_runs`.
        styles: Line style by agent.
        task_files: File name of the page of each task.
        agent_files: File name of the page of each agent.
        theory: Theory by task: the report, or the reason why it could not be worked out; absent where none applies.
        audits: Audit reports by (task, agent); empty before `gpbandit audit` ran.
        delay_files: The delay studies, each with the file name of its page; studies of one environment share a page.
        instances: The first instance of each task, where it could be built again.
        cards: What is known of each agent; None for one whose class is not loaded.
        groups: Tasks by group of the capability profile, of two groups or more.
        profile: Scores of the capability profile, by agent and group.
        guarantees: Which rows keep their word, of a suite with a plan for audits; None for any other.
    """

    summary: Summary
    shown: Summary
    rankings: dict[str, TaskRanking | None]
    ranked_by: str
    classes: tuple[TaskClass, ...]
    overall: dict[str, OverallRanking]
    unfinished: pd.DataFrame
    styles: dict[str, LineStyle]
    task_files: dict[str, str]
    agent_files: dict[str, str]
    theory: dict[str, TheoryReport | str]
    audits: dict[tuple[str, str], AuditReport]
    delay_files: list[tuple[DelayStudy, str]]
    instances: dict[str, Instance] = field(default_factory=dict)
    cards: dict[str, AgentCard | None] = field(default_factory=dict)
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    profile: dict[str, dict[str, GroupScore]] = field(default_factory=dict)
    guarantees: GuaranteeBoard | None = None

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
        """How many runs have each status, how many are missing, and how many are not on the board yet."""
        counts = {str(status): int(n) for status, n in self.summary.runs["status"].value_counts().items()}
        missing = self.unfinished[self.unfinished["status"] == "missing"]
        absent = missing["reason"] == NOT_ON_BOARD
        found = {"missing": missing[~absent]["n"].sum(), "not on the board yet": missing[absent]["n"].sum()}
        return counts | {word: int(n) for word, n in found.items() if n}

    def entrant(self, agent: str) -> str:
        """The class of entrants of an agent: whether it is told the kernel; "" if its class is not loaded."""
        card = self.cards.get(agent)
        if card is None or card.kernel_is_told is None:
            return ""
        return TOLD if card.kernel_is_told else NOT_TOLD

    @property
    def task_styles(self) -> dict[str, LineStyle]:
        """Line style by task, where a chart compares tasks."""
        dashes = list(DASHES)
        return {
            task: LineStyle(i % len(HUES), dashes[i // len(HUES) % len(dashes)])
            for i, task in enumerate(self.summary.tasks)
        }

    def rank(self, task: str, agent: str) -> int | None:
        """Rank of an agent's tie group on a task; None if it has none there, or too few repetitions tell none."""
        found = self.rankings[task]
        if found is None or agent not in found.agents or not found.ranking.is_told:
            return None
        return int(found.ranking.group[found.agents.index(agent)])

    @functools.cached_property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        """By the first agent of those that played alike, the others."""
        return alike(self.summary)

    def scores(self, name: str, by: str | None = None) -> BoardScores | None:
        """The scores over the tasks of a class by a criterion, or what the site ranks by; None if there are none.

        Args:
            name: Name of the class of tasks.
            by: The criterion.
        """
        criterion = by or self.ranked_by
        tasks = next(one.tasks for one in self.classes if one.name == name)
        return self.once(
            ("scores", name, criterion),
            lambda: board_scores(self.summary, tasks, criterion, aliases=self.aliases),
        )

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` gives, made once: rankings and tables that several pages show take seconds."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    @functools.cached_property
    def _made(self) -> dict[tuple[Any, ...], Any]:
        return {}

    def task_ranking(self, task: str, by: str) -> TaskRanking | None:
        """The ranking on a task by a criterion; by another than what the site ranks by it has no intervals."""
        if by == self.ranked_by:
            return self.rankings[task]
        return task_ranking(self.summary, task, by, ends=False)

    def over(self, tasks: Iterable[str], agents: Collection[str] | None = None) -> OverallRanking | None:
        """The ranking of some agents over some tasks, see `leaderboards.score.rankings.ranking_over`."""
        listed, names = tuple(tasks), frozenset(self.summary.agents if agents is None else agents)
        return self.once(("over", listed, names), lambda: ranking_over(self.summary, listed, self.rankings, names))

    def of(self, agents: Collection[str], own: Collection[str] | None = None) -> Site:
        """The same with some agents alone, ranked among themselves and in styles of their own.

        Pairs of one of `own` with another agent are then a family of tests of their own; None for the pairs of those
        that play against a board.

        `summary` stays that of all: what their regret and its ratio are measured against may be among the others.
        """
        rankings = {
            task: None if found is None else ranked_among(found, agents, self.summary.own if own is None else own)
            for task, found in self.rankings.items()
        }
        return replace(
            self,
            rankings=rankings,
            overall=class_rankings(self.summary, self.classes, rankings, own),
            styles=line_styles({name: ref for name, ref in self.summary.agents.items() if name in agents}),
            audits={key: report for key, report in self.audits.items() if key[1] in agents},
        )

    def best_agents(self, task: str | None = None) -> list[str]:
        """Agents from the best to the worst, by mean score on a task or by mean rank in each class."""
        if task is not None:
            found = self.rankings[task]
            means = {} if found is None else dict(zip(found.agents, found.Y.mean(axis=0)))
            return sorted(self.summary.agents, key=lambda agent: means.get(agent, np.inf))
        ranked = [agent for over in self.overall.values() for agent in over.ordered]
        return list(dict.fromkeys([*ranked, *self.summary.agents]))

    def legend(self, agents: Iterable[str], tasks: Iterable[str]) -> dict[str, Any]:
        """What a chart of agents needs beside its lines, as JSON values for `static/charts.js`.

        `groups` has their classes of entrants, and `pinned` those that are drawn wherever they rank: agents that play
        in the folder, among those of a board, and the reference of the regret ratio.
        """
        references = {self.summary.reference(task) for task in tasks}
        listed = list(agents)
        return {
            "groups": {name: self.entrant(name) for name in listed},
            "pinned": [name for name in listed if name in self.summary.own or name in references],
        }

    def comparison_link(self, first: str, second: str, task: str | None = None) -> str:
        """Address of the paired comparison of two agents, from the folder of the pages."""
        chosen = {"first": first, "second": second} | ({} if task is None else {"task": task})
        return f"{COMPARISON_FILE}#{urlencode(chosen, quote_via=quote)}"

    def comparison_with_best(self, agent: str, task: str | None = None, best: Sequence[str] = ()) -> str:
        """Address of the comparison of an agent with the best other one, or first other of `best`; "" if alone."""
        others = [other for other in (best or self.best_agents(task)) if other != agent]
        return self.comparison_link(agent, others[0], task) if others else ""

    def origin(self, task: str, agent: str) -> str:
        """How many runs of a task and agent are verified or submitted; "" if all are of this folder."""
        counts = {word: self._standings[task, agent, word] for word in ("verified", "submitted")}
        return ", ".join(f"{n} {word}" for word, n in counts.items() if n)

    @functools.cached_property
    def _standings(self) -> Counter[tuple[str, str, str]]:
        done = self.summary.runs[self.summary.runs["status"] == "done"]
        return Counter(zip(done["task"], done["agent"], done["standing"]))

    @functools.cached_property
    def code_files(self) -> dict[str, str]:
        """File name of the page with the code of each module that holds agents of this project.

        Code of others is nobody's to publish but theirs.
        """
        modules = sorted({card.module for card in self.cards.values() if card and card.module.startswith("agents.")})
        return file_names("code", modules)

    @functools.cached_property
    def target_times(self) -> dict[str, dict[str, np.ndarray]]:
        """Times to the targets by task and agent, see `leaderboards.score.targets.task_times`."""
        return {task: task_times(self.summary, task, self.shown.on(task)) for task in self.summary.tasks}

    def why_missing(self, task: str, agent: str) -> dict[str, Any] | None:
        """The main reason why a task and agent have no score: failed runs come before missing ones."""
        return self._reasons.get((task, agent))

    @functools.cached_property
    def _reasons(self) -> dict[tuple[str, str], dict[str, Any]]:
        found: dict[tuple[str, str], dict[str, Any]] = {}
        rows = self.unfinished.iloc[(self.unfinished["status"] == "missing").argsort(kind="stable")]
        for row in rows.to_dict("records"):
            found.setdefault((row["task"], row["agent"]), {str(name): value for name, value in row.items()})
        return found


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
    shown = ranked_scores(summary, rankings)
    classes = task_classes(summary)
    instances, reports = _built_again(shown) if theory else ({}, {})
    groups = grouped(summary, instances)
    if len(groups) == 1:
        groups = {}  # beside no other group it is a ranking over fewer tasks
    return Site(
        summary,
        shown,
        rankings,
        ranked_by,
        classes,
        class_rankings(summary, classes, rankings),
        unfinished_runs(summary),
        line_styles(summary.agents),
        file_names("env", summary.tasks),
        file_names("agent", summary.agents),
        reports,
        audits or {},
        [(study, files[study.base]) for study in studies],
        instances,
        {name: agent_card(ref) for name, ref in summary.agents.items()},
        groups,
        group_scores(shown, groups),
    )


def _built_again(summary: Summary) -> tuple[dict[str, Instance], dict[str, TheoryReport | str]]:
    """The first instance of each task and its theory; the error in place of a theory that could not be worked out."""
    instances: dict[str, Instance] = {}
    reports: dict[str, TheoryReport | str] = {}
    for task in summary.tasks:
        try:
            instance = first_instance(summary, task)
            if instance is None:
                continue
            instances[task] = instance
            report = task_theory(summary, task, instance)
        except FetchError as error:
            reports[task] = error.reason
            continue
        except Exception as error:
            # Third-party environments may raise anything; the page then shows the error in place of the theory.
            reports[task] = f"{type(error).__name__}: {error}"
            continue
        if report is not None:
            reports[task] = report
    return instances, reports
