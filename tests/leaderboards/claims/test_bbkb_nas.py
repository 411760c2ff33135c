from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pandas as pd
import pytest

import leaderboards
from leaderboards.claims.bbkb_nas import batch_growth, mean_simple, total_time
from leaderboards.claims.measures import fewer_batches
from leaderboards.claims.runs import Runs, rows_of
from leaderboards.play.spec import env_seed
from leaderboards.store.store import Store


def played(**batches: list[int]) -> Runs:
    """Three repetitions of each agent with batches of these lengths; an evaluation costs 2 and a choice 0.5 s."""

    def table(lengths: list[int], r: int) -> pd.DataFrame:
        T = sum(lengths)
        return pd.DataFrame(
            {
                "t": np.arange(1, T + 1),
                "regret": np.full(T, 1.0 + r),
                "batch": np.repeat(np.arange(1, len(lengths) + 1), lengths),
                "policy_seconds": np.full(T, 0.5),
                "cost": np.full(T, 2.0),
            }
        )

    return Runs({agent: {r: table(lengths, r) for r in range(3)} for agent, lengths in batches.items()})


def test_linear_batches_grow_with_power_1_and_equal_ones_with_0() -> None:
    linear = [100]
    while sum(linear) < 20_000:
        linear.append(round(0.1 * sum(linear)))
    runs = played(linear=linear, equal=[20] * 100, few=[100, 100])
    assert batch_growth("linear")(runs).estimate == pytest.approx(1.0, abs=0.01)
    assert batch_growth("equal")(runs).estimate == pytest.approx(0.0, abs=1e-12)
    assert not batch_growth("few")(runs).is_known
    # Against a clock that began 2,000 evaluations before, the same batches grow faster.
    assert batch_growth("linear", 2_000)(runs).estimate > 1.1


def test_total_time_is_one_training_a_batch_and_all_seconds() -> None:
    runs = played(batched=[4, 4], sequential=[1] * 8)
    slow, fast = 8 * 2.0 + 4.0, 2 * 2.0 + 4.0
    assert total_time("", "batched", "sequential")(runs).estimate == pytest.approx(math.log10(slow / fast))
    assert fewer_batches("", "batched", "sequential")(runs).estimate == pytest.approx(math.log(4))


def test_mean_simple_regret_is_the_area_under_its_curve() -> None:
    T = 4
    tables = {
        agent: {
            r: pd.DataFrame({"t": np.arange(T), "regret": row, "batch": np.arange(T), "policy_seconds": np.zeros(T)})
            for r in range(2)
        }
        for agent, row in {"a": [3.0, 1.0, 2.0, 0.0], "b": [1.0, 1.0, 1.0, 1.0]}.items()
    }
    assert mean_simple("", "a", "b")(Runs(tables)).estimate == pytest.approx((3 + 1 + 1 + 0) / 4 - 1)
    # Existing data with a regret of 0.5: b knows 0.5 from the start, a 0 at the end.
    before = {agent: dict.fromkeys(range(2), 0.5) for agent in "ab"}
    assert mean_simple("", "a", "b")(Runs(tables, before)).estimate == pytest.approx((0.5 * 3 + 0) / 4 - 0.5)


def test_the_least_regret_of_existing_data_is_read_with_the_runs(tmp_path: Path) -> None:
    env = ("GPBandit/GPSample-v0", {"n_arms": 30, "initial": 6})
    store, specs = Store(tmp_path), []
    for repetition in range(2):
        run = leaderboards.run(env, "Uniform", repetition, 5)
        store.write(run)
        specs.append(run.spec)
    read = Runs.read(store, rows_of(specs, several=False), specs)
    found = read.before("Uniform", [0, 1])
    for spec, least in zip(specs, found, strict=True):
        there = gymnasium.make(spec.env.id, **spec.env.kwargs, horizon=5)
        there.reset(seed=env_seed(spec))
        inner: Any = there.unwrapped
        means = inner.mean(np.arange(30))
        assert least == pytest.approx((means.max() - means[inner.problem.initial.actions]).min())
    assert np.isinf(Runs({}).before("Uniform", [0])).all()
