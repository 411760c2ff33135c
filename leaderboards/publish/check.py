"""Check a board: a sample of its runs, which nobody can know beforehand, is played again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leaderboards.archive.keep import keep
from leaderboards.archive.read import Board
from leaderboards.audit.kept import kept_audits
from leaderboards.audit.store import AuditWatcher
from leaderboards.play.build import not_here
from leaderboards.play.spec import RunSpec
from leaderboards.store.kept import KEPT, KeptRun
from leaderboards.store.kept_audit import KeptAudit
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store
from leaderboards.verify.audit_check import AUDIT_TOLERANCE, other_audit
from leaderboards.verify.fingerprint import fingerprint
from leaderboards.verify.replay import sample
from leaderboards.verify.verify import (
    NOT_HERE,
    SETTLED,
    Verdict,
    judged,
    other_instance,
    otherwise_ended,
    parted_after,
    without_extras,
)
from leaderboards.work.executors import Executor
from leaderboards.work.schedule import run_missing

__all__ = ["CheckReport", "check_board", "one_of_each_task"]

_KEPT_TOLERANCE = 1e-4  # curves are kept with 16 bits


@dataclass(frozen=True)
class CheckReport:
    """What a check found.

    Attributes:
        verdicts: Of the runs that were played again.
        stale: Labels of the agents whose code has changed since, by file.
    """

    verdicts: tuple[Verdict, ...]
    stale: dict[str, str]


def check_board(board: Board, keys: Sequence[str], scratch: Path, executor: Executor) -> CheckReport:
    """Play runs of a board again in the empty folder `scratch` and compare what is kept of them, audits included.

    Audits are made anew at the checkpoints of those that are kept. Agents of other packages play in a process without
    the environment, where their bands cannot be held against its means: of these the traces alone are compared.

    A run that parts from its record at a choice on another machine has further repetitions of its pair played, from
    which it is judged.

    Raises:
        KeyError: if there is no such run.
        OSError: if the folder cannot be written.
    """
    again = Store(scratch)
    verdicts = judged(board.entries(), keys, lambda keys: _played(board, keys, again, executor))
    return CheckReport(tuple(verdicts), board.stale())


def one_of_each_task(board: Board, file: str, seed: str) -> list[str]:
    """One run that is done of every task that an agent has played, which follows from `seed`."""
    tasks: dict[str, list[str]] = {}
    for key, run in board.entries().items():
        if run.file == file and run.status == "done":
            tasks.setdefault(run.spec.task, []).append(key)
    return [sample(keys, seed, 1 / len(keys))[0] for keys in tasks.values()]


def _played(board: Board, keys: Sequence[str], again: Store, executor: Executor) -> list[Verdict]:
    specs = [board.spec(key) for key in keys]
    lacking = without_extras(specs)
    away = {spec.key: reason for spec in specs if (reason := not_here(spec) or lacking.get(spec.key))}
    here = [board.spec(key) for key in keys if key not in away]
    run_missing([spec for spec in here if not _is_foreign(spec)], again, executor, watcher=_auditor(board, here, again))
    run_missing([spec for spec in here if _is_foreign(spec)], again, executor, isolated_from=[again.directory])
    audits = kept_audits(again, (spec.key for spec in here))
    return [
        Verdict(key, NOT_HERE, False, away[key])
        if key in away
        else _with_audit(_judge(board.entry(key), board.kept(key), again), board, audits)
        for key in keys
    ]


def _auditor(board: Board, specs: Iterable[RunSpec], again: Store) -> AuditWatcher | None:
    """Audits runs as they have been; None if none of them has."""
    audited = [spec.key for spec in specs if (kept := board.kept(spec.key)) is not None and kept.audit is not None]
    if not audited:
        return None
    every_turn = [key for key in audited if (kept := board.kept(key)) and kept.audit and kept.audit.every_turn]
    return AuditWatcher(again.directory, board.suite().audit, every_turn=frozenset(every_turn))


def _with_audit(verdict: Verdict, board: Board, audits: Mapping[str, KeptAudit]) -> Verdict:
    """The verdict on a run, its audit considered."""
    kept = board.kept(verdict.key)
    foreign = _is_foreign(board.spec(verdict.key))
    if kept is None or kept.audit is None or foreign or verdict.level not in ("identical", "agrees"):
        return verdict
    found = audits.get(verdict.key)
    if found is None:
        return replace(verdict, level="disagrees", parted=False, text=f"{verdict.text}; it could not be audited again")
    if difference := other_audit(kept.audit, found, exact=verdict.exact, parted=verdict.parted):
        return replace(verdict, level="disagrees", parted=False, text=f"{verdict.text}; {difference}")
    if verdict.parted:
        return verdict
    if other_audit(kept.audit, found, exact=True):
        text = f"{verdict.text}; its audit within {AUDIT_TOLERANCE:g}"
        return replace(verdict, level="agrees", text=text)
    return replace(verdict, text=f"{verdict.text}, as is its audit")


def _is_foreign(spec: RunSpec) -> bool:
    """Whether the agent is not of this project, and may look the environment up where it finds one."""
    return fingerprint(spec.agent) is None


def _judge(before: RunEntry, kept: KeptRun | None, again: Store) -> Verdict:
    now = again.entries().get(before.key)
    if now is None or now.status != before.status:
        return otherwise_ended(before, now)
    exact = before.origin.rounds_as(now.origin)
    if kept is None:
        return Verdict(before.key, "identical", exact, f"{before.status} as before")
    trace = again.trace(before.key)
    anew = keep(now, trace)
    # What a board states of an instance may be from the machine of another run on it.
    fault = other_instance(before, now.facts, now.data, exact=False)
    if fault is not None:
        return Verdict(before.key, "disagrees", exact, fault)
    finals = _settled(kept), _settled(anew)
    if anew.digest == kept.digest:
        return Verdict(before.key, "identical", exact, "identical", finals)
    last = _last_common(kept, anew)
    if exact:
        text = f"{parted_after(last)}, with the same loops of the same libraries"
        return Verdict(before.key, "disagrees", exact, text)
    if last == kept.t[-1]:
        return Verdict(before.key, "agrees", exact, f"equal within {_KEPT_TOLERANCE:g} on another machine", finals)
    first = int(np.searchsorted(kept.t, last, side="right"))
    tie = (last, *(float(run.curves["cumulative_regret"][first]) for run in (kept, anew)))
    return Verdict(before.key, "agrees", exact, parted_after(last), finals, parted=True, tie=tie)


def _settled(run: KeptRun) -> dict[str, float]:
    return {name: run.finals[name] for name in SETTLED}


def _last_common(one: KeptRun, other: KeptRun) -> int:
    """The last kept evaluation up to which two runs of a task are the same but for rounding; 0 if there is none."""
    if not np.array_equal(one.t, other.t):
        return 0
    same = np.all(
        [
            np.isclose(one.curves[name], other.curves[name], rtol=_KEPT_TOLERANCE, atol=1e-9, equal_nan=True)
            for name in KEPT
            if name != "policy_seconds"
        ],
        axis=0,
    )
    first = len(same) if same.all() else int(np.argmin(same))
    return int(one.t[first - 1]) if first else 0
