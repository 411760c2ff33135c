"""Gymnasium environments for Gaussian-process bandits; importing this package registers their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium as gym

from gpbandit_envs.registry import register_all
from gpbandit_envs.version import __version__

if TYPE_CHECKING:
    import gpbandit_envs.problem

__all__ = ["__version__", "problem_of"]

register_all()


def problem_of(env: gym.Env[Any, Any]) -> gpbandit_envs.problem.Problem:
    """What a policy may know of the function in `env`: its arms or box, kernel, noise and horizon.

    `env` may be wrapped.

    >>> import gymnasium
    >>> problem_of(gymnasium.make("GPBandit/Branin-v0")).dim
    2

    Raises:
        TypeError: if `env` is no environment of this package or states no `problem`.
    """
    from gpbandit_envs.problem import Problem  # here, since importing it takes longer than all the rest

    problem = getattr(env.unwrapped, "problem", None)
    if not isinstance(problem, Problem):
        raise TypeError(f"env: expected an environment with a Problem as env.unwrapped.problem, got {env}")
    return problem
