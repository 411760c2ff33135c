"""`gpbandit page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaderboards.cli.errors import UserError, results_folder, user_errors
from leaderboards.play.store import Store

__all__ = ["page"]


def page(directory: Annotated[Path, typer.Argument(help="Results folder.")]) -> None:
    """Build the static HTML report of a results folder and print its path."""
    with user_errors(directory):
        store = Store(results_folder(directory))
        if store.runs().empty:
            raise UserError(f"{directory} holds no readable run: give `gpbandit run SUITE --out {directory}` first")
        from leaderboards.show import build_page

        index = build_page(directory)
    typer.echo(f"The leaderboard is at {index.resolve()}")
