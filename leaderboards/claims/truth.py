"""What the runs of a claim were played on: the problem that policies were told, and the true means."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from gpbandit_envs.gp.kernels import Kernel
from gpbandit_envs.problem import Problem
from leaderboards.claims.runs import Runs
from leaderboards.play.build import build_env
from leaderboards.play.run import stated_problem
from leaderboards.play.spec import Ref, RunSpec, env_seed
from leaderboards.play.suite import load_suite

__all__ = ["drawn", "of_each", "told", "truth"]


def told(problem: Problem) -> tuple[Float[np.ndarray, "A d"], Kernel, float]:
    """Arms, kernel and noise (its standard deviation) of a problem that states them."""
    assert problem.arms is not None
    assert problem.kernel is not None
    assert problem.noise_std is not None
    return problem.arms, problem.kernel, problem.noise_std


def drawn(env: Ref, horizon: int, seed: int) -> tuple[Problem, Float[np.ndarray, " A"]]:
    """Problem and means of the arms of an environment of finite arms that is reset with a seed."""
    made = build_env(env, horizon)
    try:
        made.reset(seed=seed)
        problem = stated_problem(made, horizon)
        return problem, np.asarray(made.unwrapped.mean(np.arange(problem.n_arms)), np.float64)  # type: ignore[attr-defined]
    finally:
        made.close()


@functools.cache
def truth(suite_name: str, task: str, repetition: int) -> tuple[Problem, Float[np.ndarray, " A"]]:
    """The same in one repetition of a suite's task.

    Args:
        suite_name: Name of the suite.
        task: Label of one of its environments.
        repetition: Which repetition.
    """
    suite = load_suite(suite_name)
    env = next(entry.ref for entry in suite.environments if entry.ref.label == task)
    spec = RunSpec(env=env, agent=suite.agents[0].ref, repetition=repetition, horizon=suite.horizon, seed=suite.seed)
    return drawn(env, suite.horizon, env_seed(spec))


def of_each(number: Callable[..., Any], runs: Runs, suite_name: str, row: str, repetitions: Sequence[int]) -> list[Any]:
    """`number(problem, means, arms, rewards)` of each run of a row, of the truth that it was played on; made once."""
    pulls, rewards = runs.column(row, "action", repetitions), runs.column(row, "reward", repetitions)
    task = row.partition("@")[2]
    return [
        _number(number, suite_name, task, r, arms.astype(np.int64).tobytes(), y.astype(np.float64).tobytes())
        for r, arms, y in zip(repetitions, pulls, rewards, strict=True)
    ]


@functools.cache
def _number(number: Callable[..., Any], suite_name: str, task: str, repetition: int, arms: bytes, y: bytes) -> Any:
    return number(*truth(suite_name, task, repetition), np.frombuffer(arms, np.int64), np.frombuffer(y, np.float64))
