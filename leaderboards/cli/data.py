"""`gpbandit data`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpbandit_envs import datasets
from leaderboards.cli.errors import UserError, refusing, user_errors

app = typer.Typer(
    help="Fetch and list the real data sets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("fetch")
def fetch(
    name: Annotated[str | None, typer.Argument(help="Name of a data set; see `gpbandit data list`.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="Take the data from this file, folder or archive, not from the network.")
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="Fetch all that this suite needs: its name, or the path of its TOML file.")
    ] = None,
) -> None:
    """Bring a data set into the cache and check its hash. After that it needs no network."""
    if (name is None) == (suite is None):
        raise UserError("expected the name of a data set, or --suite NAME")
    if name is not None:
        with refusing(ValueError, OSError, datasets.DataError):
            folder = datasets.fetch(name, file=file)
        typer.echo(f"{name} is in {folder}")
        return
    assert suite is not None
    if file is not None:
        raise UserError("--file is for one data set, not for --suite")
    from leaderboards.play.suite import build_environments_once, load_suite

    with user_errors(Path()):
        found = load_suite(suite)
        lacking = build_environments_once(found.specs())
    for reason in sorted(set(lacking.values())):
        typer.echo(reason)
    if lacking:
        raise typer.Exit(1)
    typer.echo(f"{found.name}: the data of its {len(found.tasks)} tasks are here")


@app.command("list")
def list_data() -> None:
    """List the data sets with their licences."""
    for name, description in datasets.cards().items():
        typer.echo(f"  {name}  ({description.licence})  {description.title}")
