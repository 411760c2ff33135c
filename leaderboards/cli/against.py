"""The board that `--against` names, and results joined with it."""

from __future__ import annotations

from pathlib import Path

from leaderboards.archive.read import Board, Joined, board_of, open_results
from leaderboards.cli.errors import option_errors
from leaderboards.play.suite import Suite
from leaderboards.store.store import Store

__all__ = ["opened", "rivals_on"]


def rivals_on(against: str, suite: Suite) -> Board:
    """The board that `--against` names.

    Raises:
        UserError: if there is none.
    """
    with option_errors("against", board="against"):
        return board_of(against, suite)


def opened(directory: Path, against: str | None = None) -> Store | Joined:
    """A results folder, joined with the board of `--against` or with the one that it was played against.

    Raises:
        UserError: if there is none.
    """
    with option_errors("against", board="against"):
        return open_results(directory, against)
