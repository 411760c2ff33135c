"""`gpbandit figures` and `gpbandit watch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leaderboards.cli.errors import UserError, results_folder, user_errors
from leaderboards.play.store import Store

__all__ = ["figures", "watch"]


def figures(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; DIRECTORY/figures by default.")] = None,
) -> None:
    """Make the figures and tables a paper needs: PNG and PDF, Markdown and LaTeX."""
    results_folder(directory)
    with user_errors(directory):
        if not Store(directory).done_keys():
            raise UserError(f"{directory} holds no finished run: give `gpbandit run SUITE --out {directory}` first")
        from leaderboards.show import make_figures

        for path in make_figures(directory, out):
            typer.echo(path)


def watch(
    directory: Annotated[Path, typer.Argument(help="Results folder of a suite that is running.")],
    interval: Annotated[float, typer.Option(help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once and return.")] = False,
) -> None:
    """Show a running suite: done, failed, speed, time left, the ranking so far."""
    results_folder(directory)
    if interval <= 0:
        raise UserError(f"--interval: expected a number of seconds > 0, got {interval!r}")
    with user_errors(directory):
        from leaderboards.show import watch as show

        show(directory, interval=interval, once=once)
