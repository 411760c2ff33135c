"""`gpbandit page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaderboards.cli.boards import opened
from leaderboards.cli.errors import UserError, results_folder, user_errors
from leaderboards.cli.ranking import check_metric
from leaderboards.cli.terminal import say
from leaderboards.play.make import not_here
from leaderboards.play.plugins import load_plugins
from leaderboards.play.store import Store

__all__ = ["page"]


def page(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    ranked_by: Annotated[
        str, typer.Option("--rank-by", help="cumulative_regret, simple_regret or inference_regret.")
    ] = "cumulative_regret",
    against: Annotated[
        str | None,
        typer.Option(
            help="Rank the folder's runs among those of a board: `board` for the one that comes with the package, or "
            "the path or address of one; by default the board that the folder was played against, if any."
        ),
    ] = None,
) -> None:
    """Build the static HTML report of a results folder and print its path."""
    check_metric(ranked_by)
    with user_errors(directory):
        store = Store(results_folder(directory))
        if store.runs().empty:
            raise UserError(f"{directory} holds no readable run: give `gpbandit run SUITE --out {directory}` first")
        from leaderboards.show import build_page

        index = build_page(opened(directory, against), ranked_by=ranked_by)
        load_plugins()
        for reason in dict.fromkeys(filter(None, (not_here(entry.spec) for entry in store.entries().values()))):
            say(f"note: {reason}; its runs are shown, without its theory", err=True)
    say(f"The leaderboard is at {index.resolve()}")
