"""What commands say of a submission beside the verdicts on its runs: the screen, and the hold-out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from leaderboards.archive.read import BOARD, board, board_names
from leaderboards.cli.against import rivals_on
from leaderboards.cli.errors import UserError, user_errors
from leaderboards.cli.terminal import ask_to_run, say
from leaderboards.play.confined import can_confine
from leaderboards.publish.holdout import LEADERS, Holdout, play_board_holdout, play_holdout
from leaderboards.publish.submission import faults, open_submission
from leaderboards.store.store import StoreView
from leaderboards.verify.screen import screen

__all__ = ["holdout", "say_screen"]

_DIFFERS = 1


def say_screen(results: StoreView, *, every: bool = True, err: bool = False) -> bool:
    """Print what the screen finds of the agents of results; returns whether it flags one.

    Args:
        results: Of a submission, or a board.
        every: Whether to print a line for each agent, or for those alone that are flagged.
        err: Whether to print to the standard error stream.
    """
    found = screen(results)
    for one in found:
        if every or one.flagged:
            say(f"{'NOT' if one.flagged else 'ok '} screen: {one}", err=err)
    flagged = any(one.flagged for one in found)
    if not every and not flagged:
        told = sum(one.runs > 0 for one in found)
        if told:
            say(f"screen: none of {told} agents pulls the best arm first more often than chance allows")
        else:
            say("screen: no run is on drawn functions of finite arms, of whose first choice something can be told")
    return flagged


def holdout(
    submission: Annotated[Path, typer.Argument(help="Folder of a submission; or name of a board, whose leaders play.")],
    repetitions: Annotated[int, typer.Option(min=3, help="Instances of each task.")] = 10,
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time.")] = 1,
    leaders: Annotated[int, typer.Option(min=1, help="Of a board: how many rows lead, by mean rank.")] = LEADERS,
    yes: Annotated[bool, typer.Option("--yes", help="Run the code of the submission without asking.")] = False,
) -> None:
    """Play a submitted agent on instances that nobody could know, and tell whether its record holds there.

    A root seed is drawn now and named at the end; leading rows of the board and the uniform one play the same
    instances. With the name of a board these rows play alone, and their order is compared. Exits with 1 if a submitted
    agent does worse than its record.
    """
    name = str(submission)
    if name in board_names() and not submission.exists():
        with user_errors(submission), tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
            _say_holdout(play_board_holdout(board(name), Path(scratch), repetitions, workers, leaders))
        return
    if not submission.exists():
        raise UserError(f"{name}: expected the folder of a submission, or one of the boards {', '.join(board_names())}")
    with user_errors(submission), tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        found = open_submission(submission, Path(scratch) / "submitted")
        if wrong := faults(found):
            raise UserError(f"{submission} is not played: {wrong[0]}")
        suite = found.store.suite()
        assert suite is not None  # which would be a fault
        ask_to_run([run.spec for run in found.store.entries().values()], yes)
        if not can_confine():
            say(
                "warning: this system has no Landlock: code that reads the files of this user could find the seed",
                err=True,
            )
        result = play_holdout(found, rivals_on(BOARD, suite), Path(scratch) / "holdout", repetitions, workers)
        _say_holdout(result)
    if result.failed or any(row.worse for row in result.rows if row.submitted):
        raise typer.Exit(_DIFFERS)


def _say_holdout(result: Holdout) -> None:
    for text in result.failed:
        say(f"NOT {text}")
    for row in result.rows:
        say(f"{'NOT' if row.worse else 'ok '} {row}{'' if row.submitted else ' (row of the board)'}")
    scored = [(row.agent, row.score) for row in result.rows if row.score is not None]
    for agent, score in sorted(scored, key=lambda one: one[1].rank):
        say(f"{'ok ' if score.agrees else 'NOT'} {agent}: {score}")
    say(f"the root seed was {result.seed}; whoever knows it can no longer be tested with it")
