"""Make a board: play what it lacks, and keep what was played in files small enough to come with the package."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from gpbandit_envs.version import __version__
from leaderboards.play.build import build_agent, missing_extra
from leaderboards.play.record import lacks_data
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.suite import AgentEntry, Suite
from leaderboards.publish.boards import Board, board_folder
from leaderboards.score.board_scores import alike
from leaderboards.score.summary import summarise
from leaderboards.store.intact import StoreError, read_limited, write_whole
from leaderboards.store.kept import published
from leaderboards.store.provenance import MANIFEST, Manifest, PublishedFile, Source, write_manifest
from leaderboards.store.run_file import SUFFIX, Row, RunEntry, content_of, results_in
from leaderboards.store.store import Store
from leaderboards.verify.fingerprint import fingerprint
from leaderboards.verify.verify import other_instance
from leaderboards.work.executors import Workforce
from leaderboards.work.schedule import play_suite

KEEPER = "gpbandit-envs"
"""Who plays the agents of this project."""

_NOTES = "fingerprints.json"


def file_names(agents: Iterable[Ref]) -> dict[str, str]:
    """How the files of agents on a board begin, by their keys: with the label, and a hash if another begins so."""
    found: dict[str, str] = {}
    for agent in agents:
        stem = re.sub(r"[^a-z0-9.+]+", "-", agent.label.lower()).strip("-")
        if not stem or stem in found.values():
            stem = f"{stem}-{hashlib.sha256(agent.key.encode()).hexdigest()[:8]}".strip("-")
        found[agent.key] = stem
    return found


def make_board(
    suite: Suite,
    results: Store,
    workers: int = 1,
    say: Callable[[str], None] = print,
    *,
    native: bool = False,
    console: Console | None = None,
) -> None:
    """Play what the package's board of a suite lacks and write its files; what was played is kept, whatever stops it.

    Args:
        suite: The suite.
        results: Where whole traces are kept.
        workers: Runs at a time.
        say: Told how it goes.
        native: See `play_board`.
        console: Where the progress is reported; None for nowhere.

    Raises:
        StoreError: if runs disagree about an instance, or an agent of another package has no source.
        OSError: if a folder cannot be written.
        SuiteError: if the suite cannot be run, or the folder holds another.
    """
    folder = board_folder(suite.name)
    there = Board(folder) if (folder / MANIFEST).is_file() else None
    try:
        play_board(suite, results, there, workers, say, native=native, console=console)
    finally:
        if results.keys():
            found = write_board(suite, folder, results)
            size = sum(path.stat().st_size for path in folder.rglob("*.*"))
            say(f"{folder}: {len(found.done_keys())} of {suite.n_runs} runs, {size / 1e6:.1f} MB")
            for first, others in alike(summarise(found, n_points=2)).items():
                say(f"played alike in every run: {' = '.join((first, *others))}; pages show them as one row")


def play_board(
    suite: Suite,
    results: Store,
    board: Board | None,
    workers: int = 1,
    say: Callable[[str], None] = print,
    *,
    native: bool = False,
    console: Console | None = None,
) -> None:
    """Play the runs of a suite that are neither on its board nor in a results folder; the same call goes on.

    Agents take turns, so that a board that is not finished ranks them all. Those whose code has changed since are
    played anew. Those whose extra is not installed are left out, and named.

    Runs are computed with loops that every x86-64-v3 processor has, see `leaderboards.play.processor`: all of these
    give the same bits; with `native`, with those that this processor's libraries choose.

    Raises:
        OSError: if the folder cannot be written.
        SuiteError: if the suite cannot be run, or the folder holds another.
    """
    suite = _with_extras(suite.pinned(), say)
    suite.check()
    stale = {} if board is None else board.stale()
    on_board = {} if board is None else board.entries()
    there = {key for key, run in on_board.items() if run.file not in stale and _is_ended(run)}
    _forget_stale(results)
    specs = [spec for spec in suite.specs() if spec.key not in there]
    report = play_suite(
        suite,
        results,
        specs,
        Workforce(workers, portable=not native),
        lambda text: say(f"warning: {text}"),
        begins=lambda _: _note(results, suite),
        console=console,
    )
    say("played: " + (", ".join(f"{n} {status}" for status, n in sorted(report.ended.items())) or "nothing"))


def _with_extras(suite: Suite, say: Callable[[str], None]) -> Suite:
    """The suite without the agents whose optional library is missing."""
    there = []
    for entry in suite.agents:
        if reason := missing_extra(functools.partial(build_agent, entry.ref)):
            say(f"left out: {entry.ref.label}, {reason}")
        else:
            there.append(entry)
    return suite.model_copy(update={"agents": tuple(there)})


def write_board(
    suite: Suite,
    folder: Path,
    results: Store | None = None,
    *,
    sources: Mapping[str, Source] | None = None,
) -> Board:
    """Write the board of a suite: what is on it already, and the runs of a results folder.

    Whenever this is stopped, the folder is the board as it was or as it is to be, and the same call goes on.

    Runs of an agent whose code has changed since stay until there is one of the new code; those
    that were submitted stay whatever the suite lists. Labels are those of the suite.

    Args:
        suite: The suite; runs of other tasks or agents are left out.
        folder: The folder of the board, made if it is not there.
        results: Where further runs are; None for none, which renews the index.
        sources: Where the runs of submitted agents come from, by their keys; those of this project need none.

    Raises:
        StoreError: if runs disagree about an instance, or an agent of another package has no source.
        OSError: if the folder cannot be written.
    """
    suite = suite.frozen()
    wanted = {spec.key: spec for spec in suite.specs()}
    listed = {entry.ref.key for entry in suite.agents}
    board = Board(folder) if (folder / MANIFEST).is_file() else None
    stale, failed, counting = ([], [], []) if board is None else _on_board(board, wanted)
    on_board = {} if board is None else {name: file.source for name, file in board.index.files.items()}
    there = [row.entry for row in (*failed, *counting)]
    where_from = {run.spec.agent.key: on_board[run.file] for run in there} | dict(sources or {})
    notes = {} if results is None else _notes(results)
    further = [] if results is None else _further(results, notes, wanted, frozenset(sources or ()))
    by_agent = _by_agent([*failed, *further, *counting])
    for agent, rows in _by_agent(stale).items():
        if agent not in by_agent:  # until it is played anew
            by_agent[agent], where_from[agent] = rows, on_board[next(iter(rows.values())).entry.file]
    instances = _instances(row.entry for rows in by_agent.values() for row in rows.values())
    refs = {agent: next(iter(rows.values())).entry.spec.agent for agent, rows in by_agent.items()}
    names = file_names(refs.values())
    files: dict[str, PublishedFile] = {}
    for agent, rows in by_agent.items():
        source = where_from.get(agent) or _own_source(refs[agent])
        shown = [_published(row, instances) for row in rows.values()]
        name, files[name] = _write_agent(folder / "runs", names[agent], shown, source)
    others = [(ref.id, dict(ref.kwargs), ref.label) for key, ref in refs.items() if key not in listed]
    whole = suite.with_agents(AgentEntry(id=id, kwargs=kwargs, label=label) for id, kwargs, label in others)
    write_manifest(folder, Manifest(suite=whole, files=files))
    for path in results_in(folder / "runs"):
        if path.name not in files:
            path.unlink()
    return Board(folder)


def _by_agent(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """Rows by the keys of agent and run; of several of one run the last."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.entry.spec.agent.key, {})[row.entry.key] = row
    return found


def _published(row: Row, instances: Mapping[str, RunEntry]) -> Row:
    """A row without its traceback, which may name folders of a machine, with one's instance for all, coarse clocks."""
    run = row.entry
    known = instances.get(_instance_key(run.spec), run)
    shown = {"error": None, "seconds": float(f"{run.seconds:.2g}"), "finished": float(round(run.finished))}
    kept = None if row.kept is None else published(row.kept)
    return Row(run.model_copy(update={**shown, "facts": known.facts, "data": known.data}), kept)


def _write_agent(folder: Path, stem: str, rows: Iterable[Row], source: Source) -> tuple[str, PublishedFile]:
    """Write the runs of one agent; the bytes depend on the runs alone. Returns the file's name and its line."""
    ordered = sorted(rows, key=lambda row: (row.entry.spec.task, row.entry.spec.repetition))
    content = content_of(ordered, small=True)
    sha256 = hashlib.sha256(content).hexdigest()
    name = f"{stem}-{sha256[:8]}{SUFFIX}"  # no file of the manifest that is there is written over
    write_whole(folder / name, content)
    label = ordered[0].entry.spec.agent.label
    return name, PublishedFile(agent=label, sha256=sha256, bytes=len(content), runs=len(ordered), source=source)


def _on_board(board: Board, wanted: Mapping[str, RunSpec]) -> tuple[list[Row], list[Row], list[Row]]:
    """The runs of a board that its new form may keep, under the labels of today.

    First those of agents whose code has changed since, then those that may be played again, as they crashed, timed out
    or had no data, then those that need not be.
    """
    stale, failed, counting = list[Row](), list[Row](), list[Row]()
    changed = board.stale()
    for key, entry in board.entries().items():
        row = Row(entry.model_copy(update={"spec": wanted.get(key, entry.spec)}), board.kept(key))
        if entry.file in changed:
            stale.append(row)
        elif key in wanted or board.source(entry).by != KEEPER:
            (counting if _is_ended(entry) else failed).append(row)
    return stale, failed, counting


def _is_ended(run: RunEntry) -> bool:
    """Whether a run need not be played again."""
    return run.status in ("done", "skipped") and not lacks_data(run.status, run.reason)


def _further(results: Store, notes: _Fingerprints, wanted: Mapping[str, RunSpec], stated: Collection[str]) -> list[Row]:
    """The runs of a results folder that a board may take, with the labels of the suite.

    Those of this project's agents are left out unless they were played with the code that is there now, and those of
    other agents unless it is stated where they come from.
    """
    found = []
    for key, entry in results.entries().items():
        agent = entry.spec.agent
        if key not in wanted or (notes.get(agent.key, "") != fingerprint(agent) and agent.key not in stated):
            continue
        kept = results.kept(key) if entry.status == "done" else None
        if kept is not None or entry.status != "done":  # else its numbers make no sense
            found.append(Row(entry.model_copy(update={"spec": wanted[key]}), kept))
    return found


def _own_source(agent: Ref) -> Source:
    found = fingerprint(agent)
    if found is None:
        raise StoreError(f"{agent.id} is no agent of this project: state where its runs come from")
    return Source(standing="verified", by=KEEPER, version=__version__, fingerprint=found)


def _instance_key(spec: RunSpec) -> str:
    return f"{spec.task} {spec.repetition}"


def _instances(runs: Iterable[RunEntry]) -> dict[str, RunEntry]:
    """The first run on each instance, by `_instance_key`: what it states of that counts for all.

    Raises:
        StoreError: if another states something else.
    """
    first: dict[str, RunEntry] = {}
    for run in sorted(runs, key=lambda run: run.key):
        if run.status != "done":
            continue
        known = first.setdefault(_instance_key(run.spec), run)
        if fault := other_instance(run, known.facts, known.data, run.origin.rounds_as(known.origin)):
            raise StoreError(
                f"{run.spec.agent.label} on {run.spec.env.label}, repetition {run.spec.repetition}, had another "
                f"instance than the other agents: one of them was played with other data or another version ({fault})"
            )
    return first


_Fingerprints = dict[str, str | None]
"""With what code agents were played, by their keys."""


def _notes(results: Store) -> _Fingerprints:
    try:
        return dict(json.loads(read_limited(results.directory / _NOTES)))
    except FileNotFoundError:
        return {}


def _write_notes(results: Store, notes: _Fingerprints) -> None:
    write_whole(results.directory / _NOTES, json.dumps(notes, indent=1, sort_keys=True) + "\n")


def _note(results: Store, suite: Suite) -> None:
    """Note with what code the agents of a suite play; what is noted stays until it is forgotten."""
    _write_notes(results, {entry.ref.key: fingerprint(entry.ref) for entry in suite.agents} | _notes(results))


def _forget_stale(results: Store) -> None:
    """Remove the runs of agents whose code has changed since they were noted."""
    notes = _notes(results)
    stale: Sequence[str] = [key for key, found in notes.items() if found != fingerprint(Ref(**json.loads(key)))]
    if not stale:
        return
    # Until there is none left: below a run there may be another record of it.
    while runs := [run for run in results.entries().values() if run.spec.agent.key in stale]:
        for run in runs:
            (results.runs_directory / run.file).unlink(missing_ok=True)
    _write_notes(results, {key: found for key, found in notes.items() if key not in stale})
