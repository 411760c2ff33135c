"""A run that is stopped anywhere and resumed is the run that was never stopped."""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

import leaderboards.play.checkpoint as checkpoints
from leaderboards.play.checkpoint import Checkpoint
from leaderboards.play.executors import LocalExecutor, SerialExecutor
from leaderboards.play.loop import Loop
from leaderboards.play.runner import run_spec
from leaderboards.play.schedule import run_missing
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.store import Store
from leaderboards.play.work import Limits
from tests.leaderboards.play import players

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
    whole = run_spec(spec(agent, feedback))
    assert whole.status == "done", whole.error
    path = tmp_path / "c" / "run.pickle"
    turn, turns = Loop.turn, itertools.count(1)

    def stops_sometimes(loop: Loop) -> None:
        if next(turns) % 11 == 0:
            raise Stop
        turn(loop)

    monkeypatch.setattr(Loop, "turn", stops_sometimes)
    monkeypatch.setattr(checkpoints, "_LEAST_RATIO", 0.0)
    for stops in itertools.count():
        checkpoint = Checkpoint(path, every=0.0)
        try:
            record = run_spec(spec(agent, feedback), checkpoint)
            break
        except Stop:
            assert stops < 100
    assert record.status == "done", record.error
    assert record.resumed == stops
    assert stops > 0
    pd.testing.assert_frame_equal(without_clock(record.trace), without_clock(whole.trace), check_exact=True)


def _play(directory: str, specs: list[RunSpec]) -> None:
    run_missing(specs, Store(directory), SerialExecutor(), limits=Limits(checkpoint=0.1))


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
    assert store.metadata(specs[0].key)["resumed"] == 1
    assert not path.exists()
    whole = run_spec(specs[0])
    pd.testing.assert_frame_equal(
        without_clock(store.trace(specs[0].key)), without_clock(whole.trace), check_exact=True
    )


def test_a_lost_worker_resumes_inside_the_run(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    counts.mkdir()
    dies = Ref(players.path(players.DiesLate), {"folder": str(counts), "at": 400})
    specs = [RunSpec(env=RKHS, agent=dies, repetition=0, horizon=500)]
    store = Store(tmp_path / "r")
    limits = Limits(checkpoint=0.05)
    executor = LocalExecutor(1, limits)
    try:
        assert run_missing(specs, store, executor, limits=limits).ended == {"done": 1}
    finally:
        executor.close()
    assert store.metadata(specs[0].key)["resumed"] == 1


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
                monkeypatch.setattr(checkpoints, "_identity", lambda: {"code": "another"})
            record = run_spec(spec("Uniform"), Checkpoint(path, every=1e9))
            assert record.resumed == 0
            pd.testing.assert_frame_equal(without_clock(record.trace), without_clock(whole.trace), check_exact=True)
            assert not path.exists()
    assert caplog.text.count("is not used") == 3


def test_a_run_that_cannot_be_saved_still_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.pickle"
    unsaveable = RunSpec(env=RKHS, agent=Ref(players.path(players.Unsaveable)), repetition=0, horizon=20)
    assert run_spec(unsaveable, Checkpoint(path, every=0.0)).status == "done"
    assert not path.exists()
