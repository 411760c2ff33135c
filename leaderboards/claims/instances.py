"""The problem and the mean function of one repetition of a suite's task, for figures that runs alone do not hold."""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Float

from gpbandit_envs.problem import Problem
from leaderboards.play.build import build_env
from leaderboards.play.run import stated_problem
from leaderboards.play.spec import RunSpec
from leaderboards.play.streams import env_seed
from leaderboards.play.suite import load_suite

__all__ = ["instance"]


@functools.cache
def instance(suite_name: str, task: str, repetition: int) -> tuple[Problem, Float[np.ndarray, " A"]]:
    """Problem and means of the arms.

    Args:
        suite_name: Name of a suite of finite arms.
        task: Label of one of its environments.
        repetition: Which repetition.
    """
    suite = load_suite(suite_name)
    env_ref = next(entry.ref for entry in suite.environments if entry.ref.label == task)
    spec = RunSpec(
        env=env_ref, agent=suite.agents[0].ref, repetition=repetition, horizon=suite.horizon, seed=suite.seed
    )
    env = build_env(env_ref, suite.horizon)
    try:
        env.reset(seed=env_seed(spec))
        problem = stated_problem(env, suite.horizon)
        return problem, np.asarray(env.unwrapped.mean(np.arange(problem.n_arms)), np.float64)  # type: ignore[attr-defined]
    finally:
        env.close()
