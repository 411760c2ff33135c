"""`gpbandit run`."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboards.cli.errors import UserError, user_errors
from leaderboards.cli.terminal import say
from leaderboards.play.adopt import adopt
from leaderboards.play.checkpoint import DEFAULT_EVERY
from leaderboards.play.plugins import load_plugins
from leaderboards.play.run import why_no_regret
from leaderboards.play.schedule import RunReport, RunTimes, missing, run_missing, skip_without_data
from leaderboards.play.schedule import shard as shard_of
from leaderboards.play.spec import RunSpec
from leaderboards.play.store import Store
from leaderboards.play.suite import (
    AgentEntry,
    Suite,
    SuiteError,
    build_environments_once,
    load_suite,
)
from leaderboards.play.workers import EXECUTORS, Limits, make_executor
from leaderboards.text import duration

__all__ = ["run"]

_FAILED = 1
_MIB = 1 << 20
_FAILURES_SHOWN = 5


def run(
    suite: Annotated[str, typer.Argument(help="Name of a suite (see `gpbandit list suites`) or path of a TOML file.")],
    out: Annotated[Path | None, typer.Option(help="Results folder; by default results/SUITE.")] = None,
    workers: Annotated[int, typer.Option(help="Runs at a time; by default one per core.")] = os.cpu_count() or 1,
    executor: Annotated[str, typer.Option(help=f"One of {', '.join(EXECUTORS)}.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a running Dask scheduler, tcp://HOST:PORT; for --executor dask.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="A further agent: an id or package.module:Class; may be repeated.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Play again what crashed, timed out or was skipped.")
    ] = False,
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds that a run may take.")] = None,
    checkpoint: Annotated[
        float, typer.Option(min=1.0, help="Seconds after which a long run saves its state, again and again.")
    ] = DEFAULT_EVERY,
    shard: Annotated[str | None, typer.Option(help="Only part i of N, as i/N; then `gpbandit merge`.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run and how long it may take.")] = False,
    together: Annotated[
        bool,
        typer.Option("--together", help="Play the repetitions of a pair in one go where both sides can."),
    ] = False,
    memory: Annotated[int | None, typer.Option(min=16, help="MiB that a run may use beyond an idle worker.")] = None,
) -> None:
    """Play the missing runs of a suite; the same command resumes after an interruption.

    Exits with 1 if a run crashed or timed out, now or before, or the data of an environment cannot be had.
    """
    if executor not in EXECUTORS:
        raise UserError(f"--executor: expected one of {', '.join(EXECUTORS)}, got {executor!r}")
    if scheduler is not None and executor != "dask":
        raise UserError(f"--scheduler: expected --executor dask with it, got --executor {executor}")
    if together and (timeout is not None or memory is not None):
        raise UserError("--together: expected neither --timeout nor --memory with it, which are for single runs")
    if workers < 1:
        raise UserError(f"--workers: expected at least 1, got {workers}")
    load_plugins()
    directory = out if out is not None else Path("results") / Path(suite).stem
    with user_errors(directory):
        found = with_agents(load_suite(suite), agent or ()).pinned()
        found.check()
        store = Store(directory)
        specs = part(found.specs(), shard)
        if dry_run:
            print_dry_run(specs, store, workers, retry_failed)
            return
        todo = missing(specs, store, retry_failed)
        without_data = build_environments_once(todo)
        for warning in adopt(found, store):
            say(f"warning: {warning}", err=True)
        skip_without_data(todo, store, without_data)
        limits = Limits(timeout, None if memory is None else memory * _MIB, checkpoint)
        console = Console(stderr=True)
        started = time.monotonic()
        workforce = make_executor(executor, workers, limits, scheduler)
        try:
            report = run_missing(
                [spec for spec in specs if spec.env.key not in without_data],
                store,
                workforce,
                limits=limits,
                retry_failed=retry_failed,
                together=together,
                console=console,
            )
        except KeyboardInterrupt as stop:
            stop.add_note(f"{len(store.keys())} runs are in {directory}; give the same command again to go on")
            raise
        finally:
            workforce.close()
        print_report(report, directory, time.monotonic() - started)
        print_gaps(store, specs, without_data)
        if failed := store.keys("crashed", "timeout").intersection(spec.key for spec in specs):
            if not report.failures:
                say(f"  {len(failed)} runs crashed or timed out before: --retry-failed plays them again", err=True)
            raise typer.Exit(_FAILED)
        if without_data:
            raise typer.Exit(_FAILED)


def print_gaps(store: Store, specs: Sequence[RunSpec], without_data: Mapping[str, str]) -> None:
    """Print which environments have no regret, and which were skipped for want of data."""
    for env, reason in without_regret(store, specs).items():
        say(f"  {env}: {reason}", err=True)
    labels = {spec.env.key: spec.env.label for spec in specs}
    for key, reason in without_data.items():
        say(f"  skipped: {labels[key]}, {reason}; the same command tries again", err=True)


def part(specs: Iterable[RunSpec], text: str | None) -> list[RunSpec]:
    """The runs of the shard `i/N`, or all.

    Raises:
        UserError: if the text is no shard.
    """
    if text is None:
        return list(specs)
    number, _, of = text.partition("/")
    try:
        return shard_of(specs, int(number), int(of))
    except ValueError:
        raise UserError(f"--shard: expected i/N with 1 <= i <= N, such as 1/4, got {text!r}") from None


def print_dry_run(specs: Sequence[RunSpec], store: Store, workers: int, retry_failed: bool) -> None:
    """Print the missing runs by pair, and the expected time by the speed of finished runs."""
    times = RunTimes()
    for run in store.entries().values():
        if run.status == "done":
            times.add(run.spec, run.seconds)
    todo = missing(specs, store, retry_failed)
    pairs = Counter((spec.env.label, spec.agent.label) for spec in todo)
    for (env, agent), runs in pairs.items():
        say(f"  {agent} on {env}: {runs} runs")
    expected = [times.seconds(spec) for spec in todo]
    known = [seconds for seconds in expected if seconds is not None]
    speed = f"about {duration(sum(known) / workers)} on {workers} workers" if known else "how long is not known yet"
    there = len(specs) - len(todo)
    say(f"{len(todo)} of {len(specs)} runs would run{f', {speed}' if todo else ''}; {there} are there")


def with_agents(suite: Suite, ids: Sequence[str]) -> Suite:
    """`suite` with further agents.

    Raises:
        UserError: if the suite has one of them already.
    """
    try:
        return suite.with_agents(AgentEntry(id=id) for id in ids)
    except SuiteError as error:
        raise UserError(f"--agent: {error}") from None


def without_regret(store: Store, specs: Iterable[RunSpec]) -> dict[str, str]:
    """Why the regret is not known, by the label of each environment where it is not; by one done run of each."""
    done = store.done_keys()
    one_each = {spec.env.label: spec.key for spec in specs if spec.key in done}
    reasons = {env: why_no_regret(store.trace(key, ["regret", "mean"])) for env, key in one_each.items()}
    return {env: reason for env, reason in reasons.items() if reason is not None}


def print_report(report: RunReport, directory: Path, seconds: float) -> None:
    """Print a short report of the runs."""
    ended = sum(report.ended.values())
    parts = ", ".join(f"{n} {status}" for status, n in sorted(report.ended.items())) or "nothing was missing"
    say(f"{directory}: {ended} runs in {duration(seconds)} ({parts}), {report.before} were there before")
    lines = report.failed()
    for line in list(lines)[:_FAILURES_SHOWN]:
        say(f"  {line}", err=True)
    hidden = sum(list(lines.values())[_FAILURES_SHOWN:])
    if hidden:
        say(f"  and {hidden} more", err=True)
    if report.ended.get("crashed"):
        say(f"  gpbandit page {directory} shows the tracebacks", err=True)
    if report.failures:
        say("  once the cause is mended, the same command with --retry-failed plays them again", err=True)
