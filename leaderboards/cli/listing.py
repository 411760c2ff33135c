"""`gpbandit list`."""

from __future__ import annotations

import gymnasium as gym
import typer

import agents
from gpbandit_envs.registry import registered
from leaderboards.cli.commands import Commands
from leaderboards.cli.errors import UserError
from leaderboards.play.plugins import load_plugins
from leaderboards.play.suite import SuiteError, load_suite, suite_names

__all__ = ["app"]

app = typer.Typer(
    cls=Commands, help="List environments, agents and suites.", invoke_without_command=True, rich_markup_mode=None
)


@app.callback()
def everything(context: typer.Context) -> None:
    """List environments, agents and suites."""
    if context.invoked_subcommand is None:
        for title, command in (("environments", envs), ("agents", list_agents), ("suites", suites)):
            typer.echo(f"{title}:")
            command()


@app.command("envs")
def envs() -> None:
    """List environments with their time limits."""
    plugins = [id for id in load_plugins() if id in gym.registry]
    for id in [*registered(), *plugins]:
        typer.echo(f"  {id}  (horizon {gym.registry[id].max_episode_steps})")


@app.command("agents")
def list_agents() -> None:
    """List agents with the kind of batches they play."""
    load_plugins()
    for id in agents.registered():
        try:
            capabilities = getattr(agents.spec(id).load(), "capabilities", None)
        except Exception as error:  # a stranger's module may raise anything, and the list goes on
            typer.echo(f"  {id}  (cannot be imported: {type(error).__name__}: {error})")
            continue
        typer.echo(f"  {id}  ({capabilities.batch})" if capabilities is not None else f"  {id}")


@app.command("suites")
def suites() -> None:
    """List suites with the number of their runs."""
    for name in suite_names():
        try:
            suite = load_suite(name)
        except SuiteError as error:
            raise UserError(str(error)) from None
        runs = sum(1 for _ in suite.specs())
        typer.echo(f"  {name}  ({runs} runs)  {suite.description}")
