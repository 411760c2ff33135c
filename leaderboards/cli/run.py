"""`gpbandit run`."""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboards.archive.read import note_board
from leaderboards.cli.boards import opened, rivals_on
from leaderboards.cli.completion import complete_agent, complete_suite
from leaderboards.cli.errors import UserError, user_errors
from leaderboards.cli.ranking import short_ranking
from leaderboards.cli.terminal import say, say_json
from leaderboards.play.build import make_agent, named_agents
from leaderboards.play.feedback import parse_feedback
from leaderboards.play.plugins import load_plugins
from leaderboards.play.record import lacks_data
from leaderboards.play.run import why_no_regret
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import (
    AgentEntry,
    Suite,
    SuiteError,
    further,
    load_suite,
)
from leaderboards.store.store import Store
from leaderboards.text import duration
from leaderboards.verify.agent_check import protocol_breach
from leaderboards.verify.edited import edited_agents
from leaderboards.work.checkpoint import DEFAULT_EVERY
from leaderboards.work.play import prepare
from leaderboards.work.schedule import RunReport, RunTimes, missing, run_missing
from leaderboards.work.schedule import shard as shard_of
from leaderboards.work.workers import EXECUTORS, Limits, make_executor

__all__ = ["run"]

_FAILED = 1
_MIB = 1 << 20
_FAILURES_SHOWN = 5


def run(
    suite: Annotated[
        str,
        typer.Argument(
            help="Name of a suite (see `gpbandit list suites`) or path of a TOML file.", autocompletion=complete_suite
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Results folder; by default results/NAME, NAME being the suite's.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Runs at a time; by default one per core.")] = os.cpu_count() or 1,
    executor: Annotated[str, typer.Option(help=f"One of {', '.join(EXECUTORS)}.")] = "local",
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a running Dask scheduler, tcp://HOST:PORT; for --executor dask.")
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="A further agent: an id or package.module:Class; may be repeated.", autocompletion=complete_agent
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Play only what --agent names and rank it among the runs of a board: `board` for the one that comes "
            "with the package, or the path or address of one."
        ),
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
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: print JSON.")] = False,
    memory: Annotated[int | None, typer.Option(min=16, help="MiB that a run may use beyond an idle worker.")] = None,
) -> None:
    """Play the missing runs of a suite; the same command resumes after an interruption.

    Exits with 1 if a run crashed or timed out, now or before, or the data of an environment cannot be had.
    """
    check_options(executor, scheduler, agent, against, together and (timeout is not None or memory is not None))
    limits = limits_of(timeout, memory, checkpoint, executor)
    if as_json and not dry_run:
        raise UserError("--json: expected --dry-run with it")
    if workers < 1:
        raise UserError(f"--workers: expected at least 1, got {workers}")
    load_plugins()
    with user_errors(out or Path("results")):
        listed = load_suite(suite)
    directory = out if out is not None else Path("results") / listed.name
    with user_errors(directory):
        found = with_agents(listed, agent or ()).pinned()
        if against is not None:
            rivals_on(against, listed)
        played = found if against is None else further(found, listed)
        played.check()
        store = Store(directory)
        specs = part(played.specs(), shard)
        if dry_run:
            print_dry_run(specs, store, workers, retry_failed, as_json)
            return
        without_data = prepare(found, specs, store, lambda warning: say(f"warning: {warning}", err=True), retry_failed)
        if against is not None:
            note_board(store.directory, against)
        print_breaches([id for id in agent or () if ":" in id], missing(specs, store, retry_failed))
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
        for text in edited_agents(store, specs):
            say(f"  note: {text}", err=True)
        print_gaps(store, specs, without_data)
        print_end(store, shard is not None)
        if failed := store.keys("crashed", "timeout").intersection(spec.key for spec in specs):
            if not report.failures:
                say(f"  {len(failed)} runs crashed or timed out before: --retry-failed plays them again", err=True)
            raise typer.Exit(_FAILED)
        if without_data:
            raise typer.Exit(_FAILED)


def check_options(
    executor: str, scheduler: str | None, agent: Sequence[str] | None, against: str | None, limits_together: bool
) -> None:
    """Check options that ask for or exclude each other.

    Raises:
        UserError: naming the option.
    """
    if executor not in EXECUTORS:
        raise UserError(f"--executor: expected one of {', '.join(EXECUTORS)}, got {executor!r}")
    if scheduler is not None and executor != "dask":
        raise UserError(f"--scheduler: expected --executor dask with it, got --executor {executor}")
    if limits_together:
        raise UserError("--together: expected neither --timeout nor --memory with it, which are for single runs")
    if against is not None and not agent:
        raise UserError("--against: expected --agent with it, the agents that are to be ranked on the board")


def limits_of(timeout: float | None, memory: int | None, checkpoint: float, executor: str) -> Limits:
    """The limits of a run; `memory` is in MiB.

    Raises:
        UserError: naming the option that is out of range, or that the executor cannot keep.
    """
    if memory is not None and executor == "serial":
        raise UserError("--memory: expected another executor than serial, which plays in the command's own process")
    try:
        return Limits(timeout, None if memory is None else memory * _MIB, checkpoint)
    except ValueError as error:
        raise UserError(f"--{error}") from None


def print_breaches(ids: Iterable[str], todo: Iterable[RunSpec]) -> None:
    """Print where agents break the protocol, as `agents.check_agent` finds; those that have nothing to play are left.

    They play all the same: a run says itself what is wrong, and some clauses, such as that of failed evaluations, may
    not matter to the suite.
    """
    playing = {spec.agent.id for spec in todo}
    for id in dict.fromkeys(ids):
        if id in playing and (breach := protocol_breach(id)) is not None:
            say(f"warning: {id} breaks the protocol of agents: {breach} (agents.check_agent)", err=True)


def print_end(store: Store, is_shard: bool) -> None:
    """Print who leads, who ended no better than uniform sampling, and what to type next."""
    if not store.done_keys():
        return
    if is_shard:
        say(f"next: gpbandit merge {shlex.quote(str(store.directory))} OTHER ... --out ALL, once all shards are done")
        return
    here = {store.entry(key).spec.agent.label for key in store.done_keys()}
    for line in short_ranking(opened(store.directory), also=here):
        say(line)
    own = " --import-agents" if named_agents(entry.spec for entry in store.entries().values()) else ""
    say(f"next: gpbandit page {shlex.quote(str(store.directory))}{own}")


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


def print_dry_run(
    specs: Sequence[RunSpec], store: Store, workers: int, retry_failed: bool, as_json: bool = False
) -> None:
    """Print the missing runs by pair, and the expected time by the speed of finished runs.

    A pair that was skipped in one repetition will be in all. Of a pair that was never tried it is known whether the
    agent can play under the feedback, not whether it fits the environment, which would have to be built.

    Args:
        specs: The runs of the suite.
        store: What is there.
        workers: Runs at a time.
        retry_failed: Whether to count what is not done as missing.
        as_json: One JSON object instead of lines.
    """
    times, entries = RunTimes(), store.entries()
    reasons: dict[tuple[str, str, str], str | None] = {}
    for run in entries.values():
        if run.status == "done":
            times.add(run.spec, run.seconds)
        elif run.status == "skipped" and not lacks_data(run.status, run.reason):
            reasons[pair_of(run.spec)] = run.reason or "skipped before"
    todo = missing(specs, store, retry_failed)
    for spec in {pair_of(spec): spec for spec in todo}.values():
        if (unfit := parse_feedback(spec.feedback).incompatibility(make_agent(spec.agent).capabilities)) is not None:
            reasons.setdefault(pair_of(spec), unfit)
    played = [spec for spec in todo if pair_of(spec) not in reasons]
    again = {spec.key for spec in todo}
    before = Counter(str(entries[spec.key].status) for spec in specs if spec.key not in again)
    expected = [times.seconds(spec) for spec in played]
    known = [seconds for seconds in expected if seconds is not None]
    # Pairs that have not run yet may be faster or slower: nothing is known of them.
    seconds = sum(known) / workers if known else None
    pairs = Counter((spec.env.label, spec.agent.label) for spec in todo)
    why = {(spec.env.label, spec.agent.label): reasons.get(pair_of(spec)) for spec in todo}
    if as_json:
        rows = [{"env": e, "agent": a, "runs": n, "skipped": why[e, a]} for (e, a), n in pairs.items()]
        of = {"runs": len(specs), "play": len(played), "skip": len(todo) - len(played), "there": dict(before)}
        say_json({**of, "seconds": seconds, "runs_of_unknown_time": len(played) - len(known), "pairs": rows})
        return
    for (env, agent), n in pairs.items():
        reason = why[env, agent]
        say(f"  {agent} on {env}: {n} runs" if reason is None else f"  {agent} on {env}: {n} skipped, {reason}")
    speed = f"about {duration(seconds)} on {workers} workers" if seconds is not None else "how long is not known yet"
    if seconds is not None and len(known) < len(played):
        speed += f" for {len(known)} of them, the others have no times yet"
    skipped = f", {len(todo) - len(played)} would be skipped" if len(todo) > len(played) else ""
    ended = f" ({', '.join(f'{n} {status}' for status, n in sorted(before.items()))})" if set(before) - {"done"} else ""
    say(
        f"{len(played)} of {len(specs)} runs would run{f', {speed}' if played else ''}{skipped}; "
        f"{len(specs) - len(todo)} are there{ended}"
    )


def pair_of(spec: RunSpec) -> tuple[str, str, str]:
    """What decides whether a run is skipped: environment, feedback and agent, whatever the repetition."""
    return spec.env.key, spec.feedback, spec.agent.key


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
    if any(outcome.status != "skipped" for outcome in report.failures):  # what does not fit, does not fit again
        say("  once the cause is mended, the same command with --retry-failed plays them again", err=True)
