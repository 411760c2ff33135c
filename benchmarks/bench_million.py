"""A million arms through the harness: CPU time in dense products, and peak memory.

    python -m benchmarks.bench_million [--arms 1e6] [--agent BBKB] [--max-memory 1GB] [--horizon 10000]
        [--dim 3] [--lengthscale 1.0] [--repetition 0]

One run of `leaderboards.run` on an RKHS function, by default in three dimensions with an SE kernel of lengthscale 1,
noise 0.1. In two dimensions with lengthscale 0.2 arms are close to one another and many distinct ones are pulled. A
product is one of dense 2000 x 2000 float64 matrices with one thread, timed just before.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import gymnasium

import gpbandit_envs  # noqa: F401 - registers the ids
import leaderboards
from benchmarks.measure import machine

OWN_WIDTH = ("BPE", "REDS")
"""Agents of few batches, which have no practical width and keep that of their theorem."""


def peak_gigabytes() -> float:
    """The process's peak memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=float, default=1e6)
    parser.add_argument("--agent", default="BBKB")
    parser.add_argument("--max-memory", default=None, help="as the agent's max_memory")
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=3)
    parser.add_argument("--lengthscale", type=float, default=1.0)
    parser.add_argument("--repetition", type=int, default=0, help="which function is drawn")
    arguments = parser.parse_args()
    n_arms = int(arguments.arms)
    product = 2 * 2000.0**3 / machine().flops

    settings: dict[str, Any] = {
        "n_arms": n_arms,
        "dim": arguments.dim,
        "kernel": {"name": "se", "lengthscale": arguments.lengthscale},
        "noise_std": 0.1,
    }
    start = time.process_time()
    env = gymnasium.make("GPBandit/RKHS-v0", max_episode_steps=arguments.horizon, **settings)
    env.reset(seed=0)
    print(f"environment: {time.process_time() - start:.1f} s of CPU, peak {peak_gigabytes():.2f} GB", flush=True)
    env.close()

    agent: dict[str, Any] = {} if arguments.agent in OWN_WIDTH else {"width": "practical"}
    agent |= {"max_memory": arguments.max_memory} if arguments.max_memory else {}
    start = time.process_time()
    record = leaderboards.run(
        ("GPBandit/RKHS-v0", settings),
        (arguments.agent, agent),
        repetition=arguments.repetition,
        horizon=arguments.horizon,
    )
    seconds = time.process_time() - start
    assert record.status == "done", record.reason
    trace = record.trace
    assert trace is not None
    print(
        f"{arguments.agent} {agent}, A = {n_arms:,}, T = {arguments.horizon:,}: {seconds:.1f} s of CPU = "
        f"{seconds / product:.0f} products, policy alone {trace['policy_seconds'].sum():.1f} s; "
        f"peak {peak_gigabytes():.2f} GB; average regret {trace['regret'].mean():.4f}; "
        f"{trace['action'].nunique():,} distinct pulls; "
        + (f"dictionary {trace['dictionary_size'].iloc[-1]:.0f}" if "dictionary_size" in trace else "no dictionary")
    )


if __name__ == "__main__":
    main()
