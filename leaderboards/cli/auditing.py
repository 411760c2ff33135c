"""`gpbandit audit`."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from leaderboards.cli.errors import results_folder, user_errors
from leaderboards.cli.results import choose
from leaderboards.play.plugins import load_plugins
from leaderboards.play.store import Store
from leaderboards.score.auditing import Audited, audit_runs, unaudited
from leaderboards.score.probe import LOOKS, SAMPLED

__all__ = ["audit"]

_NOT_AUDITED = 1
_SHOWN = 5


def audit(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    row: Annotated[
        list[str] | None, typer.Option(help="An agent's label, `AGENT@ENVIRONMENT`, or the start of a run's key.")
    ] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Only repetitions below this number.")] = None,
    looks: Annotated[int, typer.Option(min=2, help="At how many log-spaced times a run is looked at.")] = LOOKS,
    arms: Annotated[
        int, typer.Option(min=1, help="Sampled arms at which sketched variances meet exact ones; points of a box.")
    ] = SAMPLED,
    again: Annotated[bool, typer.Option("--again", help="Also what has been audited before.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time; by default one per core.")] = os.cpu_count() or 1,
) -> None:
    """Play runs again and look inside: confidence bands, sketches, memory; `gpbandit page` then shows it."""
    load_plugins()
    store = Store(results_folder(directory))
    with user_errors(directory):
        keys = choose(store, row or [])
        if repetitions is not None:
            numbers = store.runs()["repetition"]
            keys = [key for key in keys if numbers[key] < repetitions]
        todo = keys if again else unaudited(store, keys)
        found: list[Audited] = []
        with Progress(console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("auditing", total=len(todo))
            for one in audit_runs(store, todo, workers, looks, arms):
                found.append(one)
                progress.advance(bar)
    _report(store, found, len(keys) - len(todo))
    if any(one.error for one in found):
        raise typer.Exit(_NOT_AUDITED)


def _report(store: Store, found: list[Audited], before: int) -> None:
    audited = [one for one in found if not one.error]
    banded = sum(not one.no_band for one in audited)
    ending = "" if len(audited) == 1 else "s"
    typer.echo(
        f"{store.directory}: {len(audited)} run{ending} audited, {banded} with a confidence band; {before} were before."
        f" See them with gpbandit page {store.directory}"
    )
    names = store.runs()[["agent", "env"]].agg(" on ".join, axis=1)
    for title, texts in (
        ("could not be audited", {one.key: one.error for one in found if one.error}),
        ("did not repeat the stored trace", {one.key: one.differs for one in found if one.differs}),
    ):
        counts = Counter(f"{names[key]}: {text}" for key, text in texts.items())
        for what, n in counts.most_common(_SHOWN):
            typer.echo(f"  {title}: {n} of {what}", err=True)
        if len(counts) > _SHOWN:
            typer.echo(f"  and {len(counts) - _SHOWN} more kinds", err=True)
