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
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from leaderboards import own_agents
from leaderboards.cli.commands import Commands
from leaderboards.cli.errors import UserError
from leaderboards.cli.stopping import raise_if_stopped
from leaderboards.cli.terminal import LogFormatter

__all__ = ["app", "play"]


@dataclass(frozen=True)
class _Command:
    """A command that is imported at first use.

    Attributes:
        target: `"module:attribute"` below `leaderboards.cli`; the attribute is a function or a `typer.Typer`.
        help: Its line in `gpbandit --help`, at most 60 characters.
    """

    target: str
    help: str

    def load(self, name: str) -> Any:
        """The command as Typer builds it."""
        module, _, attribute = self.target.partition(":")
        found = getattr(importlib.import_module(f"leaderboards.cli.{module}"), attribute)
        raise_if_stopped()
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        alone.command(name)(found)
        return typer.main.get_command(alone)


_COMPLETE = "_GPBANDIT_COMPLETE"
_COMMANDS = {
    "run": _Command("run:run", "Play what is missing of a suite."),
    "page": _Command("page:page", "Build the static HTML report of a results folder."),
    "ranking": _Command("ranking:ranking", "Print scores and places by a criterion."),
    "figures": _Command("results:figures", "Make figures and tables for a paper."),
    "watch": _Command("results:watch", "Show a running suite: done, failed, time left, ranking."),
    "merge": _Command("results:merge", "Copy the runs of several results folders into one."),
    "submit": _Command("results:submit", "Pack results for another machine, or submit them to a board."),
    "add": _Command("results:add", "Add what another machine packed."),
    "certify": _Command("certify:certify", "Prove how near a table is to a ball of an RKHS."),
    "verify": _Command("results:verify", "Run again and compare traces."),
    "board": _Command("board:app", "Boards: list, make, check, pack, add a submission."),
    "audit": _Command("audit:audit", "Run again and measure bands, sketches and memory."),
    "reproduce": _Command("reproducing:reproduce", "Run a paper's experiment and check its claims."),
    "query": _Command("results:query", "Ask in SQL over runs and traces."),
    "list": _Command("listing:app", "List environments, agents and suites."),
    "show": _Command("show:show", "Describe an environment, an agent or a suite."),
    "data": _Command("data:app", "Fetch and list the real data sets."),
}


class _LazyCommands(Commands):
    """The group of `_COMMANDS`; only the one that is used is imported."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return _COMMANDS[cmd_name].load(cmd_name) if cmd_name in _COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in _COMMANDS.items()])


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
    """Leaderboards of Gaussian-process bandits: run suites, look at results."""
    if version:
        typer.echo(f"gpbandit-envs {importlib.metadata.version('gpbandit-envs')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def play(arguments: Sequence[str]) -> int:
    """Play a command; returns its exit code.

    Raises:
        UserError: for what the user can mend.
    """
    # A suite or --agent may name a module of the folder that the command is given in, as with `python -m`.
    try:
        here = os.getcwd()
    except OSError as error:
        raise UserError(f"the folder that this is given in has gone ({error.strerror}): change to another") from None
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        own_agents.check()  # again: the folder may hold another
    except ImportError as error:
        raise UserError(str(error)) from None
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
        raise UserError(f"{message().rstrip('.')}; see gpbandit --help") from None
    return 0
