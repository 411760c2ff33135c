"""The two rankings of a board of guarantees: rows that keep their word, and below a line all others with the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from leaderboards.audit.guarantee_rows import GuaranteeRow, guarantee_rows, kept_words
from leaderboards.play.suite import AuditPlan
from leaderboards.score.frames import TaskRanking
from leaderboards.score.rankings import ranking_over, task_ranking
from leaderboards.score.statistics import LEVEL, Interval
from leaderboards.score.summary import Summary
from leaderboards.store.store import Store

__all__ = ["GuaranteeBoard", "Price", "ValidList", "ValidRow", "guarantee_board", "price_of"]


_DRAWS = 2_000


@dataclass(frozen=True)
class Price:
    """The price of validity.

    Attributes:
        ratio: Mean regret of the best valid row over that of the best row of all; over several tasks their geometric
            mean. At least 1. The interval is the percentiles of a paired bootstrap over repetitions, which chooses the
            best rows anew in each draw.
        valid: The best valid row of each task.
        best: The best row of all.
    """

    ratio: Interval
    valid: dict[str, str]
    best: dict[str, str]


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
        price: What validity costs on these tasks; None where it is not known.
    """

    name: str
    tasks: tuple[str, ...]
    rows: tuple[ValidRow, ...]
    price: Price | None


@dataclass(frozen=True)
class GuaranteeBoard:
    """A board of guarantees.

    Attributes:
        plan: How runs were measured, and to which failure probability all bands are held.
        tasks: The tasks that decide.
        rows: All rows, in the order of the suite.
        lists: The rankings of valid rows, one a group of tasks.
        below: All rows that are not valid: by regret, those that played all tasks first.
        prices: Price of validity by task; absent where no valid row claims it.
    """

    plan: AuditPlan
    tasks: tuple[str, ...]
    rows: tuple[GuaranteeRow, ...]
    lists: tuple[ValidList, ...]
    below: tuple[GuaranteeRow, ...]
    prices: Mapping[str, Price]

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

    @property
    def sentence(self) -> str:
        """How many rows keep their word, and what that costs."""
        costs = [f"{one.price.ratio.estimate:.2g} times ({one.name})" for one in self.lists if one.price is not None]
        cost = f"; keeping it costs at least {' and '.join(costs)} the least regret" if costs else ""
        return kept_words(self.rows) + cost


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
    prices = {task: price_of(summary, [task], _valid_on(rows, (task,))) for task in deciding}
    others = [row for row in rows if row.verdict.category != "valid"]
    return GuaranteeBoard(
        plan,
        deciding,
        rows,
        tuple(_ranked(summary, name, tasks, rows, found) for name, tasks in groups.items() if tasks),
        tuple(sorted(others, key=lambda row: (-row.played(deciding), row.mean_regret(deciding)))),
        {task: price for task, price in prices.items() if price is not None},
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
            place = over.ranking.marked(int(over.ranking.group[i])) if over.ranking.is_told else ""
        found.append(ValidRow(row, place, mean_rank, row.mean_regret(tasks)))
    found.sort(key=lambda one: (np.isnan(one.mean_rank), one.mean_rank, one.regret))
    return ValidList(name, tasks, tuple(found), price_of(summary, tasks, agents))


def price_of(summary: Summary, tasks: Iterable[str], valid: Collection[str]) -> Price | None:
    """The price of validity on tasks; None if one of them has no valid row, or an unknown regret.

    Rows that have not finished all repetitions of a task are left out on it.

    Args:
        summary: The runs, reduced.
        tasks: Labels of tasks, at least one.
        valid: Labels of the valid rows that claim all of them.
    """
    rng = np.random.default_rng(0)
    logs, valids, bests, n = [], {}, {}, 0
    for task in tasks:
        names, Y = _regrets(summary, task)
        allowed = [i for i, name in enumerate(names) if name in valid]
        if not allowed or not np.isfinite(Y).all() or not (Y.mean(axis=0) > 0).all():
            return None
        n = len(Y)
        # The first draw is the sample itself.
        weights = np.concatenate([np.full((1, n), 1 / n), rng.multinomial(n, np.full(n, 1 / n), _DRAWS) / n])
        means = weights @ Y
        kept, least = means[:, allowed].min(axis=1), means.min(axis=1)
        # A draw of repetitions without regret: equal, or infinitely worse.
        ratios = np.divide(kept, least, out=np.where(kept > 0, np.inf, 1.0), where=least > 0)
        logs.append(np.log(ratios))
        valids[task] = names[allowed[int(means[0, allowed].argmin())]]
        bests[task] = names[int(means[0].argmin())]
    means = np.exp(np.mean(logs, axis=0))
    ends = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    # No interpolation, which knows no infinity.
    low, high = np.quantile(means[1:], ends, method="nearest") if n > 1 else (np.nan, np.nan)
    return Price(Interval(float(means[0]), float(low), float(high), n), valids, bests)


def _regrets(summary: Summary, task: str) -> tuple[list[str], Float[np.ndarray, "n k"]]:
    """The rows that finished all repetitions that any did, and their final cumulative regrets."""
    scores = summary.on(task)
    blocks = sorted({block for one in scores.values() for block in one.blocks})
    names = [name for name, one in scores.items() if len(one) == len(blocks)]
    columns = [scores[name].finals["cumulative_regret"][scores[name].rows(blocks)] for name in names]
    return names, np.stack(columns, axis=1) if columns else np.zeros((len(blocks), 0))
