"""Plugins: environments and agents of other distributions, found through two entry-point groups.

    [project.entry-points."gpbandit.agents"]
    "My-UCB" = "my_package.my_module:MyUCB"

    [project.entry-points."gpbandit.envs"]
    "MyLab/Reactor-v0" = "my_package.reactor:ReactorEnv"

An agent's entry point names a class or factory. So does an environment's; its time limit is the attribute
`max_episode_steps` of what is named, and 1000 without it. The harness loads plugins before a suite is read and in
every worker; importing `agents` or `gpbandit_envs` never does.
"""

from __future__ import annotations

import functools
import importlib.metadata
import logging

import gymnasium as gym

import agents

__all__ = ["load_plugins"]

_log = logging.getLogger("gpbandit")
_HORIZON = 1000


@functools.cache
def load_plugins() -> tuple[str, ...]:
    """Register the plugins of all installed distributions; returns their ids and logs those that fail to load."""
    found = []
    for point in importlib.metadata.entry_points(group="gpbandit.agents"):
        try:
            agents.register(point.name, point.value)
        except ValueError as error:
            _log.warning("agent plugin %s = %s is left out: %s", point.name, point.value, error)
            continue
        found.append(point.name)
    for point in importlib.metadata.entry_points(group="gpbandit.envs"):
        try:
            if point.name in gym.registry:
                raise ValueError(f"an environment {point.name!r} is already registered")
            # Loaded now for its time limit: a class that cannot be imported is no environment.
            limit = getattr(point.load(), "max_episode_steps", _HORIZON)
            gym.register(point.name, entry_point=point.value, max_episode_steps=limit)
        except Exception as error:  # whatever a stranger's module raises on import must not stop the others
            _log.warning("environment plugin %s = %s is left out: %s", point.name, point.value, error)
            continue
        found.append(point.name)
    return tuple(found)
