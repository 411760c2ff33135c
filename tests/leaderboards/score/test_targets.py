from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leaderboards.play.spec import Ref
from leaderboards.score.summary import summarise
from leaderboards.score.targets import N_TARGETS, evaluation_grid, share_solved, targets, task_times, times_to_targets
from tests.leaderboards.folders import folder


def test_targets_reach_from_the_gap_to_a_thousandth_of_it_ten_a_decade() -> None:
    eps = targets(np.array([2.0, 0.5]))
    assert eps.shape == (2, N_TARGETS)
    np.testing.assert_allclose(eps[:, 0], [2.0, 0.5])
    np.testing.assert_allclose(eps[:, -1], [2e-3, 5e-4])
    np.testing.assert_allclose(eps[:, :-10] / eps[:, 10:], 10.0)


def test_times_are_the_first_at_which_the_regret_is_no_larger() -> None:
    t = np.array([1, 2, 5, 9])
    simple = np.array([[4.0, 1.0, 1.0, 0.0], [3.0, 3.0, 3.0, 3.0], [1.0, np.nan, np.nan, np.nan]])
    found = times_to_targets(t, simple, np.tile([4.0, 2.0, 1.0, 0.5], (3, 1)))
    np.testing.assert_array_equal(found[0], [1, 2, 2, 9])
    np.testing.assert_array_equal(found[1], [1, np.inf, np.inf, np.inf])
    assert np.isnan(found[2]).all()


def test_shares_count_what_is_reached_and_never_what_is_not() -> None:
    tau = np.array([[1.0, 4.0, np.inf, 4.0], [2.0, 2.0, 3.0, 3.0]])
    np.testing.assert_array_equal(share_solved(tau, np.array([1, 3, 4, 100])), [[0.25, 0.25, 0.75, 0.75], [0, 1, 1, 1]])
    assert share_solved(np.zeros((0, 3)), np.array([1, 2])).shape[0] == 0


def test_the_grid_is_whole_and_ends_at_the_horizon() -> None:
    grid = evaluation_grid(1000)
    assert (grid[0], grid[-1]) == (1, 1000)
    assert (np.diff(grid) > 0).all()
    assert evaluation_grid(1).tolist() == [1]


def test_a_task_is_scaled_by_uniform_sampling_on_the_same_instance(tmp_path: Path) -> None:
    env = Ref("GPBandit/RKHS-v0")
    store = folder(tmp_path, [env], [Ref("Uniform"), Ref("GP-UCB")], repetitions=3, T=100)
    summary = summarise(store)
    found = task_times(summary, "RKHS", summary.on("RKHS"))
    assert found.keys() == {"Uniform", "GP-UCB"}
    runs = summary.runs
    for agent, tau in found.items():
        for repetition in range(3):
            of = {
                name: store.trace(
                    str(runs.index[(runs["agent"] == name) & (runs["repetition"] == repetition)][0]), ["regret"]
                )["regret"].to_numpy()
                for name in (agent, "Uniform")
            }
            gap = float(np.median(of["Uniform"]))
            for k in (0, 10, N_TARGETS - 1):
                reached = np.flatnonzero(of[agent] <= gap * 10 ** (-k / 10) * (1 + 1e-12))
                assert tau[repetition, k] == (reached[0] + 1 if len(reached) else np.inf), (agent, repetition, k)


@pytest.mark.parametrize("agents", [[Ref("GP-UCB")], [Ref("Uniform", {"x": 1}), Ref("GP-UCB")]])
def test_without_uniform_sampling_there_is_no_scale(tmp_path: Path, agents: list[Ref]) -> None:
    summary = summarise(folder(tmp_path, [Ref("GPBandit/RKHS-v0")], agents, repetitions=2))
    assert task_times(summary, "RKHS", summary.on("RKHS")) == {}
