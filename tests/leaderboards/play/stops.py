"""A run that is stopped again and again, and goes on from its checkpoint."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import leaderboards.work.checkpoint as checkpoints
from leaderboards.play.run import Loop, run_spec
from leaderboards.play.spec import RunSpec
from leaderboards.work.checkpoint import Checkpoint


def assert_same_when_stopped(played: RunSpec, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play a run as a whole, and with a stop in every eleventh turn: both are the same."""
    whole = run_spec(played)
    assert whole.status == "done", whole.error
    turn, turns = Loop.turn, itertools.count(1)

    def stops_sometimes(loop: Loop) -> None:
        if next(turns) % 11 == 0:
            raise KeyboardInterrupt
        turn(loop)

    monkeypatch.setattr(Loop, "turn", stops_sometimes)
    monkeypatch.setattr(checkpoints, "_LEAST_RATIO", 0.0)
    stops, record = 0, None
    while record is None:
        try:
            record = run_spec(played, Checkpoint(folder / "run.pickle", every=0.0))
        except KeyboardInterrupt:
            stops += 1
    assert record.resumed == stops > 0
    assert record.trace.drop(columns="policy_seconds").equals(whole.trace.drop(columns="policy_seconds"))
    assert record.data == whole.data
    assert record.facts == whole.facts
