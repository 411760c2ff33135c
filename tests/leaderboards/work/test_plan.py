"""What would be played is told before it is."""

from __future__ import annotations

from pathlib import Path

from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.plan import plan
from leaderboards.work.schedule import run_missing
from tests.leaderboards.play import players


def test_an_agent_without_capabilities_would_be_played_and_its_runs_say_what_is_wrong(tmp_path: Path) -> None:
    agent = Ref(players.path(players.Unstated))
    spec = RunSpec(env=Ref("GPBandit/RKHS-v0", {"n_arms": 10}), agent=agent, repetition=0, horizon=5)
    store = Store(tmp_path)
    assert plan([spec], store).pairs == {("RKHS", "Unstated", None): 1}
    run_missing([spec], store, SerialExecutor())
    assert str(store.entry(spec.key).reason).startswith("agent: capabilities: expected an agents.Capabilities on the")
