"""Commands on a results folder: `gpbandit figures`, `watch`, `merge`, `submit`, `add`, `verify` and `query`."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from leaderboards.cli.against import joined, opened
from leaderboards.cli.errors import UserError, option_errors, results_folder, user_errors
from leaderboards.cli.ranking import check_metric, criteria_help
from leaderboards.cli.screen import say_screen
from leaderboards.cli.terminal import ask_to_run, say, say_json
from leaderboards.play.build import load_plugins
from leaderboards.publish.submission import (
    faults,
    is_submission,
    make_submission,
    open_submission,
    same_on_board,
)
from leaderboards.store import exchange
from leaderboards.store.note import noted
from leaderboards.store.query import QueryError
from leaderboards.store.query import query as answer_query
from leaderboards.store.store import Store
from leaderboards.verify.choose import choose, drawn
from leaderboards.verify.verify import NOT_HERE, Verdict, played_portably
from leaderboards.verify.verify import verify as verify_runs
from leaderboards.work.executors import LocalExecutor

__all__ = ["add", "figures", "merge", "query", "submit", "verify", "watch"]

_DIFFERS = 1
_MARKS = {True: "ok ", False: "NOT", None: "?  "}
_ROWS_SHOWN = 1000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def figures(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; DIRECTORY/figures by default.")] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only this agent, by its label or id. May be repeated. Ranks are among the agents shown."
        ),
    ] = None,
    rival: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare the agents with this one, by its label or id. May be repeated. p-values are corrected for "
            "these pairs only."
        ),
    ] = None,
    only_mean: Annotated[
        bool, typer.Option("--only-mean", help="The LaTeX table (siunitx) holds only means, to fit a column.")
    ] = False,
) -> None:
    """Draw figures and tables for a paper: PNG and PDF, Markdown and LaTeX."""
    with user_errors(directory):
        if not Store(results_folder(directory)).done_keys():
            raise UserError(f"{directory} holds no finished run: give `gpbandit run SUITE --out {directory}` first")
        from leaderboards.show import make_figures

        with option_errors(agents="agent", rivals="rival"):
            files = make_figures(opened(directory), out, agents=agent or (), rivals=rival or (), only_mean=only_mean)
        for path in files:
            say(str(path))


def watch(
    directory: Annotated[Path, typer.Argument(help="Results folder of a suite that is running.")],
    interval: Annotated[float, typer.Option(help="Seconds between two updates.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once and return.")] = False,
    ranked_by: Annotated[str, typer.Option("--rank-by", help=criteria_help)] = "cumulative_regret",
) -> None:
    """Show a suite while it runs: what is done, what failed, the time left, the ranking so far."""
    if interval <= 0:
        raise UserError(f"--interval: expected a number of seconds > 0, got {interval!r}")
    check_metric(ranked_by)
    with user_errors(directory):
        results_folder(directory)
        from leaderboards.show import watch as show

        show(directory, interval=interval, once=once, ranked_by=ranked_by, joined=joined)


def merge(
    sources: Annotated[list[Path], typer.Argument(help="Results folders, such as shards.")],
    out: Annotated[Path, typer.Option(help="The folder that gets all runs.")],
) -> None:
    """Copy the runs of several results folders of one suite into one."""
    with user_errors(out):
        received = exchange.merge([results_folder(source) for source in sources], out)
    _print_merge_result(received, out)


def submit(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    out: Annotated[
        Path | None, typer.Option(help="The archive, or the folder of the submission; by default beside the folder.")
    ] = None,
    same_code: Annotated[
        bool,
        typer.Option("--same-code", help="Files of agents are younger than the runs, but their code is the same."),
    ] = False,
) -> None:
    """Pack a results folder for another machine.

    A folder that was played against a board becomes a submission to it: results, code of the agents, and the text of
    the pull request.
    """
    name = directory.resolve().name
    with user_errors(directory):
        against = noted(results_folder(directory))
    if against is not None:
        folder = out if out is not None else directory.with_name(f"{name}-submission")
        with user_errors(folder):
            made = make_submission(directory, folder, same_code)
        say(f"{folder}: {len(made.store.done_keys())} runs of {', '.join(agent.label for agent in made.agents)}")
        for left in made.left_out:
            say(f"  left out: {left}")
        text = folder / "PULL_REQUEST.md"
        say(f"next: gpbandit verify {shlex.quote(str(folder))}, fill in {text}, open a pull request")
        return
    archive = out if out is not None else directory.with_name(f"{name}.zip")
    with user_errors(archive):
        runs = exchange.pack(directory, archive)
    say(f"{runs} runs are in {archive}; on the other machine: gpbandit add {archive.name} DIR")


def add(
    archive: Annotated[Path, typer.Argument(help="What `gpbandit submit` packed.")],
    directory: Annotated[Path, typer.Argument(help="The results folder that gets the runs.")],
) -> None:
    """Add results that another machine has packed. They count as submitted until `gpbandit verify`."""
    with user_errors(directory):
        received = exchange.add(archive, directory)
    _print_merge_result(received, directory)


def verify(
    directory: Annotated[Path, typer.Argument(help="Results folder, or folder of a submission.")],
    row: Annotated[
        list[str] | None, typer.Option(help="An agent's label, `AGENT@ENVIRONMENT`, or the start of a run's key.")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Play only so many runs, spread evenly or by --seed.")] = None,
    seed: Annotated[str | None, typer.Option(help="Text that chooses the sample, such as a commit hash.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Runs at a time; by default one per core.")] = os.cpu_count() or 1,
    yes: Annotated[bool, typer.Option("--yes", help="Run the code that the results name without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a run.")] = False,
    isolate: Annotated[
        bool | None,
        typer.Option(
            "--isolate/--no-isolate",
            help="Play each agent in a process without the environment. The default is so for submissions.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Play runs again and compare them: identical, agrees (on another machine), undecided or disagrees.

    The exit code is 1 if a run disagrees or is undecided. Runs that cannot be played here are named; they are no
    mismatch. Of a submission the files are checked first, and nothing is played if that fails. At the end its first
    choices are screened: an agent that knows the best arm is a mismatch too.
    """
    with user_errors(directory), tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        submission = open_submission(directory, Path(scratch) / "submitted") if is_submission(directory) else None
        wrong = [] if submission is None else faults(submission)
        for text in wrong:
            say(f"NOT {text}")
        if wrong:
            raise typer.Exit(_DIFFERS)
        store = Store(results_folder(directory)) if submission is None else submission.store
        with option_errors("row", "sample"):
            keys = drawn(choose(store, row or []), sample, seed)
        ask_to_run([store.spec(key) for key in keys], yes)
        load_plugins()
        code = None if submission is None else submission.code
        isolated = submission is not None if isolate is None else isolate
        with closing(LocalExecutor(workers, code=code, portable=played_portably(store, keys))) as executor:
            verdicts = verify_runs(store, keys, Path(scratch) / "again", executor, code, isolated=isolated)
        print_verdicts(store, verdicts, as_json)
        differing = any(verdict.level in ("disagrees", "undecided") for verdict in verdicts)
        if differing and submission is not None:
            for text in same_on_board(submission):
                say(f"NOT {text}")
        flagged = submission is not None and say_screen(store, err=as_json)
    if differing or flagged:
        raise typer.Exit(_DIFFERS)


def print_verdicts(store: Store, verdicts: Sequence[Verdict], as_json: bool) -> None:
    """Print a line a run, and with what they come to; with `as_json` an object a run."""
    runs = store.runs()
    for verdict in verdicts:
        run = runs.loc[verdict.key]
        if as_json:
            names: dict[str, object] = {
                "agent": str(run["agent"]),
                "env": str(run["env"]),
                "repetition": store.spec(verdict.key).repetition,
            }
            say_json(
                {"key": verdict.key, **names, "agrees": verdict.agrees, "verdict": verdict.level, "text": verdict.text}
            )
            continue
        what = f"{run['agent']} on {run['env']}, repetition {run['repetition']}"
        say(f"{_MARKS[verdict.agrees]} {verdict.key[:8]} {what}: {verdict.text}")
    if not as_json:
        counts = Counter(verdict.level for verdict in verdicts)
        agree = counts["identical"] + counts["agrees"]
        undecided = f"; {counts['undecided']} are undecided" if counts["undecided"] else ""
        unknown = f"; {counts[NOT_HERE]} {NOT_HERE}" if counts[NOT_HERE] else ""
        say(f"{agree} of {len(verdicts)} runs agree{undecided}{unknown}")


def query(
    directory: Annotated[Path, typer.Argument(help="Results folder.")],
    sql: Annotated[str, typer.Argument(help="SQL over the tables runs and traces.")],
    csv: Annotated[bool, typer.Option("--csv", help="Answer as CSV.")] = False,
) -> None:
    """Answer an SQL query, such as SELECT agent, avg(regret) FROM traces GROUP BY agent."""
    with user_errors(directory):
        store = Store(results_folder(directory))
        try:
            answer = answer_query(store, sql)
        except QueryError as error:
            raise UserError(str(error)) from None
    say(_csv(answer) if csv else answer.head(_ROWS_SHOWN).to_string(index=False))


def _csv(answer: pd.DataFrame) -> str:
    """CSV whose texts no spreadsheet takes for a formula: those that begin like one get an apostrophe before them."""

    def plain(value: object) -> object:
        return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value

    return answer.rename(columns=plain).map(plain).to_csv(index=False).rstrip()


def _print_merge_result(received: exchange.MergeResult, directory: Path) -> None:
    say(f"{directory}: {received.runs} runs are new, {received.known} were there before")
    for text in received.rejected:
        say(f"  left out: {text}", err=True)
