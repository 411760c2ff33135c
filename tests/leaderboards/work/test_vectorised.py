"""Repetitions played together leave the records of single runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leaderboards.play.record import RunRecord
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
from leaderboards.verify.verify import compare, verify
from leaderboards.work import vectorised
from leaderboards.work.local import LocalExecutor, SerialExecutor
from leaderboards.work.schedule import run_missing
from leaderboards.work.vectorised import can_vectorise, play_group, play_together

ENV = Ref("GPBandit/GPSample-v0", {"n_arms": 150})


def specs(agent: str, n: int = 5, env: Ref = ENV, horizon: int = 40, **kwargs: Any) -> list[RunSpec]:
    feedback = kwargs.pop("feedback", "on_request")
    return [
        RunSpec(env=env, agent=Ref(agent, kwargs), repetition=r, horizon=horizon, feedback=feedback) for r in range(n)
    ]


def assert_same(together: RunRecord, alone: RunRecord) -> None:
    assert together.spec == alone.spec
    assert (together.status, together.reason) == (alone.status, alone.reason)
    assert together.facts == alone.facts
    assert together.data == alone.data
    assert list(together.trace.columns) == list(alone.trace.columns)
    for name in together.trace.columns:
        ours, theirs = together.trace[name].to_numpy(), alone.trace[name].to_numpy()
        assert ours.dtype == theirs.dtype
        if name != "policy_seconds":
            np.testing.assert_array_equal(ours, theirs, err_msg=name)


@pytest.mark.parametrize(
    ("agent", "kwargs"),
    [
        ("Uniform", {}),
        ("EpsGreedy", {"c": 10.0}),
        ("GP-UCB", {}),
        ("GP-UCB", {"width": "practical"}),
        ("GP-AUCB", {"width": "practical", "c": 4.0}),
        ("EC-GP-UCB", {"misspecification": 0.1}),
        ("RGP-UCB", {"corruption": 5.0}),
        ("IRGP-UCB", {}),
        ("BBKB", {}),
        ("BPE", {}),
        ("NRB-UCB", {}),
        ("NTB-UCB", {"batch_size": 7}),
        ("UncertaintySampling", {}),
    ],
)
def test_records_of_single_runs(agent: str, kwargs: dict[str, Any]) -> None:
    """Groups of two, so that the last is smaller."""
    runs = specs(agent, **kwargs)
    records = list(play_together(runs, group=2))
    assert [record.spec for record in records] == runs
    for record in records:
        assert_same(record, run_spec(record.spec))


def test_misspecified_and_heteroscedastic() -> None:
    env = Ref(
        "GPBandit/RKHS-v0",
        {"n_arms": 80, "noise": "heteroscedastic", "misspecification": {"lengthscale": 2.0}, "instance_seed": 3},
    )
    for record in play_together(specs("GP-UCB", 3, env)):
        assert_same(record, run_spec(record.spec))


def test_what_has_no_vectorised_form_is_played_alone() -> None:
    box = Ref("GPBandit/Branin-v0", {})
    lonely = [
        *specs("Uniform", 2, feedback="delay:3"),
        *specs("tests.leaderboards.play.players:Sequential", 2),
        *specs("Uniform", 2, box),
        *specs("GP-UCB", 1),
    ]
    for record in play_together(lonely):
        assert_same(record, run_spec(record.spec))


def test_what_goes_wrong_together_is_played_alone(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    from agents.vector.ucb import VectorUCB

    def broken(*_: Any) -> Any:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(VectorUCB, "select", broken)
    records = list(play_together(specs("GP-UCB", 2)))
    assert [record.status for record in records] == ["done", "done"]
    assert "one by one" in caplog.text


def test_as_many_are_played_at_a_time_as_fit_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of GP-UCB reads a row for each evaluation, one of Uniform a few in all."""
    horizon = 12
    played: list[int] = []

    def play_or_none(pair: Any, runs: Any) -> Any:
        played.append(len(runs))
        return play(pair, runs)

    play = vectorised._Pair.play_or_none
    monkeypatch.setattr(vectorised._Pair, "play_or_none", play_or_none)
    monkeypatch.setattr(vectorised, "_CACHE_BYTES", 3 * 8 * 150 * (horizon + 16))
    monkeypatch.setattr(vectorised, "_FEWEST", 2)
    for record in play_group(specs("GP-UCB", 7, horizon=horizon)) or []:
        assert_same(record, run_spec(record.spec))
    assert played == [3, 3, 1]
    assert len(play_group(specs("Uniform", 7, horizon=horizon)) or []) == 7
    assert len(list(play_together(specs("EpsGreedy", 7, horizon=horizon)))) == 7
    assert played == [3, 3, 1, 7, 7]
    monkeypatch.setattr(vectorised, "_CACHE_BYTES", 1)
    play_group(specs("GP-UCB", 3, horizon=horizon))
    assert played[5:] == [2, 1]
    monkeypatch.setattr(vectorised, "_GROUP_BYTES", 1)
    play_group(specs("GP-UCB", 2, horizon=horizon))
    assert played[7:] == [1, 1]


def test_a_group_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="group: expected at least 1"):
        list(play_together(specs("Uniform"), group=0))


def test_the_store_takes_them(tmp_path: Any) -> None:
    store = Store(tmp_path)
    store.write(*play_together([*specs("GP-UCB", 2), *specs("Uniform", 2)]))
    assert store.runs()["status"].eq("done").all()
    assert [len(trace["regret"]) for _, trace in store.traces(["regret"])] == 4 * [40]


def test_what_can_vectorise() -> None:
    assert can_vectorise(specs("GP-UCB")[0])
    assert can_vectorise(specs("Uniform")[0])
    assert can_vectorise(specs("BPE")[0])
    assert not can_vectorise(specs("BBKB")[0])
    assert not can_vectorise(specs("Uniform", feedback="batch:2")[0])
    assert not can_vectorise(specs("tests.leaderboards.play.players:Sequential")[0])


LAB = """
import gymnasium as gym

known = gym.spec("GPBandit/GPSample-v0")
for name, vector in (("Single-v0", None), ("Many-v0", known.vector_entry_point)):
    gym.register(f"Together/{name}", entry_point=known.entry_point, vector_entry_point=vector, max_episode_steps=40)
"""


def test_environments_of_modules_that_register_them(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "together_lab.py").write_text(LAB)
    monkeypatch.syspath_prepend(tmp_path)
    single, many = (Ref(f"together_lab:Together/{name}-v0", {"n_arms": 20}) for name in ("Single", "Many"))
    assert not can_vectorise(specs("GP-UCB", env=single)[0])
    assert can_vectorise(specs("GP-UCB", env=many)[0])
    for env in (single, many):
        for record in play_together(specs("GP-UCB", 2, env, 10)):
            assert_same(record, run_spec(record.spec))


def test_what_cannot_be_found_does_not_suit() -> None:
    assert not can_vectorise(specs("GP-UCB", env=Ref("no_such_module:Lab-v0"))[0])
    assert not can_vectorise(specs("GP-UCB", env=Ref("GPBandit/NoSuch-v0"))[0])
    assert not can_vectorise(specs("GP-UCB", nope=1)[0])


@pytest.mark.parametrize("workers", [0, 2])
def test_the_harness_plays_together(tmp_path: Any, workers: int) -> None:
    """In this process or in two others, with agents that have a form for it and one that has none."""
    runs = [*specs("GP-UCB", 7), *specs("Uniform", 3), *specs("BBKB", 2)]
    executor = LocalExecutor(workers) if workers else SerialExecutor()
    store = Store(tmp_path)
    try:
        summary = run_missing(runs, store, executor, together=True)
    finally:
        executor.close()
    assert summary.ended == {"done": len(runs)}
    for run in runs:
        alone = run_spec(run)
        for name in ("action", "reward", "inference_regret"):
            np.testing.assert_array_equal(store.trace(run.key)[name], alone.trace[name])
    verdicts = list(verify(store, [run.key for run in runs[:3]], tmp_path / "again", SerialExecutor()))
    assert [verdict.agrees for verdict in verdicts] == [True] * 3
    assert [verdict.text for verdict in verdicts] == ["identical"] * 3
    files = len(list(store.runs_directory.iterdir()))
    assert files < len(runs)


def test_a_difference_by_rounding_is_a_difference() -> None:
    one = run_spec(specs("GP-UCB", 1)[0]).trace
    assert compare(one, one.copy()) is None
    for name in ("width", "reward"):
        other = one.assign(**{name: one[name] * (1 + 1e-12)})
        assert name in (compare(one, other) or "")
        assert compare(one, other, tolerance=1e-9) is None
