"""Check a board: some of its runs, which nobody can know beforehand, are played again.

Runs of agents whose code has changed count for the new code where it plays as before.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from gpbandit_envs.version import __version__
from leaderboards.play.spec import RunSpec
from leaderboards.publish.boards import Board
from leaderboards.store.kept import KEPT, KeptRun
from leaderboards.store.provenance import write_manifest
from leaderboards.store.run_file import RunEntry
from leaderboards.store.store import Store
from leaderboards.verify.choose import sample
from leaderboards.verify.fingerprint import fingerprint
from leaderboards.verify.verify import SETTLED, Verdict, judged, other_instance, parted_after, played_again
from leaderboards.work.executors import Executor
from leaderboards.work.schedule import run_missing

_KEPT_TOLERANCE = 1e-4  # curves are kept with 16 bits


def check_board(board: Board, keys: Sequence[str], executor: Executor) -> list[Verdict]:
    """Play runs of a board again and compare what is kept of them.

    Agents of other packages play in a process without the environment.

    A run that parts from its record at a choice on another machine has further repetitions of its pair played, from
    which it is judged.

    Raises:
        KeyError: if there is no such run.
        OSError: if no temporary folder can be written.
    """
    with tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
        again = Store(scratch)

        def play(specs: list[RunSpec]) -> None:
            run_missing([spec for spec in specs if fingerprint(spec.agent) is not None], again, executor)
            # Those that are not of this project may look the environment up where they find one.
            foreign = [spec for spec in specs if fingerprint(spec.agent) is None]
            if foreign:
                from leaderboards.play.isolated import Sandbox, not_isolated

                run_missing(foreign, again, executor, sandbox=Sandbox(bubblewrap=not_isolated() is None))

        def judge(before: RunEntry, now: RunEntry) -> Verdict:
            return _judge(before, now, board.kept(before.key), again)

        return judged(board.entries(), keys, lambda keys: played_again(board, keys, again, play, judge))


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
    is_rounded, rounded = last == kept.t[-1], f"equal within {_KEPT_TOLERANCE:g}"
    if exact:
        text = f"{rounded if is_rounded else parted_after(last)}, with the same loops of the same libraries"
        return Verdict(before.key, "disagrees", exact, text, finals if is_rounded else None)
    if is_rounded:
        return Verdict(before.key, "agrees", exact, f"{rounded} on another machine", finals)
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


# ---- renewal ----


def renew_unchanged(board: Board, seed: str, executor: Executor) -> Iterator[tuple[str, int, Verdict | None]]:
    """Play one run of every task again for each agent whose code has changed, and renew those that play as before.

    Args:
        board: The board, whose index is written.
        seed: Text that chooses the runs.
        executor: Plays them.

    Yields:
        Label, number of runs, and the first that differs by more than rounding; None if there is none, and the agent's
        runs count for the new code.

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
        # Sums may round otherwise, as on another machine: what is kept of a run agrees, or it parted at a choice.
        other = next((v for v in verdicts if v.level != "identical" and (v.parted or v.finals is None)), None)
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
