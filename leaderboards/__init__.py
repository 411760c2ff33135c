"""Leaderboards of Gaussian-process bandits: agents play environments, runs are stored, scored and shown."""

from leaderboards.play.record import RunRecord
from leaderboards.play.run import run
from leaderboards.play.store import Store

__all__ = ["RunRecord", "Store", "run"]
