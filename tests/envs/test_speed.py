"""The promises about speed, as ratios taken in one run; `benchmarks/bench_envs.py` prints them."""

from __future__ import annotations

import pytest

from benchmarks import bench_envs


@pytest.mark.slow
def test_a_step_costs_at_most_twice_cartpoles() -> None:
    ours, cartpole = bench_envs.step_ratio(steps=4_000, rounds=4)
    assert ours <= 2 * cartpole


@pytest.mark.slow
def test_native_vector_environment_is_a_hundred_times_sync() -> None:
    native, sync = bench_envs.vector_ratio("GPBandit/BPEF1-v0", 512, rounds=4)
    assert sync >= 100 * native
