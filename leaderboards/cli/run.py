"""`gpbandit run`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboards.api.run_suite import asked_for, play_asked
from leaderboards.cli.errors import UserError, option_errors, user_errors
from leaderboards.cli.ranking import opened, short_ranking
from leaderboards.cli.terminal import WORKERS, import_from_here, say, warn
from leaderboards.play.build import named_agents
from leaderboards.play.spec import RunSpec
from leaderboards.store.store import Store
from leaderboards.text import duration
from leaderboards.verify.agent_check import protocol_breaches
from leaderboards.work.checkpoint import DEFAULT_EVERY
from leaderboards.work.executors import EXECUTORS, Workforce
from leaderboards.work.jobs import DEFAULT_TIMEOUT, Limits
from leaderboards.work.schedule import RunReport

_FAILED = 1
_MIB = 1 << 20
_FAILURES_SHOWN = 5


def run(
    suite: Annotated[
        str,
        typer.Argument(help="Name of a suite (see `gpbandit list suites`) or path of a TOML file."),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Results folder; by default results/NAME, NAME being the suite's.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Runs at a time; by default one per core.")] = WORKERS,
    executor: Annotated[str, typer.Option(help=f"One of {', '.join(EXECUTORS)}.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a running Dask scheduler, tcp://HOST:PORT; for --executor dask.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(help="A further agent: an id, or package.module:Class. May be repeated."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Play only what --agent names, and rank it among the runs of this board: its name or path, "
            "or `board` for the board of the suite."
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Play again what crashed, timed out or was skipped.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a run may take.")] = DEFAULT_TIMEOUT,
    checkpoint: Annotated[
        float, typer.Option(min=1.0, help="Seconds between two saved states of a long run.")
    ] = DEFAULT_EVERY,
    shard: Annotated[str | None, typer.Option(help="Play only part i of N, as i/N; then `gpbandit merge`.")] = None,
    portable: Annotated[
        bool,
        typer.Option(
            "--portable", help="Compute as every x86-64-v3 processor can, so that all of them get the same bits."
        ),
    ] = False,
    memory: Annotated[int | None, typer.Option(min=16, help="MiB that a run may use beyond an idle worker.")] = None,
) -> None:
    """Play the missing runs of a suite. After an interruption the same command goes on.

    The exit code is 1 if a run crashed or timed out, now or before, or if data are missing.
    """
    if suite.endswith(".toml") or any(":" in id for id in agent or ()):
        import_from_here()
    if against is not None and not agent:
        raise UserError("--against: expected --agent with it, the agents that are to be ranked on the board")
    with option_errors("workers", "executor", "scheduler", "portable", "timeout", "memory", "checkpoint"):
        limits = Limits(timeout, None if memory is None else memory * _MIB, checkpoint)
        workforce = Workforce(workers, executor, limits, scheduler, portable)
    with user_errors(out or Path("results")), option_errors("against", "shard", board="against", agents="agent"):
        found, specs = asked_for(suite, agent or (), against, shard)
    directory = out if out is not None else Path("results") / found.name
    begun = False

    def begins(todo: Sequence[RunSpec]) -> None:
        nonlocal begun
        for id, breach in protocol_breaches(agent or (), todo):
            warn(f"{id} {breach}")
        begun = True

    with user_errors(directory):
        store = Store(directory)
        started = time.monotonic()
        try:
            report = play_asked(
                found,
                specs,
                store,
                workforce,
                warn,
                against=against,
                begins=begins,
                console=Console(stderr=True),
                retry_failed=retry_failed,
            )
        except KeyboardInterrupt as stop:
            if begun:
                stop.add_note(f"{len(store.keys())} runs are in {directory}; give the same command again to go on")
            raise
        print_report(report, directory, time.monotonic() - started)
        print_end(store, shard is not None)
    if report.failed and not report.failures:
        say(f"  {report.failed} runs crashed or timed out before: --retry-failed plays them again", err=True)
    if not report.is_whole:
        raise typer.Exit(_FAILED)


def print_end(store: Store, is_shard: bool) -> None:
    """Print who leads, who ended no better than uniform sampling, and what to type next."""
    if not store.done_keys():
        return
    if is_shard:
        say(f"next: gpbandit merge {shlex.quote(str(store.directory))} OTHER ... --out ALL, once all shards are done")
        return
    here = {store.entry(key).spec.agent.label for key in store.done_keys()}
    view = opened(store.directory)
    for line in short_ranking(view, also=here):
        say(line)
    own = " --import-agents" if named_agents(entry.spec for entry in store.entries().values()) else ""
    say(f"next: gpbandit page {shlex.quote(str(store.directory))}{own}")


def print_report(report: RunReport, directory: Path, seconds: float) -> None:
    """Print a short report of the runs."""
    ended = sum(report.ended.values())
    parts = ", ".join(f"{n} {status}" for status, n in sorted(report.ended.items())) or "nothing was missing"
    say(f"{directory}: {ended} runs in {duration(seconds)} ({parts}), {report.before} were there before")
    lines = report.failure_lines()
    for line in list(lines)[:_FAILURES_SHOWN]:
        say(f"  {line}", err=True)
    hidden = sum(list(lines.values())[_FAILURES_SHOWN:])
    if hidden:
        say(f"  and {hidden} more", err=True)
    if report.ended.get("crashed"):
        say(f"  gpbandit page {directory} shows the tracebacks", err=True)
    if any(record.status != "skipped" for record in report.failures):  # what does not fit does not then
        say("  once the cause is mended, the same command with --retry-failed plays them again", err=True)
    for text in report.changed:
        say(f"  note: {text}", err=True)
    for env, reason in report.without_regret.items():
        say(f"  {env}: {reason}", err=True)
    for env, reason in report.without_data.items():
        say(f"  skipped: {env}, {reason}; the same command tries again", err=True)
