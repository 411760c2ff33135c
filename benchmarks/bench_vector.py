"""Throughput of repetitions played together against single runs on the same core, and whether the traces are the same.

    python -m benchmarks.bench_vector [--agent GP-UCB] [--together 1000] [--alone 20]

Both sides go through the harness and end in run records: a GP sample on 1,000 arms, 300 evaluations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, seconds
from leaderboards.play.record import RunRecord
from leaderboards.play.run import one_blas_thread, run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.work.vectorised import play_together

N_ARMS, HORIZON = 1_000, 300
EQUAL = ("action", "reward", "mean", "regret", "batch", "cost", "inference_regret")
AGENTS = ("Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB", "IRGP-UCB", "BBKB")


def specs(agent: str, repetitions: int) -> list[RunSpec]:
    env = Ref("GPBandit/GPSample-v0", {"n_arms": N_ARMS})
    return [RunSpec(env=env, agent=Ref(agent), repetition=r, horizon=HORIZON) for r in range(repetitions)]


def throughput(agent: str, together: int, alone: int) -> Row:
    """Seconds of a run, of `together` played at once and of the first `alone` of them played singly.

    Raises:
        AssertionError: if one of these has another trace.
    """
    runs = specs(agent, together)
    found: dict[int, RunRecord] = {}
    singles: list[RunRecord] = []

    def all_at_once() -> None:
        for record in play_together(runs):
            if record.spec.repetition < alone:
                found[record.spec.repetition] = record

    with one_blas_thread():
        run_spec(runs[0]), list(play_together(runs[:2]))  # imports
        ours = seconds(all_at_once) / together
        theirs = seconds(lambda: singles.extend(run_spec(run) for run in runs[:alone])) / alone
    for i, single in enumerate(singles):
        assert single.status == found[i].status == "done", single.error
        for name in EQUAL:
            # NaN until a batch ends.
            assert np.array_equal(single.trace[name], found[i].trace[name], equal_nan=True), (agent, i, name)
    return Row(f"{agent}, {together} repetitions together, A = 1,000, T = 300", "single runs", ours, theirs)


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """What goes into the table of `benchmarks.run`; BBKB has no form of its own, and a few runs show what is left."""
    for agent in AGENTS:
        together, alone = (8, 4) if agent == "BBKB" else (64, 6)
        yield agent.lower(), partial(throughput, agent, together, alone)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", action="append", help="only these; any that plays on arms")
    parser.add_argument("--together", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=20, help="single runs to time and to compare with, at most all")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        for agent in arguments.agent or AGENTS:
            row = throughput(agent, arguments.together, min(arguments.alone, arguments.together))
            print(
                f"{row.case}: {1e3 * row.ours:.1f} ms a run, alone {1e3 * row.theirs:.1f} ms: {row.ratio:.1f} times "
                "the throughput, traces equal",
                flush=True,
            )


if __name__ == "__main__":
    main()
