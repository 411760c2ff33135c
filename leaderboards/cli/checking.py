"""`gpbandit verify` and `gpbandit query`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from leaderboards.cli.errors import UserError, results_folder, user_errors
from leaderboards.play.executors import make_executor
from leaderboards.play.plugins import load_plugins
from leaderboards.play.query import QueryError
from leaderboards.play.query import query as ask
from leaderboards.play.store import Store
from leaderboards.play.verify import verify as play_again

__all__ = ["query", "verify"]

_DIFFERS = 1
_ROWS_SHOWN = 1000


def verify(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    row: Annotated[
        list[str] | None, typer.Option(help="An agent's label, `AGENT@ENVIRONMENT`, or the start of a run's key.")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Only so many runs, chosen evenly over all.")] = None,
    workers: Annotated[int, typer.Option(help="Runs at a time; by default one per core.")] = os.cpu_count() or 1,
) -> None:
    """Play runs again and compare their traces; exits with 1 if one differs."""
    if workers < 1:
        raise UserError(f"--workers: expected at least 1, got {workers}")
    if sample is not None and sample < 1:
        raise UserError(f"--sample: expected at least 1, got {sample}")
    load_plugins()
    store = Store(results_folder(directory))
    differing = 0
    with user_errors(directory), tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        keys = choose(store, row or [])
        if sample is not None and sample < len(keys):
            keys = [keys[i] for i in np.linspace(0, len(keys) - 1, sample).round().astype(int)]
        runs = store.runs()
        executor = make_executor("local", workers)
        try:
            for verdict in play_again(store, keys, Path(scratch), executor):
                run = runs.loc[verdict.key]
                what = f"{run['agent']} on {run['env']}, repetition {run['repetition']}"
                typer.echo(f"{'ok ' if verdict.agrees else 'NOT'} {verdict.key[:8]} {what}: {verdict.text}")
                differing += not verdict.agrees
        finally:
            executor.close()
    typer.echo(f"{len(keys) - differing} of {len(keys)} runs agree")
    if differing:
        raise typer.Exit(_DIFFERS)


def choose(store: Store, rows: list[str]) -> list[str]:
    """Keys of the done runs that `rows` name, or of all.

    Raises:
        UserError: if a row names none.
    """
    runs = store.runs()
    runs = runs[runs["status"] == "done"]
    if runs.empty:
        raise UserError(f"{store.directory} holds no run that is done")
    if not rows:
        return [str(key) for key in runs.index]
    keys: list[str] = []
    for row in rows:
        agent, _, env = row.partition("@")
        named = runs[(runs["agent"] == agent) & ((runs["env"] == env) | (env == ""))]
        found = [str(key) for key in named.index] or [str(key) for key in runs.index if str(key).startswith(row)]
        if not found:
            raise UserError(
                f"--row: no run that is done is named {row!r}; agents are {', '.join(sorted(set(runs['agent'])))}"
            )
        keys += found
    return list(dict.fromkeys(keys))


def query(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    sql: Annotated[str, typer.Argument(help="SQL over the tables runs and traces.")],
    csv: Annotated[bool, typer.Option("--csv", help="Answer as CSV.")] = False,
) -> None:
    """Answer a query over runs and traces, such as SELECT agent, avg(regret) FROM traces GROUP BY agent."""
    store = Store(results_folder(directory))
    with user_errors(directory):
        try:
            answer = ask(store, sql)
        except QueryError as error:
            raise UserError(str(error)) from None
    typer.echo(answer.to_csv(index=False).rstrip() if csv else answer.head(_ROWS_SHOWN).to_string(index=False))
