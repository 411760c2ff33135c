"""`gpbandit reproduce`."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboards.claims.experiments import EXPERIMENTS, Experiment, experiment
from leaderboards.claims.report import as_json, interval_text, write
from leaderboards.claims.reproduce import Reproduction, check, suite_of
from leaderboards.cli.errors import UserError, user_errors
from leaderboards.cli.terminal import say
from leaderboards.play.plugins import load_plugins
from leaderboards.play.suite import build_environments_once
from leaderboards.store.store import Store
from leaderboards.work.play import adopt
from leaderboards.work.schedule import missing, run_missing
from leaderboards.work.workers import Limits, make_executor

__all__ = ["reproduce"]

_INCOMPLETE = 1


def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}.")],
    quick: Annotated[bool, typer.Option("--quick", help="The short form, with the claims that are stable there.")] = (
        False
    ),
    out: Annotated[Path | None, typer.Option(help="Results folder; by default results/NAME.")] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Only so many repetitions.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time; by default one per core.")] = os.cpu_count() or 1,
    only_check: Annotated[bool, typer.Option("--only-check", help="Play nothing; judge what is there.")] = False,
) -> None:
    """Play the missing runs of a paper's experiment and check the paper's claims on them."""
    try:
        chosen = experiment(name)
    except ValueError as error:
        raise UserError(str(error)) from None
    directory = out if out is not None else Path("results") / f"{name}{'-quick' if quick else ''}"
    load_plugins()
    with user_errors(directory):
        store = None if chosen.study is not None else Store(directory)
        failed = 0
        if store is not None and not only_check:
            failed = _play(chosen, store, quick, repetitions, workers)
        made = check(chosen, store, quick, repetitions)
        if made.table.empty and only_check:
            raise UserError(f"{directory} holds no finished run of {name}; without --only-check they are played")
        page = write(made, directory)
    _report(made, page)
    if store is not None and store.done_keys():
        say(f"next: gpbandit figures {shlex.quote(str(directory))}")
    if failed:
        typer.echo(f"  {failed} runs failed; what they would say is left out", err=True)
        raise typer.Exit(_INCOMPLETE)


def _play(chosen: Experiment, store: Store, quick: bool, repetitions: int | None, workers: int) -> int:
    """Play the missing runs; returns the number that failed."""
    suite = suite_of(chosen, quick, repetitions)
    suite.check()
    specs = list(suite.specs())
    for reason in build_environments_once(missing(specs, store)).values():
        raise UserError(f"this experiment cannot be played {reason}")
    for warning in adopt(suite, store):
        say(f"warning: {warning}", err=True)
    limits = Limits()
    workforce = make_executor("serial" if workers == 1 else "local", workers, limits)
    try:
        return len(run_missing(specs, store, workforce, limits=limits, console=Console(stderr=True)).failures)
    finally:
        workforce.close()


def _report(made: Reproduction, page: Path) -> None:
    for claim in as_json(made)["claims"]:
        typer.echo(f"  {claim['verdict']:>14}  {claim['name']}: {interval_text(claim)}, expected {claim['range']}")
    counts = Counter(one.verdict for one in made.checked)
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no claim is stable in the short form"
    cut = f" of {made.planned}" if made.played < made.planned else ""
    typer.echo(f"{made.experiment.name}: {verdicts}; {made.played}{cut} repetitions. See {page.resolve()}")
