"""Check a board: some of its runs, which nobody can know beforehand, are played again.

Runs of agents whose code has changed count for the new code where it plays as before.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpbandit_envs.version import __version__
from leaderboards.audit.store import AuditWatcher, kept_audits
from leaderboards.play.spec import RunSpec
from leaderboards.publish.boards import Board
from leaderboards.store.kept import KEPT, KeptAudit, KeptRun
from leaderboards.store.provenance import write_manifest
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store
from leaderboards.verify.choose import sample
from leaderboards.verify.fingerprint import fingerprint
from leaderboards.verify.verify import SETTLED, Verdict, judged, other_instance, parted_after, played_again
from leaderboards.work.executors import Executor
from leaderboards.work.schedule import run_missing

_KEPT_TOLERANCE = 1e-4  # curves are kept with 16 bits

AUDIT_TOLERANCE = 1e-3
"""Relative and absolute tolerance where another CPU or another library build may round differently.

Means of drawn functions differ by up to 1e-6 between loops, see `leaderboards.verify.verify.TOLERANCE`, and a
half-width may be a thousandth of their range: errors over half-widths differ by a thousandth.
"""

_WORDS = ("width", "kind", "theorem", "no_guarantee", "no_band", "delta", "refuted", "times")
_NUMBERS = ("required_scaling", "half_width", "regret_bound")
_COUNTS = ("first_violation", "violations", "informative", "regret_held")
"""What lies on which side of a threshold, at which rounding decides: compared bit for bit or not at all."""


def check_board(board: Board, keys: Sequence[str], executor: Executor) -> list[Verdict]:
    """Play runs of a board again and compare what is kept of them, audits included.

    Audits are made anew at the checkpoints of those that are kept. Agents of other packages play in a process without
    the environment, where their bands cannot be held against its means: of these the traces alone are compared.

    A run that parts from its record at a choice on another machine has further repetitions of its pair played, from
    which it is judged.

    Raises:
        KeyError: if there is no such run.
        OSError: if no temporary folder can be written.
    """
    with tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        again = Store(scratch)

        def play(specs: list[RunSpec]) -> None:
            own, foreign = ([spec for spec in specs if _is_foreign(spec) == is_foreign] for is_foreign in (False, True))
            run_missing(own, again, executor, watcher=_auditor(board, own, again))
            if foreign:
                from leaderboards.play.isolated import Sandbox, not_isolated

                run_missing(foreign, again, executor, sandbox=Sandbox(bubblewrap=not_isolated() is None))

        def judge(before: RunEntry, now: RunEntry) -> Verdict:
            kept = board.kept(before.key)
            return _with_audit(_judge(before, now, kept, again), kept, before.spec, again)

        return judged(board.entries(), keys, lambda keys: played_again(board, keys, again, play, judge))


def _auditor(board: Board, specs: Iterable[RunSpec], again: Store) -> AuditWatcher | None:
    """Audits runs as they have been; None if none of them has."""
    audited = [spec.key for spec in specs if (kept := board.kept(spec.key)) is not None and kept.audit is not None]
    if not audited:
        return None
    every_turn = [key for key in audited if (kept := board.kept(key)) and kept.audit and kept.audit.every_turn]
    return AuditWatcher(again.directory, board.suite().audit, every_turn=frozenset(every_turn))


def _with_audit(verdict: Verdict, kept: KeptRun | None, spec: RunSpec, again: Store) -> Verdict:
    """The verdict on a run, its audit considered."""
    if kept is None or kept.audit is None or _is_foreign(spec) or verdict.level not in ("identical", "agrees"):
        return verdict
    found = kept_audits(again, [spec.key]).get(spec.key)
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


def _judge(before: RunEntry, now: RunEntry, kept: KeptRun | None, again: Store) -> Verdict:
    exact = before.origin.rounds_as(now.origin)
    if kept is None:
        return Verdict(before.key, "identical", exact, f"{before.status} as before")
    anew = again.kept(before.key)
    assert anew is not None  # the checked record has scores
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


# ---- audits ----


def other_audit(stated: KeptAudit, found: KeptAudit, *, exact: bool, parted: bool = False) -> str:
    """In what two audits of a run differ; "" if in nothing.

    Args:
        stated: The audit that is kept.
        found: The one that was made anew, at the same checkpoints.
        exact: Whether the same loops of the same libraries computed both, so that every number is to be equal.
            Elsewhere numbers are to be within `AUDIT_TOLERANCE`, and the band is to have held in both or neither,
            unless the required scaling of both is that near to 1.
        parted: Whether the runs part at a choice on another machine: they are two runs then, and words alone are
            compared.
    """
    names = _WORDS + _NUMBERS + _COUNTS if exact else _WORDS if parted else _WORDS + _NUMBERS
    tolerance = 0.0 if exact else AUDIT_TOLERANCE
    for name in names:
        one, other = getattr(stated, name), getattr(found, name)
        if not _same_value(one, other, tolerance if name in _NUMBERS else 0.0):
            return f"its audit differs: {name} was {one!r}, and is {other!r}"
    near = all(abs(audit.required_scaling - 1) <= AUDIT_TOLERANCE for audit in (stated, found))
    if not parted and stated.held != found.held and not near:
        return f"its audit differs: the band {_held(stated)}, and {_held(found)} now"
    return ""


def _same_value(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or one == other or bool(tolerance and np.isclose(one, other, rtol=tolerance, atol=tolerance))
    return one == other


def _held(audit: KeptAudit) -> str:
    return "held" if audit.held else f"failed at evaluation {audit.first_violation}"


# ---- renewal ----


def renew_unchanged(board: Board, seed: str, executor: Executor) -> Iterator[tuple[str, int, Verdict | None]]:
    """Play one run of every task again for each agent whose code has changed, and renew those that play as before.

    Args:
        board: The board, whose index is written.
        seed: Text that chooses the runs.
        executor: Plays them.

    Yields:
        Label, number of runs, and the first that is not identical; None if all are, and the agent's count for the new
        code.

    Raises:
        OSError: if the folder cannot be written.
    """
    order = [entry.ref.label for entry in board.suite().agents]  # cheap ones first
    for file, label in sorted(board.stale().items(), key=lambda item: order.index(item[1])):
        tasks: dict[str, list[str]] = {}
        for key, run in board.entries().items():
            if run.file == file and run.status == "done":
                tasks.setdefault(run.spec.task, []).append(key)
        keys = [sample(keys, seed, 1 / len(keys))[0] for keys in tasks.values()]
        verdicts = check_board(board, keys, executor)
        other = next((verdict for verdict in verdicts if verdict.level != "identical"), None)
        if other is None:
            renew(board.directory, [file])
        yield label, len(keys), other


def renew(folder: Path, names: Iterable[str]) -> Board:
    """State the present fingerprint of agents whose runs have been found to be the same; names are those of files.

    Raises:
        OSError: if the folder cannot be written.
    """
    board = Board(folder)
    files = dict(board.index.files)
    for name in names:
        run = next(run for run in board.entries().values() if run.file == name)
        now = {"fingerprint": fingerprint(run.spec.agent), "version": __version__}
        files[name] = files[name].model_copy(update={"source": files[name].source.model_copy(update=now)})
    write_manifest(folder, board.index.model_copy(update={"files": files}))
    return Board(folder)
