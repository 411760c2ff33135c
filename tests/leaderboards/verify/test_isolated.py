"""An agent in a process of its own plays as it does beside the environment, and finds none there."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from leaderboards.play.isolated import IsolatedAgent, _decoded, _encoded, can_confine
from leaderboards.play.record import TRACE_COLUMNS
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
from leaderboards.verify.verify import FEWEST, compare, verify
from leaderboards.work.executors import SerialExecutor
from tests.leaderboards.verify import cheats, odd_agents

ARMS = Ref("GPBandit/RKHS-v0", {"n_arms": 20})
BOX = Ref("GPBandit/Branin-v0")
CONTEXTS = Ref("GPBandit/RKHSContext-v0", {})


def spec_of(agent: Ref | type, env: Ref = ARMS, feedback: str = "on_request", repetition: int = 0) -> RunSpec:
    ref = agent if isinstance(agent, Ref) else Ref(f"{agent.__module__}:{agent.__qualname__}")
    return RunSpec(env=env, agent=ref, repetition=repetition, horizon=25, feedback=feedback)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "env", "feedback"),
    [
        ("GP-UCB", ARMS, "on_request"),
        ("BBKB", ARMS, "on_request"),
        ("GP-TS", ARMS, "on_request"),
        ("GP-BUCB", ARMS, "batch:5"),
        ("ASYNC-TS", ARMS, "delay:3"),
        ("GP-UCB", CONTEXTS, "on_request"),
        ("Random", BOX, "on_request"),
    ],
)
def test_it_plays_the_same(agent: str, env: Ref, feedback: str) -> None:
    spec = spec_of(Ref(agent), env, feedback)
    beside, alone = run_spec(spec), run_spec(spec, isolated_from=[])
    assert (beside.status, beside.reason) == (alone.status, alone.reason) == ("done", None)
    assert compare(beside.trace, alone.trace) is None
    assert beside.facts == alone.facts


@pytest.mark.slow
@pytest.mark.parametrize("cheat", [cheats.Frames, cheats.Objects])
def test_who_looks_the_environment_up_is_found(cheat: type, tmp_path: Path) -> None:
    records = [run_spec(spec_of(cheat, repetition=repetition)) for repetition in range(FEWEST)]
    assert all(record.trace["regret"].max() == 0.0 for record in records), "it pulls the best arm alone"
    store = Store(tmp_path / "results")
    store.write(*records)
    keys = sorted(store.keys())
    beside = list(verify(store, keys[:1], tmp_path / "beside", SerialExecutor()))
    assert [verdict.level for verdict in beside] == ["identical"], "as docs/submit.md says"
    alone = list(verify(store, keys[:1], tmp_path / "alone", SerialExecutor(), isolated=True))
    assert {verdict.level for verdict in alone} == {"disagrees"}
    assert alone[0].text.startswith("action differs first at t = ")
    assert alone[0].text.endswith("; here it played in a process without the environment")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "env", "feedback"),
    [(odd_agents.Habits, ARMS, "on_request"), (odd_agents.Habits, ARMS, "batch:4"), (odd_agents.OnBox, BOX, "batch:4")],
)
def test_honest_agents_of_odd_habits_play_the_same(
    agent: type, env: Ref, feedback: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    odd_agents.Habits.shared.append(0)  # beside, it starts no process
    spec = spec_of(agent, env, feedback)
    beside = run_spec(spec)
    capfd.readouterr()
    alone = run_spec(spec, isolated_from=[tmp_path])
    said = capfd.readouterr()
    assert (beside.status, beside.reason) == (alone.status, alone.reason) == ("done", None)
    assert compare(beside.trace, alone.trace) is None
    assert said.out == "", "the harness's own output is no place for what agents print"
    if agent is odd_agents.Habits:
        assert "straight to the descriptor" in said.err
    odd_agents.Habits.shared.clear()


@pytest.mark.slow
def test_what_it_leaves_running_ends_with_it(tmp_path: Path) -> None:
    def sleepers() -> set[str]:
        found = set()
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if folder.name.isdigit() and b"sleep\x003600" in (folder / "cmdline").read_bytes():
                    found.add(folder.name)
        return found

    before = sleepers()
    assert run_spec(spec_of(odd_agents.Habits), isolated_from=[]).status == "done"
    assert sleepers() <= before


@pytest.mark.slow
@pytest.mark.skipif(not can_confine(), reason="this system has no Landlock")
def test_nothing_that_it_can_reach_tells_the_function(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("the seed")
    ref = Ref(f"{odd_agents.Searches.__module__}:Searches", {"folder": str(tmp_path)})
    record = run_spec(spec_of(ref), isolated_from=[tmp_path])
    assert record.status == "done", record.error
    names = [name for name in record.trace.columns if name not in TRACE_COLUMNS]
    assert len(names) == 10
    assert record.trace[names].max().to_dict() == dict.fromkeys(names, 0.0)
    assert (tmp_path / "file").read_text() == "the seed"
    beside = run_spec(spec_of(ref))
    assert beside.trace[names].max().sum() >= 6, "it does find these things where they are"


def test_a_process_that_ends_costs_its_run() -> None:
    record = run_spec(spec_of(cheats.Ends), isolated_from=[])
    assert (record.status, record.reason) == ("crashed", "agent: RuntimeError: its process ended with code 7")
    assert len(record.trace) == 2


def test_what_it_raises_is_said() -> None:
    record = run_spec(spec_of(Ref("GP-UCB", {"widht": 1.0})), isolated_from=[])
    assert record.status == "crashed"
    assert str(record.reason).startswith("agent: RuntimeError: TypeError: ")
    assert "widht" in str(record.reason)


def test_it_is_closed() -> None:
    agent = IsolatedAgent(Ref("Uniform"))
    process = agent._process
    assert agent.capabilities.domains == {"finite"}
    agent.close()
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.parametrize(
    "told", [{"array": "", "type": "|O", "shape": [0]}, {"array": "", "type": "<U4", "shape": [0]}]
)
def test_answers_are_numbers(told: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="expected an array of numbers"):
        _decoded(told)
    assert _encoded((1, [2.0])) == [1, [2.0]]
