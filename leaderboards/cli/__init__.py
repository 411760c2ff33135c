"""What does a person type? The console script `gpbandit`."""

from leaderboards.cli.entry import main

__all__ = ["main"]
