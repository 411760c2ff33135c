"""Gymnasium environments for Gaussian-process bandits; importing this package registers their ids."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from gpbandit_envs.registry import register_all
from gpbandit_envs.version import __version__

if TYPE_CHECKING:
    import gpbandit_envs.problem
    from gpbandit_envs.own import from_function, from_table

__all__ = ["__version__", "from_function", "from_table", "problem_of"]

register_all()


def problem_of(env: gym.Env[Any, Any]) -> gpbandit_envs.problem.Problem:
    """What a policy may know of the function in `env`: its arms or box, kernel, noise and horizon.

    `env` may be wrapped; a `DelayedFeedback` adds what may be known of the delay.

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
    from gpbandit_envs.wrappers.delay import DelayedFeedback

    while env is not env.unwrapped:
        if isinstance(env, DelayedFeedback):
            return replace(problem, delay=env.delay)
        env = env.env  # type: ignore[attr-defined]
    return problem


def __dir__() -> list[str]:
    """The public names too that no one has used yet."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import `from_table` and `from_function` at first use: registering the ids needs neither NumPy nor pandas."""
    if name not in ("from_function", "from_table"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gpbandit_envs import own

    return getattr(own, name)
