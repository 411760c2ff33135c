"""Pictures of an episode."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gpbandit_envs  # noqa: F401 - registers the ids
from gpbandit_envs.envs.bandit import FiniteArmEnv
from gpbandit_envs.envs.render import _draw_function

CASES: list[tuple[str, dict[str, Any]]] = [
    ("RKHS", {"n_arms": 30}),
    ("RKHS", {"n_arms": 1}),
    ("BPEF1", {}),
    ("Hartmann3", {}),
    ("RKHS", {"n_arms": 40, "dim": 4}),
    ("RKHS", {"n_arms": None}),
]


@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=str)
def test_both_modes_draw_before_and_after_steps(name: str, kwargs: dict[str, Any]) -> None:
    for mode in ("ansi", "rgb_array"):
        env = gym.make(f"GPBandit/{name}-v0", render_mode=mode, **kwargs)
        env.reset(seed=0)
        env.action_space.seed(0)
        before: Any = env.render()
        for _ in range(100):
            env.step(env.action_space.sample())
        after: Any = env.render()
        if mode == "ansi":
            assert "t=0" in before
            assert "t=100" in after
            assert f"{env.unwrapped.optimum:.4g}" in after  # type: ignore[attr-defined]
        else:
            for picture in (before, after):
                assert (picture.dtype, picture.shape) == (np.uint8, (400, 960, 3))
            assert (before != after).any()


def test_text_counts_pulls_from_worst_to_best() -> None:
    env = gym.make("GPBandit/RKHS-v0", n_arms=4, render_mode="ansi")
    env.reset(seed=0)
    best = env.unwrapped.certificate.optimal_action  # type: ignore[attr-defined]
    for _ in range(3):
        env.step(best)
    text = str(env.render())
    assert "pulls  ▁▁▁█" in text
    assert "total 0" in text


def test_rendering_changes_no_number() -> None:
    drawn, plain = gym.make("GPBandit/RKHS-v0", render_mode="rgb_array"), gym.make("GPBandit/RKHS-v0")
    drawn.reset(seed=1), plain.reset(seed=1)
    for arm in (3, 1, 4):
        assert drawn.step(arm) == plain.step(arm)
        drawn.render()


def test_without_a_mode_it_says_so() -> None:
    env = gym.make("GPBandit/RKHS-v0")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.unwrapped.render() is None
    with pytest.raises(ValueError, match="render_mode"):
        FiniteArmEnv(env.unwrapped.recipe, render_mode="svg")  # type: ignore[attr-defined]


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = (
        "import sys, gymnasium as gym, gpbandit_envs\n"
        "env = gym.make('GPBandit/RKHS-v0', render_mode='ansi'); env.reset(seed=0); env.step(0); env.render()\n"
        "assert 'matplotlib' not in sys.modules\n"
        "env = gym.make('GPBandit/RKHS-v0', render_mode='rgb_array'); env.reset(seed=0); env.render()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_point_is_kept_though_its_array_is_filled_anew() -> None:
    env: Any = gym.make("GPBandit/Branin-v0", render_mode="ansi")
    env.reset(seed=0)
    point = np.empty(2)
    for place in (0.25, 0.75):
        point[:] = place
        env.step(point)
    bandit = env.unwrapped
    np.testing.assert_array_equal(bandit._rendering.picture(bandit).pulled, [[0.25, 0.25], [0.75, 0.75]])


@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
@pytest.mark.parametrize("name", ["RKHS", "Branin"])
def test_nothing_to_draw_before_reset(name: str, mode: str) -> None:
    with pytest.raises(gym.error.ResetNeeded):
        gym.make(f"GPBandit/{name}-v0", render_mode=mode).unwrapped.render()


def test_arms_are_named_by_the_indices_that_are_actions() -> None:
    from matplotlib.figure import Figure

    for kwargs, label in (({"n_arms": 40}, "arm, by its index"), ({"n_arms": None}, "action")):
        env: Any = gym.make("GPBandit/RKHS-v0", render_mode="rgb_array", **kwargs)
        env.reset(seed=0)
        env.step(env.action_space.sample())
        picture = env.unwrapped._rendering.picture(env.unwrapped)
        axes = Figure().subplots()
        _draw_function(axes, picture)
        assert axes.get_xlabel() == label
        if kwargs["n_arms"]:
            assert [text.get_text() for text in axes.get_xticklabels()] == ["0", "8", "16", "23", "31", "39"]
            arms = env.unwrapped.problem.arms[[0, 8, 16, 23, 31, 39], 0]
            np.testing.assert_array_equal(axes.get_xticks(), arms)
