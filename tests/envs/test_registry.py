"""Ids, their pages, and the problems that environments state."""

from __future__ import annotations

import inspect
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from PIL import Image

import gpbandit_envs
from docs import pictures
from gpbandit_envs import problem_of
from gpbandit_envs.datasets import cards
from gpbandit_envs.envs.entry_point import COMMON_ARGUMENTS, EntryPoint
from gpbandit_envs.envs.recipe import EnvRecipe
from gpbandit_envs.envs.synthetic import rkhs
from gpbandit_envs.gp import SE
from gpbandit_envs.problem import Problem
from gpbandit_envs.registry import ENVIRONMENTS, TABLE, register_all, registered
from tests.modules import module_at


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


# ---- the pages about the environments say what the code says ----


DOCS = Path(__file__).parents[2] / "docs"


def generator() -> object:
    return module_at(DOCS / "generate_environments.py")


def test_pages_are_up_to_date() -> None:
    new = generator().pages()  # type: ignore[attr-defined]
    old = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "environments").glob("*.md")}
    stale = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    assert not stale, "run python docs/generate_environments.py"


def test_every_id_has_a_page_with_everything() -> None:
    assert gpbandit_envs.__version__
    assert len(registered()) == len(set(registered())) == len(ENVIRONMENTS)
    for row in (*ENVIRONMENTS, TABLE):
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        assert "\n## Arguments\n" in text, row.id
        assert ("\n## Version history\n" in text) == (row.version > 0)
        assert ("\n## Data\n" in text) == (row.data is not None)
        assert ("\n## References\n" in text) == bool(row.references)


def test_every_page_has_a_picture_or_says_why_not() -> None:
    drawn = {path.stem for path in (DOCS / "figures" / "environments").glob("*.png")}
    assert drawn <= {row.name for row in (*ENVIRONMENTS, TABLE)}
    assert {row.name for row in ENVIRONMENTS if row.data is None} <= drawn
    assert sum(path.stat().st_size for path in (DOCS / "figures" / "environments").glob("*.png")) < 600_000
    for row in (*ENVIRONMENTS, TABLE):
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        assert (f"](../figures/environments/{row.name}.png)" in text) == (row.name in drawn)
        assert ("No picture: " in text) == (row.name not in drawn)


def test_pictures_show_what_is_drawn_now() -> None:
    """One of each kind that needs no data; fonts and colours may differ a little between versions of matplotlib."""
    for row in (*ENVIRONMENTS, TABLE):
        if row.name in ("GPSample", "BPEF1", "Branin", "Hartmann3", "Table"):
            new, kept = (
                np.asarray(Image.open(file).convert("RGBA"), dtype=float)
                for file in (io.BytesIO(pictures.draw(row)), pictures.FOLDER / f"{row.name}.png")
            )
            assert new.shape == kept.shape
            assert np.abs(new - kept).mean() < 3, f"run python docs/pictures.py {row.name}"
            assert kept.std() > 10, "there is something to see"


def test_a_page_says_how_its_data_come_and_are_checked() -> None:
    for row in ENVIRONMENTS:
        text = (DOCS / "environments" / f"{row.name}.md").read_text(encoding="utf-8")
        by_hand = row.name == "NASBench101"
        here = row.data is not None and cards()[row.data].here
        assert ("Supplied by hand once; checked by its content." in text) == by_hand
        assert ("It comes with this package." in text) == here
        fetched = row.data is not None and not (by_hand or here)
        assert ("Fetched at first use, checked against a pinned hash" in text) == fetched


# ---- the problem of an environment, however it is wrapped ----


def test_the_problem_of_an_environment() -> None:
    env = gym.make("GPBandit/Branin-v0", disable_env_checker=True)
    problem = problem_of(env)
    assert isinstance(problem, Problem)
    assert problem is env.unwrapped.problem  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"env: expected an environment with a Problem"):
        problem_of(gym.make("CartPole-v1"))


def test_means_are_of_arms_and_points_that_there_are() -> None:
    for id in ("GPBandit/RKHS-v0", "GPBandit/TVGPSample-v0"):
        env: Any = gym.make(id, n_arms=5).unwrapped
        env.reset(seed=0)
        assert env.mean(range(5)).shape == env.regret(np.arange(5, dtype=np.uint8)).shape == (5,)
        assert env.mean([]).shape == (0,)
        for scored in (env.mean, env.regret):
            others: tuple[Any, ...] = ([-1], [5], [[0, 9]])
            for arms in others:
                with pytest.raises(ValueError, match=r"action: expected integers in \[0, 5\), got"):
                    scored(arms)
            no_arms: tuple[Any, ...] = ([0.7], [True], ["a"])
            for arms in no_arms:
                with pytest.raises(TypeError, match=r"action: expected integers in \[0, 5\), got"):
                    scored(arms)
    box: Any = gym.make("GPBandit/Branin-v0").unwrapped
    box.reset(seed=0)
    for points in ([[2.0, 3.0]], [[0.1, np.nan]]):
        with pytest.raises(ValueError, match=r"action: expected coordinates in \[0, 1\], got"):
            box.mean(points)
    with pytest.raises(ValueError, match=r"action: expected shape \(1, 2\), got \(1, 3\)"):
        box.regret([[0.1, 0.2, 0.3]])


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"kernel": {"name": "se"}}, TypeError, "kernel: expected a Kernel or None, got .'name': 'se'.; as_kernel"),
        ({"kernel": SE((0.1, 0.2, 0.3))}, ValueError, "lengthscale: expected 2 entries, one per feature, got 3"),
        ({"arms": None, "dim": -1}, ValueError, "dim: expected an integer >= 1, got -1"),
        ({"neighbours": np.full((5, 1), 7)}, ValueError, "neighbours: expected a row of indices below 5, or of -1"),
        ({"neighbours": np.zeros((4, 1), int)}, ValueError, "neighbours: .* for each of 5 arms, got int64"),
        ({"arms": None, "neighbours": np.zeros((4, 1), int)}, ValueError, "neighbours: .* for each of 0 arms"),
        ({"misspecification": {"sup": -1.0}}, ValueError, "'sup'.: expected a finite number >= 0, got -1.0"),
        ({"contexts": "no"}, TypeError, "contexts: expected True or False, got 'no'"),
    ],
)
def test_what_is_stated_is_checked(fields: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Problem(**{"name": "p", "dim": 2, "arms": np.eye(5)[:, :2], **fields})
