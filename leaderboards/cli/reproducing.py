"""`gpbandit reproduce`."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboards.claims.experiments import EXPERIMENTS, PAPERS, experiment, experiments_of
from leaderboards.claims.pages import as_json, interval_text, looked, rough, write
from leaderboards.claims.reproduce import Reproduction, check, suite_of
from leaderboards.cli.errors import UserError, refusing, user_errors
from leaderboards.cli.terminal import WORKERS, Workers, say, warn
from leaderboards.play.build import load_plugins
from leaderboards.store.store import Store
from leaderboards.work.executors import Workforce
from leaderboards.work.schedule import play_suite

_INCOMPLETE = 1
_NAMES = f"One of {', '.join(EXPERIMENTS)}; or a paper, whose experiments are listed: {', '.join(PAPERS)}."
_SOURCES = 4  # of a paper that a list of experiments names


def reproduce(
    name: Annotated[str, typer.Argument(help=_NAMES)],
    quick: Annotated[bool, typer.Option("--quick", help="The short form, with the claims that are stable there.")] = (
        False
    ),
    out: Annotated[Path | None, typer.Option(help="Results folder; by default results/NAME.")] = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Only so many repetitions.")] = None,
    workers: Workers = WORKERS,
    only_check: Annotated[bool, typer.Option("--only-check", help="Play nothing; judge what is there.")] = False,
) -> None:
    """Play the missing runs of a paper's experiment and check the paper's claims on them."""
    if name not in EXPERIMENTS and experiments_of(name):
        _list(name)
        return
    with refusing(ValueError):
        chosen = experiment(name)
    directory = out if out is not None else Path("results") / f"{name}{'-quick' if quick else ''}"
    load_plugins()
    if chosen.study is not None and only_check:
        raise UserError(f"--only-check: {name} is a study, which keeps no runs; without the option it is made anew")
    with user_errors(directory):
        with refusing(ValueError):
            earlier = looked(directory / "claims.json", name, quick)
        store = None if chosen.study is not None else Store(directory)
        failed = 0
        if store is not None and not only_check:
            suite = suite_of(chosen, quick, repetitions)
            suite.check()
            console = Console(stderr=True)
            done = play_suite(suite, store, suite.specs(), Workforce(workers), warn, console=console, partly=False)
            failed = len(done.failures)
        made = check(chosen, store, quick, repetitions, earlier)
        if made.table.empty and only_check:
            raise UserError(f"{directory} holds no finished run of {name}; without --only-check they are played")
        page = write(made, directory)
    _report(made, page, 0 if store is None else len(store.done_keys()))
    if store is not None and store.done_keys():
        say(f"next: gpbandit figures {shlex.quote(str(directory))}")
    if failed:
        typer.echo(f"  {failed} runs failed; what they would say is left out", err=True)
        raise typer.Exit(_INCOMPLETE)


def _list(paper: str) -> None:
    say(PAPERS[paper])
    found = experiments_of(paper)
    width = max(len(one.name) for one in found)
    for one in found:
        claims = [claim for claim in one.claims if (claim.paper or one.paper) == paper]
        others = f" of {len(one.claims)}" if len(claims) < len(one.claims) else ""
        figures = list(dict.fromkeys(claim.source for claim in claims))
        more = f", and {len(figures) - _SOURCES} more" if len(figures) > _SOURCES else ""
        say(f"  {one.name:{width}}  {len(claims)}{others} claims: {' | '.join(figures[:_SOURCES])}{more}")
    say(f"next: gpbandit reproduce {found[0].name} --quick")


def _report(made: Reproduction, page: Path, runs: int) -> None:
    for claim in as_json(made)["claims"]:
        reading = f" ({claim['reading']})" if claim["reading"] else ""
        say(f"  {claim['verdict']:>14}  {claim['statement']}{reading} [{claim['source']}]")
        expected = "" if claim["estimate"] is None else f", expected {claim['range']}"
        found = f"{claim['figure']}: {interval_text(claim)}{expected}"
        more = f"; some {rough(claim['needs'])} repetitions would tell" if claim["needs"] else ""
        say(f"{'':18}{found}{more}")
    counts = Counter(one.verdict for one in made.checked)
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) or "no claim is stable in the short form"
    cut = f" of {made.planned}" if made.played < made.planned else ""
    played = f"{runs} runs, " if runs else ""
    typer.echo(f"{made.experiment.name}: {verdicts}; {played}{made.played}{cut} repetitions. See {page.resolve()}")
