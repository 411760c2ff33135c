"""A million arms through the harness: CPU time in dense products, and peak memory.

    python -m benchmarks.bench_million [--arms 1e6] [--agent BBKB] [--max-memory 1GB] [--horizon 10000]
        [--dim 3] [--lengthscale 1.0] [--repetition 0] [--plain]

One run of `leaderboards.run` on an RKHS function, by default in three dimensions with an SE kernel of lengthscale 1,
noise 0.1. In two dimensions with lengthscale 0.2 arms are close to one another and many distinct ones are pulled. A
product is one of dense 2000 x 2000 float64 matrices with one thread, timed just before. `--plain` plays the lines
of `benchmarks.textbook` instead: a rank-one row a pull, by upper bounds as GP-UCB or by variance alone as BPE.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import gymnasium
import numpy as np

import gpbandit_envs  # noqa: F401 - registers the ids
import leaderboards
from benchmarks.measure import machine
from benchmarks.textbook import RankOne, gp_ucb, maximum_variance
from gpbandit_envs.problem import Problem

OWN_WIDTH = ("BPE", "REDS")
"""Agents of few batches, which have no practical width and keep that of their theorem."""


def peak_gigabytes() -> float:
    """The process's peak memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def plain_seconds(agent: str, problem: Problem, means: np.ndarray, horizon: int) -> float:
    """Seconds of the textbook's form of an agent, whose rewards are the means: noise takes no time."""
    assert problem.kernel is not None
    assert problem.arms is not None
    assert problem.noise_std is not None
    start = time.process_time()
    posterior = RankOne(problem.kernel, problem.arms, problem.noise_std**2, horizon)
    if agent == "GP-UCB":
        gp_ucb(posterior, 2.0, horizon, lambda arm: float(means[arm]))
    elif agent == "BPE":
        maximum_variance(posterior, horizon)
    else:
        raise SystemExit(f"--plain: expected --agent GP-UCB or BPE, got {agent}")
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=float, default=1e6)
    parser.add_argument("--agent", default="BBKB")
    parser.add_argument("--max-memory", default=None, help="as the agent's max_memory")
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=3)
    parser.add_argument("--lengthscale", type=float, default=1.0)
    parser.add_argument("--repetition", type=int, default=0, help="which function is drawn")
    parser.add_argument("--plain", action="store_true", help="the textbook's GP-UCB or BPE, for --agent of that name")
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
    if arguments.plain:
        means = env.unwrapped.mean(np.arange(n_arms))  # type: ignore[attr-defined]
        seconds = plain_seconds(arguments.agent, env.unwrapped.problem, means, arguments.horizon)  # type: ignore[attr-defined]
        print(
            f"plain {arguments.agent}, A = {n_arms:,}, T = {arguments.horizon:,}: {seconds:.1f} s of CPU = "
            f"{seconds / product:.0f} products; peak {peak_gigabytes():.2f} GB"
        )
        return
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
