"""Which tasks state a kernel, and what is said of runs that will be skipped before anything is played."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import leaderboards
from agents import Agent
from gpbandit_envs import problem_of
from gpbandit_envs.registry import ENVIRONMENTS
from leaderboards.play.fit import Fit
from leaderboards.play.suite import build_environments_once, parse_suite

BRANIN, SAMPLE = "GPBandit/Branin-v0", "GPBandit/GPSample-v0"
NEEDS = "the agent needs kernel, which neither the problem description nor its arguments state"


def suite(agents: list[Any], envs: list[Any], **keys: Any) -> Any:
    keys = {"name": "fit", "horizon": 4, "repetitions": 3, "agents": agents, "environments": envs} | keys
    return parse_suite(keys)


def warned(agents: list[Any], envs: list[Any], **keys: Any) -> str | None:
    specs, fit = list(suite(agents, envs, **keys).specs()), Fit()
    build_environments_once(specs, fit.look)
    return fit.warning(specs)


@pytest.mark.parametrize("row", [row for row in ENVIRONMENTS if row.data is None and row.extra is None], ids=str)
def test_the_registry_says_whether_a_kernel_is_stated(row: Any) -> None:
    problem = problem_of(gym.make(row.id))
    stated = "none" if problem.kernel is None else {"oracle": "true", "misspecified": "wrong"}[problem.knowledge]
    assert row.kernel == stated


def test_what_plays_a_table_of_data_is_told_a_kernel_that_was_chosen() -> None:
    for row in ENVIRONMENTS:
        if row.data is not None:
            assert row.kernel == ("chosen" if row.dim is None else "none")
    assert problem_of(gym.make("GPBandit/DrawnPlate-v0")).kernel is not None


def test_one_line_before_the_run_says_what_will_be_skipped() -> None:
    six = ["GP-UCB", "GP-EI", "GP-TS", "BPE", "ASYNC-TS", "UncertaintySampling", "Random"]
    said = warned(six, [BRANIN, SAMPLE])
    assert said is not None
    assert said.startswith("18 of 42 runs will be skipped: GP-UCB, GP-EI, GP-TS, BPE on Branin, ")
    assert NEEDS in said
    assert said.endswith("; 6 more for other reasons")  # the others play on arms alone
    assert "\n" not in said
    assert warned(six, [SAMPLE]) is None
    assert warned([{"id": "GP-UCB", "kwargs": {"kernel": {"name": "se"}}}], [BRANIN]) is None
    assert warned(["MAP-UCB", "Random"], [BRANIN]) is None


@pytest.mark.parametrize(
    ("agents", "env", "keys", "said"),
    [
        (["BBKB"], BRANIN, {}, "BBKB on Branin, the agent plays on finite domains, the environment's is box"),
        (["GP-UCB"], "GPBandit/SleepingArms-v0", {"feedback": "delay:2"}, "cannot act under delayed feedback"),
        (["TV-GP-UCB"], SAMPLE, {}, "TV-GP-UCB on GPSample, the agent needs drift"),
        (["GP-UCB"], {"id": SAMPLE, "kwargs": {"rows": 20}}, {"feedback": "delay:2"}, "under delayed feedback"),
    ],
)
def test_for_whatever_reason(agents: list[str], env: Any, keys: Any, said: str) -> None:
    line = warned(agents, [env], **keys)
    assert line is not None
    assert line.startswith("3 of 3 runs will be skipped: ")
    assert said in line


def test_many_are_counted() -> None:
    ids = ["GP-UCB", "GP-EI", "GP-TS", "BPE"]
    line = warned([{"id": id, "label": f"{id} {i}"} for i in (1, 2) for id in ids], [BRANIN], repetitions=1)
    assert line is not None
    assert "GP-UCB 1, GP-EI 1, GP-TS 1, BPE 1, GP-UCB 2, GP-EI 2 and 2 more on Branin" in line


def test_what_is_wrong_with_an_agent_or_an_environment_its_runs_say(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = next(iter(suite(["GP-UCB"], [BRANIN]).specs()))
    assert Fit().reason(spec) is None  # an environment that was not looked at

    def broken(ref: object) -> Agent:
        raise RuntimeError

    monkeypatch.setattr("leaderboards.play.fit.build_agent", broken)
    assert Fit().reason(spec) is None


def test_python_says_it_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = suite(["GP-EI", "Random"], [BRANIN], repetitions=1)
    with caplog.at_level(logging.WARNING, "gpbandit"):
        leaderboards.run_suite(found, out=tmp_path / "out", progress=False)
    first = caplog.messages[0]
    assert first.startswith("1 of 2 runs will be skipped: GP-EI on Branin, ")
    assert sum("skipped: GP-EI" in message for message in caplog.messages) == 2  # before, and in the report
