"""`gpbandit rehearse`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from leaderboards.cli.errors import UserError
from leaderboards.cli.terminal import say

_COUNT = 50


def rehearse(
    path: Annotated[Path, typer.Argument(help="A CSV file of candidates, or an experiment that `save` wrote.")],
    outcome: Annotated[
        str, typer.Option(help="Of a CSV file: its column of outcomes, empty for what is untried.")
    ] = "",
    minimise: Annotated[bool, typer.Option("--minimise", help="Of a CSV file: small outcomes are good.")] = False,
    plates: Annotated[int, typer.Option(min=1, help="How many plates are planned.")] = 6,
    size: Annotated[int, typer.Option(min=1, help="Experiments in a plate.")] = 8,
    within: Annotated[float | None, typer.Option(help="What is not worth another plate, unit of the outcome.")] = None,
) -> None:
    """Say what further plates may bring: play them on functions that fit the outcomes so far."""
    import agents

    if (path.suffix == ".json") == bool(outcome):
        raise UserError("expected a CSV file with --outcome COLUMN, or a .json file of Experiment.save without it")
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("rehearsals", total=_COUNT)
        try:
            if outcome:
                lab = agents.Experiment(str(path), outcome=outcome, minimise=minimise)
            else:
                lab = agents.Experiment.load(path)
            found = lab.rehearse(plates, size, within=within, rehearsals=_COUNT, done=lambda: progress.advance(task))
        except (TypeError, ValueError, OSError) as error:
            raise UserError(str(error)) from None
    say(repr(found))
