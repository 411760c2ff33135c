"""Gymnasium environments for Gaussian-process bandits; importing this package registers their ids."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gymnasium as gym

from gpbandit_envs.lazy import lazy_names
from gpbandit_envs.registry import register_all
from gpbandit_envs.version import __version__

if TYPE_CHECKING:
    from gpbandit_envs.envs.entry_point import EntryPoint
    from gpbandit_envs.envs.recipe import EnvRecipe
    from gpbandit_envs.functions.base import ArmFamily, ArmFunction, certify_arms
    from gpbandit_envs.noise import as_noise
    from gpbandit_envs.own import from_function, from_table
    from gpbandit_envs.problem import Approximation, Certificate, InitialData, Problem

__all__ = [
    "Approximation",
    "ArmFamily",
    "ArmFunction",
    "Certificate",
    "EntryPoint",
    "EnvRecipe",
    "InitialData",
    "Problem",
    "__version__",
    "as_noise",
    "certify_arms",
    "from_function",
    "from_table",
    "problem_of",
]

# Registering the ids needs neither NumPy nor pandas, and takes a tenth of the time of the rest.
_MODULES = {
    "envs.entry_point": ("EntryPoint",),
    "envs.recipe": ("EnvRecipe",),
    "functions.base": ("ArmFamily", "ArmFunction", "certify_arms"),
    "noise": ("as_noise",),
    "own": ("from_function", "from_table"),
    "problem": ("Approximation", "Certificate", "InitialData", "Problem"),
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)

register_all()


def problem_of(env: gym.Env[Any, Any]) -> Problem:
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
