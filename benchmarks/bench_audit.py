"""What it costs to audit a run while it is played: all arms, at 30 of 300 evaluations.

python -m benchmarks.run --only audit
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.measure import Row, against
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.audit.store import AuditStore, AuditWatcher
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec

ROWS = {"theory": Ref("GP-UCB"), "bkb": Ref("BKB")}


def played(agent: Ref, *, audited: bool) -> float:
    """Processor seconds of a run, its environment built and its audit written."""
    spec = RunSpec(env=Ref("GPBandit/RKHS-v0"), agent=agent, repetition=0, horizon=300)
    with tempfile.TemporaryDirectory() as folder, one_blas_thread():
        watch = AuditWatcher(Path(folder)).watch(spec) if audited else None
        start = time.process_time()
        record = run_spec(spec, watch=watch)
        took = time.process_time() - start
        assert record.status == "done", record.reason
        assert AuditStore(Path(folder)).keys() == ({spec.key} if audited else set())
    return took


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`."""
    for short, agent in ROWS.items():
        title = f"{agent.id} on RKHS, T = 300, audited 30 times"
        yield (
            short,
            partial(
                against,
                title,
                "the run alone",
                partial(played, agent, audited=True),
                partial(played, agent, audited=False),
            ),
        )
