"""Playing a run again: the same run, looked at on its way; and the files of what was seen."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leaderboards
from leaderboards.play.audits import AuditFiles, StoredAudit
from leaderboards.play.replay import Replayed, ReplayError
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.verify import compare

ENV = Ref("GPBandit/GPSample-v0", {"n_arms": 30, "dim": 1})


def spec(agent: Ref, feedback: str = "on_request", horizon: int = 25, env: Ref = ENV) -> RunSpec:
    return RunSpec(env=env, agent=agent, repetition=2, horizon=horizon, seed=5, feedback=feedback)


@pytest.mark.parametrize(
    ("agent", "feedback"),
    [
        (Ref("GP-UCB"), "on_request"),
        (Ref("BBKB"), "on_request"),
        (Ref("GP-BUCB", {"batch_size": 4}), "delay:3"),
        (Ref("ASYNC-TS"), "geometric:2"),
        (Ref("REG-EVOLUTION"), "batch:5"),
    ],
)
def test_what_is_played_again_is_the_run_looked_at_or_not(agent: Ref, feedback: str) -> None:
    played = leaderboards.run(
        (ENV.id, dict(ENV.kwargs)), (agent.id, dict(agent.kwargs)), 2, 25, seed=5, feedback=feedback
    )
    assert played.status == "done"
    with Replayed.of(spec(agent, feedback)) as replayed:
        for _ in replayed.until(np.array([1, 7, 25])):
            replayed.loop.agent.predict(ENV_ARMS)
        assert compare(played.trace, replayed.trace()) is None


ENV_ARMS = np.linspace(0, 1, 30)[:, None]


def test_it_stops_at_the_times_asked_for_and_plays_to_the_end() -> None:
    with Replayed.of(spec(Ref("GP-UCB"))) as replayed:
        assert list(replayed.until(np.array([1, 4, 9]))) == [1, 4, 9]
        assert replayed.loop.finished
        assert replayed.loop.t == 25


def test_a_batch_goes_past_several_times_and_is_looked_at_once() -> None:
    batched = Ref("GP-BUCB", {"batch_size": 10})
    with Replayed.of(spec(batched)) as replayed:
        assert list(replayed.until(np.array([1, 4, 9, 12, 25]))) == [10, 20, 25]


def test_what_cannot_be_played_again_says_why() -> None:
    with pytest.raises(ReplayError, match="made by hand"), Replayed.of(spec(Ref("object:x:Y"))):
        pass
    with pytest.raises(ReplayError, match="delayed feedback"), Replayed.of(spec(Ref("GP-UCB"), "delay:2")):
        pass


def audit(key: str = "a" * 32) -> StoredAudit:
    looks = pd.DataFrame({"t": [1, 5], "needed": [0.5, np.nan]})
    return StoredAudit(key, {"width": "theory", "delta": 0.1, "no_band": ""}, looks)


def test_audits_are_kept_beside_the_results_and_read_back(tmp_path: Path) -> None:
    files = AuditFiles(tmp_path)
    assert files.keys() == set()
    assert files.read(["b" * 32]) == {}
    path = files.write(audit())
    assert path.parent == tmp_path / "audit"
    assert files.keys() == {"a" * 32}
    found = files.read(["a" * 32, "b" * 32])["a" * 32]
    assert found.about == audit().about
    pd.testing.assert_frame_equal(found.looks, audit().looks)
    assert [p.name for p in path.parent.iterdir()] == [path.name], "no temporary file is left"


def test_a_damaged_or_foreign_audit_counts_as_none_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = AuditFiles(tmp_path)
    good = files.write(audit())
    files.path("b" * 32).write_bytes(good.read_bytes())
    files.path("c" * 32).write_bytes(good.read_bytes()[:100])
    pd.DataFrame({"t": [1]}).to_parquet(files.path("d" * 32))
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert files.read([letter * 32 for letter in "abcd"]).keys() == {"a" * 32}
    assert sum("is no audit that this version can read" in message for message in caplog.messages) == 3
