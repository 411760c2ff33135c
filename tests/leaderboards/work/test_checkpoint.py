"""A run that is stopped anywhere and resumed is the run that was never stopped."""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
import pytest

import leaderboards.work.checkpoint as checkpoints
from leaderboards.play.run import Loop, run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
from leaderboards.work.checkpoint import Checkpoint
from leaderboards.work.executors import LocalExecutor, SerialExecutor
from leaderboards.work.jobs import Limits
from leaderboards.work.schedule import run_missing
from tests.leaderboards.play import players
from tests.leaderboards.play.stops import assert_same_when_stopped

RKHS = Ref("GPBandit/RKHS-v0", {"n_arms": 30})


def spec(agent: str, feedback: str = "on_request", horizon: int = 120) -> RunSpec:
    return RunSpec(env=RKHS, agent=Ref(agent), repetition=1, horizon=horizon, feedback=feedback)


def without_clock(trace: pd.DataFrame) -> pd.DataFrame:
    return trace.drop(columns="policy_seconds")


class Stop(KeyboardInterrupt):
    """Passes through the runner as Ctrl-C does."""


@pytest.mark.parametrize(
    ("agent", "feedback"),
    [
        ("Uniform", "on_request"),
        ("EpsGreedy", "geometric:4"),
        ("EpsGreedy", "workers:3"),
        ("Uniform", "batch:7"),
        ("GP-UCB", "on_request"),
        ("GP-AUCB", "on_request"),
        ("BBKB", "on_request"),
    ],
)
def test_stopped_again_and_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, feedback: str) -> None:
    assert_same_when_stopped(spec(agent, feedback), tmp_path, monkeypatch)


@pytest.mark.parametrize("timeout", [1000.3, 999.0])
def test_a_resumed_run_has_the_time_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float) -> None:
    slow = RunSpec(env=RKHS, agent=Ref(players.path(players.Slow), {"seconds": 0.03}), repetition=0, horizon=100)
    store = Store(tmp_path)
    turn, turns = Loop.turn, itertools.count(1)

    def stops_once(loop: Loop) -> None:
        if next(turns) == 5:
            raise Stop
        turn(loop)

    monkeypatch.setattr(Loop, "turn", stops_once)
    monkeypatch.setattr(checkpoints, "_LEAST_RATIO", 0.0)
    with pytest.raises(Stop):
        run_spec(slow, Checkpoint(store.checkpoint(slow.key), every=0.0, before=1000.0))
    assert run_missing([slow], store, SerialExecutor(Limits(timeout=timeout))).ended == {"timeout": 1}
    run = store.entry(slow.key)
    assert (run.resumed, run.reason) == (1, f"took longer than {timeout:g} s")
    assert 1000.0 < run.seconds < 1002.0


def _play(directory: str, specs: list[RunSpec]) -> None:
    run_missing(specs, Store(directory), SerialExecutor(Limits(checkpoint=0.1)))


@pytest.mark.chaos
def test_a_killed_harness_resumes_inside_the_run(tmp_path: Path) -> None:
    slow = Ref(players.path(players.Slow), {"seconds": 0.005})
    specs = [RunSpec(env=RKHS, agent=slow, repetition=0, horizon=600)]
    store = Store(tmp_path / "r")
    path = store.checkpoint(specs[0].key)
    harness = multiprocessing.get_context("spawn").Process(target=_play, args=(str(store.directory), specs))
    harness.start()
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    assert harness.pid is not None
    os.kill(harness.pid, signal.SIGKILL)
    harness.join()
    assert path.exists()
    assert run_missing(specs, store, SerialExecutor()).ended == {"done": 1}
    assert store.entry(specs[0].key).resumed == 1
    assert not path.exists()
    whole = run_spec(specs[0])
    pd.testing.assert_frame_equal(
        without_clock(store.trace(specs[0].key)), without_clock(whole.trace), check_exact=True
    )


@pytest.mark.chaos
def test_a_lost_worker_resumes_inside_the_run(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    dies = Ref(players.path(players.DiesLate), {"folder": str(counts), "at": 400})
    specs = [RunSpec(env=RKHS, agent=dies, repetition=0, horizon=500)]
    store = Store(tmp_path / "r")
    with closing(LocalExecutor(1, Limits(checkpoint=0.05))) as executor:
        assert run_missing(specs, store, executor).ended == {"done": 1}
    assert store.entry(specs[0].key).resumed == 1


def test_checkpoints_that_cannot_be_used_are_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "run.pickle"
    whole = run_spec(spec("Uniform"))
    monkeypatch.setattr(checkpoints, "_LEAST_RATIO", 0.0)
    run_spec(spec("Uniform"), Checkpoint(path, every=0.0))
    good = path.read_bytes()
    with caplog.at_level(logging.WARNING, "gpbandit"):
        for content in (good[: len(good) // 2], b"", good):
            path.write_bytes(content)
            if content == good:
                monkeypatch.setattr(checkpoints, "_identity", lambda: ("another",))
            record = run_spec(spec("Uniform"), Checkpoint(path, every=1e9))
            assert record.resumed == 0
            pd.testing.assert_frame_equal(without_clock(record.trace), without_clock(whole.trace), check_exact=True)
            assert not path.exists()
    assert caplog.text.count("is not used") == 3


AGENT = """
import numpy as np
from agents import Capabilities
from helping import ARM
from tests.leaderboards.play.players import Counter

class Own(Counter):
    def select(self, n, pending):
        self.pulled += n
        return np.full(n, ARM)
"""

PART = """
import sys
from leaderboards.work.checkpoint import Checkpoint
from leaderboards.play.run import Loop, run_spec
from leaderboards.play.spec import Ref, RunSpec
import leaderboards.work.checkpoint as checkpoints

turn = Loop.turn
def stops(loop):
    if loop.t == int(sys.argv[2]):
        raise KeyboardInterrupt
    turn(loop)
Loop.turn = stops
checkpoints._LEAST_RATIO = 0.0
{script}
env = Ref("GPBandit/RKHS-v0", {{"n_arms": 30}})
spec = RunSpec(env=env, agent=Ref({agent!r}), repetition=0, horizon=20)
try:
    record = run_spec(spec, Checkpoint(__import__("pathlib").Path(sys.argv[1]), every=0.0))
    print(record.status, record.resumed, record.trace["action"].tolist())
except KeyboardInterrupt:
    pass
"""


def part(folder: Path, stop: int, *, agent: str = "mine:Own", script: str = "", file: bool = True) -> str:
    """Play in a process of its own, in which the modules of `folder` can be imported, and stop at evaluation `stop`."""
    source = PART.format(agent=agent, script=script)
    (folder / "script.py").write_text(source)
    how = [str(folder / "script.py")] if file else ["-c", source]
    path = os.pathsep.join([str(folder), *sys.path])
    done = subprocess.run(
        [sys.executable, *how, str(folder / "run.pickle"), str(stop)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("edited", ["mine.py", "helping.py"])
def test_a_run_does_not_go_on_with_an_agent_that_was_edited(tmp_path: Path, edited: str) -> None:
    (tmp_path / "mine.py").write_text(AGENT)
    (tmp_path / "helping.py").write_text("ARM = 3")
    part(tmp_path, 8)
    assert (tmp_path / "run.pickle").exists()
    old, new = {"mine.py": ("np.full(n, ARM)", "np.full(n, ARM + 4)"), "helping.py": ("3", "7")}[edited]
    (tmp_path / edited).write_text((tmp_path / edited).read_text().replace(old, new))
    again = part(tmp_path, -1)
    assert f"done 0 {[7] * 20}" in again
    assert f"{tmp_path / edited} has been edited since" in again


@pytest.mark.slow
def test_an_edit_while_a_run_plays_counts(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(AGENT)
    (tmp_path / "helping.py").write_text("ARM = 3")
    edits = """
import pathlib, sys
save = Checkpoint.save
def edit_and_save(self, env, agent, loop):
    pathlib.Path(sys.argv[1]).with_name("helping.py").write_text("ARM = 7")
    save(self, env, agent, loop)
Checkpoint.save = edit_and_save
"""
    part(tmp_path, 8, script=edits)
    assert f"done 0 {[7] * 20}" in part(tmp_path, -1)


@pytest.mark.slow
def test_agents_of_a_script_go_on_and_those_of_no_file_start_over(tmp_path: Path) -> None:
    (tmp_path / "helping.py").write_text("ARM = 3")
    script = AGENT + '\nimport agents\nagents.register("Own", Own)\n'
    part(tmp_path, 8, agent="Own", script=script)
    assert "done 1" in part(tmp_path, -1, agent="Own", script=script)
    part(tmp_path, 8, agent="Own", script=script)
    assert f"done 0 {[5] * 20}" in part(tmp_path, -1, agent="Own", script=script.replace("ARM)", "ARM + 2)"))
    text = part(tmp_path, 8, agent="Own", script=script, file=False)
    assert "this run cannot be saved while it runs: <class '__main__.Own'> is defined in no file" in text
    assert not (tmp_path / "run.pickle").exists()


def test_files_that_are_looked_at() -> None:
    env = gym.wrappers.TimeLimit(players.Plain(), 10)
    found, own = checkpoints.sources(env, players.Counter()), Path(players.__file__)
    assert own in found
    assert not {file for file in found if {"agents", "leaderboards", "site-packages"} & set(file.parts[:-3])} - {own}
    assert checkpoints.first_changed_file(found) is None
    assert checkpoints.first_changed_file({**found, own: "another"}) == own
    assert checkpoints.first_changed_file({Path("not/there.py"): "x"}) == Path("not/there.py")


def _nested() -> list[Any]:
    state: list[Any] = []
    for _ in range(100_000):
        state = [state]
    return state


class _NotPickled:
    def __reduce__(self) -> str:
        raise ValueError("ctypes objects containing pointers cannot be pickled")


@pytest.mark.parametrize("state", [lambda: lambda: None, _nested, _NotPickled])
def test_a_run_that_cannot_be_saved_still_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, state: Callable[[], Any]
) -> None:
    path = tmp_path / "run.pickle"
    monkeypatch.setattr(players.Unsaveable, "state_dict", lambda _: {"state": state()})
    unsaveable = RunSpec(env=RKHS, agent=Ref(players.path(players.Unsaveable)), repetition=0, horizon=20)
    with caplog.at_level(logging.WARNING, "gpbandit"):
        record = run_spec(unsaveable, Checkpoint(path, every=0.0))
    assert record.status == "done", record.error
    assert not path.exists()
    assert sum(line.startswith("this run cannot be saved while it runs: ") for line in caplog.messages) == 1


def test_a_state_that_cannot_be_written_costs_a_warning_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checkpoints, "_LEAST_RATIO", 0.0)
    (tmp_path / "file").touch()
    with caplog.at_level(logging.WARNING, "gpbandit"):
        record = run_spec(spec("Uniform", horizon=20), Checkpoint(tmp_path / "file" / "run.pickle", every=0.0))
    assert record.status == "done"
    assert sum(line.startswith("a run could not be saved and goes on (") for line in caplog.messages) == 1


def test_a_damaged_state_is_not_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.pickle"
    monkeypatch.setattr(checkpoints, "_LEAST_RATIO", 0.0)
    monkeypatch.setattr(Checkpoint, "remove", lambda _: None)
    run_spec(spec("Uniform", horizon=20), Checkpoint(path, every=0.0))
    assert Checkpoint(path).load() is not None
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    path.write_bytes(whole)

    def unpickled(_: object) -> None:
        raise AssertionError("damaged bytes were unpickled")

    monkeypatch.setattr(pickle, "loads", unpickled)
    assert Checkpoint(path).load() is None
