"""Boards of guarantees: what each row claims, whether it kept its word and with which regret, and how rows are ranked.

Reads the audits that a board keeps, or those of a results folder, of a suite with a plan for them. Rows that keep their
word are ranked; all others are listed below, each with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from leaderboards.audit.store import kept_audits, measured_throughout
from leaderboards.audit.validity import Count, Verdict, judge
from leaderboards.play.spec import Ref
from leaderboards.play.suite import AuditPlan
from leaderboards.score.frames import TaskRanking
from leaderboards.score.rankings import ranking_over, task_ranking
from leaderboards.score.summary import Summary
from leaderboards.store.kept import KeptAudit
from leaderboards.store.store import Store

_NAMED = 3
"""Most tasks that a reason names."""


_OTHERS: Mapping[str, str] = {
    "few": "on too few tasks for a rank",
    "not confirmed": "not confirmed",
    "holds, no theorem": "without a theorem",
    "fails": "failing",
}
"""What rows with a band are that are not ranked as valid."""


@dataclass(frozen=True)
class Cell:
    """The runs of a row on a task.

    Attributes:
        count: Violated runs, all runs, and whether the row's theorem applies. A run without an audit counts as
            violated: nobody has seen that its band held.
        unaudited: How many of the violated runs are those without an audit.
        why_not: Why it does not; "" if it does.
        theorem: Its source; "" without one.
        slack: Stated over required width, geometric mean over the runs in which the band held: 1 has nothing to spare.
            Infinite where a band was exact; NaN if it held in none.
        shortfall: The same over the runs with a violation, below 1; NaN if there are none.
        informative: Share of arms whose band at the end is narrower than the range of the means, mean over runs.
        throughout: In how many runs the band was measured after every turn.
    """

    count: Count
    unaudited: int
    why_not: str
    theorem: str
    slack: float
    shortfall: float
    informative: float
    throughout: int


@dataclass(frozen=True)
class GuaranteeRow:
    """A row of the board.

    Attributes:
        agent: Its label.
        verdict: What the rule says of it.
        cells: By the label of a task, also of those that decide nothing; none where it states no band.
        regret: Cumulative regret over that of uniform sampling by the label of a task, mean over repetitions.
        audited: Whether any of its runs has been audited, so that more is known than that nobody looked.
    """

    agent: str
    verdict: Verdict
    cells: Mapping[str, Cell]
    regret: Mapping[str, float]
    audited: bool

    def held_to(self, plan: AuditPlan) -> tuple[str, ...]:
        """The tasks whose runs are held against it: those that it claims, or all that decide if it claims none."""
        return self.verdict.claimed or tuple(task for task in plan.deciding if task in self.cells)

    def throughout(self, plan: AuditPlan) -> int:
        """How many of the runs that are held against it were measured after every turn."""
        return sum(self.cells[task].throughout for task in self.held_to(plan))

    def played(self, tasks: Iterable[str]) -> int:
        """On how many of `tasks` it has finished runs."""
        return sum(task in self.regret for task in tasks)

    def mean_regret(self, tasks: Iterable[str]) -> float:
        """Regret over that of uniform sampling, mean over those of `tasks` that it played; NaN for none."""
        played = [self.regret[task] for task in tasks if task in self.regret]
        return float(np.mean(played)) if played else float("nan")

    def mean_slack(self, tasks: Iterable[str]) -> float:
        """Slack over all runs on `tasks` in which the band held; NaN for none."""
        cells = [self.cells[task] for task in tasks if task in self.cells]
        held = [float(cell.count.runs - cell.count.violated) for cell in cells]
        return _geometric_mean(np.array([cell.slack for cell in cells]), np.array(held))

    def mean_shortfall(self, tasks: Iterable[str]) -> float:
        """Shortfall over all runs with a violation on `tasks`; NaN for none."""
        cells = [self.cells[task] for task in tasks if task in self.cells]
        violated = [float(cell.count.violated - cell.unaudited) for cell in cells]
        return _geometric_mean(np.array([cell.shortfall for cell in cells]), np.array(violated))

    @property
    def reason(self) -> str:
        """Why it is not among the valid rows, in words; "" if it is."""
        held = f"{self.verdict.held} of {self.verdict.runs} runs"
        reasons = Counter(cell.why_not for cell in self.cells.values() if cell.why_not)
        unclaimed = reasons.most_common(1)[0][0] if reasons and not self.verdict.claimed else ""
        without = f"; {unclaimed}" if unclaimed else ""
        n = len(self.verdict.claimed)
        tasks = "1 claimed task" if n == 1 else f"{n} claimed tasks"
        refuted = self.verdict.refuted
        named = ", ".join(refuted) if len(refuted) <= _NAMED else f"{len(refuted)} tasks"
        where = f"; refuted on {named}" if refuted else ""
        blind = sum(self.cells[task].unaudited for task in self.verdict.claimed or self.cells)
        unseen = f"; {blind} without an audit" if blind else ""
        return {
            "valid": "",
            "few": f"held in {held} on {tasks}, too few for a rank{unseen}",
            "not confirmed": f"held in {held}, too few to confirm it{unseen}{without}",
            "holds, no theorem": f"held in {held}{unseen}{without}",
            "fails": f"held in {held}{unseen}{where}{without}",
            "no band": "states no band" if self.audited else "no run of it has been audited",
        }[self.verdict.category]


def guarantee_rows(view: Store, summary: Summary, plan: AuditPlan) -> list[GuaranteeRow]:
    """The rows of a board in the order of its suite, of the agents of which a run is done.

    Args:
        view: The runs.
        summary: The same, reduced.
        plan: That of their suite.
    """
    done = summary.runs[summary.runs["status"] == "done"]
    audits = kept_audits(view, (str(key) for key in done.index))
    found: dict[tuple[str, str], list[KeptAudit]] = {}
    unaudited, throughout = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for key, task, agent in zip(done.index, done["task"], done["agent"]):
        if (audit := audits.get(str(key))) is None:
            unaudited[str(agent), str(task)] += 1
        else:
            found.setdefault((str(agent), str(task)), []).append(audit)
            throughout[str(agent), str(task)] += measured_throughout(audit, view.spec(str(key)), plan)
    rows = []
    for agent in dict.fromkeys(str(name) for name in done["agent"]):
        cells = {
            task: _cell(runs, unaudited[agent, task], throughout[agent, task])
            for task in summary.tasks
            if (runs := [audit for audit in found.get((agent, task), []) if _states_band(audit, summary.agents[agent])])
        }
        if cells:  # nor has anybody seen that the band held on a task none of whose runs is audited
            claims = any(cell.count.claims for cell in cells.values())
            cells |= {
                task: _unseen(n, claims)
                for task in plan.deciding
                if task not in cells and (n := unaudited[agent, task])
            }
        counts = {task: cells[task].count for task in plan.deciding if task in cells}
        regret = {
            task: float(summary.scores[task, agent].finals["regret_ratio"].mean())
            for task in summary.tasks
            if (task, agent) in summary.scores
        }
        seen = any(name == agent for name, _ in found)
        rows.append(GuaranteeRow(agent, judge(counts, plan.delta, len(plan.deciding)), cells, regret, seen))
    order = {name: i for i, name in enumerate(summary.agents)}
    return sorted(rows, key=lambda row: order[row.agent])


def kept_words(rows: Iterable[GuaranteeRow]) -> str:
    """How many of the rows that state a band keep their word, and what is true of the others."""
    counts = Counter[str](row.verdict.category for row in rows if row.verdict.category != "no band")
    others = [f"{counts[category]} {said}" for category, said in _OTHERS.items() if counts[category]]
    return f"{counts['valid']} of {counts.total()} rows with a band keep their word" + (
        f" ({', '.join(others)})" if others else ""
    )


def _unseen(runs: int, claims: bool) -> Cell:
    """The runs of a row on a task of which none is audited."""
    nan = float("nan")
    return Cell(Count(runs, runs, claims), runs, "", "", nan, nan, nan, 0)


def _states_band(audit: KeptAudit, agent: Ref) -> bool:
    """Whether a run states a band: a registered policy without a width only shows its beliefs in `predict`."""
    return not audit.no_band and (bool(audit.width) or ":" in agent.id)


def _cell(runs: list[KeptAudit], unaudited: int, throughout: int) -> Cell:
    with np.errstate(divide="ignore"):
        ratios = 1 / np.array([run.required_scaling for run in runs])
    held = np.array([float(run.held) for run in runs])
    claims = all(not run.no_guarantee for run in runs)
    why = Counter(run.no_guarantee for run in runs if run.no_guarantee).most_common(1)
    return Cell(
        Count(sum(not run.held for run in runs) + unaudited, len(runs) + unaudited, claims),
        unaudited,
        why[0][0] if why else "",
        runs[0].theorem,
        _geometric_mean(ratios, held),
        _geometric_mean(ratios, 1 - held),
        float(np.mean([run.informative for run in runs])),
        throughout,
    )


def _geometric_mean(values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> float:
    """The geometric mean of the values with a weight above 0; NaN if there are none."""
    counted = weights > 0
    if not counted.any():
        return float("nan")
    with np.errstate(divide="ignore"):
        return float(np.exp(np.average(np.log(values[counted]), weights=weights[counted])))


# ---- rankings ----


@dataclass(frozen=True)
class ValidRow:
    """A valid row in the ranking of a group of tasks.

    Attributes:
        row: The row.
        place: Of its tie group, such as "2="; "" where too few repetitions tell.
        mean_rank: Mean over tasks and repetitions of its rank among the valid rows; NaN where it is not ranked.
        regret: Regret over that of uniform sampling, mean over the tasks of the group.
    """

    row: GuaranteeRow
    place: str
    mean_rank: float
    regret: float


@dataclass(frozen=True)
class ValidList:
    """The valid rows that claim all tasks of a group, so that all are compared on the same tasks.

    Attributes:
        name: Name of the group.
        tasks: Its tasks.
        rows: From the best mean rank to the worst.
    """

    name: str
    tasks: tuple[str, ...]
    rows: tuple[ValidRow, ...]


@dataclass(frozen=True)
class GuaranteeBoard:
    """A board of guarantees.

    Attributes:
        plan: How runs were measured, and to which failure probability all bands are held.
        tasks: The tasks that decide.
        rows: All rows, in the order of the suite.
        lists: The rankings of valid rows, one a group of tasks.
        below: All rows that are not valid: by regret, those that played all tasks first.
    """

    plan: AuditPlan
    tasks: tuple[str, ...]
    rows: tuple[GuaranteeRow, ...]
    lists: tuple[ValidList, ...]
    below: tuple[GuaranteeRow, ...]

    @property
    def valid(self) -> tuple[GuaranteeRow, ...]:
        """The valid rows."""
        return tuple(row for row in self.rows if row.verdict.category == "valid")

    @property
    def measured_throughout(self) -> tuple[GuaranteeRow, ...]:
        """The rows of which every run that is held against them was measured after every turn."""
        return tuple(row for row in self.rows if row.cells and row.throughout(self.plan) == row.verdict.runs)

    @property
    def unlisted(self) -> tuple[GuaranteeRow, ...]:
        """Valid rows that claim no group of tasks whole."""
        listed = {one.row.agent for ranking in self.lists for one in ranking.rows}
        return tuple(row for row in self.valid if row.agent not in listed)


def guarantee_board(
    view: Store,
    summary: Summary,
    plan: AuditPlan,
    rankings: Mapping[str, TaskRanking | None] | None = None,
) -> GuaranteeBoard:
    """Judge the rows of a suite with a plan for audits, and rank them.

    Args:
        view: The runs.
        summary: The same, reduced.
        plan: That of their suite.
        rankings: The ranking of all agents on each task by cumulative regret; None to make them.
    """
    rows = tuple(guarantee_rows(view, summary, plan))
    found = {task: task_ranking(summary, task) for task in summary.tasks} if rankings is None else rankings
    groups = {name: tuple(task for task in group if task in summary.tasks) for name, group in plan.groups.items()}
    deciding = tuple(task for group in groups.values() for task in group)
    others = [row for row in rows if row.verdict.category != "valid"]
    return GuaranteeBoard(
        plan,
        deciding,
        rows,
        tuple(_ranked(summary, name, tasks, rows, found) for name, tasks in groups.items() if tasks),
        tuple(sorted(others, key=lambda row: (-row.played(deciding), row.mean_regret(deciding)))),
    )


def _valid_on(rows: tuple[GuaranteeRow, ...], tasks: tuple[str, ...]) -> list[str]:
    """The valid rows that claim all of some tasks."""
    return [
        row.agent for row in rows if row.verdict.category == "valid" and all(t in row.verdict.claimed for t in tasks)
    ]


def _ranked(
    summary: Summary,
    name: str,
    tasks: tuple[str, ...],
    rows: tuple[GuaranteeRow, ...],
    rankings: Mapping[str, TaskRanking | None],
) -> ValidList:
    agents = _valid_on(rows, tasks)
    over = ranking_over(summary, tasks, rankings, agents) if agents else None
    found = []
    for row in rows:
        if row.agent not in agents:
            continue
        place, mean_rank = "", float("nan")
        if over is not None and row.agent in over.agents:
            i = over.agents.index(row.agent)
            mean_rank = over.mean_rank[i].estimate
            place = over.place(i) if over.ranking.is_told else ""
        found.append(ValidRow(row, place, mean_rank, row.mean_regret(tasks)))
    found.sort(key=lambda one: (np.isnan(one.mean_rank), one.mean_rank, one.regret))
    return ValidList(name, tasks, tuple(found))
