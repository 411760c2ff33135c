"""The command line: its commands by name.

A command's module is imported when the command is used: `gpbandit --help` and `gpbandit list` need no pandas.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from leaderboards.cli.errors import UserError
from leaderboards.cli.terminal import LogFormatter

_COMPLETE = "_GPBANDIT_COMPLETE"
_COMMANDS = {
    "run": ("run:run", "Play the missing runs of a suite."),
    "page": ("results:page", "Write the pages of a results folder."),
    "ranking": ("ranking:ranking", "Print the ranking of a results folder or a board."),
    "figures": ("results:figures", "Draw figures and tables for a paper."),
    "merge": ("results:merge", "Copy the runs of several results folders into one."),
    "submit": ("results:submit", "Pack results for another machine or for a board."),
    "add": ("results:add", "Add results that another machine has packed."),
    "verify": ("results:verify", "Play runs again and compare them."),
    "board": ("board:app", "List, make, check and pack boards."),
    "audit": ("results:audit", "Play runs again and measure bands and memory."),
    "reproduce": ("reproducing:reproduce", "Play a paper's experiment and check its claims."),
    "list": ("listing:app", "List environments, agents and suites."),
    "show": ("show:show", "Describe an environment, an agent or a suite."),
    "data": ("data:app", "Fetch, list and export the real data sets."),
}
"""Where each command is below `leaderboards.cli`, and its line in `gpbandit --help`, of at most 60 characters."""


def _load(name: str) -> Any:
    """A command as Typer builds it; its module is imported now."""
    module, _, attribute = _COMMANDS[name][0].partition(":")
    found = getattr(importlib.import_module(f"leaderboards.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        alone.command(name)(found)
        found = alone
    return typer.main.get_command(found)


class _LazyCommands(TyperGroup):
    """The group of `_COMMANDS`; only the one that is used is imported."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.commands: Any = dict.fromkeys(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _load(cmd_name) if cmd_name in _COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


app = typer.Typer(
    name="gpbandit",
    cls=_LazyCommands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _gpbandit(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Run suites of Gaussian-process bandits and look at the results."""
    if version:
        typer.echo(f"gpbandit-envs {importlib.metadata.version('gpbandit-envs')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def execute(arguments: Sequence[str]) -> int:
    """Carry out a command; returns its exit code.

    Raises:
        UserError: for what the user can mend.
    """
    try:
        os.getcwd()
    except OSError as error:
        raise UserError(f"the folder that this is given in has gone ({error.strerror}): change to another") from None
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogFormatter("warning: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    command = typer.main.get_command(app)
    if _COMPLETE in os.environ:  # a shell asks what may follow; Typer answers and exits
        command(prog_name="gpbandit")
    try:
        # Not `app(...)`, which takes Ctrl-C, broken pipes and their codes into its own hands.
        with command.make_context("gpbandit", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort as abort:  # at a question
        if isinstance(abort.__context__, KeyboardInterrupt):
            raise abort.__context__ from None
        raise UserError("a question was not answered, since the input has ended") from None
    except Exception as error:
        # Typer's own usage errors; their class moved between its versions, the method did not.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        raise UserError(f"{message().rstrip('.')} (see gpbandit --help)") from None
    return 0
