"""Plays a policy that learns the kernel on a stated mean function."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agents import Agent, Feedback, Pending
from gpbandit_envs.problem import Problem

FEW = {"candidates": 64, "starts": 2, "iterations": 20}
"""A short search on boxes, where how well it searches is not the question."""

LINE = np.linspace(0, 1, 60)[:, None]
GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 9)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)


def wave(X: np.ndarray) -> np.ndarray:
    """A mean with two peaks on the unit cube."""
    return np.sin(7 * X[:, 0]) + 0.8 * X[:, -1]


def make_problem(arms: np.ndarray | None = None, dim: int = 2, **fields: object) -> Problem:
    """A problem that states neither kernel nor noise."""
    return Problem(name="test", dim=dim if arms is None else arms.shape[1], arms=arms, **fields)  # type: ignore[arg-type]


def play(
    agent: Agent,
    problem: Problem,
    horizon: int,
    *,
    mean: Callable[[np.ndarray], np.ndarray] = wave,
    noise_std: float = 0.1,
    seed: int = 0,
    after: Callable[[int, Agent], Agent | None] = lambda *_: None,
) -> tuple[Agent, np.ndarray]:
    """The agent after `horizon` evaluations and its actions; `after(t, agent)` may hand over to another agent."""
    agent.reset(problem, np.random.default_rng(seed))
    noise, history = np.random.default_rng(1_000 + seed), []
    for t in range(horizon):
        action = agent.select(1, Pending.empty(problem))
        history.append(action)
        X = action if problem.arms is None else problem.arms[action]
        agent.observe(Feedback.of([t], action, mean(X) + noise_std * noise.standard_normal(1)))
        agent = after(t, agent) or agent
    return agent, np.concatenate(history)
