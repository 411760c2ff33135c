"""Rows near the limit of validity are measured after every turn: their runs are played again, bit for bit.

A board of guarantees is measured at some checkpoints while it is played, and what happens between two of them is not
seen. That can only change what is said of a row whose violated runs are few from the limit. When all runs of such a row
are there, those that are held against it are played again, and their audits take the place of the others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from leaderboards.archive.read import Board
from leaderboards.audit.guarantee import guarantee_rows
from leaderboards.audit.kept import measured_throughout
from leaderboards.audit.store import AuditStore, AuditWatcher
from leaderboards.audit.validity import is_near_limit
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import AuditPlan
from leaderboards.score.summary import summarise
from leaderboards.store.kept import trace_digest
from leaderboards.store.store import Store
from leaderboards.work.executors import Executor
from leaderboards.work.schedule import run_missing

__all__ = ["audit_near_limit", "near_limit"]


def near_limit(board: Board) -> dict[str, dict[str, list[RunSpec]]]:
    """The runs that are to be measured after every turn and have not been, by the labels of row and task.

    A row of which a run has been measured so beyond the plan is finished, wherever that leads: which runs are measured
    does not depend on when a command was stopped. Rows of which runs are missing are left out.
    """
    plan = board.suite().audit
    if plan is None:
        return {}
    missing, found = board.missing(), {}
    runs: dict[str, dict[str, list[RunSpec]]] = {}
    for key in sorted(board.done_keys()):
        spec = board.spec(key)
        runs.setdefault(spec.agent.label, {}).setdefault(spec.env.label, []).append(spec)
    for row in guarantee_rows(board, summarise(board, n_points=2), plan):
        if row.agent in missing or not row.cells:
            continue
        held_to = {task: runs[row.agent][task] for task in row.held_to(plan)}
        begun = any(_beyond_plan(board, spec, plan) for specs in held_to.values() for spec in specs)
        if begun or is_near_limit(row.verdict, plan.delta):
            due = {task: [spec for spec in specs if _is_due(board, spec, plan)] for task, specs in held_to.items()}
            found[row.agent] = {task: specs for task, specs in due.items() if specs}
    return {agent: tasks for agent, tasks in found.items() if tasks}


def audit_near_limit(board: Board, results: Store, executor: Executor, say: Callable[[str], None] = print) -> int:
    """Measure the rows near the limit after every turn, and keep the audits in a results folder.

    The same call goes on where it was stopped.

    Args:
        board: The board, with its audits so far; it is not changed.
        results: Where the audits are kept, from which the board is written anew.
        executor: What plays.
        say: Told how it goes.

    Returns:
        How many runs have been measured.

    Raises:
        OSError: if a folder cannot be written.
    """
    measured = 0
    for agent, tasks in near_limit(board).items():
        reasons = [reason for specs in tasks.values() for reason in _measure(board, specs, results, executor)]
        failed = [reason for reason in reasons if reason]
        measured += len(reasons) - len(failed)
        say(f"{agent}, near the limit: {len(reasons) - len(failed)} runs measured after every turn")
        if failed:
            say(f"  and {len(failed)} are not, such as {failed[0]}")
    return measured


def _measure(board: Board, specs: list[RunSpec], results: Store, executor: Executor) -> Iterator[str]:
    """Play runs again and keep their audits; why not, for each, "" where it was done."""
    kept = AuditStore(results.directory)
    with tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        again = Store(Path(scratch))
        watcher = AuditWatcher(again.directory, every_turn=frozenset(spec.key for spec in specs))
        run_missing(specs, again, executor, watcher=watcher)
        entries = again.entries()
        audits = AuditStore(again.directory).read(spec.key for spec in specs)
        for spec in specs:
            what = f"{spec.agent.label} on {spec.env.label}, repetition {spec.repetition}"
            stated, now = board.kept(spec.key), entries.get(spec.key)
            assert stated is not None
            if now is None or now.status != "done" or spec.key not in audits:
                yield f"{what} could not be played and audited again"
            elif trace_digest(again.trace(spec.key)) != stated.digest:
                yield f"{what} plays otherwise than on the board, as with other loops of its libraries"
            else:
                kept.write(audits[spec.key])
                yield ""


def _is_due(board: Board, spec: RunSpec, plan: AuditPlan) -> bool:
    run = board.kept(spec.key)
    return run is not None and run.audit is not None and not measured_throughout(run.audit, spec, plan)


def _beyond_plan(board: Board, spec: RunSpec, plan: AuditPlan) -> bool:
    run = board.kept(spec.key)
    measured = run is not None and run.audit is not None and run.audit.every_turn
    return measured and plan.checkpoints_of(spec) < spec.horizon
