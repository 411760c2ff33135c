"""The promises about speed, as ratios taken in one run; `benchmarks/bench_envs.py` prints them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def bench() -> Any:
    path = Path(__file__).parents[2] / "benchmarks" / "bench_envs.py"
    spec = importlib.util.spec_from_file_location("bench_envs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_step_costs_at_most_twice_cartpoles(bench: Any) -> None:
    ours, cartpole = bench.step_ratio(steps=4_000, rounds=4)
    assert ours <= 2 * cartpole


@pytest.mark.slow
def test_native_vector_environment_is_a_hundred_times_sync(bench: Any) -> None:
    native, sync = bench.vector_ratio("GPBandit/BPEF1-v0", 512, rounds=4)
    assert sync >= 100 * native
