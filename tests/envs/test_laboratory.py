"""Tasks as a laboratory meets them: nothing told, means in units of their own, categories and a cliff."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from agents.learned.gp_bucb import MAPBUCB
from gpbandit_envs.functions.base import FixedArms
from gpbandit_envs.functions.gp_draws import GPSampleArms
from gpbandit_envs.functions.laboratory import CliffArms, InUnits, mixed_arms, unit_of
from gpbandit_envs.gp import Matern


def made(name: str, **settings: Any) -> Any:
    return gym.make(f"GPBandit/{name}-v0", **settings).unwrapped


def test_the_unit_does_not_know_how_bad_the_bad_ones_are() -> None:
    mean = np.random.default_rng(0).standard_normal(1_001)  # whose lower quartile is one of them
    worse = np.where(mean < np.quantile(mean, 0.25), 100 * mean, mean)
    assert unit_of(mean) == pytest.approx(np.maximum(mean, np.quantile(mean, 0.25)).std())
    assert unit_of(worse) == pytest.approx(unit_of(mean), rel=0.02)
    assert unit_of(3 * mean - 7) == pytest.approx(3 * unit_of(mean))
    with pytest.raises(ValueError, match="untold: expected means that differ above their lower quartile, got 1 alone"):
        unit_of(np.append(np.ones(9), -5.0))


@pytest.mark.parametrize("name", ["RKHS", "Categories", "Cliff", "DrawnPlate"])
def test_nothing_is_told_and_means_are_in_units(name: str) -> None:
    noise = {"noise": "gaussian"} if name == "DrawnPlate" else {}
    env, told = made(name, untold=True, noise_std=0.2, **noise), made(name, **noise)
    for one in (env, told):
        one.reset(seed=3)
    problem, arms = env.problem, np.arange(env.action_space.n)
    assert problem.knowledge == "learned"
    nothing = (problem.kernel, problem.norm_bound, problem.noise_std, problem.noise_stds, problem.noise_tails)
    assert nothing == (None,) * 5
    assert set(problem.notes) == ({"categories"} if name in ("Categories", "DrawnPlate") else set())
    assert np.array_equal(problem.arms, told.problem.arms)
    means = told.mean(arms)
    np.testing.assert_allclose(env.mean(arms), (means - means.mean()) / unit_of(means), atol=1e-12)
    assert unit_of(env.mean(arms)) == pytest.approx(1.0)
    assert env.certificate.optimal_action == told.certificate.optimal_action
    rewards = np.array([env.step(0)[1] for _ in range(400)])
    assert rewards.std() == pytest.approx(0.2, rel=0.15)
    assert rewards.mean() == pytest.approx(env.mean(np.array([0]))[0], abs=0.05)


def test_rows_of_a_table_are_in_the_unit_of_all_of_it() -> None:
    env, whole = (made("DrawnPlate", untold=True, noise="gaussian", rows=rows) for rows in (20, None))
    env.reset(seed=0)
    whole.reset(seed=0)
    among = set(whole.mean(np.arange(whole.action_space.n)).tolist())
    assert set(env.mean(np.arange(20)).tolist()) <= among
    assert env.problem.notes["rows"] == f"20 of {whole.action_space.n}, drawn anew in each episode"


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("Branin", {}, "untold: expected finite arms"),
        ("TVGPSample", {}, "means that stay as they are"),
        ("SleepingArms", {}, "all of them at each step"),
        ("DrawnPlate", {"noise": "table"}, "untold: expected a noise with a deviation, got replicates"),
        ("RKHS", {"misspecification": {"norm": 2.0}}, "untold: expected neither certified nor misspecification"),
        ("RKHS", {"untold": "yes"}, "untold: "),
        ("Categories", {"levels": [3, 1]}, r"levels\[1\]: expected two levels or more, got 1"),
        ("Categories", {"levels": 3}, "levels: expected numbers of levels such as"),
        ("Cliff", {"share": 1.0}, "share: expected a number in "),
        ("Cliff", {"depth": 0.0}, "depth: expected a number > 0"),
    ],
)
def test_what_cannot_be_is_said(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        made(name, **{"untold": True, **settings})


def test_categories_are_one_hot_and_their_levels_equally_common() -> None:
    arms = mixed_arms(120, 2, [4, 3])
    assert arms.shape == (120, 9)
    assert np.array_equal(arms[:, 2:6].sum(axis=0), [30] * 4)
    assert np.array_equal(arms[:, 6:].sum(axis=0), [40] * 3)
    assert (arms[:, 2:6].sum(axis=1) == 1).all()
    assert np.array_equal(arms, mixed_arms(120, 2, [4, 3]))
    kernel = made("Categories", dim=1, levels=[2]).problem.kernel
    here, other, far = np.array([[0.5, 1, 0]]), np.array([[0.5, 0, 1]]), np.array([[50.0, 1, 0]])
    assert kernel(here, here)[0, 0] == pytest.approx(1.0)
    assert kernel(here, other)[0, 0] == pytest.approx(0.5)
    assert kernel(here, far)[0, 0] == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("name", "settings", "columns"),
    [("Categories", {"dim": 2, "levels": [4, 3]}, [[2, 3, 4, 5], [6, 7, 8]]), ("DrawnPlate", {}, [[0, 1, 2]])],
)
def test_categories_are_told_if_nothing_else_is(name: str, settings: dict[str, Any], columns: list[list[int]]) -> None:
    for untold in (False, True):
        problem = made(name, **settings, untold=untold, noise="gaussian", noise_std=0.2, horizon=30).problem
        assert problem.notes["categories"] == columns
    assert set(problem.notes) == {"categories"}
    agent = MAPBUCB()
    agent.reset(problem, np.random.default_rng(0))
    assert agent.groups == tuple(map(tuple, columns))


def test_beyond_the_cliff_means_fall_by_its_depth() -> None:
    rng = np.random.default_rng(0)
    arms = rng.random((200, 2))
    family = GPSampleArms(Matern(0.4, nu=2.5), arms)
    plain, fallen = (
        family.draw(np.random.default_rng(7)).mean,
        CliffArms(family, 0.25, 3.0).draw(np.random.default_rng(7)),
    )
    fall = (plain - fallen.mean) / plain.std()
    assert np.isclose(fall, 3.0).sum() == 50
    assert np.isclose(fall, 0.0).sum() == 150
    assert fallen.certificate.optimum == fallen.mean.max()


def test_units_of_a_family_keep_what_is_fixed() -> None:
    table = FixedArms(np.zeros((8, 1)), np.arange(8.0))
    units = InUnits(table)
    assert units.fixed
    assert units.draw(np.random.default_rng(0)).certificate.facts == {"unit": unit_of(np.arange(8.0))}
