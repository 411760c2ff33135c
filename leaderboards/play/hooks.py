"""What may happen while a run is played: its state is saved, and somebody looks on, as an audit.

`leaderboards.work.checkpoint` keeps the state in a file. Who looks on must leave both sides as they are.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import gymnasium as gym

from agents import Agent
from leaderboards.play.spec import RunSpec

__all__ = ["Saved", "Saving", "Watch", "Watcher"]


Saved = tuple[gym.Env[Any, Any], Any, Any]
"""The state of a run between two turns: its environment, the agent's `state_dict()`, and what `Loop.state_dict` is."""


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
        """Keep the state of a run between two turns, with that of its loop."""


@runtime_checkable
class Watch(Protocol):
    """One run that is watched; `loop` is a `leaderboards.play.run.Loop`."""

    def begins(self, loop: Any) -> None:
        """Called before the first turn."""

    def turned(self, loop: Any) -> None:
        """Called after each turn."""

    def ends(self, loop: Any) -> None:
        """Called after the last turn, if the run has not failed."""


@runtime_checkable
class Watcher(Protocol):
    """Watches runs; it is sent to the processes that play them."""

    def watch(self, spec: RunSpec) -> Watch:
        """A watch of the run `spec`."""
