"""What is put around an environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

__all__ = ["layers"]


def layers(env: gym.Env[Any, Any]) -> list[gym.Wrapper[Any, Any, Any, Any]]:
    """The wrappers around an environment, from the outside in."""
    found = []
    while isinstance(env, gym.Wrapper):
        found.append(env)
        env = env.env
    return found
