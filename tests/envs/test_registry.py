"""Ids, and what importing them costs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import gymnasium as gym
import pytest
from gymnasium.envs.registration import load_env_creator

import gpbandit_envs
from gpbandit_envs.envs.entry_point import COMMON_ARGUMENTS, EntryPoint
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.envs.synthetic import rkhs
from gpbandit_envs.registry import ENVIRONMENTS, register_all, registered


def test_import_registers_lazily() -> None:
    code = (
        "import sys, gymnasium as gym, gpbandit_envs\n"
        "assert 'GPBandit/Abalone-v0' in gym.registry\n"
        "heavy = {'scipy', 'pandas', 'matplotlib', 'pooch', 'gpbandit_envs.envs', 'gpbandit_envs.datasets'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_way_to_register() -> None:
    assert gpbandit_envs.__version__
    gym.register_envs(gpbandit_envs)
    register_all()
    assert gym.make("gpbandit_envs:GPBandit/RKHS-v0", n_arms=3).spec is not None
    for row in ENVIRONMENTS:
        spec = gym.spec(row.id)
        assert spec.max_episode_steps == row.horizon
        assert isinstance(spec.entry_point, str), "string entry points are what makes the spec JSON"


@pytest.mark.parametrize("row", ENVIRONMENTS, ids=lambda row: row.name)
def test_signatures_and_kernel_keyword(row: gpbandit_envs.registry.EnvironmentRow) -> None:
    entry = load_env_creator(gym.spec(row.id).entry_point)  # type: ignore[arg-type]
    assert isinstance(entry, EntryPoint)
    assert {"kernel", "noise_std", "noise"} <= entry.parameters.keys() == inspect.signature(entry).parameters.keys()
    assert {"instance_seed", "misspecification", "horizon"} <= set(COMMON_ARGUMENTS)
    assert not entry.parameters.keys() & set(COMMON_ARGUMENTS)


def test_ids_are_in_the_namespace() -> None:
    assert all(re.fullmatch(r"GPBandit/\w+-v\d", id) for id in registered())


def test_unknown_arguments_are_named_with_those_that_exist() -> None:
    with pytest.raises(TypeError, match=r"unknown argument 'n_arm'; it takes n_arms, dim, .*instance_seed"):
        rkhs(n_arm=3)


def test_a_docstring_is_completed_with_what_arguments_mean_everywhere() -> None:
    def own(*, noise: str | None = None, size: int = 3, grid: int | None = None, other: int = 0) -> EnvRecipe:
        """What it is.

        Args:
            size: How large it is, in two
                lines.
            grid: Another meaning.
        """
        raise NotImplementedError

    assert EntryPoint(own).__doc__ == (
        "What it is.\n\nArgs:\n    noise: Noise model, a name or a spec; Gaussian if None.\n"
        "    size: How large it is, in two\n        lines.\n    grid: Another meaning."
    )
    own.__doc__ = None
    assert EntryPoint(own).__doc__ is None
