"""What it costs to audit a run while it is played, by the plan of guarantee-v1: all arms, 67 times in 300 evaluations.

python -m benchmarks.run --only audit
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Row, against
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.audit.store import AuditStore, AuditWatcher
from leaderboards.play.run import run_spec
from leaderboards.play.spec import RunSpec
from leaderboards.play.suite import load_suite

SUITE = "guarantee-v1"
TASKS = {"se": "SE, d = 2", "nasbench201": "NASBench201"}
ROWS = {"theory": "GP-UCB, theory", "dmm": "GP-UCB, DMM", "bkb": "BKB, proven", "gp-ei": "GP-EI"}
REPETITION = 1  # every tenth, from 0 on, is measured after every evaluation


def spec_of(task: str, row: str) -> RunSpec:
    """A run of the suite that is measured at its log-spaced checkpoints."""
    found = (spec for spec in load_suite(SUITE).specs() if (spec.env.label, spec.agent.label) == (task, row))
    return next(spec for spec in found if spec.repetition == REPETITION)


def played(spec: RunSpec, *, audited: bool) -> float:
    """Processor seconds of the run, its environment built and its audit written.

    Raises:
        OSError: if the data of the environment cannot be had.
    """
    with tempfile.TemporaryDirectory() as folder, one_blas_thread():
        watcher = AuditWatcher(Path(folder), load_suite(SUITE).audit)
        watch = watcher.watch(spec) if audited else None
        start = time.process_time()
        record = run_spec(spec, watch=watch)
        took = time.process_time() - start
        if record.status != "done":
            raise OSError(record.reason)
        assert AuditStore(Path(folder)).keys() == ({spec.key} if audited else set())
    return took


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`."""
    for short_task, task in TASKS.items():
        for short_row, row in ROWS.items():

            def measured(task: str = task, row: str = row) -> Row:
                spec = spec_of(task, row)
                return against(
                    f"{row} on {task}, T = 300, audited 67 times",
                    "the run alone",
                    lambda: played(spec, audited=True),
                    lambda: played(spec, audited=False),
                )

            yield f"{short_task}-{short_row}", measured
