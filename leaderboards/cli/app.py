"""The command line: commands by module, and one line for every error a user can make."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from leaderboards.cli import audit, data, listing, page, reproducing, results, run
from leaderboards.cli.commands import Commands
from leaderboards.cli.errors import UserError

__all__ = ["app", "main"]

_USER_ERROR = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it

app = typer.Typer(
    name="gpbandit",
    cls=Commands,
    help="Leaderboards of Gaussian-process bandits: run suites, look at results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("run")(run.run)
app.command("page")(page.page)
app.command("figures")(results.figures)
app.command("watch")(results.watch)
app.command("merge")(results.merge)
app.command("submit")(results.submit)
app.command("add")(results.add)
app.command("verify")(results.verify)
app.command("audit")(audit.audit)
app.command("reproduce")(reproducing.reproduce)
app.command("query")(results.query)
app.add_typer(listing.app, name="list")
app.add_typer(data.app, name="data")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    The code is 0 if all is well, 1 if a run crashed, timed out or differs, 2 for what the user can mend, and 130 after
    Ctrl-C.
    """
    # A suite or --agent may name a module of the folder that the command is given in, as with `python -m`.
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    logging.basicConfig(format="warning: %(message)s", level=logging.WARNING, stream=sys.stderr)
    # Batch systems stop their jobs with SIGTERM, which is then as clean as Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        given = None if arguments is None else list(arguments)
        code = app(args=given, prog_name="gpbandit", standalone_mode=False)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except UserError as error:
        _say(str(error))
        sys.exit(_USER_ERROR)
    except Exception as error:
        # Typer's own usage errors; their class moved between its versions, the method did not.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        _say(f"{message().rstrip('.')}; see gpbandit --help")
        sys.exit(_USER_ERROR)
    sys.exit(code if isinstance(code, int) else 0)


def _say(text: str) -> None:
    typer.echo(f"error: {text}", err=True)
