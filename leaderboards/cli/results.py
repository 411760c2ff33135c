"""Commands on a results folder: `page`, `figures`, `merge`, `submit`, `add`, `verify`, `audit`."""

from __future__ import annotations

import math
import shlex
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from leaderboards.audit.run_audit import CHECKPOINTS, SAMPLED, AuditFacts
from leaderboards.audit.store import AuditStore, audit_runs
from leaderboards.cli.errors import UserError, option_errors, results_folder, user_errors
from leaderboards.cli.ranking import board_or_folder, check_metric, criteria_help, opened
from leaderboards.cli.terminal import WORKERS, Folder, Memory, Timeout, Workers, Yes, ask_to_run, import_from_here, say
from leaderboards.play.build import is_findable, load_class, load_plugins, loaded_agent, named_agents, not_here
from leaderboards.publish.submission import (
    faults,
    is_submission,
    make_submission,
    not_installed,
    open_submission,
    same_on_board,
)
from leaderboards.store import exchange
from leaderboards.store.store import Store
from leaderboards.store.union import noted
from leaderboards.verify.choose import choose, drawn
from leaderboards.verify.screen import screen
from leaderboards.verify.verify import NOT_HERE, NOT_TOLD, Verdict, by_loops
from leaderboards.verify.verify import verify as verify_runs
from leaderboards.work.executors import LocalExecutor
from leaderboards.work.jobs import DEFAULT_LIMITS, Limits, memory_limit

if TYPE_CHECKING:
    from leaderboards.play.isolated import Sandbox
    from leaderboards.publish.submission import Submission

_DIFFERS = 1
UNTOLD = 3
_MARKS = {True: "ok ", False: "NOT", None: "?  "}
_KINDS_SHOWN = 5

_RankBy = Annotated[str | None, typer.Option("--rank-by", help=criteria_help)]
_Row = Annotated[
    list[str] | None, typer.Option(help="An agent's label, `AGENT@ENVIRONMENT`, or the start of a run's key.")
]


def page(
    directory: Folder,
    ranked_by: _RankBy = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="Rank the runs of the folder among those of this board: its name or path, or `board` for "
            "the board of the suite. By default the board that the folder was played against."
        ),
    ] = None,
    import_agents: Annotated[
        bool,
        typer.Option(
            "--import-agents",
            help="Import the agents that are named module:Class. Their pages then describe them, and they are ranked "
            "in their class of entrants.",
        ),
    ] = False,
) -> None:
    """Write the pages of a results folder and print where they are."""
    check_metric(ranked_by)
    with user_errors(directory):
        store = Store(results_folder(directory))
        if store.runs().empty:
            raise UserError(f"{directory} holds no readable run: give `gpbandit run SUITE --out {directory}` first")
        if store.manifest is not None:
            raise UserError(
                f"{directory} is a board, whose folder nothing writes to: `gpbandit board site` has its page"
            )
        agents = named_agents(entry.spec for entry in store.entries().values())
        here = Path.cwd()
        named = [id for id in agents if is_findable(id.partition(":")[0], here)]  # of the others `not_here` says below
        if import_agents:
            import_from_here()
        failed = [id for id in named if not _imported(id)] if import_agents else []
        from leaderboards.show.build import build_page

        index = build_page(opened(directory, against), ranked_by=ranked_by)
        # Asked before plugins are loaded: only what was known then is on the page.
        bare = [id for id in named if loaded_agent(id) is None and id not in failed]
        load_plugins()
        for reason in dict.fromkeys(filter(None, (not_here(entry.spec, here) for entry in store.entries().values()))):
            say(f"note: {reason}; its runs are shown, without its theory", err=True)
        if bare and not import_agents:
            say(
                f"note: {', '.join(bare)}: shown without description, and in neither class of entrants, since a page "
                "imports nobody's code by itself; --import-agents has it do so",
                err=True,
            )
    say(f"The leaderboard is at {index.resolve()}")


def _imported(id: str) -> bool:
    """Whether the class `id` can be imported; if not, why is said."""
    try:
        load_class(id)
    except Exception as error:  # a module of the user's may raise anything
        say(f"note: {id} could not be imported ({type(error).__name__}: {error})", err=True)
        return False
    return True


def figures(
    directory: Folder,
    out: Annotated[Path | None, typer.Option(help="Where to write; DIRECTORY/figures by default.")] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="Show only this agent, by its label or id. May be repeated. Ranks are among the agents shown."
        ),
    ] = None,
    width: Annotated[
        str | None, typer.Option(help="column or page: inches and sizes of letters as they are printed.")
    ] = None,
    axes: Annotated[str | None, typer.Option(help="log or linear, of regret over time.")] = None,
    font: Annotated[str, typer.Option(help="sans, serif or latex (Computer Modern, without LaTeX).")] = "sans",
) -> None:
    """Draw figures and tables for a paper: PNG and PDF, and scores in LaTeX."""
    with user_errors(directory):
        store = board_or_folder(str(directory), None)
        if not store.done_keys():
            raise UserError(f"{directory} holds no finished run: give `gpbandit run SUITE --out {directory}` first")
        if out is None and store.manifest is not None:
            raise UserError(f"--out: expected a folder, since {directory} is a board, whose folder nothing writes to")
        from leaderboards.show import make_figures

        with option_errors("width", "axes", "font", agents="agent"):
            files = make_figures(store, out, agents=agent or (), width=width, axes=axes, font=font)
        for path in files:
            say(str(path))


def merge(
    sources: Annotated[list[Path], typer.Argument(help="Results folders, such as shards.")],
    out: Annotated[Path, typer.Option(help="The folder that gets all runs.")],
) -> None:
    """Copy the runs of several results folders of one suite into one."""
    with user_errors(out):
        received = exchange.merge([results_folder(source) for source in sources], out)
    _print_merge_result(received, out)


def submit(
    directory: Folder,
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
    if against is None:
        archive = out if out is not None else directory.with_name(f"{name}.zip")
        with user_errors(archive):
            runs = exchange.pack(directory, archive)
        say(f"{runs} runs are in {archive}; on the other machine: gpbandit add {archive.name} DIR")
        return
    folder = out if out is not None else directory.with_name(f"{name}-submission")
    with user_errors(folder):
        made = make_submission(directory, folder, same_code)
    say(f"{folder}: {len(made.store.done_keys())} runs of {', '.join(agent.label for agent in made.agents)}")
    for left in made.left_out:
        say(f"  left out: {left}")
    text = folder / "PULL_REQUEST.md"
    say(f"next: gpbandit verify {shlex.quote(str(folder))}, fill in {text}, open a pull request")


def add(
    archive: Annotated[Path, typer.Argument(help="What `gpbandit submit` packed.")],
    directory: Annotated[Path, typer.Argument(help="The results folder that gets the runs.")],
) -> None:
    """Add results that another machine has packed. They count as submitted; `gpbandit verify` plays them again."""
    with user_errors(directory):
        received = exchange.add(archive, directory)
    _print_merge_result(received, directory)


def _print_merge_result(received: exchange.MergeResult, directory: Path) -> None:
    say(f"{directory}: {received.runs} runs are new, {received.known} were there before")
    for text in received.rejected:
        say(f"  left out: {text}", err=True)


def verify(
    directory: Annotated[Path, typer.Argument(help="Results folder, or folder of a submission.")],
    row: _Row = None,
    sample: Annotated[int | None, typer.Option(help="Play only so many runs, spread evenly or by --seed.")] = None,
    seed: Annotated[str | None, typer.Option(help="Text that chooses the sample, such as a commit hash.")] = None,
    workers: Workers = WORKERS,
    yes: Yes = False,
    timeout: Timeout = 3600.0,
    memory: Memory = 8192,
) -> None:
    """Play runs again and compare them: identical, agrees (on another machine), undecided or disagrees.

    The exit code is 1 if a run disagrees or is undecided. Runs that cannot be played here are named; they are no
    mismatch. Of a submission the files are checked first, and nothing is played if that fails. Its agents play in a
    sandbox (bubblewrap). At the end its first choices are screened: an agent that knows the best arm is a mismatch too.
    The exit code is 3 where nothing differs, but it cannot be told here: a run parts from its record, whose loops this
    machine has not; or a run of a submission cannot be played; or its agents are not isolated, for want of bubblewrap.
    """
    limits = limits_of(timeout, memory) if is_submission(directory) else DEFAULT_LIMITS
    with user_errors(directory), memory_limit(limits), tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        submission = open_submission(directory, Path(scratch) / "submitted") if is_submission(directory) else None
        wrong = [] if submission is None else faults(submission)
        for text in wrong:
            say(f"NOT {text}")
        if wrong:
            raise typer.Exit(_DIFFERS)
        store = Store(results_folder(directory)) if submission is None else submission.store
        with option_errors("row", "sample"):
            keys = drawn(choose(store, row or []), sample, seed)
        if ask_to_run([store.spec(key) for key in keys], yes) and submission is None:
            import_from_here()
        load_plugins()
        lacking = None if submission is None else not_installed(submission)
        sandbox = None if submission is None else sandbox_of(submission, timeout, memory)
        verdicts: list[Verdict] = []
        for n, (variables, some) in enumerate(by_loops(store, keys)):
            with closing(LocalExecutor(workers, limits, variables=variables)) as executor:
                verdicts += verify_runs(store, some, Path(scratch) / f"again{n}", executor, sandbox, lacking)
        _print_verdicts(store, verdicts)
        differing = any(verdict.level in ("disagrees", "undecided") for verdict in verdicts)
        if differing and submission is not None:
            for text in same_on_board(submission):
                say(f"NOT {text}")
        flagged = submission is not None and say_screen(store)
    if differing or flagged:
        raise typer.Exit(_DIFFERS)
    open_ = sandbox is not None and not (sandbox.bubblewrap and all(verdict.agrees for verdict in verdicts))
    if open_ or any(verdict.level == NOT_TOLD for verdict in verdicts):
        say(f"whether the {'results hold' if sandbox is None else 'submission holds'} cannot be told here")
        raise typer.Exit(UNTOLD)


def limits_of(timeout: float, memory: int) -> Limits:
    """What a run of a submission may take, in seconds and MiB: its environment is of its author's choice as well."""
    return Limits(timeout, memory << 20)


def sandbox_of(submission: Submission, timeout: float, memory: int) -> Sandbox:
    """Where the agents of a submission play, so many seconds a run in so many MiB; says if nothing confines them."""
    from leaderboards.play.isolated import Sandbox, not_isolated

    reason = not_isolated()
    if reason is not None:
        say(
            f"not isolated: {reason}; the agents play in processes without the environment, but may read, write and "
            "send what this user may",
            err=True,
        )
    return Sandbox(submission.readable_code(), reason is None, memory << 20, seconds=math.ceil(timeout))


def _print_verdicts(store: Store, verdicts: Sequence[Verdict]) -> None:
    """Print a line a run, and what they come to."""
    runs = store.runs()[["agent", "env"]]
    for one in verdicts:
        (agent, env), repetition = runs.loc[one.key], store.spec(one.key).repetition
        say(f"{_MARKS[one.agrees]} {one.key[:8]} {agent} on {env}, repetition {repetition}: {one.text}")
    counts = Counter(verdict.level for verdict in verdicts)
    undecided = f"; {counts['undecided']} are undecided" if counts["undecided"] else ""
    unknown = "".join(f"; {counts[level]} {level}" for level in (NOT_HERE, NOT_TOLD) if counts[level])
    say(f"{counts['identical'] + counts['agrees']} of {len(verdicts)} runs agree{undecided}{unknown}")


def say_screen(results: Store, *, every: bool = True) -> bool:
    """Print what the screen finds of the first choices of agents; returns whether it flags one.

    Args:
        results: Of a submission, or a board.
        every: Whether to print a line for each agent, or for those alone that are flagged.
    """
    found = screen(results)
    for one in found:
        if every or one.flagged:
            say(f"{'NOT' if one.flagged else 'ok '} screen: {one}")
    flagged = any(one.flagged for one in found)
    if not every and not flagged:
        told = sum(one.runs > 0 for one in found)
        if told:
            say(f"screen: none of {told} agents pulls the best arm first more often than chance allows")
        else:
            say("screen: no run is on drawn functions of finite arms, of whose first choice something can be told")
    return flagged


def audit(
    directory: Folder,
    row: _Row = None,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Only repetitions below this number.")] = None,
    checkpoints: Annotated[int, typer.Option(min=2, help="Number of log-spaced checkpoints of a run.")] = CHECKPOINTS,
    arms: Annotated[
        int,
        typer.Option(min=1, help="Sampled arms at which sketched and exact variances are compared; points of a box."),
    ] = SAMPLED,
    again: Annotated[bool, typer.Option("--again", help="Also runs that have an audit.")] = False,
    workers: Workers = WORKERS,
    yes: Yes = False,
) -> None:
    """Play runs again and audit their confidence bands, sketches and memory; `gpbandit page` then shows it."""
    with user_errors(directory):
        store = Store(results_folder(directory))
        with option_errors("row"):
            keys = choose(store, row or [])
        if repetitions is not None:
            numbers = store.runs()["repetition"]
            keys = [key for key in keys if numbers[key] < repetitions]
        before = set() if again else AuditStore(store.directory).keys()
        todo = [key for key in keys if key not in before]
        if ask_to_run([store.spec(key) for key in todo], yes):
            import_from_here()
        load_plugins()
        with Progress(console=Console(stderr=True), transient=True) as progress:
            audits = audit_runs(store, todo, workers, checkpoints, arms)
            outcomes = list(progress.track(audits, len(todo), description="runs audited"))
        _report_audits(store, outcomes, len(keys) - len(todo))
    if any(isinstance(told, str) for _, told in outcomes):
        raise typer.Exit(_DIFFERS)


def _report_audits(store: Store, outcomes: list[tuple[str, AuditFacts | str]], before: int) -> None:
    failed = {key: told for key, told in outcomes if isinstance(told, str)}
    audited = {key: told for key, told in outcomes if not isinstance(told, str)}
    banded = sum(not facts.no_band for facts in audited.values())
    ending = "" if len(audited) == 1 else "s"
    say(
        f"{store.directory}: {len(audited)} run{ending} audited, {banded} with a confidence band; {before} were before."
        f" See them with gpbandit page {store.directory}"
    )
    names = store.runs()[["agent", "env"]].agg(" on ".join, axis=1)
    for title, texts in (
        ("could not be audited", failed),
        ("did not repeat the stored trace", {key: one.differs for key, one in audited.items() if one.differs}),
    ):
        counts = Counter(f"{names[key]}: {text}" for key, text in texts.items())
        for what, n in counts.most_common(_KINDS_SHOWN):
            say(f"  {title}: {n} of {what}", err=True)
        if len(counts) > _KINDS_SHOWN:
            say(f"  and {len(counts) - _KINDS_SHOWN} more kinds", err=True)
