"""`gpbandit merge`, `gpbandit submit` and `gpbandit add`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaderboards.cli.errors import results_folder, user_errors
from leaderboards.play.exchange import Received, pack
from leaderboards.play.exchange import add as add_archive
from leaderboards.play.exchange import merge as merge_folders

__all__ = ["add", "merge", "submit"]


def merge(
    sources: Annotated[list[Path], typer.Argument(help="Results folders, such as those of shards.")],
    out: Annotated[Path, typer.Option(help="The folder that gets all runs.")],
) -> None:
    """Copy the runs of several results folders of one suite into one."""
    with user_errors(out):
        received = merge_folders([results_folder(source) for source in sources], out)
    _report(received, out)


def submit(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    out: Annotated[Path | None, typer.Option(help="The archive; by default beside the folder.")] = None,
) -> None:
    """Pack a results folder, with hashes, for another machine's leaderboard."""
    archive = out if out is not None else directory.with_name(f"{directory.resolve().name}.zip")
    with user_errors(archive):
        runs = pack(results_folder(directory), archive)
    typer.echo(f"{runs} runs are in {archive}; on the other machine: gpbandit add {archive.name} DIR")


def add(
    archive: Annotated[Path, typer.Argument(help="What `gpbandit submit` packed.")],
    directory: Annotated[Path, typer.Argument(help="The results folder that gets the runs.")],
) -> None:
    """Add what another machine packed; it is marked as submitted until `gpbandit verify`."""
    with user_errors(directory):
        received = add_archive(archive, directory)
    _report(received, directory)


def _report(received: Received, directory: Path) -> None:
    typer.echo(f"{directory}: {received.runs} runs are new, {received.known} were there before")
    for text in received.rejected:
        typer.echo(f"  left out: {text}", err=True)
