"""The console script `gpbandit`."""

from leaderboards.cli.app import main

__all__ = ["main"]
