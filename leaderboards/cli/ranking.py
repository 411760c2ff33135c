"""The ranking of a results folder in a few lines, and what no agent of it should be proud of."""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np

from leaderboards.archive.read import Joined
from leaderboards.cli.errors import UserError
from leaderboards.score.rankings import (
    RANKED_BY,
    OverallRanking,
    TaskRanking,
    class_rankings,
    no_better_than_uniform,
    task_classes,
)
from leaderboards.score.rankings import task_ranking as rank_on
from leaderboards.score.summary import summarise
from leaderboards.store.store import StoreView

__all__ = ["check_metric", "short_ranking"]

_SHOWN = 5
_POINTS = 2  # of each curve: only the end is looked at


def check_metric(name: str) -> None:
    """Check the name of a metric to rank by.

    Raises:
        UserError: if agents cannot be ranked by it.
    """
    if name not in RANKED_BY:
        raise UserError(f"--rank-by: expected one of {', '.join(RANKED_BY)}, got {name!r}")


def short_ranking(store: StoreView, also: Container[str] = ()) -> list[str]:
    """Lines that say who leads in each class of environments, and who ended no better than uniform sampling.

    Args:
        store: The results.
        also: Agents that are named even where they do not lead, as those that a folder adds to a board; of the others
            only the ranks are told where there is a board.
    """
    summary = summarise(store, _POINTS)
    rankings = {task: rank_on(summary, task) for task, about in summary.tasks.items() if about.in_suite}
    classes = task_classes(summary)
    overall = class_rankings(summary, classes, rankings | dict.fromkeys(summary.tasks.keys() - rankings.keys()))
    lines: list[str] = []
    for one in classes:
        if one.name in overall and len(overall[one.name].agents) > 1:
            lines.extend(_lines(one.name if len(classes) > 1 else "", overall[one.name], rankings, also))
    for agent, ratios in no_better_than_uniform(summary, also if isinstance(store, Joined) else None).items():
        where = ", ".join(f"{task} ({ratio:.2f})" for task, ratio in ratios.items())
        lines.append(f"{agent} ended no better than uniform sampling, by its regret ratio, on {where}")
    return lines


def _lines(
    name: str, found: OverallRanking, rankings: dict[str, TaskRanking | None], also: Container[str]
) -> Iterator[str]:
    n, k = len(found.tasks), len(found.agents)
    of = f"{name}, " if name else ""
    yield f"ranking by cumulative regret: {of}{n} environment{'' if n == 1 else 's'}, {k} agents that played all of it"
    shown = [agent for place, agent in enumerate(found.ordered) if place < _SHOWN or agent in also]
    for agent in shown:
        i = found.agents.index(agent)
        place, rank = found.ranking.marked(int(found.ranking.group[i])), found.mean_rank[i].estimate
        yield f"  {place:<4}{agent}  (mean rank {rank:.2f}{_score(agent, found, rankings)})"
    if k > len(shown):
        yield f"  and {k - len(shown)} more"
    if found.caveat:
        yield f"  {found.caveat}"


def _score(agent: str, found: OverallRanking, rankings: dict[str, TaskRanking | None]) -> str:
    """The mean regret ratio over the tasks; empty unless it is known on all of them."""
    means = [
        float(ranking.Y[:, ranking.agents.index(agent)].mean())
        for task in found.tasks
        if (ranking := rankings[task]) is not None and ranking.metric == "regret_ratio"
    ]
    return f", regret ratio {np.mean(means):.3f}" if len(means) == len(found.tasks) else ""
