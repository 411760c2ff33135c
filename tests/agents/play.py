"""Plays an agent on a fixed mean function with feedback on request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import agents
from agents import Agent, Feedback, Pending
from gpbandit_envs.problem import Problem


def noisy(mean: np.ndarray, noise_std: float, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    """Feedback whose noise depends on the number of the evaluation alone."""
    rng = np.random.default_rng(seed)

    def feedback(arms: np.ndarray) -> np.ndarray:
        return mean[arms] + noise_std * rng.standard_normal(len(arms))

    return feedback


def features(problem: Problem) -> np.ndarray:
    """The arms of a problem that has some."""
    assert problem.arms is not None
    return problem.arms


def gram(problem: Problem) -> np.ndarray:
    """The kernel matrix of all arms."""
    assert problem.kernel is not None
    return problem.kernel(features(problem), features(problem))


def in_the_ball(K: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means at all arms of a random function of norm 1."""
    weights = rng.standard_normal(len(K))
    mean: np.ndarray = K @ weights / np.sqrt(weights @ K @ weights)
    return mean


def begun(problem: Problem, id: str, seed: int = 0, **settings: Any) -> Any:
    """The agent of an id at the start of an episode."""
    agent = agents.make(id, **settings)
    agent.reset(problem, np.random.default_rng(seed))
    return agent


def play(
    agent: Agent, problem: Problem, feedback: Callable[[np.ndarray], np.ndarray], seed: int | np.random.Generator
) -> list[list[int]]:
    """The arms of each batch."""
    assert problem.horizon is not None
    agent.reset(problem, np.random.default_rng(seed))
    nothing, played, batches = Pending.empty(problem), 0, []
    one = agent.capabilities.batch != "adaptive"
    while played < problem.horizon:
        arms = agent.select(1 if one else problem.horizon - played, nothing)
        agent.observe(Feedback.of(np.arange(played, played + len(arms)), arms, feedback(arms)))
        batches.append(arms.tolist())
        played += len(arms)
    return batches
