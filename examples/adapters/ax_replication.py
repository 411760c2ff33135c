"""A replication of Ax's benchmarks on a box of this package: `pip install "gpbandit-envs[ax]"`, then run this file."""

import logging

from ax.benchmark.benchmark import benchmark_replication
from ax.benchmark.methods.sobol import get_sobol_benchmark_method

from gpbandit_envs.adapters import to_ax

problem = to_ax("GPBandit/Branin-v0", seed=0, num_trials=20)
result = benchmark_replication(
    problem, get_sobol_benchmark_method(), seed=0, orchestrator_logging_level=logging.WARNING
)
print(f"score {result.score_trace[-1]:.1f} of 100 after {problem.num_trials} trials")
