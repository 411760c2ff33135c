"""What a page builds again of a task: its first problem instance, and its agents for their theory."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from agents import Agent
from gpbandit_envs.datasets import cached_only
from gpbandit_envs.gp.threads import one_blas_thread
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_agent, is_own_env, loaded_agent
from leaderboards.play.run import instance_env
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.summary import Summary
from leaderboards.score.theory import TheoryReport, theory_report

MOST_ARMS = 100_000
"""Largest number in the settings of an environment that is built again for a page."""

_MOST_COORDINATES = 1e8  # the product of all its whole numbers, such as arms times dimensions
_log = logging.getLogger("gpbandit")


def check_size(kwargs: Mapping[str, Any]) -> None:
    """Check the settings of an environment that results name, which may be a stranger's, before it is built.

    Raises:
        ValueError: if they ask for more than `MOST_ARMS` arms, or as much in another way.
    """
    for name, value in kwargs.items():
        if isinstance(value, int | float) and abs(value) > MOST_ARMS:
            raise ValueError(f"{name}: no environment is built again for more than {MOST_ARMS:,}, got {value:,}")
    if math.prod(max(value, 1) for value in kwargs.values() if isinstance(value, int)) > _MOST_COORDINATES:
        raise ValueError(f"no environment is built again for settings whose product is above {_MOST_COORDINATES:g}")


def first_problem(summary: Summary, task: str) -> Problem | None:
    """Build the environment of a task as in its first repetition; nothing is downloaded for it.

    Results may be a stranger's: only environments of this project are built, and none that `check_size` refuses.

    Returns:
        What a policy knows of it; None for a task that has no finished run, cannot be built again or is not of this
        project.

    Raises:
        ValueError: if the environment is too large.
        Exception: whatever building the environment raises, as when its data are gone.
    """
    about, by_agent = summary.tasks[task], summary.on(task)
    if not by_agent or not is_own_env(about.env.id):
        return None
    agent, scores = next(iter(by_agent.items()))
    seed, repetition = scores.blocks[0]
    spec = RunSpec(
        env=about.env,
        agent=summary.agents[agent],
        repetition=repetition,
        horizon=about.horizon,
        seed=seed,
        feedback=about.feedback,
        member=about.members.get((seed, repetition), {}),
    )
    if not spec.built.rebuildable:
        return None
    check_size(spec.built.kwargs)
    with cached_only(), instance_env(spec) as (_, problem):
        return problem


def task_theory(summary: Summary, task: str) -> TheoryReport | None:
    """The theory of a task, compared with its runs; only agents that are loaded already are built for it.

    Returns:
        The report; None for a task to which no theory applies, see `theory_report`, or without a first instance.
    """
    problem = first_problem(summary, task)
    if problem is None:
        return None
    built = {name: agent for name in summary.on(task) if (agent := built_agent(summary.agents[name])) is not None}
    with one_blas_thread():  # many small products, which threads only slow down
        return theory_report(summary, task, problem, built)


def built_agent(ref: Ref) -> Agent | None:
    """The agent; None if it is not loaded, or cannot be built, as third-party ones may be."""
    if loaded_agent(ref.id) is None:
        return None
    try:
        return build_agent(ref)
    except Exception as error:
        # As when the package of a submitted run's agent is not installed here.
        _log.info("%s cannot be built, and is compared with no theory: %s", ref.label, error)
        return None
