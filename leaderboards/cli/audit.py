"""`gpbandit audit`."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from leaderboards.audit.conic import require_cvxpy
from leaderboards.audit.run_audit import CHECKPOINTS, SAMPLED
from leaderboards.audit.store import AuditOutcome, AuditStore, audit_runs
from leaderboards.cli.errors import UserError, option_errors, results_folder, user_errors
from leaderboards.cli.terminal import ask_to_run, say
from leaderboards.play.build import load_plugins
from leaderboards.store.store import Store
from leaderboards.verify.choose import choose

__all__ = ["audit"]

_NOT_AUDITED = 1
_SHOWN = 5


def audit(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    row: Annotated[
        list[str] | None, typer.Option(help="An agent's label, `AGENT@ENVIRONMENT`, or the start of a run's key.")
    ] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Only repetitions below this number.")] = None,
    checkpoints: Annotated[
        int, typer.Option("--checkpoints", "--looks", min=2, help="Number of log-spaced checkpoints of a run.")
    ] = CHECKPOINTS,
    arms: Annotated[
        int,
        typer.Option(min=1, help="Sampled arms at which sketched and exact variances are compared; points of a box."),
    ] = SAMPLED,
    conic: Annotated[
        int,
        typer.Option(min=0, help="Arms at which bands are compared with the tightest one, by CVXPY (extra `conic`)."),
    ] = 0,
    again: Annotated[bool, typer.Option("--again", help="Also runs that have an audit.")] = False,
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time; by default one per core.")] = os.cpu_count() or 1,
    yes: Annotated[bool, typer.Option("--yes", help="Run foreign code that the results name without asking.")] = False,
) -> None:
    """Play runs again and audit their confidence bands, sketches and memory; `gpbandit page` then shows it."""
    if conic:
        try:
            require_cvxpy()
        except ImportError as error:
            raise UserError(str(error)) from None
    with user_errors(directory):
        store = Store(results_folder(directory))
        with option_errors("row"):
            keys = choose(store, row or [])
        if repetitions is not None:
            numbers = store.runs()["repetition"]
            keys = [key for key in keys if numbers[key] < repetitions]
        before = set() if again else AuditStore(store.directory).keys()
        todo = [key for key in keys if key not in before]
        ask_to_run([store.spec(key) for key in todo], yes)
        load_plugins()
        outcomes: list[AuditOutcome] = []
        with Progress(console=Console(stderr=True), transient=True) as progress:
            bar = progress.add_task("runs audited", total=len(todo))
            for outcome in audit_runs(store, todo, workers, checkpoints, arms, conic):
                outcomes.append(outcome)
                progress.advance(bar)
        _report(store, outcomes, len(keys) - len(todo))
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(_NOT_AUDITED)


def _report(store: Store, outcomes: list[AuditOutcome], before: int) -> None:
    audited = [outcome for outcome in outcomes if not outcome.error]
    banded = sum(not outcome.no_band for outcome in audited)
    ending = "" if len(audited) == 1 else "s"
    say(
        f"{store.directory}: {len(audited)} run{ending} audited, {banded} with a confidence band; {before} were before."
        f" See them with gpbandit page {store.directory}"
    )
    names = store.runs()[["agent", "env"]].agg(" on ".join, axis=1)
    for title, texts in (
        ("could not be audited", {outcome.key: outcome.error for outcome in outcomes if outcome.error}),
        ("did not repeat the stored trace", {outcome.key: outcome.differs for outcome in outcomes if outcome.differs}),
    ):
        counts = Counter(f"{names[key]}: {text}" for key, text in texts.items())
        for what, n in counts.most_common(_SHOWN):
            say(f"  {title}: {n} of {what}", err=True)
        if len(counts) > _SHOWN:
            say(f"  and {len(counts) - _SHOWN} more kinds", err=True)
