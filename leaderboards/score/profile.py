"""Capability profile: what agents are good at, as mean scores over groups of tasks.

The score is that by cumulative regret, see `leaderboards.score.board_scores`: 0 is as good as uniform draws, 100 is no
regret. A task may be in several groups, and a group of fewer than `LEAST_IN_GROUP` tasks says nothing of its kind.

The groups are told apart by what a task is, not by who does well on it, in the manner of bsuite: Osband et al. (2020),
Behaviour suite for reinforcement learning, ICLR.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from gpbandit_envs.channels import Channel, as_channel
from gpbandit_envs.problem import Problem
from gpbandit_envs.registry import WITH_DATA
from leaderboards.score.board_scores import run_scores
from leaderboards.score.summary import Summary
from leaderboards.score.tasks import Task

LEAST_IN_GROUP = 3
"""Tasks below which a group is not shown."""

_MANY_ARMS, _MANY_DIMENSIONS = 1_000, 5
_NOISY = 0.25  # standard deviation of the noise of one evaluation, over the mean gap


class TaskFacts(NamedTuple):
    """What tells the groups apart: the task, and 0 arms, 0 dimensions or NaN noise (over the mean gap) if unknown."""

    task: Task
    channel: Channel
    n_arms: int
    dim: int
    noise: float


class TaskGroup(NamedTuple):
    """A group of tasks: its key, the heading of its column, which tasks are in it, in words and as a test."""

    name: str
    title: str
    meaning: str
    holds: Callable[[TaskFacts], bool]


class GroupScore(NamedTuple):
    """The mean score, at most 100, of an agent over those tasks of a group that it has finished, and of how many."""

    score: float
    tasks: tuple[str, ...]
    of: int


GROUPS = (
    TaskGroup(
        "batches",
        "Batches",
        "feedback in batches, or from parallel workers",
        lambda facts: facts.channel.name in ("batch", "workers") and facts.channel.value > 1,
    ),
    TaskGroup(
        "delay", "Delay", "delayed feedback", lambda facts: facts.channel.name in ("delay", "geometric", "poisson")
    ),
    TaskGroup(
        "misspecification",
        "Misspecification",
        "a stated kernel or noise that is wrong by a known factor",
        lambda facts: facts.task.knowledge == "misspecified",
    ),
    TaskGroup("many_arms", "Many arms", f"{_MANY_ARMS:,} arms or more", lambda facts: facts.n_arms >= _MANY_ARMS),
    TaskGroup(
        "many_dimensions",
        "Many dimensions",
        f"{_MANY_DIMENSIONS} features or coordinates, or more",
        lambda facts: facts.dim >= _MANY_DIMENSIONS,
    ),
    TaskGroup(
        "noise",
        "Noise",
        "noise of one evaluation with a standard deviation of at least a quarter of the mean gap",
        lambda facts: facts.noise >= _NOISY,
    ),
    TaskGroup(
        "unknown_kernel",
        "Unknown kernel",
        "a kernel that is a modelling choice, or not stated",
        lambda facts: facts.task.knowledge in ("certified", "learned"),
    ),
    TaskGroup(
        "real_data", "Real data", "arms or rewards from measurements", lambda facts: facts.task.env.id in WITH_DATA
    ),
)
"""All groups, in the order of the columns."""


def grouped(summary: Summary, problems: Mapping[str, Problem]) -> dict[str, tuple[str, ...]]:
    """By name of the group, the tasks of the suite in it that have a score; without groups of few.

    `problems` has those of the first instances of tasks, where they could be built.
    """
    scored = [task for task, about in summary.tasks.items() if about.in_suite and _means(summary, task)]
    facts = {task: _facts(summary, task, problems.get(task)) for task in scored}
    found = {group.name: tuple(task for task in scored if group.holds(facts[task])) for group in GROUPS}
    return {name: tasks for name, tasks in found.items() if len(tasks) >= LEAST_IN_GROUP}


def group_scores(summary: Summary, groups: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, GroupScore]]:
    """Scores by agent and group; absent where an agent has finished no task of a group."""
    means = {task: _means(summary, task) for task in dict.fromkeys(sum(groups.values(), ()))}
    found: dict[str, dict[str, GroupScore]] = {agent: {} for agent in summary.agents}
    for group, tasks in groups.items():
        for agent in summary.agents:
            scores = {task: means[task][agent] for task in tasks if agent in means[task]}
            if scores:
                found[agent][group] = GroupScore(float(np.mean(list(scores.values()))), tuple(scores), len(tasks))
    return found


def _means(summary: Summary, task: str) -> dict[str, float]:
    """Mean score by agent, where it is known of every repetition."""
    means = {agent: float(run_scores(scores, "cumulative_regret").mean()) for agent, scores in summary.on(task).items()}
    return {agent: mean for agent, mean in means.items() if math.isfinite(mean)}


def _facts(summary: Summary, task: str, problem: Problem | None) -> TaskFacts:
    about = summary.tasks[task]
    channel = as_channel(about.feedback)
    if problem is None:
        n_arms, dim = (v if isinstance(v := about.env.kwargs.get(name), int) else 0 for name in ("n_arms", "dim"))
        return TaskFacts(about, channel, n_arms, dim, math.nan)
    gap = float(next(iter(summary.on(task).values())).mean_gaps.mean())  # of a family of instances as of one
    noise = problem.noise_std / gap if problem.noise_std is not None and gap > 0 else math.nan
    return TaskFacts(about, channel, 0 if problem.arms is None else len(problem.arms), problem.dim, noise)
