"""`gpbandit data`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpbandit_envs import datasets
from leaderboards.cli.commands import Commands
from leaderboards.cli.errors import UserError

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    help="Fetch and list the real data sets.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="Name of a data set; see `gpbandit data list`.")],
    file: Annotated[
        Path | None, typer.Option(help="Take it from this file, folder or archive instead of the network.")
    ] = None,
) -> None:
    """Bring a data set into the cache, checked against its hash; afterwards it needs no network."""
    try:
        folder = datasets.fetch(name, file=file)
    except (ValueError, OSError, datasets.DataError) as error:
        raise UserError(str(error)) from None
    typer.echo(f"{name} is in {folder}")


@app.command("list")
def list_data() -> None:
    """List the data sets with their licences."""
    for name, description in datasets.cards().items():
        typer.echo(f"  {name}  ({description.licence})  {description.title}")


@app.command("export")
def export_tables(
    names: Annotated[list[str] | None, typer.Argument(help="Data sets; all that may be passed on by default.")] = None,
    out: Annotated[Path, typer.Option(help="Folder that gets one for each.")] = Path("build") / "data",
    url: Annotated[str, typer.Option(help="Public address of that folder, for the descriptions.")] = "",
) -> None:
    """Write tables as CSV, each with its Croissant description and the notice that its licence asks for."""
    from gpbandit_envs.datasets.export import export, exportable
    from gpbandit_envs.datasets.registry import find

    for name in names or exportable():
        try:
            card = find(name).card
            export(card.name, out / card.name, f"{url.rstrip('/')}/{card.name}" if url else "")
        except (ValueError, OSError, datasets.DataError) as error:
            if names:
                raise UserError(str(error)) from None
            typer.echo(f"left out: {name}, {str(error).splitlines()[0]}")
            continue
        typer.echo(f"{out / card.name}")
