"""`gpbandit board`: boards that come with the package are made, checked, added to and packed."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections import Counter
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from leaderboards.cli.errors import UserError, option_errors, refusing, user_errors
from leaderboards.cli.ranking import rivals_on
from leaderboards.cli.results import UNTOLD, limits_of, sandbox_of, say_screen
from leaderboards.cli.terminal import WORKERS, Memory, Timeout, Yes, ask_to_run, say, warn
from leaderboards.play.suite import Suite, load_suite
from leaderboards.publish.boards import BOARD, Board, board, board_folder, board_names, board_of
from leaderboards.publish.check import check_board, renew_unchanged
from leaderboards.publish.holdout import LEADERS, play_holdout
from leaderboards.publish.make import make_board
from leaderboards.publish.submission import (
    Submission,
    accept,
    faults,
    not_installed,
    open_submission,
    refuse_unfit,
    same_on_board,
)
from leaderboards.store.origin import git
from leaderboards.store.provenance import Report
from leaderboards.store.store import Store
from leaderboards.text import wall_time
from leaderboards.verify.choose import sample
from leaderboards.verify.likeness import likened
from leaderboards.verify.screen import screen
from leaderboards.verify.verify import NOT_HERE
from leaderboards.verify.verify import verify as verify_runs
from leaderboards.work.executors import LocalExecutor
from leaderboards.work.jobs import memory_limit

_DIFFERS, _REFUSED = 1, 5

app = typer.Typer(
    no_args_is_help=True,
    help="Make, check and pack boards, and add to them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

_NAME = Annotated[str, typer.Argument(help="Name of a board or of its suite, such as core-v2.")]
_WORKERS = Annotated[int, typer.Option(min=1, help="Runs at a time.")]
_SEED = Annotated[str | None, typer.Option(help="Text that chooses the runs; the hash of the commit by default.")]
_NATIVE = Annotated[
    bool,
    typer.Option("--native", help="Compute with this processor's own loops, not those that every x86-64-v3 one has."),
]


@app.command("list")
def list_boards(
    name: Annotated[str | None, typer.Argument(help="One board alone.")] = None,
) -> None:
    """List the boards that come with the package: what was played, what is missing and who is stale."""
    for board_name in board_names() if name is None else [name]:
        found = opened(board_name)
        stale = sorted(set(found.stale().values()))
        text = f"; changed since: {', '.join(stale)}" if stale else ""
        skipped = len(found.keys("skipped"))
        unfit = f", {skipped} skipped" if skipped else ""
        entries = found.entries().values()
        files = len({run.file for run in entries})
        say(f"{board_name}: {len(found.done_keys())} of {found.suite().n_runs} runs of {files} agents{unfit}{text}")
        if took := wall_time([run.seconds for run in entries]):
            say(f"  took {took}")
        lacking: dict[str, list[str]] = {}
        for agent, by_env in found.missing().items():
            where = "all environments" if len(by_env) == len(found.suite().tasks) else "; ".join(by_env)
            lacking.setdefault(f"{sum(map(len, by_env.values()))} runs on {where}", []).append(agent)
        for what, agents in lacking.items():
            say(f"  missing: {what} of {f'each of {files} agents' if len(agents) == files > 1 else ', '.join(agents)}")


@app.command()
def make(
    name: _NAME,
    results: Annotated[Path | None, typer.Option(help="Where whole traces are kept; build/boards/NAME.")] = None,
    workers: _WORKERS = 1,
    native: _NATIVE = False,
) -> None:
    """Play what a board lacks and write its files; the same command goes on, and Ctrl-C loses nothing."""
    directory = results if results is not None else Path("build") / "boards" / name.replace("/", "-")
    with user_errors(directory):
        suite, store, console = load_suite(name), Store(directory), Console(stderr=True)
        make_board(suite, store, workers, say, native=native, console=console)


@app.command()
def check(
    name: _NAME,
    share: Annotated[float, typer.Option(help="Which share of the runs to play again.")] = 0.01,
    seed: _SEED = None,
    workers: _WORKERS = 1,
    yes: Yes = False,
    native: _NATIVE = False,
) -> None:
    """Play a sample of a board again: identical, agrees, undecided or disagrees; name agents whose code has changed.

    Exits with 1 if a run disagrees.
    """
    found = opened(name)
    chosen_by = seed if seed is not None else _commit()
    with option_errors("share"):
        keys = sample(found.done_keys(), chosen_by, share)
    specs = [found.spec(key) for key in keys]
    ask_to_run(specs, yes)
    say(f"{len(keys)} of {len(found.done_keys())} runs, chosen by {chosen_by}")
    with user_errors(found.directory), closing(LocalExecutor(workers, portable=not native)) as executor:
        verdicts = check_board(found, keys, executor)
    for verdict in verdicts:
        spec = found.spec(verdict.key)
        what = f"{spec.agent.label} on {spec.env.label}, repetition {spec.repetition}"
        level = "not here" if verdict.level == NOT_HERE else verdict.level
        say(f"{level:<10} {verdict.key[:8]} {what}: {verdict.text}")
    stale = found.stale().values()
    for label in stale:
        say(f"stale      {label}: its code has changed since its runs were played")
    levels = [verdict.level for verdict in verdicts]
    counts = ", ".join(f"{levels.count(level)} {level}" for level in ("identical", "agrees", "disagrees"))
    counts += f", {levels.count('undecided')} undecided" if "undecided" in levels else ""
    say(f"{counts}; {len(stale)} agents are stale")
    if NOT_HERE in levels:
        say(f"{levels.count(NOT_HERE)} cannot be played here: for want of data, extras or the code of submitted agents")
    say_screen(found, every=False)
    if "disagrees" in levels:
        raise typer.Exit(_DIFFERS)


@app.command("renew")
def renew_stale(
    name: _NAME,
    seed: _SEED = None,
    workers: _WORKERS = 1,
    native: _NATIVE = False,
) -> None:
    """Take agents whose code has changed as the same where they play as before.

    One run of every task is played again for each. If all of them are the same but for rounding the agent's runs count
    for the new code; otherwise `gpbandit board make` plays them all anew. Exits with 1 if there is such an agent.
    """
    found, changed = opened(name), 0
    chosen_by = seed if seed is not None else _commit()
    with user_errors(found.directory), closing(LocalExecutor(workers, portable=not native)) as executor:
        for agent, runs, other in renew_unchanged(found, chosen_by, executor):
            if other is None:
                say(f"the same   {agent}: {runs} runs, one of each task, are the same but for rounding")
                continue
            changed += 1
            spec = found.spec(other.key)
            say(f"changed    {agent}, as on {spec.env.label}, repetition {spec.repetition}: {other.text}")
    if changed:
        raise typer.Exit(_DIFFERS)


@app.command()
def add(
    submission: Annotated[Path, typer.Argument(help="Folder of a submission.")],
    by: Annotated[str, typer.Option(help="Who plays its runs.")],
    code: Annotated[str, typer.Option(help="Address at which its code is kept.")],
    repetitions: Annotated[int, typer.Option(min=3, help="Instances of each task of the hold-out.")] = 10,
    workers: _WORKERS = 1,
    yes: Yes = False,
    timeout: Timeout = 3600.0,
    memory: Memory = 8192,
) -> None:
    """Add a submission to the board of its suite: all its runs as they are played here, in the sandbox.

    Its agents also play a hold-out whose root seed is drawn now. What both find is kept with the row, beside the
    verdicts on its author's figures. Exits with 1 if the submission is refused, and with 3 where that cannot be told.
    """
    limits = limits_of(timeout, memory)
    with user_errors(submission), memory_limit(limits), tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        found, suite = _accepted(submission, Path(scratch) / "submitted", "added")
        folder = board_folder(suite.part_of or suite.name)
        refuse_unfit(found, folder)
        if lacking := not_installed(found):
            for text in dict.fromkeys(lacking.values()):
                say(f"nothing is added: {text}")
            raise typer.Exit(UNTOLD)
        ask_to_run([run.spec for run in found.store.entries().values()], yes)
        sandbox = sandbox_of(found, timeout, memory)
        if not sandbox.bubblewrap:
            say("nothing is added to a board by agents that are not isolated")
            raise typer.Exit(UNTOLD)
        again, keys = Path(scratch) / "again", sorted(found.store.done_keys())
        with closing(LocalExecutor(workers, limits, portable=True)) as executor:
            verdicts = verify_runs(found.store, keys, again, executor, sandbox)
        replayed = Store(again)
        replayed.write_suite(suite)
        refused = [f"{len(keys) - len(replayed.done_keys())} runs cannot be played here to their end"]
        refused = refused if len(replayed.done_keys()) < len(keys) else []
        refused += [f"{one.key[:8]}: {one.text}" for one in verdicts if one.level == "disagrees"]
        for text in refused[:_REFUSED]:
            say(f"NOT {text}")
        screened = screen(replayed)
        flagged = say_screen(replayed)
        mine = replace(found, store=replayed)
        copies = [*same_on_board(mine), *likened(replayed, board_of(BOARD, suite))]
        for text in copies:
            warn(text)
        if refused or flagged:
            raise typer.Exit(_DIFFERS)
        played = play_holdout(
            rivals_on(BOARD, suite),
            Path(scratch) / "holdout",
            mine,
            repetitions=repetitions,
            workers=workers,
            sandbox=sandbox,
            limits=limits,
        )
        for row in played.rows:
            say(f"{'NOT' if row.worse else 'ok '} hold-out: {row}")
        if played.failed or any(row.worse for row in played.rows if row.submitted):
            raise typer.Exit(_DIFFERS)
        report = Report(
            when=time.time(),
            sandbox="bubblewrap",
            figures=dict(Counter(one.level for one in verdicts)),
            seed=str(played.seed),
            holdout=tuple(map(str, played.rows)),
            screen=tuple(map(str, screened)),
            copies=tuple(copies),
        )
        now = accept(found, folder, replayed, report, by=by, code=code)
    say(f"{folder}: {len(now.done_keys())} runs of {len(now.index.files)} agents; hold-out of root seed {played.seed}")


@app.command()
def holdout(
    submission: Annotated[Path, typer.Argument(help="Folder of a submission; or name of a board, whose leaders play.")],
    repetitions: Annotated[int, typer.Option(min=3, help="Instances of each task.")] = 10,
    workers: _WORKERS = 1,
    leaders: Annotated[int, typer.Option(min=1, help="Of a board: how many rows lead, by mean rank.")] = LEADERS,
    yes: Yes = False,
    timeout: Timeout = 3600.0,
    memory: Memory = 8192,
) -> None:
    """Play a submitted agent on instances that nobody could know, and tell whether its record holds there.

    A root seed is drawn now and named at the end; leading rows of the board and the uniform one play the same
    instances. With the name of a board these rows play alone, and their order is compared. Exits with 1 if a submitted
    agent does worse than its record.
    """
    is_board = str(submission) in board_names() and not submission.exists()
    if not (is_board or submission.exists()):
        names = ", ".join(board_names())
        raise UserError(f"{submission}: expected the folder of a submission, or one of the boards {names}")
    limits = limits_of(timeout, memory)
    with (
        user_errors(submission),
        nullcontext() if is_board else memory_limit(limits),
        tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch,
    ):
        play = partial(play_holdout, scratch=Path(scratch) / "holdout", repetitions=repetitions, workers=workers)
        if is_board:
            result = play(board(str(submission)), leaders=leaders)
        else:
            found, suite = _accepted(submission, Path(scratch) / "submitted", "played")
            ask_to_run([run.spec for run in found.store.entries().values()], yes)
            sandbox = sandbox_of(found, timeout, memory)
            result = play(rivals_on(BOARD, suite), submission=found, sandbox=sandbox, limits=limits)
    for text in result.failed:
        say(f"NOT {text}")
    for row in result.rows:
        say(f"{'NOT' if row.worse else 'ok '} {row}{'' if row.submitted else ' (row of the board)'}")
    if is_board:
        for where, by in (("record", "recorded"), ("hold-out", "anew")):
            ordered = ", ".join(row.agent for row in sorted(result.rows, key=attrgetter(by)))
            say(f"from the least regret on {where}: {ordered}")
    say(f"the root seed was {result.seed}; whoever knows it can no longer be tested with it")
    if not is_board and (result.failed or any(row.worse for row in result.rows if row.submitted)):
        raise typer.Exit(_DIFFERS)
    if not (is_board or sandbox.bubblewrap):
        raise typer.Exit(UNTOLD)


def _accepted(submission: Path, scratch: Path, what: str) -> tuple[Submission, Suite]:
    """A submission without faults, and its suite."""
    found = open_submission(submission, scratch)
    if wrong := faults(found):
        raise UserError(f"{submission} is not {what}: {wrong[0]}")
    suite = found.store.suite()
    assert suite is not None  # which would be a fault
    return found, suite


@app.command()
def site(
    out: Annotated[Path, typer.Option(help="Folder of the site.")] = Path("build") / "site",
    workers: Annotated[int, typer.Option(min=1, help="Boards at a time; by default one per core.")] = WORKERS,
) -> None:
    """Write the pages of all boards and the front page, from which they and the documentation can be reached."""
    from leaderboards.publish.front import build_front

    with user_errors(out):
        say(f"The site is at {build_front(out, workers).resolve()}")


def opened(name: str) -> Board:
    """The board of that name.

    Raises:
        UserError: if there is none.
    """
    with refusing(ValueError), user_errors(Path(name)):
        return board(name)


def _commit() -> str:
    """The hash of the commit of this checkout."""
    try:
        return git("rev-parse", "HEAD")
    except (OSError, subprocess.SubprocessError):
        raise UserError("--seed: expected one, since this is no checkout of a commit") from None
