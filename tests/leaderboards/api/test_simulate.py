"""Thousands of repetitions at once are those that are played one by one."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import agents
import leaderboards
from agents import many
from agents.many import VectorAgent
from benchmarks.ties import BLIND, POLICIES, compare
from gpbandit_envs.gp import many as rows
from gpbandit_envs.wrappers import BatchFeedback
from leaderboards.api import simulate as module
from leaderboards.api.simulate import CURVES, Simulation, simulate
from leaderboards.play.record import TRACE_COLUMNS, RunRecord
from leaderboards.verify.verify import compare as compare_traces
from tests.agents.test_many import NAMESPACES

RKHS = ("GPBandit/RKHS-v0", {"n_arms": 40})
UCB = ("GP-UCB", {"width": 1.0})
QUIET: dict[str, Any] = {"progress": False}


def run(repetition: int, env: Any = RKHS, agent: Any = UCB, horizon: int = 30) -> RunRecord:
    return leaderboards.run(env, agent, repetition, horizon)


@pytest.mark.parametrize("device", NAMESPACES)
@pytest.mark.parametrize("name", POLICIES)
def test_runs_are_those_of_the_harness_up_to_ties(name: str, device: str) -> None:
    pytest.importorskip(device.partition(":")[0])
    env = ("GPBandit/RKHS-v0", {"n_arms": 25, "dim": 1 if name in BLIND else 2})
    simulation = simulate(env, POLICIES[name], 2, 20, device=device, **QUIET)
    assert len([r for r in range(2) if compare(simulation, r)[0] is not None]) <= (2 if name in BLIND else 0)


@pytest.mark.parametrize("name", ["GP-UCB, 1.0", "GP-EI", "GP-AUCB", "MVR", "BPE", "GP-UCB, DMM"])
def test_a_choice_that_is_no_tie_is_found(name: str) -> None:
    simulation = simulate(RKHS, POLICIES[name], 1, 14, **QUIET)
    simulation.actions[0, 13] = (simulation.actions[0, 13] + 17) % 40
    with pytest.raises(AssertionError, match="repetition 0, evaluation 13: scores differ by"):
        compare(simulation, 0)


class TestWhatComesBack:
    simulation: Simulation

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _simulated(cls) -> None:
        cls.simulation = simulate(RKHS, UCB, 5, 30, points=8, audit=True, **QUIET)

    def test_actions_and_curves(self) -> None:
        s = self.simulation
        assert s.actions.shape == s.regret.shape == (5, 30)
        assert len(s) == 5
        trace = run(4).trace
        np.testing.assert_array_equal(s.actions[4], trace["action"])
        np.testing.assert_array_equal(s.curves()[4], np.cumsum(trace["regret"])[s.times - 1])
        np.testing.assert_array_equal(s.curves("simple_regret")[4], np.minimum.accumulate(trace["regret"])[s.times - 1])
        np.testing.assert_array_equal(s.curves("inference_regret")[4], trace["inference_regret"][s.times - 1])
        with pytest.raises(ValueError, match="metric: expected"):
            s.curves("reward")

    def test_frame_mean_interval_and_plot(self) -> None:
        s = self.simulation
        frame = s.frame()
        assert list(frame.columns) == ["repetition", "t", *CURVES]
        assert len(frame) == 5 * len(s.times)
        np.testing.assert_allclose(frame.groupby("t")["cumulative_regret"].mean(), s.mean())
        low, high = s.interval()
        assert (low <= s.mean()).all()
        assert (s.mean() <= high).all()
        axes = s.plot(curves=2)
        assert len(axes.lines) == 3
        assert axes.get_ylabel() == "cumulative regret"
        assert "5 x 30 evaluations, side by side on numpy" in repr(s)

    def test_bands_along_the_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        alone = simulate(RKHS, UCB, 5, 30, points=8, audit=True, workers=1, **QUIET)
        monkeypatch.setattr(module, "_WORK", 0)
        s, alone = self.simulation, simulate(RKHS, UCB, 5, 30, points=8, audit=True, workers=1, **QUIET)
        assert alone.how == "run by run in 1 process"
        assert s.bands is not None
        assert alone.bands is not None
        np.testing.assert_allclose(s.bands, alone.bands, rtol=1e-9)
        np.testing.assert_array_equal(s.recommended, alone.recommended)
        assert s.bands["violated"].gt(0).eq(s.bands["required_scaling"] > 1).all()
        assert s.bands["violated"].any()
        assert s.guarantee == alone.guarantee
        assert s.no_guarantee == "a tuned width has no guarantee"


@pytest.mark.parametrize("agent", [("GP-AUCB", {"n_start": 3}), "REDS", "EpsGreedy", ("GP-UCB", {"width": "dmm"})])
def test_audits_of_batches_and_of_policies_without_a_band(agent: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    many = simulate(RKHS, agent, 3, 30, audit=True, **QUIET)
    monkeypatch.setattr(module, "_WORK", 0)
    alone = simulate(RKHS, agent, 3, 30, audit=True, workers=1, **QUIET)
    assert many.bands is not None
    assert alone.bands is not None
    np.testing.assert_allclose(many.bands, alone.bands, rtol=1e-9)
    np.testing.assert_array_equal(many.recommended, alone.recommended)
    np.testing.assert_array_equal(many.regret, alone.regret)


@pytest.mark.parametrize(
    "noise",
    [
        "student_t",
        "bounded",
        {"name": "heteroscedastic", "relative": 0.5},
        {"name": "by_arm", "low": 0.05, "high": 0.3},
    ],
)
@pytest.mark.parametrize("device", ["numpy", "torch"])
def test_every_noise(noise: Any, device: str) -> None:
    pytest.importorskip(device)
    env = ("GPBandit/RKHS-v0", {"n_arms": 20, "noise": noise})
    many = simulate(env, UCB, 2, 30, device=device, **QUIET)
    np.testing.assert_array_equal(many.actions[1], run(1, env).trace["action"])


class TestRunByRun:
    @pytest.mark.parametrize(
        ("env", "agent", "why"),
        [
            (RKHS, "BBKB", "BBKB has no batched form"),
            ((RKHS[0], {"n_arms": 10, "rows": 5}), UCB, "more than a mean and noise"),
            ((RKHS[0], {"n_arms": 10, "initial": 3}), UCB, "comes with existing data"),
            ("GPBandit/SleepingArms-v0", UCB, "offers some of its arms at a time"),
            ("GPBandit/Branin-v0", ("GP-UCB", {"kernel": {"name": "se"}, "lam": 1.0, "width": 1.0}), "is a box"),
        ],
    )
    def test_it_says_why(self, env: Any, agent: Any, why: str, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING, "gpbandit"):
            found = simulate(env, agent, 2, 6, workers=1, **QUIET)
        (line,) = [record.getMessage() for record in caplog.records]
        assert "run by run in 1 process, since" in line
        assert why in line
        assert "\n" not in line
        trace = run(1, env, agent, 6).trace
        np.testing.assert_array_equal(found.regret[1], trace["regret"])
        assert found.actions.shape[:2] == (2, 6)
        with pytest.raises(ValueError, match="device: expected None, which plays run by run, since"):
            simulate(env, agent, 2, 6, device="numpy", **QUIET)

    @pytest.mark.slow
    def test_in_processes(self) -> None:
        found = simulate(RKHS, "BKB", 4, 8, workers=2, audit=True, **QUIET)
        assert found.how == "run by run in 2 processes"
        for r in range(4):
            np.testing.assert_array_equal(found.actions[r], run(r, agent="BKB", horizon=8).trace["action"])

    def test_objects(self) -> None:
        env = gym.make("GPBandit/RKHS-v0", n_arms=12, max_episode_steps=9)
        wrapped = gym.wrappers.TransformReward(env, lambda reward: 2 * float(reward))
        agent = agents.make("GP-UCB", width=1.0)
        found = simulate(env, agent, 2, **QUIET)
        assert found.how == "side by side on numpy"
        np.testing.assert_array_equal(leaderboards.run(env, agent, 1).trace["action"], found.actions[1])
        assert simulate(wrapped, UCB, 2, **QUIET).how == "run by run in 1 process"
        assert simulate(BatchFeedback(env, 3), "GP-BUCB", 2, **QUIET).how == "run by run in 1 process"


@pytest.mark.parametrize("agent", [("GP-AUCB", {"n_start": 3}), "BBKB"])
def test_a_results_folder_gets_the_runs(agent: Any, tmp_path: Path) -> None:
    found = simulate(RKHS, agent, 3, 20, points=5, out=tmp_path, workers=1, **QUIET)
    store = leaderboards.Store(tmp_path)
    assert len(store.done_keys()) == 3
    record = run(2, agent=agent, horizon=20)
    trace = store.trace(record.spec.key)
    columns = [name for name in TRACE_COLUMNS if name != "policy_seconds"]
    pd.testing.assert_frame_equal(trace[columns], record.trace[columns])
    entry = store.entry(record.spec.key)
    assert dict(entry.facts) == record.facts
    assert entry.data == record.data
    np.testing.assert_array_equal(found.recommended[2], trace["inference_regret"][found.times - 1])
    assert json.loads((tmp_path / "simulated.json").read_text())["verifiable bit for bit"]
    assert compare_traces(trace, record.trace) is None
    assert "reward differs first at t = 1" in str(compare_traces(trace.assign(reward=0.0), record.trace))
    simulate(RKHS, agent, 2, 20, out=tmp_path / "single", workers=1, precision="float32", **QUIET)
    single = json.loads((tmp_path / "single" / "simulated.json").read_text())
    assert single["verifiable bit for bit"] == (agent == "BBKB")


class TestChunks:
    def test_of_a_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = simulate(RKHS, UCB, 5, 20, **QUIET)
        sizes: list[int] = []
        chunk = module._SideBySide._chunk

        def counted(self: Any, first: int, n: int) -> Any:
            sizes.append(n)
            return chunk(self, first, n)

        monkeypatch.setattr(module._SideBySide, "_chunk", counted)
        some = simulate(RKHS, UCB, 5, 20, max_memory=2 * 40 * 8 * 30 + 1, **QUIET)
        assert sizes == [2, 2, 1]
        np.testing.assert_array_equal(whole.actions, some.actions)

    def test_too_large_ones_are_halved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        chunk = module._SideBySide._chunk

        def tight(self: Any, first: int, n: int) -> Any:
            if n > 2:
                raise MemoryError
            return chunk(self, first, n)

        monkeypatch.setattr(module._SideBySide, "_chunk", tight)
        np.testing.assert_array_equal(
            simulate(RKHS, UCB, 5, 10, **QUIET).actions[4], run(4, horizon=10).trace["action"]
        )

    @pytest.mark.parametrize("device", ["numpy", "torch", "array_api_strict"])
    @pytest.mark.parametrize("agent", [("GP-UCB", {"width": "dmm"}), "GP-AUCB", "BPE"])
    def test_rows_are_computed_anew_where_one_does_not_fit(
        self, agent: Any, device: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip(device)
        monkeypatch.setattr(rows, "_AGAIN", 400)  # ten rows at a time
        whole = simulate(RKHS, agent, 2, 30, device=device, **QUIET)
        most = rows.bytes_of(40, 30, 20, keeps=False)
        monkeypatch.setattr(VectorAgent, "bytes_each", lambda self, _: most if not self.keeps else most + 1)
        monkeypatch.setattr(many._Posteriors, "bytes_each", VectorAgent.bytes_each)
        anew = simulate(RKHS, agent, 2, 30, device=device, max_memory=most, **QUIET)
        assert anew.how == f"side by side on {device}, rows computed anew"
        np.testing.assert_array_equal(whole.actions, anew.actions)
        np.testing.assert_array_equal(whole.recommended, anew.recommended)

    def test_no_room_for_one(self) -> None:
        with pytest.raises(MemoryError, match=r"device: a repetition takes .* MB of numpy, and there are .* MB: give"):
            simulate(RKHS, UCB, 5, 20, max_memory=1000, **QUIET)

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("gone")])
    def test_what_was_played_is_kept(self, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
        chunk = module._SideBySide._chunk

        def stops(self: Any, first: int, n: int) -> Any:
            if first >= 4:
                raise error
            return chunk(self, first, n)

        monkeypatch.setattr(module._SideBySide, "_chunk", stops)
        monkeypatch.setattr(module, "_CHUNK", 0)
        monkeypatch.setattr(module, "_FEWEST", 2)
        with pytest.warns(UserWarning, match="simulate: 4 of 9 repetitions were played"):
            found = simulate(RKHS, UCB, 9, 10, **QUIET)
        np.testing.assert_array_equal(found.actions[3], run(3, horizon=10).trace["action"])

    def test_nothing_played_is_no_simulation(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def stops(self: Any, first: int, n: int) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(module._SideBySide, "_chunk", stops)
        with pytest.raises(KeyboardInterrupt):
            simulate(RKHS, UCB, 9, 10, **QUIET)


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ({"repetitions": 0}, ValueError, "repetitions: expected"),
        ({"points": 1}, ValueError, "points: expected"),
        ({"precision": "half"}, ValueError, "precision: expected"),
        ({"device": "gpu"}, ValueError, "device: expected 'torch:cuda', .*, got 'gpu'"),
        ({"max_memory": "much"}, ValueError, "max_memory"),
        ({"agent": ("UHE-BO", {"kernel": None})}, (TypeError, ValueError), "UHE-BO"),
    ],
)
def test_bad_arguments(given: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        simulate(**{"env": RKHS, "agent": UCB, "repetitions": 2, "horizon": 5, **QUIET, **given})
