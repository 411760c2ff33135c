"""Audit a results folder: play its runs again, look inside, and keep the small tables beside the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path

from leaderboards.play.audits import AuditFiles
from leaderboards.play.plugins import load_plugins
from leaderboards.play.run import reason_of
from leaderboards.play.store import Store, StoreError
from leaderboards.play.workers import ExecutorError, process_pool
from leaderboards.score.probe import LOOKS, SAMPLED, probe

__all__ = ["Audited", "audit_runs", "unaudited"]


@dataclass(frozen=True)
class Audited:
    """What became of the audit of one run.

    Attributes:
        key: The run.
        error: Why it could not be audited, in one line; "" if it was.
        differs: Where the run played again left the stored trace; "" if nowhere.
        no_band: Why it has no confidence band; "" if it has one.
    """

    key: str
    error: str = ""
    differs: str = ""
    no_band: str = ""


def unaudited(store: Store, keys: Sequence[str]) -> list[str]:
    """Those of `keys` that have no audit yet."""
    there = AuditFiles(store.directory).keys()
    return [key for key in keys if key not in there]


def audit_runs(
    store: Store, keys: Sequence[str], workers: int = 1, looks: int = LOOKS, sampled: int = SAMPLED
) -> Iterator[Audited]:
    """Audit the runs `keys` and keep the audits; yields how each went, as they end.

    Args:
        store: The folder.
        keys: Runs that are done.
        workers: Processes; 1 works in this one.
        looks: At how many times each run is looked at.
        sampled: At how many arms variances are compared.

    Raises:
        OSError: if an audit cannot be written.
        ExecutorError: if a worker dies; what was audited before is kept.
    """
    if workers == 1:
        for key in keys:
            yield _audit_one(store.directory, key, looks, sampled)
        return
    from loky.process_executor import BrokenProcessPool

    pool = process_pool(min(workers, max(len(keys), 1)))
    try:
        futures = [pool.submit(_audit_one, store.directory, key, looks, sampled) for key in keys]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool:
        raise ExecutorError(
            "a worker died while it audited a run, perhaps for want of memory: what was audited is kept; give the same "
            "command again with fewer --workers"
        ) from None
    finally:
        # Also when the user has had enough: nobody works on.
        pool.shutdown(kill_workers=True)


def _audit_one(directory: Path, key: str, looks: int, sampled: int) -> Audited:
    load_plugins()
    store = Store(directory)
    try:
        trace = store.trace(key)
    except (StoreError, KeyError) as error:
        return Audited(key, str(error))
    try:
        found = probe(store.spec(key), looks, sampled, trace, store.entry(key).data.rounded)
    except Exception as error:  # agents and environments of others may raise anything, and the other runs go on
        return Audited(key, reason_of(error))
    AuditFiles(directory).write(found)
    return Audited(key, differs=found.about["differs"], no_band=found.about["no_band"])
