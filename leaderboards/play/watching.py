"""Who looks on while a run is played: an audit, say. It must leave both sides as they are."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from leaderboards.play.spec import RunSpec

__all__ = ["Watch", "Watcher"]


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
