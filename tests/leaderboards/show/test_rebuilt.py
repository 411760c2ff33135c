from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import leaderboards
from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise
from leaderboards.show.rebuilt import first_instance
from leaderboards.store.store import Store
from tests.leaderboards.folders import record


def test_the_instance_is_the_one_that_was_played(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for env in (("GPBandit/RKHS-v0", {"n_arms": 30, "dim": 2}), "GPBandit/Branin-v0"):
        store.write(leaderboards.run(env, "Random", 4, 10, seed=3))
    summary = summarise(store)
    arms = first_instance(summary, "RKHS")
    assert arms is not None
    assert arms.block == (3, 4)
    assert arms.points is not None
    assert arms.mean is not None
    keys = {str(run["task"]): str(key) for key, run in summary.runs.iterrows()}
    trace = store.trace(keys["RKHS"])
    np.testing.assert_array_equal(arms.mean[trace["action"].to_numpy()], trace["mean"].to_numpy())
    box = first_instance(summary, "Branin")
    assert box is not None
    assert box.points is not None
    assert box.mean is not None
    assert box.points.shape == (3600, 2)
    assert box.mean.max() <= float(summary.facts["Branin"]["optimum"]) + 1e-9


@pytest.mark.network
def test_no_mean_is_computed_that_costs_an_experiment(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record(Ref("GPBandit/LogisticRegression-v0"), Ref("Random"), 0, T=3))
    found = first_instance(summarise(store), "LogisticRegression")
    assert found is not None
    assert found.points is None
    assert found.mean is None


def test_a_size_from_a_stranger_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record(Ref("GPBandit/RKHS-v0", {"n_arms": 10**7}), Ref("GP-UCB"), 0))
    store.write(record(Ref("other/Env-v0"), Ref("GP-UCB"), 0))
    summary = summarise(store)
    with pytest.raises(ValueError, match="n_arms: no environment is built again for more than 100,000, got 10,000,000"):
        first_instance(summary, "RKHS")
    assert first_instance(summary, "Env") is None
