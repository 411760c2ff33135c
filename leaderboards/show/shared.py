"""Data shared by all pages: the summary, the rankings, line styles and file names."""

from __future__ import annotations

import copy
import functools
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import numpy as np

from gpbandit_envs.datasets import FetchError
from leaderboards.audit.report import AuditReport
from leaderboards.play.measures import IN_UNITS, RANKED_BY
from leaderboards.score.board_scores import BoardScores, alike, board_scores
from leaderboards.score.delay_cost import DelayStudy, delay_studies
from leaderboards.score.frames import OverallRanking, TaskRanking, ranked_among
from leaderboards.score.rankings import class_rankings, ranked_scores, ranking_over, task_classes, task_ranking
from leaderboards.score.summary import NOT_ON_BOARD, Summary, unfinished_runs
from leaderboards.score.theory import TheoryReport
from leaderboards.show.agent_card import agent_card
from leaderboards.show.format import file_names, moment
from leaderboards.show.palette import DASHES, HUES, LineStyle, line_styles
from leaderboards.show.rebuilt import task_theory

T = TypeVar("T")

COMPARISON_FILE = "compare.html"
MOST_COMPARED = 100
"""Agents that are compared pair by pair, and listed on every page: a thousand have half a million pairs."""
TOLD, NOT_TOLD = "told the kernel", "not told the kernel"
"""Classes of entrants: those that must be told a kernel, and those that estimate one or need none."""


class Site:
    """The material of all pages: a folder that is ranked, coloured and addressed.

    Args:
        summary: The folder, reduced.
        theory: Whether to build every environment again for its theory.
        audits: Audit reports by (task, agent).
        ranked_by: What agents are ranked by, one of `leaderboards.score.rankings.CRITERIA`; None for the suite's.

    Attributes:
        shown: The summary with the scores that pages show: of ranked agents those that the ranks rest on.
        rankings: Ranking by task; None where no regret is known.
        classes: Classes of tasks, within which agents are ranked over several tasks.
        overall: By name of the class, the ranking over its tasks; absent if there is none.
        unfinished: Runs that are not done, see `leaderboards.score.summary.unfinished_runs`.
        styles: Line style by agent.
        task_files: File name of the page of each task; `agent_files` likewise.
        delay_files: The delay studies, each with the file name of its page; studies of one environment share a page.
        theory: Theory by task: the report, or the reason why it could not be worked out; absent where none applies.
        cards: What is known of each agent; None for one whose class is not loaded.
    """

    def __init__(
        self,
        summary: Summary,
        theory: bool = False,
        audits: dict[tuple[str, str], AuditReport] | None = None,
        ranked_by: str | None = None,
    ) -> None:
        self.summary, self.ranked_by, self.audits = summary, ranked_by or summary.headline, audits or {}
        self.rankings = {task: task_ranking(summary, task, self.ranked_by) for task in summary.tasks}
        self.shown = ranked_scores(summary, self.rankings)
        self.classes = task_classes(summary)
        self.overall = class_rankings(summary, self.classes, self.rankings)
        self.unfinished = unfinished_runs(summary)
        self.styles = line_styles(summary.agents)
        self.task_files, self.agent_files = file_names("env", summary.tasks), file_names("agent", summary.agents)
        studies = delay_studies(summary)
        files = file_names("feedback", dict.fromkeys(study.base for study in studies))
        self.delay_files: list[tuple[DelayStudy, str]] = [(study, files[study.base]) for study in studies]
        self.theory: dict[str, TheoryReport | str] = {}
        for task in summary.tasks if theory else ():
            self._build_again(task)
        self.cards = {name: agent_card(ref) for name, ref in summary.agents.items()}
        self._made: dict[tuple[Any, ...], Any] = {}

    def _build_again(self, task: str) -> None:
        """Note the theory of a task, or the error in its place."""
        try:
            report = task_theory(self.shown, task)
            if report is not None:
                self.theory[task] = report
        except FetchError as error:
            self.theory[task] = error.reason
        except Exception as error:  # third-party environments may raise anything
            self.theory[task] = f"{type(error).__name__}: {error}"

    @property
    def title(self) -> str:
        """Name of the suite."""
        return "results" if self.summary.suite is None else self.summary.suite.name

    @functools.cached_property
    def newest(self) -> str:
        """When the newest run finished."""
        runs = self.summary.runs
        return moment(float(runs["finished"].max())) if len(runs) else "never"

    @property
    def along(self) -> str:
        """The metric whose curve shows what agents are ranked by."""
        return IN_UNITS[self.ranked_by][0] if self.ranked_by in IN_UNITS else RANKED_BY[0]

    def counts(self) -> dict[str, int]:
        """How many runs have each status, how many are missing, and how many are not on the board yet."""
        missing = self.unfinished[self.unfinished["status"] == "missing"]
        absent = missing["reason"] == NOT_ON_BOARD
        found = {"missing": missing[~absent]["n"].sum(), "not on the board yet": missing[absent]["n"].sum()}
        statuses = self.summary.runs["status"].value_counts().items()
        return {str(status): int(n) for status, n in (*statuses, *found.items()) if n}

    def entrant(self, agent: str) -> str:
        """The class of entrants of an agent: whether it is told the kernel; "" if its class is not loaded."""
        told = card.kernel_is_told if (card := self.cards.get(agent)) is not None else None
        return "" if told is None else TOLD if told else NOT_TOLD

    @property
    def task_styles(self) -> dict[str, LineStyle]:
        """Line style by task, where a chart compares tasks."""
        dashes, n = list(DASHES), len(HUES)
        return {task: LineStyle(i % n, dashes[i // n % len(dashes)]) for i, task in enumerate(self.summary.tasks)}

    def metric(self, task: str) -> str:
        """What agents are ranked by on a task; where none is, what the site ranks by."""
        return found.metric if (found := self.rankings[task]) else self.ranked_by

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
        """The scores over a class of tasks by a criterion, or what the site ranks by; None if there are none."""
        criterion = by or self.ranked_by
        tasks = next(one.tasks for one in self.classes if one.name == name)
        make = functools.partial(board_scores, self.summary, tasks, criterion, aliases=self.aliases)
        return self.once(("scores", name, criterion), make)

    def sentence(self, a: str, b: str) -> str:
        """What the rankings to cite say of two agents, one sentence a class of tasks in which both have scores."""
        found = (self.scores(one.name) for one in self.classes)
        return " ".join(said for scores in found if scores is not None and (said := scores.sentence(a, b)))

    def once(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        """What `make` gives, made once: rankings and tables that several pages show take seconds."""
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def task_ranking(self, task: str, by: str) -> TaskRanking | None:
        """The ranking on a task by a criterion; by another than what the site ranks by it has no intervals."""
        return self.rankings[task] if by == self.ranked_by else task_ranking(self.summary, task, by)

    def over(self, tasks: Iterable[str], agents: Collection[str] | None = None) -> OverallRanking | None:
        """The ranking of some agents over some tasks, see `leaderboards.score.rankings.ranking_over`."""
        listed, names = tuple(tasks), frozenset(self.summary.agents if agents is None else agents)
        for one in self.classes:
            if one.tasks == listed and names >= {agent for task in listed for agent in self.summary.on(task)}:
                return self.overall.get(one.name)
        return self.once(("over", listed, names), lambda: ranking_over(self.summary, listed, self.rankings, names))

    def of(self, agents: Collection[str]) -> Site:
        """The same with some agents alone, ranked among themselves and in styles of their own.

        `summary` stays that of all: what their regret is measured against may be another.
        """
        site, own = copy.copy(self), self.summary.own
        site._made = {}
        site.rankings = {task: found and ranked_among(found, agents, own) for task, found in self.rankings.items()}
        site.overall = class_rankings(self.summary, self.classes, site.rankings)
        site.styles = line_styles({name: ref for name, ref in self.summary.agents.items() if name in agents})
        site.audits = {key: report for key, report in self.audits.items() if key[1] in agents}
        return site

    def best_agents(self, task: str | None = None) -> list[str]:
        """Agents from the best to the worst, by mean score on a task or by the ranking to cite of each class."""
        return self.once(("best", task), lambda: self._best_agents(task))

    def _best_agents(self, task: str | None) -> list[str]:
        if task is not None:
            found = self.rankings[task]
            means = {} if found is None else dict(zip(found.agents, found.Y.mean(axis=0)))
            return sorted(self.summary.agents, key=lambda agent: means.get(agent, np.inf))
        cited = [agent for one in self.classes for agent in self.cited_order(one.name)]
        return list(dict.fromkeys([*cited, *self.summary.agents]))

    @functools.cached_property
    def compared(self) -> list[str]:
        """The agents that are compared, the best first; of many those that lead, one's own and the references."""
        best = self.best_agents()
        kept = {*best[:MOST_COMPARED], *self.summary.own, *map(self.summary.reference, self.summary.tasks)}
        return best if len(best) <= MOST_COMPARED else [agent for agent in best if agent in kept]

    def cited_order(self, name: str) -> list[str]:
        """Ranked agents of a class of tasks, the best first: by score, and by mean rank those that have none."""
        scores, over = self.scores(name), self.overall.get(name)
        scored = () if scores is None else itertools.chain(*scores.groups)
        return list(dict.fromkeys([*scored, *(() if over is None else over.ordered)]))

    def legend(self, agents: Iterable[str], tasks: Iterable[str]) -> dict[str, Any]:
        """What a chart of agents needs beside its lines, as JSON values for `static/charts.js`.

        `groups` has their classes of entrants, and `pinned` those that are drawn wherever they rank: agents that play
        in the folder, among those of a board, and the reference of the regret ratio.
        """
        pinned, listed = {self.summary.reference(task) for task in tasks} | set(self.summary.own), list(agents)
        return {
            "groups": {name: self.entrant(name) for name in listed},
            "pinned": [name for name in listed if name in pinned],
        }

    def comparison_link(self, first: str, second: str, task: str | None = None) -> str:
        """Address of the paired comparison of two agents, from the folder of the pages; "" where there is none."""
        if first not in self.compared or second not in self.compared:
            return ""
        chosen = {"first": first, "second": second} | ({} if task is None else {"task": task})
        return f"{COMPARISON_FILE}#{urlencode(chosen, quote_via=quote)}"

    def comparison_with_best(self, agent: str, task: str | None = None, best: Sequence[str] = ()) -> str:
        """Address of the comparison of an agent with the best other one, or first other of `best`; "" if alone."""
        others = [other for other in (best or self.best_agents(task)) if other != agent]
        return self.comparison_link(agent, others[0], task) if others else ""

    def origin(self, task: str, agent: str) -> str:
        """How many runs of a task and agent are verified or submitted; "" if all are of this folder."""
        counts = ((self._standings[task, agent, word], word) for word in ("verified", "submitted"))
        return ", ".join(f"{n} {word}" for n, word in counts if n)

    @functools.cached_property
    def _standings(self) -> Counter[tuple[str, str, str]]:
        done = self.summary.runs[self.summary.runs["status"] == "done"]
        return Counter(zip(done["task"], done["agent"], done["standing"]))

    @functools.cached_property
    def why_missing(self) -> dict[tuple[str, str], dict[str, Any]]:
        """By task and agent, the main reason why there is no score: failed runs come before missing ones."""
        rows = self.unfinished.iloc[(self.unfinished["status"] == "missing").argsort(kind="stable")[::-1]]
        found = (dict(zip(rows.columns, row)) for row in rows.itertuples(index=False, name=None))
        return {(row["task"], row["agent"]): row for row in found}
