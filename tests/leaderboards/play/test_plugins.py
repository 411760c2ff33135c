"""Agents and environments of other distributions: the example package, installed, and plugins that are broken."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

import agents
from agents.core.check import check_agent
from agents.core.registry import load_entry_point
from leaderboards.play.build import load_plugins
from leaderboards.store.store import Store

EXAMPLE = Path(__file__).parents[3] / "examples" / "lab_bandits"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed in it."""
    source, target = tmp_path_factory.mktemp("source") / "lab", tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, source)  # building leaves files behind
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(
        [*pip, "--no-index", "--no-build-isolation", "--target", str(target), str(source)],
        check=True,
        capture_output=True,
    )
    return target


def gpbandit(site: Path, *arguments: object) -> str:
    path = os.pathsep.join([str(site), *sys.path])
    command = [sys.executable, "-m", "leaderboards.cli", *map(str, arguments)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_installed_example_is_listed_and_played(site: Path, tmp_path: Path) -> None:
    listed = gpbandit(site, "list")
    assert "  Best-of-Three\n" in listed
    assert "  Lab/Staircase-v0  (horizon 500)" in listed
    text = gpbandit(site, "run", EXAMPLE / "lab_bandits" / "lab.toml", "--out", tmp_path / "r", "--workers", 2)
    assert "(15 done)" in text
    runs = Store(tmp_path / "r").runs()
    assert (runs["env"] == "Staircase").all()
    key = str(runs.index[runs["agent"] == "Best-of-Three"][0])
    trace = Store(tmp_path / "r").trace(key)
    assert trace["arms_tried"].max() == 20
    assert trace["regret"].min() == 0.0


def test_the_example_keeps_the_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLE)
    check_agent(load_entry_point("lab_bandits.best_of_three:BestOfThree"))
    gym.register("Lab/StaircaseTest-v0", entry_point="lab_bandits.staircase:Staircase", max_episode_steps=20)
    check_env(gym.make("Lab/StaircaseTest-v0", disable_env_checker=True).unwrapped, skip_render_check=True)


def test_an_id_that_only_a_plugin_knows_is_played_by_run(site: Path) -> None:
    code = (
        "from leaderboards import run; "
        "print(*(run(env, 'Best-of-Three', 0, 6).status for env in ('Lab/Staircase-v0', 'GPBandit/RKHS-v0')))"
    )
    path = os.pathsep.join([str(site), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.stdout == "done done\n", done.stderr


def test_a_broken_plugin_stops_no_other(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    offered = {
        "gpbandit.agents": [
            EntryPoint("Plugin-Good", "tests.leaderboards.play.players:Counter", "gpbandit.agents"),
            EntryPoint("Uniform", "tests.leaderboards.play.players:Counter", "gpbandit.agents"),
        ],
        "gpbandit.envs": [
            EntryPoint("Plugin/Bad-v0", "no_such_module:Env", "gpbandit.envs"),
            EntryPoint("GPBandit/RKHS-v0", "tests.leaderboards.play.players:Plain", "gpbandit.envs"),
            EntryPoint("Plugin/Good-v0", "tests.leaderboards.play.players:Plain", "gpbandit.envs"),
        ],
    }
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: offered[group])
    load_plugins.cache_clear()
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert load_plugins() == ("Plugin-Good", "Plugin/Good-v0")
    load_plugins.cache_clear()
    assert "Plugin-Good" in agents.registered()
    assert gym.spec("Plugin/Good-v0").max_episode_steps == 1000
    for name in ("agent plugin Uniform", "environment plugin Plugin/Bad-v0", "environment plugin GPBandit/RKHS-v0"):
        assert name in caplog.text
