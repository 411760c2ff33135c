"""What it costs to play a run with its audit: all arms, at 30 of 300 evaluations.

python -m benchmarks.run --only audit
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.measure import Row, against
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.audit.run_audit import audit_run
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec

ROWS = {"theory": Ref("GP-UCB"), "bkb": Ref("BKB")}


def played(agent: Ref, *, audited: bool) -> float:
    """Processor seconds of a run, its environment built."""
    spec = RunSpec(env=Ref("GPBandit/RKHS-v0"), agent=agent, repetition=0, horizon=300)
    start = time.process_time()
    if audited:
        audit_run(spec)
    else:
        with one_blas_thread():
            run_spec(spec)
    return time.process_time() - start


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
