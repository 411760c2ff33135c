"""Environments whose mean function changes from step to step."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gpbandit_envs import problem_of
from gpbandit_envs.envs.time_varying import TimeVaryingArmEnv
from gpbandit_envs.functions.base import even_arms
from gpbandit_envs.functions.time_varying import ChangePointArms, DriftingGP
from gpbandit_envs.gp import SE
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback
from tests.contracts.test_envs import as_json, play
from tests.envs.catalogue import TIME_VARYING, Case, params

cases = pytest.mark.parametrize("case", params(TIME_VARYING))


def means(env: Any, steps: int = 12, **reset: Any) -> np.ndarray:
    """The means of every arm at the coming step, along an episode of one arm."""
    env.reset(**reset)
    every = np.arange(env.action_space.n)
    found = [env.unwrapped.mean(every)]
    for _ in range(steps):
        env.step(0)
        found.append(env.unwrapped.mean(every))
    return np.array(found)


@cases
def test_regret_is_measured_from_the_best_arm_of_the_step(case: Case) -> None:
    env = case.make()
    bandit = env.unwrapped
    env.reset(seed=3)
    every, rng, seen = np.arange(env.action_space.n), np.random.default_rng(0), set()
    for _ in range(20):
        now = bandit.mean(every)
        np.testing.assert_array_equal(bandit.regret(every), now.max() - now)
        assert bandit.optimum == bandit.certificate_now().optimum == now.max()
        assert bandit.certificate_now().optimal_action == now.argmax()
        arm = int(rng.integers(len(every)))
        observation, _, _, _, info = env.step(arm)
        assert observation == 0
        assert info["oracle"] == {"mean": now[arm], "regret": now.max() - now[arm]}
        seen.add(now.tobytes())
    assert len(seen) > 3
    assert bandit.certificate.optimum == means(env, 0, seed=3)[0].max(), "that of the first step"


@cases
def test_how_it_moves_does_not_depend_on_what_is_played_and_goes_with_the_function(case: Case) -> None:
    env = case.make()
    path = means(env, seed=2)
    np.testing.assert_array_equal(means(env, seed=2), path)
    env.reset(seed=2)
    for t, arm in enumerate((3, 1, 4, 1, 5)):
        np.testing.assert_array_equal(env.unwrapped.mean(np.arange(env.action_space.n)), path[t])
        env.step(arm)
    assert (means(env) != path).any(), "the next episode"
    again = means(env, options={"keep_function": True})
    np.testing.assert_array_equal(means(env, options={"keep_function": True}), again)
    pinned = means(case.make(instance_seed=9), seed=0)
    np.testing.assert_array_equal(means(case.make(instance_seed=9), seed=1), pinned)


@cases
def test_copies_go_on_alike_over_a_block_of_innovations(case: Case) -> None:
    env = case.make()
    play(env, 3)
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    expected = [env.step(1) for _ in range(70)]
    for twin in twins:
        assert as_json([twin.step(1) for _ in range(70)]) == as_json(expected)


@cases
def test_problem_and_secrets(case: Case) -> None:
    env = case.make()
    problem = problem_of(env)
    assert problem.time_varying
    assert problem.drift == case.kwargs.get("eps")
    assert "the mean changing" in repr(problem)
    fresh = case.make().unwrapped
    with pytest.raises(gym.error.ResetNeeded):
        fresh.step(0)
    with pytest.raises(gym.error.ResetNeeded):
        fresh.mean([0])
    for name in ("optimum", "certificate"):
        with pytest.raises(gym.error.ResetNeeded):
            getattr(fresh, name)


@cases
def test_feedback_wrappers_evaluate_each_action_in_its_own_step(case: Case) -> None:
    plain = case.make()
    plain.reset(seed=1)
    expected = [plain.step(arm)[1] for arm in (0, 5, 2, 7)]
    batched, delayed = BatchFeedback(case.make(), batch_size=2), DelayedFeedback(case.make(), delay=1)
    batched.reset(seed=1), delayed.reset(seed=1)
    rewards = [batched.step(np.array(arms))[0]["rewards"] for arms in ((0, 5), (2, 7))]
    np.testing.assert_array_equal(np.concatenate(rewards), expected)
    arrived = [delayed.step(arm)[0]["reward"][0] for arm in (0, 5, 2, 7)]
    np.testing.assert_array_equal(arrived[1:], expected[:3])


def test_rendering_shows_the_function_of_the_coming_step() -> None:
    env = TIME_VARYING[0].make(render_mode="ansi")
    trace = play(env, 8)
    picture = env.unwrapped._rendering.picture(env.unwrapped)
    assert picture.regrets.sum() == pytest.approx(sum(entry[-1]["oracle"]["regret"] for entry in trace[1:]))
    np.testing.assert_array_equal(picture.mean, env.unwrapped.mean(np.arange(30)))
    assert "TVGPSample" in env.render()


# ---- the processes ----


def test_a_drift_is_a_draw_of_the_same_process_at_every_step() -> None:
    """Over many episodes: covariance `k` at any time, and `k (1 - eps)^(s / 2)` between times that are s apart."""
    arms, kernel, eps = even_arms(4, 1), SE(0.4), 0.2
    family, n, lag = DriftingGP(kernel, arms, eps), 4_000, 5
    rng = np.random.default_rng(0)
    start, later = np.empty((n, 4)), np.empty((n, 4))
    for i in range(n):
        path = family.path(family.draw(rng), rng)
        for _ in range(3):
            start[i] = path.next()
        for _ in range(lag):
            later[i] = path.next()
    K = kernel(arms, arms)
    # A sample covariance of unit variables has a standard error of at most sqrt(2 / n) = 0.022.
    for found, expected in (
        (start.T @ start / n, K),
        (later.T @ later / n, K),
        (start.T @ later / n, K * (1 - eps) ** (lag / 2)),
    ):
        assert np.abs(found - expected).max() < 5 * np.sqrt(2 / n)


def test_extreme_rates_of_drift() -> None:
    still = means(gym.make("GPBandit/TVGPSample-v0", n_arms=20, eps=0.0), seed=1)
    assert (still == still[0]).all()
    free = means(gym.make("GPBandit/TVGPSample-v0", n_arms=20, eps=1.0), 400, seed=1)[:, :1]
    assert abs(np.corrcoef(free[:-1, 0], free[1:, 0])[0, 1]) < 5 / np.sqrt(400)


def test_change_points_come_at_the_stated_rate_and_keep_the_norm() -> None:
    env: Any = gym.make("GPBandit/ChangePoints-v0", n_arms=20, rate=0.2, norm=3.0, max_episode_steps=3_000)
    path = means(env, 2_000, seed=0)
    jumps = (path[1:] != path[:-1]).any(axis=1)
    assert abs(jumps.mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 2_000)
    assert env.unwrapped.certificate.norm == env.unwrapped.problem.norm_bound == 3.0
    never = means(gym.make("GPBandit/ChangePoints-v0", n_arms=20, rate=0.0), seed=0)
    assert (never == never[0]).all()


@pytest.mark.parametrize(
    ("id", "kwargs", "words"),
    [
        ("TVGPSample", {"eps": 1.5}, r"eps: expected a rate in \[0, 1\], got 1.5"),
        ("TVGPSample", {"n_arms": 6_000}, "n_arms: expected at most 5,000 arms whose function drifts, got 6,000"),
        ("ChangePoints", {"rate": -0.1}, r"rate: expected a probability in \[0, 1\], got -0.1"),
        ("SleepingArms", {"of": "GPBandit/ChangePoints-v0"}, "of: expected an environment whose function stays"),
    ],
    ids=str,
)
def test_wrong_arguments(id: str, kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        gym.make(f"GPBandit/{id}-v0", **kwargs)


def test_recipes_that_do_not_fit() -> None:
    plain: Any = gym.make("GPBandit/SleepingArms-v0").unwrapped
    with pytest.raises(TypeError, match="recipe: expected a family of time-varying functions, got RKHSArms"):
        TimeVaryingArmEnv(plain.recipe)
    both = copy.copy(plain.recipe)
    object.__setattr__(both, "family", ChangePointArms(plain.recipe.family, 0.1))
    with pytest.raises(TypeError, match="recipe: expected time-varying functions or offers, got both"):
        TimeVaryingArmEnv(both)
