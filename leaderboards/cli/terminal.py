"""What a command says: texts of results are shown, and drive no terminal; foreign code is named before it runs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaderboards import own_agents
from leaderboards.cli.errors import UserError, refusing
from leaderboards.text import visible

if TYPE_CHECKING:
    from leaderboards.play.spec import RunSpec

# Arguments that several commands have.
Folder = Annotated[Path, typer.Argument(help="Results folder.")]
Workers = Annotated[int, typer.Option(min=1, help="Runs at a time; by default one per core.")]
WORKERS = os.cpu_count() or 1
Yes = Annotated[bool, typer.Option("--yes", help="Run foreign code that the results name without asking.")]
Timeout = Annotated[float, typer.Option(min=0.1, help="Of a submission: seconds that a run may take.")]
Memory = Annotated[int, typer.Option(min=64, help="Of a submission: MiB that a process may use.")]

_NAMED = 8


class LogFormatter(logging.Formatter):
    """The formatter of log messages, which may quote names of files and texts of results."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def say(text: str, err: bool = False) -> None:
    """Print `text` with invisible characters as escapes."""
    typer.echo(visible(text), err=err)


def warn(text: str) -> None:
    """Print a warning on the standard error stream."""
    say(f"warning: {text}", err=True)


def import_from_here() -> None:
    """Look for modules in the current folder first, as `python -m` does: only where the user has named one.

    Raises:
        UserError: if the folder holds another `agents`.
    """
    here = os.getcwd()
    with refusing(ImportError):
        own_agents.check(here)
    if here not in sys.path:
        sys.path.insert(0, here)


def ask_to_run(specs: Iterable[RunSpec], yes: bool) -> bool:
    """Name the code, not of this project, that playing `specs` imports, and ask whether to go on.

    Returns:
        Whether there is any.

    Raises:
        UserError: if the user does not agree, or is not there to be asked.
    """
    from leaderboards.play.build import named_code

    named = named_code(specs)
    if not named:
        return False
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    say(
        "These runs are played again, which imports and runs code that the results name and that is not ours: "
        f"{', '.join(named[:_NAMED])}{more}",
        err=True,
    )
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UserError("nothing was run: give --yes if you trust this code")
    if not typer.confirm("Do you trust it?", err=True):
        raise UserError("nothing was run")
    return True
