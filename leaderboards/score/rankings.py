"""Rankings of a results folder, per task and over the tasks of a class, by `leaderboards.score.frames`.

Of tasks on arms and on boxes, or with different feedback, few agents play all: a mean rank is over one class.

| symbol | meaning |
|---|---|
| block | one repetition of one task: all agents face the same instance, noise and delays |
| score | regret ratio at the horizon, cumulative regret where uniform sampling did not run; or another of `CRITERIA` |
| own | agents that somebody compares with those of a board: their pairs with the others are a family of its own |
| class | tasks with the same domain and feedback model; all tasks, if the same agents play them |
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpbandit_envs.channels import as_channel
from leaderboards.play.measures import IN_UNITS, RANKED_BY
from leaderboards.play.protocol_checks import words_of
from leaderboards.score.frames import OverallRanking, TaskRanking, complete, overall_ranking, rank_task
from leaderboards.score.scores import Block
from leaderboards.score.summary import REFERENCES, Summary

CRITERIA = (*RANKED_BY, *IN_UNITS)
"""Metrics that agents can be ranked by; cumulative regret as a ratio where that is known."""


@dataclass(frozen=True)
class TaskClass:
    """Tasks over which agents are ranked together.

    Attributes:
        name: Such as "arms", or "arms, batches of 8" where feedback differs; "all environments" if it is alone.
        tasks: Its tasks, in the order of the summary.
    """

    name: str
    tasks: tuple[str, ...]


def task_classes(summary: Summary) -> tuple[TaskClass, ...]:
    """The classes of the tasks of a folder, in the order of their first tasks.

    Tasks of the suite on which the same agents have finished runs in all classes are one class.
    """
    classes: dict[tuple[str, str], list[str]] = {}
    for name, task in summary.tasks.items():
        classes.setdefault((task.domain, task.feedback), []).append(name)
    listed = {name for name, task in summary.tasks.items() if task.in_suite}
    played = {
        kind: {agent for task, agent in summary.scores if task in tasks and task in listed}
        for kind, tasks in classes.items()
    }
    found = [agents for agents in played.values() if agents]
    if all(agents == found[0] for agents in found):
        return (TaskClass("all environments", tuple(summary.tasks)),)
    several = len({feedback for _, feedback in classes}) > 1
    named: dict[str, list[str]] = {}
    for (domain, feedback), tasks in classes.items():
        name = domain or "nothing finished"
        if several and domain:
            name += f", {words_of(as_channel(feedback))}"
        named.setdefault(name, []).extend(tasks)
    return tuple(TaskClass(name, tuple(tasks)) for name, tasks in named.items())


def task_ranking(summary: Summary, task: str, by: str = "cumulative_regret") -> TaskRanking | None:
    """The ranking on `task`; None where no regret is known or nothing has finished.

    Args:
        summary: The folder, reduced.
        task: The task.
        by: One of `CRITERIA`.

    Raises:
        ValueError: if `by` is none of them.
    """
    found = ranked_on(summary, task, by)
    if found is None:
        return None
    agents, blocks = found
    by_agent = summary.on(task)
    metric, Y = by, np.zeros((0, 0))
    # The ratio is undefined where uniform sampling has no regret, or has not played every block.
    for metric in ("regret_ratio", by) if by == "cumulative_regret" and summary.reference(task) else (by,):
        Y = np.stack([by_agent[name].on(blocks).finals[metric] for name in agents], axis=1)
        if np.isfinite(Y).all():
            break
    return rank_task(metric, agents, blocks, Y, summary.own)


def ranked_on(
    summary: Summary, task: str, by: str = "cumulative_regret"
) -> tuple[tuple[str, ...], tuple[Block, ...]] | None:
    """The agents that are ranked on a task, and the blocks that their ranks rest on; None if there are none.

    Raises:
        ValueError: if `by` is none of `CRITERIA`.
    """
    if by not in CRITERIA:
        raise ValueError(f"by: expected one of {', '.join(CRITERIA)}, got {by!r}")
    by_agent = {name: scores for name, scores in summary.on(task).items() if np.isfinite(scores.finals[by]).all()}
    return complete({name: scores.blocks for name, scores in by_agent.items()})


def ranked_scores(summary: Summary, rankings: Mapping[str, TaskRanking | None]) -> Summary:
    """The summary with those scores alone that ranks rest on, where an agent is ranked; others keep all that they have.

    In a folder that is half played, means over all finished repetitions of each agent are of other instances than the
    ranks, and of other ones than those of its rivals.
    """
    scores = {}
    for (task, agent), found in summary.scores.items():
        ranking = rankings[task]
        scores[task, agent] = found if ranking is None or agent not in ranking.agents else found.on(ranking.blocks)
    return replace(summary, scores=scores)


def class_rankings(
    summary: Summary,
    classes: Iterable[TaskClass],
    rankings: Mapping[str, TaskRanking | None],
) -> dict[str, OverallRanking]:
    """By name of the class, the ranking over its tasks, see `ranking_over`; a class without one is left out."""
    found = {one.name: ranking_over(summary, one.tasks, rankings) for one in classes}
    return {name: over for name, over in found.items() if over is not None}


def ranking_over(
    summary: Summary,
    tasks: Iterable[str],
    rankings: Mapping[str, TaskRanking | None],
    agents: Collection[str] | None = None,
) -> OverallRanking | None:
    """The ranking over those of `tasks` that the suite asks for.

    Returns:
        The ranking; None if no agent is ranked on all of them, or only one of several: it is no winner.
    """
    listed = [task for task in tasks if summary.tasks[task].in_suite]
    found = overall_ranking({task: rankings[task] for task in listed}, agents, summary.own)
    alone = len({agent for task in listed for agent in summary.on(task) if agents is None or agent in agents}) == 1
    return None if found is None or (len(found.agents) == 1 and not alone) else found


def no_better_than_uniform(summary: Summary, among: Container[str] | None = None) -> dict[str, dict[str, float]]:
    """Agents whose mean regret ratio is at least 1 on tasks of the suite, with the ratio on each of those.

    The ratio is over the runs of the same repetitions; uniform sampling itself is left out.
    """
    found: dict[str, dict[str, float]] = {}
    for agent, ref in summary.agents.items():
        if ref.id in REFERENCES or (among is not None and agent not in among):
            continue
        for task, about in summary.tasks.items():
            scores = summary.scores.get((task, agent))
            if scores is None or not about.in_suite:
                continue
            ratio = scores.finals["regret_ratio"]
            paired = ratio[np.isfinite(ratio)]
            if len(paired) and paired.mean() >= 1:
                found.setdefault(agent, {})[task] = float(paired.mean())
    return found
