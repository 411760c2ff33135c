"""Long runs save their state every few minutes and go on from there, bit for bit, after whatever stopped them.

A checkpoint is a pickle of the environment, the agent's `state_dict` and the loop. It is a note to the harness that
wrote it, never a result: it lies apart from the results, is not packed with them, and one of other versions or of
other sources, the user's own among them, is thrown away, since equal numbers could not be promised.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import pickle
import uuid
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium as gym

from leaderboards.play.loop import Loop
from leaderboards.play.origin import origin
from leaderboards.play.sources import SourceError, edited, note, sources

__all__ = ["DEFAULT_EVERY", "Checkpoint"]

DEFAULT_EVERY = 120.0
_LEAST_RATIO = 20.0  # seconds of play for a second of saving, so that large states cost 5 % at most
_log = logging.getLogger("gpbandit")


@dataclass
class Checkpoint:
    """The saved state of one run.

    Args:
        path: Its file.
        every: Seconds between two of them; infinity for none.

    Attributes:
        resumed: How often the run went on from a checkpoint.
        before: Seconds that the run had taken when it was saved.
    """

    path: Path
    every: float = DEFAULT_EVERY
    resumed: int = 0
    before: float = 0.0

    def __post_init__(self) -> None:
        self._started = self._last = perf_counter()
        self._pause = self.every

    def load(self) -> dict[str, Any] | None:
        """The saved state: `env`, `agent`, `loop`; None if there is none that can be used.

        To be called before a run plays, even if nothing is saved: it keeps in mind what the sources are now.
        """
        note()
        here = _identity()
        try:
            data = pickle.loads(self.path.read_bytes())
            if data["origin"] != here:
                raise ValueError("it was written by another version")
            changed = edited(data["sources"])
            if changed is not None:
                raise ValueError(f"the module {changed} has been edited since, so the run starts over")
        except FileNotFoundError:
            return None
        except Exception as error:  # a cut file may raise anything; the run then starts over
            _log.warning("checkpoint %s is not used: %s", self.path, error)
            self.remove()
            return None
        self.resumed = data["resumed"] + 1
        self.before = data["seconds"]
        state: dict[str, Any] = data["state"]
        return state

    def due(self) -> bool:
        """Whether it is time to save."""
        return perf_counter() - self._last > self._pause

    def save(self, env: gym.Env[Any, Any], loop: Loop) -> None:
        """Write the state of a run between two turns.

        Raises:
            OSError: if the folder cannot be written.
        """
        started = perf_counter()
        try:
            made_of = sources(env, loop.agent)
        except SourceError as error:
            self._give_up(error)
            return
        try:
            data = {
                "origin": _identity(),
                "sources": made_of,
                "resumed": self.resumed,
                "seconds": self.before + started - self._started,
                "state": {"env": env, "agent": loop.agent.state_dict(), "loop": loop.snapshot()},
            }
            content = pickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            self._give_up(error)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f"{self.path.name}.{uuid.uuid4().hex[:12]}.tmp")
        try:
            temporary.write_bytes(content)
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)
        self._last = perf_counter()
        self._pause = max(self.every, _LEAST_RATIO * (self._last - started))

    def _give_up(self, error: Exception) -> None:
        _log.warning("this run cannot be saved while it runs: %s", error)
        self._pause = float("inf")

    def remove(self) -> None:
        """Forget the saved state."""
        self.path.unlink(missing_ok=True)


def _identity() -> dict[str, Any]:
    """What has to be equal for a run to go on bit for bit."""
    here = origin()
    return {"code": _code(), **{name: here[name] for name in ("python", "libraries", "machine")}}


@functools.cache
def _code() -> str:
    """Hash of the sources of the three packages: a commit says nothing of files that were edited since."""
    digest = hashlib.blake2b(digest_size=16)
    root = Path(__file__).resolve().parents[2]
    for package in ("agents", "gpbandit_envs", "leaderboards/play"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
