"""Prints the ranking of a results folder. Warns about agents that are worse than uniform sampling."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from gpbandit_envs.arguments import did_you_mean
from leaderboards.cli.against import board_or_folder
from leaderboards.cli.errors import UserError, user_errors
from leaderboards.cli.guarantee import guarantee_lines
from leaderboards.cli.terminal import say
from leaderboards.score.criteria import BoardScores, alike, board_scores
from leaderboards.score.frames import OverallRanking, TaskRanking
from leaderboards.score.metrics import METRICS
from leaderboards.score.participation import Participation, participation_of
from leaderboards.score.rankings import RANKED_BY, class_rankings, no_better_than_uniform, task_classes
from leaderboards.score.rankings import task_ranking as rank_on
from leaderboards.score.scores import N_POINTS
from leaderboards.score.summary import Summary, summarise
from leaderboards.store.store import StoreView
from leaderboards.store.union import Joined

__all__ = ["check_metric", "criteria_help", "ranking", "short_ranking"]

_SHOWN = 5
_POINTS = 2  # of each curve: only the end is looked at


criteria_help = f"{', '.join(RANKED_BY[:-1])} or {RANKED_BY[-1]}."
"""Help of an option that names a criterion."""


def check_metric(name: str, option: str = "--rank-by") -> None:
    """Check the name of a criterion to rank by.

    Raises:
        UserError: if agents cannot be ranked by it.
    """
    if name not in RANKED_BY:
        raise UserError(f"{option}: expected one of {', '.join(RANKED_BY)}, got {name!r}")


def ranking(
    results: Annotated[str, typer.Argument(help="Results folder, or the name of a board.")],
    by: Annotated[str, typer.Option(help=criteria_help)] = "cumulative_regret",
    against: Annotated[str | None, typer.Option(help="Rank the runs of the folder among those of this board.")] = None,
    valid: Annotated[
        bool, typer.Option("--valid", help="Rank only agents whose bands held, and say why the others are left out.")
    ] = False,
    why: Annotated[
        str | None,
        typer.Option(metavar="AGENT", help="Say only what this agent did on each environment; by its label or id."),
    ] = None,
) -> None:
    """Print the ranking of a results folder or a board.

    A score is at most 100, which is no regret. A score of 0 is as good as one uniform draw. Beside it are the place,
    two intervals, and the share of tasks won against each other agent.
    """
    check_metric(by, "--by")
    if valid and (by != "cumulative_regret" or why is not None):
        raise UserError(
            "--valid: expected neither --by nor --why beside it; valid rows are ranked by cumulative regret"
        )
    if why is not None and by != "cumulative_regret":
        raise UserError("--why: expected no --by beside it; it says what an agent did, whatever the criterion")
    found = board_or_folder(results, against)
    with user_errors(Path(results)):
        if not found.keys():
            raise UserError(f"{results} holds no readable run: give `gpbandit run SUITE --out {results}` first")
        if valid and ((suite := found.suite()) is None or suite.audit is None):
            raise UserError(
                f"--valid: expected runs of a suite with the key audit, such as guarantee-v1, got {results}"
            )
        summary = summarise(found, _POINTS if why is None else N_POINTS)
    if why is not None:
        for line in why_lines(summary, why):
            say(line)
        return
    if valid:
        for line in guarantee_lines(found, summary):
            say(line)
        return
    aliases, classes = alike(summary), task_classes(summary)
    for one in classes:
        scores = board_scores(summary, one.tasks, by, aliases=aliases)
        name = f"{one.name}: " if len(classes) > 1 else ""
        if scores is None:
            say(f"{name}no agent has a score on every environment")
            continue
        for line in score_lines(name, scores, participation_of(summary, scores)):
            say(line)


def why_lines(summary: Summary, name: str) -> Iterator[str]:
    """The lines of `gpbandit ranking --why`: what an agent did on each environment.

    Raises:
        UserError: if there is no such agent.
    """
    from leaderboards.show.why import deed

    named = [agent for agent, ref in summary.agents.items() if name in (agent, ref.id)]
    if not named:
        raise UserError(f"--why: no agent {name!r}; {did_you_mean(name, summary.agents)}")
    for agent in named:
        yield f"{agent}; costs are regret per evaluation over that of a uniform draw"
        for task in summary.tasks:
            if text := deed(summary, task, agent):
                yield f"  {task}: {text}"


def score_lines(name: str, found: BoardScores, told: Participation) -> Iterator[str]:
    """The lines of `gpbandit ranking` on one class of tasks."""
    n, k = len(found.tasks), len(found.agents)
    environments = f"{n} environment{'' if n == 1 else 's'}"
    agents, places = ("1 agent", "a place needs a rival") if k == 1 else (f"{k} agents", f"places {found.where}")
    yield f"{name}{METRICS[found.by].title.lower()}, {environments}, {agents}; {places}"
    yield f"  {'place':<6}{'score':>6}  {'on tasks like these':<20}{'on these tasks':<20}{'won':>5}  agent"
    for agent in found.ordered:
        i = found.agents.index(agent)
        place = found.ranking.marked(int(found.ranking.group[i])) if k > 1 else ""
        wide, narrow = found.wide[i], found.narrow[i]
        won = f"{found.wins[i]:.0%}" if np.isfinite(found.wins[i]) else ""
        ends = [f"{each.low:.1f} to {each.high:.1f}" if each.is_known else "" for each in (wide, narrow)]
        names = " = ".join((agent, *found.aliases.get(agent, ())))
        yield f"  {place:<6}{wide.estimate:>6.1f}  {ends[0]:<20}{ends[1]:<20}{won:>5}  {names}"
    if not found.ranking.is_told:
        yield "  too few repetitions for places"
    yield from (f"  {line}" for line in told.lines(found.tied_first if found.ranking.is_told and k > 1 else None))
    for task, why in found.left_out.items():
        yield f"  without a score: {task}, as {why}"
    for why, unplaced in found.unplaced.items():
        yield f"  without a place, {why}: {', '.join(unplaced)}"


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
        lines.append(f"  what it did: {shlex.join(['gpbandit', 'ranking', str(store.directory), '--why', agent])}")
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
