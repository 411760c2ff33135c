"""How long the site of a large, audited results folder takes to build, and how much memory.

    python -m benchmarks.bench_site [--runs 1000] [--rows 10000] [--agents 10] [--environments 10]

Promise: 1,000 runs of 10,000 evaluations in under 60 s and 2 GB. A thousand agents, which have half a million pairs:
`--runs 2000 --rows 50 --agents 1000 --environments 1`.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from benchmarks.measure import Row
from leaderboards.audit.measure import BAND_COLUMNS, SKETCH_COLUMNS
from leaderboards.audit.run_audit import CHECKPOINTS, AuditFacts, RunAudit
from leaderboards.audit.store import AuditStore
from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.score.scores import subsample_times
from leaderboards.store.store import Store

LIMIT_SECONDS = 60.0
LIMIT_BYTES = 2e9
BUILD = "import sys; from leaderboards.show import build_page; build_page(sys.argv[1])"
SIDE = 10  # environments and agents, by default


def write(directory: Path, runs: int, rows: int, agents: int = SIDE, environments: int = SIDE) -> None:
    """Random traces and audits of so many environments and agents, as many repetitions as that takes."""
    store = Store(directory)
    rng = np.random.default_rng(0)
    t = np.arange(1, rows + 1)
    refs = [Ref("Uniform"), *(Ref(f"x:Agent{i}") for i in range(1, agents))]
    for number in range(runs):
        place, agent = divmod(number, agents)
        repetition, task = divmod(place, environments)
        spec = RunSpec(
            env=Ref("GPBandit/RKHS-v0", {"dim": 1 + task}, f"RKHS {task}"),
            agent=refs[agent],
            repetition=repetition,
            horizon=rows,
        )
        regret = rng.gamma(4.0, 0.25, rows) * t ** (-0.8 * agent / agents)
        trace = pd.DataFrame(
            {
                "t": t,
                "action": rng.integers(0, 1000, rows),
                "reward": -regret,
                "mean": -regret,
                "regret": regret,
                "batch": 1 + (t - 1) // (1 + agent),
                "policy_seconds": rng.gamma(2.0, 1e-4, rows),
                "inference_regret": np.minimum.accumulate(regret),
                "cost": np.ones(rows),
                "width": np.log1p(t),
                "information_gain": np.cumsum(1.0 / t),
            }
        )
        store.write(RunRecord(spec, "done", trace, seconds=1.0, facts={"optimum": 0.0}))
        AuditStore(directory).write(audit(spec, rng))


def audit(spec: RunSpec, rng: np.random.Generator) -> RunAudit:
    """Random checkpoints."""
    t = subsample_times(spec.horizon, CHECKPOINTS, "log")
    rows = pd.DataFrame({name: rng.random(len(t)) for name in ("bytes", *BAND_COLUMNS, *SKETCH_COLUMNS)})
    facts = AuditFacts(
        width="theory",
        no_guarantee="",
        delta=0.1,
        no_band="",
        no_sketch="",
        points=1000,
        on_box=False,
        sampled=256,
        differs="",
    )
    return RunAudit(spec.key, facts, rows.assign(t=t, violations=0.0))


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`: a fifth of the promised size in half the time."""

    def row() -> Row:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), 200, 10_000)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", BUILD, folder], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Row(
            "the site of 200 runs of 10,000 rows", f"a limit of {LIMIT_SECONDS / 2:g} s", seconds, LIMIT_SECONDS / 2
        )

    yield "build", row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--agents", type=int, default=SIDE)
    parser.add_argument("--environments", type=int, default=SIDE)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        started = perf_counter()
        write(Path(folder), options.runs, options.rows, options.agents, options.environments)
        print(f"wrote {options.runs} runs of {options.rows} rows in {perf_counter() - started:.1f} s")
        started = perf_counter()
        subprocess.run([sys.executable, "-c", BUILD, folder], check=True)
        seconds = perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        pages = [*Path(folder).glob("*.html"), *Path(folder).glob("site/*.html")]
        largest = max(page.stat().st_size for page in pages)
    kept = seconds < LIMIT_SECONDS and peak < LIMIT_BYTES
    print(
        f"built {len(pages)} pages in {seconds:.1f} s with {peak / 1e9:.2f} GB; the largest has {largest / 1e3:.0f} kB"
    )
    print(f"promise of {LIMIT_SECONDS:.0f} s and {LIMIT_BYTES / 1e9:.0f} GB: {'kept' if kept else 'BROKEN'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
