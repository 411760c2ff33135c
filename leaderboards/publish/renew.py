"""Renew a board: runs of agents whose code has changed count for the new code where it plays as before."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gpbandit_envs.atomic import written_whole
from gpbandit_envs.version import __version__
from leaderboards.archive.files import INDEX
from leaderboards.archive.read import Board
from leaderboards.publish.check import check_board, one_of_each_task
from leaderboards.store.intact import read_limited
from leaderboards.verify.fingerprint import fingerprint
from leaderboards.verify.verify import Verdict
from leaderboards.work.executors import LocalExecutor

__all__ = ["Renewal", "renew", "renew_unchanged"]


@dataclass(frozen=True)
class Renewal:
    """What was found of an agent whose code has changed.

    Attributes:
        agent: Its label.
        runs: How many runs were played again, one of each task.
        other: The first that is not identical; None if all are, and its runs count for the new code.
    """

    agent: str
    runs: int
    other: Verdict | None


def renew_unchanged(board: Board, seed: str, workers: int = 1, *, native: bool = False) -> Iterator[Renewal]:
    """Play one run of every task again for each agent whose code has changed, and renew those that play as before.

    Args:
        board: The board, whose index is written.
        seed: Text that chooses the runs.
        workers: Runs at a time.
        native: Whether to compute with this processor's own loops, not those that every x86-64-v3 one has.

    Raises:
        OSError: if the folder cannot be written.
    """
    order = [entry.ref.label for entry in board.suite().agents]  # cheap ones first
    for file, label in sorted(board.stale().items(), key=lambda item: order.index(item[1])):
        keys = one_of_each_task(board, file, seed)
        executor = LocalExecutor(workers, portable=not native)
        try:
            with tempfile.TemporaryDirectory(prefix="gpbandit-") as scratch:
                verdicts = check_board(board, keys, Path(scratch), executor).verdicts
        finally:
            executor.close()
        other = next((verdict for verdict in verdicts if verdict.level != "identical"), None)
        if other is None:
            renew(board.directory, [file])
        yield Renewal(label, len(keys), other)


def renew(folder: Path, names: Iterable[str]) -> Board:
    """State the present fingerprint of agents whose runs have been found to be the same; names are those of files.

    Raises:
        OSError: if the folder cannot be written.
    """
    values = json.loads(read_limited(folder / INDEX))
    board = Board(folder)
    for name in names:
        run = next(run for run in board.entries().values() if run.file == name)
        values["files"][name]["source"] |= {"fingerprint": fingerprint(run.spec.agent), "version": __version__}
    with written_whole(folder / INDEX) as temporary:
        temporary.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return Board(folder)
