"""Prints rankings of a results folder or a board.

Warns about agents that are worse than uniform sampling.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from leaderboards.cli.errors import UserError, option_errors, results_folder, user_errors
from leaderboards.cli.terminal import say
from leaderboards.play.suite import Suite
from leaderboards.publish.boards import Board, board, board_names, open_results, rivals_of
from leaderboards.score.board_scores import BoardScores, alike, board_scores
from leaderboards.score.frames import OverallRanking
from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import CRITERIA, no_better_than_uniform, ranking_over, task_classes, task_ranking
from leaderboards.score.summary import Summary, summarise
from leaderboards.store.store import Store
from leaderboards.store.union import Joined

_SHOWN = 5
_POINTS = 2  # of each curve: only the end is looked at

criteria_help = f"{', '.join(CRITERIA[:-1])} or {CRITERIA[-1]}; by default what the suite ranks by."
"""Help of an option that names a criterion."""


def check_metric(name: str | None, option: str = "--rank-by") -> None:
    """Check the name of a criterion to rank by.

    Raises:
        UserError: if agents cannot be ranked by it.
    """
    if name is not None and name not in CRITERIA:
        raise UserError(f"{option}: expected one of {', '.join(CRITERIA)}, got {name!r}")


def ranking(
    results: Annotated[str, typer.Argument(help="Results folder, or the name of a board.")],
    by: Annotated[str | None, typer.Option(help=criteria_help)] = None,
    against: Annotated[str | None, typer.Option(help="Rank the runs of the folder among those of this board.")] = None,
) -> None:
    """Print the ranking of a results folder or a board.

    A score is at most 100, which is no regret. A score of 0 is as good as one uniform draw, or a regret of one unit by
    the criteria of laboratories, which begin with "recommended" or are "best_measured". Beside it are the place,
    two intervals, and the share of tasks won against each other agent.
    """
    check_metric(by, "--by")
    found = board_or_folder(results, against)
    with user_errors(Path(results)):
        if not found.keys():
            raise UserError(f"{results} holds no readable run: give `gpbandit run SUITE --out {results}` first")
        summary = summarise(found, _POINTS)
    for line in _score_lines(summary, by or summary.headline):
        say(line)


def _score_lines(summary: Summary, by: str) -> Iterator[str]:
    """The lines of `gpbandit ranking`, by class of tasks."""
    aliases, classes = alike(summary), task_classes(summary)
    for task, why in summary.unplayed.items():
        yield f"nobody could play {task}: {why}"
    for one in classes:
        found = board_scores(summary, one.tasks, by, aliases=aliases)
        name = f"{one.name}: " if len(classes) > 1 else ""
        if found is None:
            yield f"{name}no agent has a score on every environment"
            continue
        head = "group" if found.in_groups else "place"
        n, k = len(found.tasks), len(found.agents)
        agents, places = ("1 agent", "a place needs a rival") if k == 1 else (f"{k} agents", f"{head}s {found.where}")
        yield f"{name}{METRICS[by].title.lower()}, {_counted(n)}, {agents}; {places}"
        yield f"  {head:<6}{'score':>6}  {'on tasks like these':<20}{'on these tasks':<20}{'won':>5}  agent"
        yield from (_score_line(found, group) for group in found.groups)
        if k > 1:
            yield f"  {found.sentence(*found.ordered[:2])}"
        if not found.ranking.is_told:
            yield "  too few repetitions for places"
        yield from (f"  {line}" for one_of in found.reliability for line in one_of.lines())
        for task, why in found.left_out.items():
            yield f"  without a score: {task}, as {why}"
        for why, unplaced in found.unplaced.items():
            yield f"  without a place, {why}: {', '.join(unplaced)}"


def _score_line(found: BoardScores, group: Sequence[str]) -> str:
    i = found.agents.index(group[0])
    place = found.place(i) if len(found.agents) > 1 else ""
    won = f"{found.wins[i]:.0%}" if np.isfinite(found.wins[i]) else ""
    both = (found.wide[i], found.narrow[i])
    ends = [f"{each.low:.1f} to {each.high:.1f}" if each.is_known else "" for each in both]
    return f"  {place:<6}{both[0].estimate:>6.1f}  {ends[0]:<20}{ends[1]:<20}{won:>5}  {' = '.join(group)}"


def _counted(n: int) -> str:
    return f"{n} environment{'' if n == 1 else 's'}"


def short_ranking(store: Store, also: Container[str] = ()) -> Iterator[str]:
    """Lines that say who leads in each class of environments, and who ended no better than uniform sampling.

    Args:
        store: The results.
        also: Agents that are named even where they do not lead, as those that a folder adds to a board; of the others
            only the ranks are told where there is a board.
    """
    summary = summarise(store, _POINTS)
    by, classes, aliases = summary.headline, task_classes(summary), alike(summary)
    for one in classes:
        found: BoardScores | OverallRanking | None = board_scores(summary, one.tasks, by, aliases=aliases)
        if found is None:
            listed = [task for task in one.tasks if summary.tasks[task].in_suite]
            found = ranking_over(summary, listed, {task: task_ranking(summary, task, by) for task in listed})
        if found is None or len(found.agents) == 1:
            continue
        groups = found.groups if isinstance(found, BoardScores) else tuple((agent,) for agent in found.ordered)
        k = sum(map(len, groups))
        of = f"{one.name}, " if len(classes) > 1 else ""
        what = f"{of}{_counted(len(found.tasks))}, {k} agents that played all of it"
        yield f"ranking by {METRICS[by].title.lower()}: {what}"
        shown = [group for i, group in enumerate(groups) if i < _SHOWN or any(name in also for name in group)]
        for group in shown:
            i = found.agents.index(group[0])
            if isinstance(found, BoardScores):
                number = f"score {found.S[:, i].mean():.1f}"
            else:
                number = f"mean rank {found.mean_rank[i].estimate:.2f}"
            yield f"  {found.place(i):<4}{' = '.join(group)}  ({number})"
        if k > (told := sum(map(len, shown))):
            yield f"  and {k - told} more"
        if found.ranking.caveat:
            yield f"  {found.ranking.caveat}"
    for agent, ratios in no_better_than_uniform(summary, also if isinstance(store, Joined) else None).items():
        where = ", ".join(f"{task} ({ratio:.2f})" for task, ratio in ratios.items())
        yield f"{agent} ended no better than uniform sampling, by its regret ratio, on {where}"


# ---- the board that `--against` names ----


def rivals_on(against: str, suite: Suite) -> Board:
    """The board that `--against` names.

    Raises:
        UserError: if there is none, or it has no run of a task of the suite.
    """
    with option_errors("against", board="against"):
        return rivals_of(against, suite)


def opened(directory: Path, against: str | None = None) -> Store:
    """A results folder, joined with the board of `--against` or with the one that it was played against.

    Raises:
        UserError: if there is none.
    """
    with option_errors("against", board="against"):
        return open_results(directory, against)


def board_or_folder(results: str, against: str | None) -> Store:
    """The board of that name, or the results folder as `opened` gives it."""
    with user_errors(Path(results)):
        if results not in board_names():
            return opened(results_folder(Path(results)), against)
        if against is not None:
            raise UserError("--against: expected a results folder before it, got the name of a board")
        return board(results)
