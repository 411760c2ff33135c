"""`gpbandit run`."""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboards.cli.errors import UserError, user_errors
from leaderboards.play.checkpoint import DEFAULT_EVERY
from leaderboards.play.plugins import load_plugins
from leaderboards.play.run import NO_REGRET
from leaderboards.play.schedule import RunReport, RunTimes, missing, run_missing
from leaderboards.play.schedule import shard as shard_of
from leaderboards.play.spec import RunSpec
from leaderboards.play.store import Store, SuiteLostError
from leaderboards.play.suite import (
    AgentEntry,
    Suite,
    SuiteError,
    build_environments_once,
    load_suite,
    not_in_suite,
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

    Exits with 1 if a run crashed or timed out, now or before.
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
        found = with_agents(load_suite(suite), agent or ())
        found.check()
        store = Store(directory)
        specs = part(found.specs(), shard)
        if dry_run:
            print_dry_run(specs, store, workers, retry_failed)
            return
        build_environments_once(missing(specs, store, retry_failed))
        adopt(found, store)
        limits = Limits(timeout, None if memory is None else memory * _MIB, checkpoint)
        console = Console(stderr=True)
        started = time.monotonic()
        workforce = make_executor(executor, workers, limits, scheduler)
        try:
            report = run_missing(
                specs,
                store,
                workforce,
                limits=limits,
                retry_failed=retry_failed,
                together=together,
                console=console,
            )
        except KeyboardInterrupt:
            typer.echo(
                f"stopped: {len(store.keys())} runs are in {directory}; give the same command again to go on", err=True
            )
            raise
        finally:
            workforce.close()
        print_report(report, directory, time.monotonic() - started)
        for env in without_regret(store, specs):
            typer.echo(f"  {env}: {NO_REGRET}", err=True)
        if failed := store.keys("crashed", "timeout").intersection(spec.key for spec in specs):
            if not report.failures:
                typer.echo(
                    f"  {len(failed)} runs crashed or timed out before: --retry-failed plays them again", err=True
                )
            raise typer.Exit(_FAILED)


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
        typer.echo(f"  {agent} on {env}: {runs} runs")
    expected = [times.seconds(spec) for spec in todo]
    known = [seconds for seconds in expected if seconds is not None]
    speed = f"about {duration(sum(known) / workers)} on {workers} workers" if known else "how long is not known yet"
    there = len(specs) - len(todo)
    typer.echo(f"{len(todo)} of {len(specs)} runs would run{f', {speed}' if todo else ''}; {there} are there")


def with_agents(suite: Suite, ids: Sequence[str]) -> Suite:
    """`suite` with further agents; one whose label is taken has its full id for a label, or that with a number.

    Raises:
        UserError: if the suite has one of them already.
    """
    entries = list(suite.agents)
    for id in ids:
        entry = AgentEntry(id=id)
        if same := [other for other in entries if other.ref.identity == entry.ref.identity]:
            raise UserError(f"--agent: {id!r} plays already, as {same[0].ref.label!r}")
        taken = {other.ref.label for other in entries}
        labels = itertools.chain([entry.ref.label, id], (f"{id} {n}" for n in itertools.count(2)))
        entries.append(AgentEntry(id=id, label=next(label for label in labels if label not in taken)))
    return suite.model_copy(update={"agents": tuple(entries)})


def adopt(suite: Suite, store: Store) -> None:
    """Make `suite` the one of this folder; warns of results that are not in it.

    Raises:
        SuiteError: if the folder holds another suite.
    """
    try:
        there = store.suite()
    except SuiteLostError:
        there = None
        typer.echo(f"warning: the suite of {store.directory} was damaged and is written anew", err=True)
    if there is not None and there.name != suite.name:
        raise SuiteError(
            f"{store.directory} holds results of suite {there.name!r}: give another folder for {suite.name!r} "
            "with --out"
        )
    store.write_suite(suite)
    done = {key: run.spec for key, run in store.entries().items() if run.status == "done"}
    if apart := not_in_suite(suite, done):
        typer.echo(
            f"warning: {store.directory} holds {len(apart)} runs of another environment, horizon, feedback or seed "
            f"than suite {suite.name!r} asks for, such as {_what(done[apart[0]])}: the page shows them apart and "
            "leaves them out of the mean rank",
            err=True,
        )


def _what(spec: RunSpec) -> str:
    name = f"{spec.agent.label} on {spec.env.label}"
    return f"{name} (horizon {spec.horizon}, {spec.feedback}, seed {spec.seed})"


def without_regret(store: Store, specs: Iterable[RunSpec]) -> list[str]:
    """Labels of the environments without known regret, by one done run of each."""
    done = store.done_keys()
    one_each = {spec.env.label: spec.key for spec in specs if spec.key in done}
    return [env for env, key in one_each.items() if store.trace(key, ["regret"])["regret"].isna().all()]


def print_report(report: RunReport, directory: Path, seconds: float) -> None:
    """Print a short report of the runs."""
    ended = sum(report.ended.values())
    parts = ", ".join(f"{n} {status}" for status, n in sorted(report.ended.items())) or "nothing was missing"
    typer.echo(f"{directory}: {ended} runs in {duration(seconds)} ({parts}), {report.before} were there before")
    repetitions: dict[tuple[str, str | None], list[int]] = {}  # a pair that does not fit is skipped in each of them
    for outcome in report.failures:
        what = f"{outcome.status}: {outcome.spec.agent.label} on {outcome.spec.env.label}"
        repetitions.setdefault((what, outcome.reason), []).append(outcome.spec.repetition)
    for (what, reason), numbers in list(repetitions.items())[:_FAILURES_SHOWN]:
        which = f"repetition {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} repetitions"
        typer.echo(f"  {what}, {which}: {reason}", err=True)
    hidden = sum(len(numbers) for numbers in list(repetitions.values())[_FAILURES_SHOWN:])
    if hidden:
        typer.echo(f"  and {hidden} more", err=True)
    if report.ended.get("crashed"):
        typer.echo(f"  gpbandit page {directory} shows the tracebacks", err=True)
    if report.failures:
        typer.echo("  once the cause is mended, the same command with --retry-failed plays them again", err=True)
