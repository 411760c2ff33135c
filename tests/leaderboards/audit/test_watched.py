"""Audits while playing: the same runs, the same audits, and a failing audit that costs no run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leaderboards.audit.measure import informative
from leaderboards.audit.run_audit import audit_run
from leaderboards.audit.store import AuditStore, AuditWatcher
from leaderboards.cli import main
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store

SUITE = """
name = "watched"
horizon = 25
repetitions = 2
[[environments]]
id = "GPBandit/RKHS-v0"
kwargs = { n_arms = 30 }
[[agents]]
id = "GP-UCB"
[[agents]]
id = "GP-UCB"
label = "slack"
kwargs = { width = "dmm-slack" }
[[agents]]
id = "GP-BUCB"
kwargs = { width = 0.1 }
[[agents]]
id = "BKB"
[[agents]]
id = "Uniform"
"""


@pytest.mark.slow
def test_it_audits_as_the_replay_does_and_changes_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = tmp_path / "watched.toml"
    suite.write_text(SUITE)
    for name, options in (("plain", []), ("audited", ["--audit"])):
        with pytest.raises(SystemExit) as end:
            main(["run", str(suite), "--out", str(tmp_path / name), "--workers", "1", *options])
        assert end.value.code in (0, None)
    plain, audited = Store(tmp_path / "plain"), Store(tmp_path / "audited")
    assert not AuditStore(plain.directory).keys()
    found = AuditStore(audited.directory).read(audited.done_keys())
    assert len(found) == 10
    for key, audit in found.items():
        left, right = plain.trace(key), audited.trace(key)
        columns = [name for name in left if not str(name).endswith("seconds")]
        pd.testing.assert_frame_equal(left[columns], right[columns])
        again = audit_run(audited.spec(key), stored=right)
        assert again.facts == audit.facts
        pd.testing.assert_frame_equal(again.checkpoints.drop(columns="bytes"), audit.checkpoints.drop(columns="bytes"))
    capsys.readouterr()


def test_informative_is_the_share_of_bands_narrower_than_the_range() -> None:
    f = np.array([0.0, 1.0, 2.0, 0.5])
    assert informative((f, np.array([0.5, 0.99, 1.0, 3.0])), f) == 0.5
    assert np.isnan(informative(None, f))


def test_an_audit_that_fails_costs_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def fails(*_: object) -> None:
        raise ValueError("predict: expected a band")

    monkeypatch.setattr("leaderboards.audit.run_audit.band_violations", fails)
    spec = RunSpec(env=Ref("GPBandit/RKHS-v0", {"n_arms": 30}), agent=Ref("GP-UCB"), repetition=0, horizon=10)
    record = run_spec(spec, watch=AuditWatcher(tmp_path).watch(spec))
    assert record.status == "done"
    assert not AuditStore(tmp_path).keys()
    assert "an audit is given up: " in caplog.text
