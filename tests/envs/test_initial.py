"""Evaluations from before the first step: on the problem, from the environment's own noise, and no steps."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.problem import InitialData, Problem

ID = "GPBandit/RKHS-v0"


def make(**kwargs: Any) -> Any:
    return gym.make(ID, n_arms=40, **kwargs).unwrapped


def test_the_card_holds_noisy_rewards_of_uniform_arms() -> None:
    env = make(initial=4000)
    before = env.problem
    env.reset(seed=3)
    data = env.problem.initial
    assert before.initial is None  # nothing is evaluated before the first reset
    assert len(data) == 4000
    residual = data.rewards - env.mean(data.arms)
    std = env.problem.noise_std
    assert abs(residual.mean()) < 4 * std / np.sqrt(4000)
    assert residual.std() == pytest.approx(std, rel=0.05)
    counts = np.bincount(data.arms, minlength=40)
    assert ((counts - 100) ** 2 / 100).sum() < 39 + 4 * np.sqrt(2 * 39)  # chi-squared


def test_steps_do_not_notice() -> None:
    rewards = []
    for initial in (0, 25):
        env = make(initial=initial)
        env.reset(seed=3)
        rewards.append([env.step(arm)[1] for arm in range(10)])
    assert rewards[0] == rewards[1]


def test_every_episode_has_its_own_and_a_seed_gives_them_again() -> None:
    env = make(initial=25)
    drawn = []
    for seed in (3, None, 3):
        env.reset(seed=seed)
        drawn.append(env.problem.initial)
    np.testing.assert_array_equal(drawn[0].rewards, drawn[2].rewards)
    np.testing.assert_array_equal(drawn[0].arms, drawn[2].arms)
    assert not np.array_equal(drawn[0].rewards, drawn[1].rewards)
    with pytest.raises(ValueError, match="read-only"):
        drawn[0].rewards[0] = 0.0


@pytest.mark.parametrize("initial", [-1, 2.5, True])
def test_bad_numbers_are_named(initial: object) -> None:
    with pytest.raises(ValueError, match="initial: expected an integer >= 0"):
        make(initial=initial)


def test_a_box_has_none() -> None:
    with pytest.raises(ValueError, match="initial: expected 0 on a box"):
        gym.make("GPBandit/Branin-v0", initial=5)


@pytest.mark.parametrize(
    ("arms", "rewards", "words"),
    [
        ([], [], "arms: expected at least one index"),
        ([0.5], [1.0], "arms: expected at least one index"),
        ([-1], [1.0], "arms: expected at least one index"),
        ([0, 1], [1.0], "rewards: expected one for each of 2 arms"),
        ([0, 1], [1.0, float("nan")], r"rewards: expected finite numbers of at most 1e\+50 in size, got nan"),
    ],
)
def test_what_does_not_fit_together_is_named(arms: list[int], rewards: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        InitialData(arms=np.array(arms), rewards=np.array(rewards))


@pytest.mark.parametrize(
    ("points", "words"),
    [
        ([0.1, 0.2], r"points: expected points of the unit cube, shape \(n, d\), got shape \(2,\)"),
        ([[0.1, 1.2]], "points: expected points of the unit cube"),
        ([[0.1, float("nan")]], "points: expected points of the unit cube"),
        ([[0.1, 0.2], [0.3, 0.4]], "rewards: expected one for each of 2 points"),
    ],
)
def test_points_that_do_not_fit_are_named(points: list[list[float]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        InitialData(points=np.array(points), rewards=np.zeros(1))


def test_arms_or_points() -> None:
    with pytest.raises(ValueError, match="arms, points: expected exactly one of them, got neither"):
        InitialData(rewards=np.zeros(1))
    with pytest.raises(ValueError, match="arms, points: expected exactly one of them, got both"):
        InitialData(arms=np.zeros(1, np.int64), points=np.zeros((1, 2)), rewards=np.zeros(1))


def test_the_card_knows_its_arms() -> None:
    data = InitialData(arms=np.array([0, 4]), rewards=np.zeros(2))
    with pytest.raises(ValueError, match="initial: expected data of the problem's 3 arms, got arm 4"):
        Problem(name="p", dim=1, arms=np.zeros((3, 1)), initial=data)


def test_data_from_before_are_those_of_the_first_step_whenever_they_are_read() -> None:
    rewards = []
    for steps in (0, 2):
        env: Any = gym.make("GPBandit/TVGPSample-v0", eps=0.5, initial=3)
        env.reset(seed=0)
        for _ in range(steps):
            env.step(0)
        rewards.append(env.unwrapped.problem.initial.rewards.tolist())
    assert rewards[0] == rewards[1]
