"""An agent in a process of its own plays as it does beside the environment, and finds nothing there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leaderboards.play import isolated
from leaderboards.play.isolated import IsolatedAgent, Sandbox, _decoded, _encoded, not_isolated
from leaderboards.play.record import TRACE_COLUMNS, RunRecord
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
from leaderboards.verify.verify import FEWEST, compare, verify
from leaderboards.work.executors import SerialExecutor

ARMS = Ref("GPBandit/RKHS-v0", {"n_arms": 20})
BOX = Ref("GPBandit/Branin-v0")
CONTEXTS = Ref("GPBandit/RKHSContext-v0", {})
PLAIN = Sandbox(bubblewrap=False)
confined = pytest.mark.skipif(not_isolated() is not None, reason=str(not_isolated()))


def spec_of(agent: Ref | str, env: Ref = ARMS, feedback: str = "on_request", repetition: int = 0) -> RunSpec:
    ref = Ref(agent) if isinstance(agent, str) else agent
    return RunSpec(env=env, agent=ref, repetition=repetition, horizon=25, feedback=feedback)


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with agents, which this process finds too."""
    folder = tmp_path / "code"
    folder.mkdir()
    for name in ("cheats", "odd_agents", "attackers"):
        shutil.copy(Path(__file__).with_name(f"{name}.py"), folder)
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "env", "feedback"),
    [
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
    beside, alone = run_spec(spec), run_spec(spec, sandbox=Sandbox(bubblewrap=not_isolated() is None))
    assert (beside.status, beside.reason) == (alone.status, alone.reason) == ("done", None)
    assert compare(beside.trace, alone.trace) is None
    assert beside.facts == alone.facts


@pytest.mark.slow
@pytest.mark.parametrize("cheat", ["Frames", "Objects"])
def test_who_looks_the_environment_up_is_found(cheat: str, code: Path, tmp_path: Path) -> None:
    records = [run_spec(spec_of(f"cheats:{cheat}", repetition=repetition)) for repetition in range(FEWEST)]
    assert all(record.trace["regret"].max() == 0.0 for record in records), "it pulls the best arm alone"
    store = Store(tmp_path / "results")
    store.write(*records)
    keys = sorted(store.keys())
    beside = list(verify(store, keys[:1], tmp_path / "beside", SerialExecutor()))
    assert [verdict.level for verdict in beside] == ["identical"], "as docs/submit.md says"
    alone = list(verify(store, keys[:1], tmp_path / "alone", SerialExecutor(), Sandbox(code, bubblewrap=False)))
    assert {verdict.level for verdict in alone} == {"disagrees"}
    assert alone[0].text.startswith("action differs first at t = ")
    assert alone[0].text.endswith("; here it played in a process without the environment")


@pytest.mark.slow
@confined
@pytest.mark.parametrize(
    ("agent", "env", "feedback"), [("odd_agents:Habits", ARMS, "batch:4"), ("odd_agents:OnBox", BOX, "batch:4")]
)
def test_honest_agents_of_odd_habits_play_the_same(
    agent: str, env: Ref, feedback: str, code: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    import odd_agents  # type: ignore[import-not-found]

    odd_agents.Habits.shared.append(0)  # beside, it starts no process
    spec = spec_of(agent, env, feedback)
    beside = run_spec(spec)
    capfd.readouterr()
    alone = run_spec(spec, sandbox=Sandbox(code))
    said = capfd.readouterr()
    assert (beside.status, beside.reason) == (alone.status, alone.reason) == ("done", None)
    assert compare(beside.trace, alone.trace) is None
    assert said.out == "", "the harness's own output is no place for what agents print"
    assert all(" prints" in line for line in said.err.splitlines()), "shown as its own"
    assert "prints: printed while it is imported" in said.err


# ---- attacks: each of `attackers.Attack` succeeded once ----

CONTAINED = (
    "reads writes environment network processes terminal boards own_record raises "
    "devices capabilities descriptors variables unmounts kernel"
)


def attack(kind: str, code: Path, outside: Path, sandbox: Sandbox | None) -> RunRecord:
    ref = Ref("attackers:Attack", {"kind": kind, "outside": str(outside)})
    return run_spec(spec_of(ref), sandbox=sandbox)


@pytest.mark.slow
@confined
@pytest.mark.parametrize("leaves", [True, False], ids=["as root", "as another"])
def test_what_an_attack_reaches_beside_the_environment_it_does_not_in_the_sandbox(
    leaves: bool, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root becomes nobody; whoever is not root is in a user namespace, where the kernel takes only root for root."""
    if leaves != isolated._can_leave_root() and leaves:
        pytest.skip("this user is not root")
    kinds = CONTAINED if leaves or os.geteuid() else CONTAINED.removesuffix(" kernel")
    monkeypatch.setattr(isolated, "_can_leave_root", lambda: leaves)
    monkeypatch.setenv("GPBANDIT_SECRET", "token")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "results.zip").write_text("the seed")
    shutil.copy(outside / "results.zip", code.parent)
    record = attack(kinds, code, outside, Sandbox(code))
    assert record.status == "done", record.error
    assert record.trace[kinds.split()].max().to_dict() == dict.fromkeys(kinds.split(), 0.0)
    assert sorted(path.name for path in outside.iterdir()) == ["results.zip"]


@pytest.mark.slow
@confined
def test_nothing_that_it_can_reach_tells_the_function(code: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("the seed")
    ref = Ref("odd_agents:Searches", {"folder": str(tmp_path)})
    record = run_spec(spec_of(ref), sandbox=Sandbox(code))
    assert record.status == "done", record.error
    names = [name for name in record.trace.columns if name not in TRACE_COLUMNS]
    assert len(names) == 10
    # Its parent is the process with which bubblewrap holds the sandbox, and which is in it; root's is closed to nobody.
    told = sorted(set(names) - {"memory", "descriptors"})
    assert record.trace[told].max().to_dict() == dict.fromkeys(told, 0.0)
    assert (tmp_path / "file").read_text() == "the seed"
    beside = run_spec(spec_of(ref))
    assert beside.trace[names].max().sum() >= 5, "it does find these things where they are"


LIMITED = {
    "memory": "MemoryError",
    "file": "no larger file",
    "large_answer": "expected an answer of at most 4,194,304 bytes, got 100,000,000",
    "deep_answer": "its answer is none of an agent: RecursionError",
    "object_answer": "its answer is none of an agent: ",
    "long_name": "its answer is none of an agent: ValueError: expected names",
    "no_answer": "its process ended with code",
    "huge_number": "its answer is none of an agent: ValueError: ",
    "columns": "agent: diagnostics: expected at most 1000 names in a run, got '2 ",
    "two_answers": "agent: select: expected an integer array of shape (n,), got NoneType",
    "other_types": "agent: select: expected an integer array of shape (n,), got float64 of shape (2, 1, 1)",
    "no_number": "agent: select:",
    "raised_lists": "its answer is none of an agent: ",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LIMITED)
def test_what_it_may_use_is_bounded_and_its_answers_are_parsed(kind: str, code: Path, tmp_path: Path) -> None:
    """Also where there is no bubblewrap."""
    record = attack(kind, code, tmp_path, Sandbox(code, bubblewrap=False, memory=1 << 29, files=1 << 20))
    assert record.status == "crashed"
    assert LIMITED[kind] in str(record.reason), record.reason


@pytest.mark.slow
@confined
def test_its_daemons_end_with_it(code: Path, tmp_path: Path) -> None:
    record = attack("daemons", code, tmp_path, Sandbox(code))
    assert record.status == "done", record.error
    found = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.is_file()]
    assert not [words for words in found if words == b"sleep\x00987654\x00"]


def test_a_sandbox_that_does_not_begin_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every run of an honest agent would end at once, and be said to disagree: bubblewrap 0.6 has no --size."""
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho 'bwrap: Unknown option --size' >&2\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setattr(isolated, "_BWRAP", str(old))
    monkeypatch.setattr(shutil, "which", lambda _: str(old))
    not_isolated.cache_clear()
    try:
        assert not_isolated() == "bubblewrap cannot be used on this system (bwrap: Unknown option --size)"
    finally:
        not_isolated.cache_clear()


def test_without_bubblewrap_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    not_isolated.cache_clear()
    try:
        assert not_isolated() == "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
    finally:
        not_isolated.cache_clear()


@pytest.mark.slow
def test_a_process_that_ends_costs_its_run(code: Path) -> None:
    record = run_spec(spec_of("cheats:Ends"), sandbox=Sandbox(code, bubblewrap=False))
    assert (record.status, record.reason) == ("crashed", "agent: RuntimeError: its process ended with code 7")
    assert len(record.trace) == 2


def test_what_it_raises_is_said() -> None:
    record = run_spec(spec_of(Ref("GP-UCB", {"widht": 1.0})), sandbox=PLAIN)
    assert record.status == "crashed"
    assert str(record.reason).startswith("agent: RuntimeError: TypeError: ")
    assert "widht" in str(record.reason)


def test_it_is_closed() -> None:
    agent = IsolatedAgent(Ref("Uniform"), PLAIN)
    process = agent._process
    assert agent.capabilities.domains == {"finite"}
    agent.close()
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"array": "", "type": "|O", "shape": [0]}, "expected an array of numbers"),
        ({"array": "", "type": "<U4", "shape": [0]}, "expected an array of numbers"),
        ([[[[[[1]]]]]], "expected at most 4 lists"),
        ("x" * 1001, "expected text of at most"),
        ({"mapping": [["a", 1]] * 1001}, "expected at most 1000 names"),
        ({"mapping": [[1, 1]]}, "expected names"),
    ],
)
def test_answers_are_numbers(told: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _decoded(told)
    assert _encoded((1, [2.0])) == [1, [2.0]]


# ---- a folder from a stranger: whatever lies in it, commands that read it run none of it ----


NAMES = ("pydantic", "base64", "threadpoolctl", "pandas", "numpy", "agents", "mine", "sitecustomize", "loky", "rich")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with modules of many names, each of which leaves a mark when it is run."""
    folder = tmp_path_factory.mktemp("stranger")
    ref = Ref("GPBandit/RKHS-v0", {"n_arms": 20})
    store = Store(folder)
    for agent in ("Uniform", "GP-UCB"):
        store.write(*(run_spec(RunSpec(env=ref, agent=Ref(agent), repetition=r, horizon=9)) for r in range(2)))
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write({name!r})\n")
    return folder


def gpbandit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The console script in a folder, as a user starts it."""
    script = shutil.which("gpbandit", path=str(Path(sys.executable).parent))
    give = [script] if script else [sys.executable, "-P", "-m", "leaderboards.cli"]
    return subprocess.run([*give, *words], capture_output=True, text=True, check=False, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["page", "."], ["submit", ".", "--out", "packed.zip"], ["verify", ".", "--sample", "1", "--workers", "2"]],
    ids=lambda words: words[0],
)
def test_reading_a_folder_runs_nothing_of_it(stranger: Path, words: list[str]) -> None:
    ended = gpbandit(stranger, *words)
    assert ended.returncode == 0, ended.stderr
    assert not (stranger / "ran").exists(), (stranger / "ran").read_text()
