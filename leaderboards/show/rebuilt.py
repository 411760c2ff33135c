"""What a page builds again of a task: its first problem instance, and its agents for their theory."""

from __future__ import annotations

import logging

import numpy as np

from agents import Agent
from gpbandit_envs.datasets import cached_only
from gpbandit_envs.envs.render import box_points
from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_agent, is_own_env, loaded_agent
from leaderboards.play.processor import one_blas_thread
from leaderboards.play.run import instance_env
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.instance import Instance, check_size
from leaderboards.score.summary import Summary
from leaderboards.score.theory import TheoryReport, theory_report

__all__ = ["built_agent", "first_instance", "task_theory"]

_log = logging.getLogger("gpbandit")


def first_instance(summary: Summary, task: str) -> Instance | None:
    """Build the environment of a task as in its first repetition; nothing is downloaded for it.

    Results may be a stranger's: only environments of this project are built, and none whose settings ask for more than
    `leaderboards.score.instance.MOST_ARMS` arms.

    Returns:
        The instance; None for a task that has no finished run, cannot be built again or is not of this project.

    Raises:
        ValueError: if the environment is too large.
        Exception: whatever building the environment raises, as when its data are gone.
    """
    about, by_agent = summary.tasks[task], summary.on(task)
    if not by_agent or not is_own_env(about.env.id):
        return None
    agent, scores = next(iter(by_agent.items()))
    seed, repetition = block = scores.blocks[0]
    spec = RunSpec(
        env=about.env,
        agent=summary.agents[agent],
        repetition=repetition,
        horizon=about.horizon,
        seed=seed,
        feedback=about.feedback,
        member=about.members.get(block, {}),
    )
    if not spec.built.rebuildable:
        return None
    check_size(spec.built.kwargs)
    with cached_only(), instance_env(spec) as (env, problem):
        points = problem.arms
        if points is None and not env.recipe.family.expensive:
            points = box_points(problem.dim)
        mean = None if points is None else np.asarray(env.mean(_actions(problem, points)), np.float64)
        low, high = (None, None) if problem.is_finite else (env.low, env.high)
    return Instance(problem, block, points, mean, low, high)


def task_theory(summary: Summary, task: str, instance: Instance | None = None) -> TheoryReport | None:
    """The theory of a task, compared with its runs.

    Results may be a stranger's: only agents that are loaded already are built, and environments as by `first_instance`.

    Args:
        summary: The folder, reduced.
        task: The task.
        instance: Its first instance; None to build it.

    Returns:
        The report; None for a task to which no theory applies, see `theory_report`, or without a first instance.

    Raises:
        ValueError: if the environment is too large.
        Exception: whatever building the environment raises, as when its data are gone.
    """
    instance = first_instance(summary, task) if instance is None else instance
    if instance is None:
        return None
    built = {name: agent for name in summary.on(task) if (agent := built_agent(summary.agents[name])) is not None}
    with one_blas_thread():  # many small products, which threads only slow down
        return theory_report(summary, task, instance.problem, built)


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


def _actions(problem: Problem, points: np.ndarray) -> np.ndarray:
    return np.arange(len(points)) if problem.is_finite else points
