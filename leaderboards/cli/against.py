"""The board that `--against` names, and results joined with it."""

from __future__ import annotations

from pathlib import Path

from leaderboards.cli.errors import UserError, option_errors, results_folder, user_errors
from leaderboards.play.suite import Suite
from leaderboards.publish.boards import Board, board, board_names, open_results, rivals_of, with_board
from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store
from leaderboards.store.union import Joined

__all__ = ["board_or_folder", "joined", "opened", "rivals_on"]


def rivals_on(against: str, suite: Suite) -> Board:
    """The board that `--against` names.

    Raises:
        UserError: if there is none, or it has no run of a task of the suite.
    """
    with option_errors("against", board="against"):
        return rivals_of(against, suite)


def opened(directory: Path, against: str | None = None) -> Store | Joined:
    """A results folder, joined with the board of `--against` or with the one that it was played against.

    Raises:
        UserError: if there is none.
    """
    with option_errors("against", board="against"):
        return open_results(directory, against)


def board_or_folder(results: str, against: str | None) -> Board | Store | Joined:
    """The board of that name, or the results folder as `opened` gives it.

    Raises:
        UserError: if there is none, or a board is to be joined with another.
    """
    with user_errors(Path(results)):
        if results not in board_names():
            return opened(results_folder(Path(results)), against)
        if against is not None:
            raise UserError("--against: expected a results folder before it, got the name of a board")
        return board(results)


def joined(store: Store) -> Store | Joined:
    """A results folder, joined with the board that it was played against, if any.

    Raises:
        StoreError: if that board cannot be had.
    """
    try:
        return with_board(store)
    except ValueError as error:
        raise StoreError(f"{store.directory} was played against a board that is not here: {error}") from None
