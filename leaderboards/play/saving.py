"""How a run is saved while it plays, as the run sees it; `leaderboards.work.checkpoint` keeps the state in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from agents import Agent

__all__ = ["Saved", "Saving"]


@dataclass(frozen=True)
class Saved:
    """The state of a run between two turns.

    Attributes:
        env: The environment.
        agent: The agent's `state_dict()`.
        loop: What `Loop.snapshot` gave.
    """

    env: gym.Env[Any, Any]
    agent: Any
    loop: Any


@runtime_checkable
class Saving(Protocol):
    """Where a run finds the state that it resumes from, and leaves its own every so often.

    Attributes:
        resumed: How often the run resumed from a saved state.
        before: Seconds that the run had taken when it was saved.
    """

    resumed: int
    before: float

    def load(self) -> Saved | None:
        """The saved state; None without a usable one. A run asks once, before it plays."""

    def due(self) -> bool:
        """Whether it is time to save."""

    def save(self, env: gym.Env[Any, Any], agent: Agent, loop: object) -> None:
        """Keep the state of a run between two turns, with a snapshot of its loop."""
