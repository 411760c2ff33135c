"""What the harness costs: python -m benchmarks.bench_harness [--quick].

Times are CPU times, which other work on the machine disturbs less, beside wall-clock times where workers take part.
Prints one line a figure: overhead of the loop over a bare one, overhead of a tiny run on two workers, and the time to
open a folder of many runs and read two columns of all of them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import agents
from agents import Agent, Feedback, Pending
from benchmarks.measure import Row, against, seconds
from gpbandit_envs.atomic import written_whole
from gpbandit_envs.gp.threads import one_blas_thread
from leaderboards.play.build import build_env
from leaderboards.play.record import RunRecord
from leaderboards.play.run import run_on, run_spec, stated_problem
from leaderboards.play.spec import Ref, RunSpec, env_seed, generator
from leaderboards.store.run_file import open_table, write_table
from leaderboards.store.store import Store
from leaderboards.work.executors import LocalExecutor
from leaderboards.work.schedule import run_missing

ROUNDS = 5


def spec(agent: str, repetition: int = 0, horizon: int = 1000, n_arms: int = 1000) -> RunSpec:
    return RunSpec(
        env=Ref("GPBandit/RKHS-v0", {"n_arms": n_arms}), agent=Ref(agent), repetition=repetition, horizon=horizon
    )


def bare(agent: Agent, one: RunSpec) -> float:
    """Seconds of the shortest loop that plays a sequential agent: select, step, observe, and nothing kept."""
    env = build_env(one.env, one.horizon)
    started = time.process_time()
    env.reset(seed=env_seed(one))
    problem = stated_problem(env, one.horizon)
    agent.reset(problem, generator(one, "agent"))
    nothing = Pending.empty(problem)
    tickets = np.arange(one.horizon)
    for t in range(one.horizon):
        actions = agent.select(1, nothing)
        _, reward, _, _, info = env.step(int(actions[0]))
        agent.observe(Feedback.of(tickets[t : t + 1], actions, [reward], [info["cost"]]))
    return time.process_time() - started


def overhead(name: str) -> tuple[float, float, float]:
    """Seconds of a bare loop, of the harness, and of what it asks the agent besides; interleaved, the best of each."""
    one = spec(name)
    plain, whole, scored = [], [], []
    with one_blas_thread():
        for _ in range(ROUNDS):
            plain.append(bare(agents.make(name), one))
            agent = agents.make(name)
            env = build_env(one.env, one.horizon)
            started = time.process_time()
            run_on(env, agent, one)
            whole.append(time.process_time() - started)
            scored.append(scoring(agent) * one.horizon)
    return min(plain), min(whole), min(scored)


def loop_overhead() -> None:
    """The harness against the bare loop; it also asks for recommendation and diagnostics every time."""
    for name in ("GP-UCB", "Uniform"):
        horizon = spec(name).horizon
        base, harness, score = overhead(name)
        print(
            f"{name}, horizon {horizon}: bare {base * 1e6 / horizon:.1f} us an evaluation, harness "
            f"{harness * 1e6 / horizon:.1f} us ({harness / base - 1:+.1%}), of which the agent's own recommend and "
            f"diagnostics {score * 1e6 / horizon:.1f} us"
        )


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`."""

    def row(name: str) -> Row:
        base, harness, _ = overhead(name)
        return Row(f"{name} in the harness, A = 1,000, T = 1,000", "bare loop", harness, base)

    for name in ("GP-UCB", "Uniform"):
        yield name.lower(), lambda name=name: row(name)  # type: ignore[misc]
    yield "digests-written", lambda: digests(written=True)
    yield "digests-read", lambda: digests(written=False)


def digests(written: bool) -> Row:
    """Files with digests over all their bytes against files with checksums of their pages alone."""
    rng = np.random.default_rng(0)
    names = ("t", "reward", "mean", "regret", "inference_regret", "cost", "policy_seconds", "width")
    table = pa.table({name: rng.random(10_000) for name in names})
    with tempfile.TemporaryDirectory() as folder:
        sealed, plain = Path(folder) / "sealed.parquet", Path(folder) / "plain.parquet"

        def write_plain() -> None:
            with written_whole(plain) as temporary:
                pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)

        def read_sealed() -> None:
            with open_table(sealed) as file:
                file.read(columns=["regret", "t"], use_threads=False)

        def read_plain() -> None:
            pq.ParquetFile(plain, page_checksum_verification=True).read(columns=["regret", "t"], use_threads=False)

        calls: tuple[Callable[[], object], Callable[[], object]] = (lambda: write_table(sealed, table), write_plain)
        for call in calls:
            call()
        more = sealed.stat().st_size / plain.stat().st_size - 1
        if not written:
            calls = (read_sealed, read_plain)
        what = "write eight columns" if written else "read two columns of eight"
        return against(
            f"{what} of 10,000 rows with digests, {more:.2%} more bytes",
            "checksums of pages alone",
            lambda: seconds(calls[0], 50),
            lambda: seconds(calls[1], 50),
            ROUNDS,
        )


def scoring(agent: Agent) -> float:
    """Seconds of one `recommend` and one `diagnostics`."""
    started = time.process_time()
    for _ in range(50):
        agent.recommend()
        agent.diagnostics()
    return (time.process_time() - started) / 50


def tiny_runs(runs: int) -> None:
    """Many runs of horizon 10 on two workers, against the same runs one after the other without a harness."""
    specs = [spec("Uniform", repetition, horizon=10, n_arms=20) for repetition in range(runs)]
    with one_blas_thread():
        run_spec(specs[0])
        started = time.process_time()
        for one in specs[:500]:
            env = build_env(one.env, one.horizon)
            bare(agents.make("Uniform"), one)
            env.close()
        each = (time.process_time() - started) / 500
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        before = cpu_seconds()
        started = time.perf_counter()
        executor = LocalExecutor(2)
        report = run_missing(specs, store, executor)
        executor.close()
        wall, cpu = time.perf_counter() - started, cpu_seconds() - before
        assert report.ended["done"] == runs
        files = len(list(store.runs_directory.iterdir()))
        started = time.perf_counter()
        assert len(Store(folder).runs()) == runs
        opened = time.perf_counter() - started
    print(
        f"{runs} runs of horizon 10 on 2 workers: {wall:.1f} s wall; CPU of all processes {1e3 * cpu / runs:.2f} ms "
        f"a run, {1e3 * (cpu / runs - each):.2f} ms more than the bare run's {1e3 * each:.2f} ms; {files} files, "
        f"opened in {opened:.2f} s"
    )


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def reading(runs: int, rows: int) -> None:
    """Two columns of many runs, one file each."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        for repetition in range(runs):
            names = ("reward", "mean", "regret", "inference_regret", "cost", "policy_seconds", "width")
            trace = pd.DataFrame({"t": np.arange(1, rows + 1), **{name: rng.random(rows) for name in names}})
            store.write(RunRecord(spec("Uniform", repetition, rows), "done", trace))
        store.write_cache()
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
        for what in ("with the cache", "without it"):
            started, cpu = time.perf_counter(), time.process_time()
            traces = list(Store(folder).traces(["regret", "inference_regret"]))
            wall, cpu = time.perf_counter() - started, time.process_time() - cpu
            assert sum(run.rows for run, _ in traces) == runs * rows
            print(f"two columns of {runs} x {rows} rows, {what}: {wall:.2f} s, CPU {cpu:.2f} s, {size >> 20} MiB")
            (Path(folder) / "entries.cache").unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tiny runs")
    quick = parser.parse_args().quick
    loop_overhead()
    reading(2000, 1000)
    tiny_runs(5_000 if quick else 50_000)


if __name__ == "__main__":
    main()
