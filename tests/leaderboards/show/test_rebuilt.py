"""What a page builds again of a task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import leaderboards
from leaderboards.play.run import instance_env
from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise
from leaderboards.show.rebuilt import first_problem
from leaderboards.store.store import Store
from tests.leaderboards.folders import record


def test_the_problem_is_the_one_that_was_played(tmp_path: Path) -> None:
    store = Store(tmp_path)
    played = leaderboards.run(("GPBandit/RKHS-v0", {"n_arms": 30, "dim": 2}), "Random", 4, 10, seed=3)
    store.write(played)
    problem = first_problem(summarise(store), "RKHS")
    assert problem is not None
    with instance_env(played.spec) as (_, expected):
        np.testing.assert_array_equal(problem.arms, expected.arms)


def test_a_size_from_a_stranger_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record(Ref("GPBandit/RKHS-v0", {"n_arms": 10**7}), Ref("GP-UCB"), 0))
    store.write(record(Ref("other/Env-v0"), Ref("GP-UCB"), 0))
    summary = summarise(store)
    with pytest.raises(ValueError, match="n_arms: no environment is built again for more than 100,000, got 10,000,000"):
        first_problem(summary, "RKHS")
    assert first_problem(summary, "Env") is None
