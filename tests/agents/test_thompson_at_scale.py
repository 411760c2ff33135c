"""ASYNC-TS on as many arms as Cadata has: a batch costs little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import agents
from agents import Feedback, Pending
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem

A, RANK, BATCH = 20_640, 1_000, 30


@pytest.mark.slow
def test_a_batch_of_thirty_never_holds_all_pairs_of_arms() -> None:
    X = np.random.default_rng(0).standard_normal((A, 8))
    problem = Problem(name="large", dim=8, arms=X, kernel=SE(10.0), noise_std=0.01, horizon=10_000)
    mean, noise = np.sin(X[:, 0]), np.random.default_rng(1)
    agent = agents.make("ASYNC-TS", batch_size=BATCH, max_rank=RANK, width=0.1)
    nothing = Pending.empty(problem)
    tracemalloc.start()
    agent.reset(problem, np.random.default_rng(0))
    for batch in range(10):
        arms = agent.select(BATCH, nothing)
        rewards = mean[arms] + 0.01 * noise.standard_normal(BATCH)
        agent.observe(Feedback.of(np.arange(BATCH) + BATCH * batch, arms, rewards))
        assert len(arms) == BATCH
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The prior's factor, copies of it and the cached kernel rows: far from A x A, which is 3,250 MiB.
    assert peak < 4 * 8 * A * RANK
