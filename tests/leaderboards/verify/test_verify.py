"""Records are compared with what the environment pays for their own actions, whatever they say of themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

from agents import Actions, Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from agents.exact.gp_ucb import GPUCB
from agents.exact.thompson import GPTS
from gpbandit_envs.problem import Problem
from leaderboards.cli.app import execute
from leaderboards.play.isolated import Sandbox
from leaderboards.play.processor import environment_with
from leaderboards.play.record import InstanceData, RunRecord
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store import origin as origins
from leaderboards.store import run_file
from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store
from leaderboards.verify.choose import choose, drawn, sample
from leaderboards.verify.fingerprint import imported_files
from leaderboards.verify.likeness import likened
from leaderboards.verify.recompute import RECOMPUTED, recompute
from leaderboards.verify.verify import (
    FEWEST,
    SETTLED,
    TOLERANCE,
    Verdict,
    by_loops,
    compare,
    other_instance,
    parting,
    settled,
    verify,
)
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.folders import folder
from tests.portable import environment, fits

ARMS = Ref("GPBandit/RKHS-v0", {"n_arms": 20})
BOX = Ref("GPBandit/Branin-v0")
HORIZON = 30

Change = Callable[[RunRecord], RunRecord]


def spec_of(env: Ref, agent: str, repetition: int = 0, feedback: str = "on_request") -> RunSpec:
    return RunSpec(env=env, agent=Ref(agent), repetition=repetition, horizon=HORIZON, feedback=feedback)


@pytest.fixture
def records() -> list[RunRecord]:
    """Repetitions of one agent on one task."""
    return [run_spec(spec_of(ARMS, "EpsGreedy", repetition)) for repetition in range(FEWEST + 7)]


def written(directory: Path, records: list[RunRecord], change: Change, cpu: str | None = None, **other: Any) -> Store:
    """A folder of changed records, as of another CPU or otherwise another machine."""
    store = Store(directory)
    ours = origins.origin()
    machine = ours.machine.model_copy(update={"cpu": ours.machine.cpu if cpu is None else cpu, **other})
    with pytest.MonkeyPatch.context() as there:
        there.setattr(run_file, "origin", lambda: ours.model_copy(update={"machine": machine}))
        for record in records:
            store.write(change(replace(record, agent=None)))
    return store


def verdicts_on(store: Store, directory: Path, n: int | None = None) -> list[Verdict]:
    keys = sorted(store.keys(), key=lambda key: store.spec(key).repetition)
    return list(verify(store, keys[:n], directory, SerialExecutor()))


def with_actions(record: RunRecord, actions: np.ndarray, **others: Any) -> RunRecord:
    """The record with other actions, and what its environment pays for them."""
    trace = record.trace.assign(action=actions)
    paid, _, _ = recompute(record.spec, trace)
    return replace(record, trace=trace.assign(**{name: paid[name] for name in RECOMPUTED}, **others))


def last_otherwise(record: RunRecord) -> RunRecord:
    """As where rounding broke a tie at the last choice."""
    actions = record.trace["action"].to_numpy().copy()
    actions[-1] = (actions[-1] + 1) % 20
    return with_actions(record, actions)


@pytest.mark.parametrize(
    ("env", "agent", "feedback"),
    [
        (ARMS, "EpsGreedy", "on_request"),
        (ARMS, "GP-BUCB", "delay:3"),
        (
            Ref("GPBandit/RKHS-v0", {"n_arms": 20, "corruption": {"name": "clipping", "budget": 5.0}}),
            "Uniform",
            "batch:5",
        ),
        (Ref("GPBandit/RKHSContext-v0"), "Uniform", "on_request"),
        (Ref("GPBandit/TVGPSample-v0"), "Uniform", "on_request"),
        (BOX, "Random", "on_request"),
    ],
    ids=["arms", "delay", "corruption", "contexts", "drift", "box"],
)
def test_what_is_paid_follows_from_the_actions(env: Ref, agent: str, feedback: str) -> None:
    record = run_spec(spec_of(env, agent, feedback=feedback))
    assert record.status == "done", record.reason
    paid, *about = recompute(record.spec, record.trace)
    pd.testing.assert_frame_equal(paid, record.trace[list(RECOMPUTED)])
    assert about == [record.facts, record.data]


def test_what_a_wrapper_pays_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubled(gym.RewardWrapper[Any, Any]):
        def reward(self, reward: Any) -> float:
            return 2 * float(reward)

    monkeypatch.setattr(gym.envs.registration, "registry", dict(gym.envs.registration.registry))
    gym.register("Test/Doubled-v0", lambda **_: Doubled(gym.make("GPBandit/RKHS-v0", n_arms=20)), max_episode_steps=50)
    record = run_spec(spec_of(Ref("Test/Doubled-v0"), "EpsGreedy"))
    paid, _, _ = recompute(record.spec, record.trace)
    assert (paid["reward"] == record.trace["reward"]).all()


def test_numbers_that_fit_no_function_are_found_on_any_machine(records: list[RunRecord], tmp_path: Path) -> None:
    """One arm throughout, with two means: the traces part at the first choice, and nothing after it was played."""

    def invented(record: RunRecord) -> RunRecord:
        trace, T = record.trace, HORIZON
        arm = (trace["action"].iloc[0] + 1) % 20
        factor = np.where(np.arange(T) < T // 2, 1.0, 0.9)
        return replace(record, trace=trace.assign(action=arm, regret=trace["regret"] * factor, inference_regret=0.0))

    found = verdicts_on(written(tmp_path / "r", records, invented, "another"), tmp_path / "again")
    assert {verdict.level for verdict in found} == {"disagrees"}
    assert all("not what the environment pays for its actions: " in verdict.text for verdict in found)


def test_an_inference_regret_of_zero_is_found_after_a_parting(records: list[RunRecord], tmp_path: Path) -> None:
    def better(record: RunRecord) -> RunRecord:
        changed = last_otherwise(record)
        return replace(changed, trace=changed.trace.assign(inference_regret=0.0))

    worse = [record for record in records if record.trace["inference_regret"].iloc[-1] > 0]
    assert len(worse) >= FEWEST
    found = verdicts_on(written(tmp_path / "r", worse, better, "another"), tmp_path / "again")
    assert {verdict.level for verdict in found} == {"disagrees"}
    assert "inference regret differs most, by 100.0%" in found[0].text


def test_actions_of_an_agent_that_knows_the_best_arm_are_found(records: list[RunRecord], tmp_path: Path) -> None:
    def knowing(record: RunRecord) -> RunRecord:
        actions = record.trace["action"].to_numpy().copy()
        actions[HORIZON // 2 :] = actions[record.trace["regret"].argmin()]
        return with_actions(record, actions)

    found = verdicts_on(written(tmp_path / "r", records, knowing, "another"), tmp_path / "again")
    assert "disagrees" in {verdict.level for verdict in found}
    assert not any(verdict.agrees for verdict in found if verdict.parted)


@pytest.mark.parametrize(("ties", "level"), [(1, "undecided"), (FEWEST - 1, "undecided"), (FEWEST, "disagrees")])
def test_repetitions_that_part_at_one_tie_are_one_piece_of_evidence(ties: int, level: str) -> None:
    """As of a policy that chooses without feedback: VA-PE on NASBench201 is one sequence of arms in all repetitions."""

    def finals(simple: float) -> dict[str, float]:
        return {**dict.fromkeys(SETTLED, 1.0), "simple_regret": simple}

    found = [
        Verdict(
            str(i),
            "agrees",
            False,
            "apart",
            (finals(0.2 + i / 1e3), finals(0.1)),
            True,
            (8, 3.0, 4.0 + min(i, ties - 1)),
        )
        for i in range(2 * FEWEST)
    ]
    assert {verdict.level for verdict in settled(found, dict.fromkeys(map(str, range(2 * FEWEST)), "pair"))} == {level}


def test_runs_without_feedback_in_their_choices_part_at_one_tie(tmp_path: Path) -> None:
    played = [run_spec(spec_of(Ref("GPBandit/BPEF1-v0"), "MVR", repetition)) for repetition in range(3)]

    def otherwise(record: RunRecord) -> RunRecord:
        actions = record.trace["action"].to_numpy().copy()
        actions[2] += 1
        return with_actions(record, actions)

    found = verdicts_on(written(tmp_path / "r", played, otherwise, "another"), tmp_path / "again")
    (tie,) = {verdict.tie for verdict in found}
    assert tie is not None
    assert tie[0] == 2
    assert tie[1] != tie[2]


def test_actions_that_are_none_disagree(records: list[RunRecord], tmp_path: Path) -> None:
    def outside(record: RunRecord) -> RunRecord:
        actions = record.trace["action"].to_numpy().copy()
        actions[-1] = 20
        return replace(record, trace=record.trace.assign(action=actions))

    (found,) = verdicts_on(written(tmp_path / "r", records[:1], outside, "another"), tmp_path / "again")
    assert found.level == "disagrees"
    assert found.text.startswith("its environment does not take its actions: action: expected an integer in [0, 20)")


@pytest.mark.parametrize("cpu", [None, "another"])
def test_another_instance_is_found(records: list[RunRecord], tmp_path: Path, cpu: str | None) -> None:
    def changed(record: RunRecord) -> RunRecord:
        match record.spec.repetition:
            case 0:
                return replace(record, facts={**record.facts, "optimum": record.facts["optimum"] + 0.01})
            case 1:
                return replace(record, data=record.data.model_copy(update={"knowledge": "learned"}))
            case 2:
                return replace(record, data=record.data.model_copy(update={"instance": "0" * 32}))
        return record

    found = verdicts_on(written(tmp_path / "r", records, changed, cpu), tmp_path / "again")
    texts = [verdict.text for verdict in found]
    assert texts[0].startswith("states another instance: optimum is ")
    assert texts[1] == "states another instance: knowledge is 'learned', and 'oracle' here"
    hashed = "states another instance: instance is '00000000000000000000000000000000', and "
    assert texts[2].startswith(hashed) == (cpu is None), "elsewhere the last bits of the means may be others"
    assert [verdict.agrees for verdict in found[:4]] == [False, False, cpu is not None, True]


def test_where_the_optimum_is_unknown_the_instance_is_compared_on_any_machine(records: list[RunRecord]) -> None:
    """Regret is then measured from the best mean of the runs that state the same instance."""
    store_entry = run_file.row_of(replace(records[0], facts={}, data=InstanceData(instance="mine"))).entry
    assert other_instance(store_entry, {}, InstanceData(instance="mine"), exact=False) is None
    found = other_instance(store_entry, {}, InstanceData(instance="theirs"), exact=False)
    assert found == "states another instance: instance is 'mine', and 'theirs' here"


def test_an_environment_of_others_is_said_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be by the author of the agent, so that computing apart from the agent what it pays shows nothing."""
    monkeypatch.setitem(gym.registry, "Lab/Bandit-v0", replace(gym.spec(ARMS.id), id="Lab/Bandit-v0"))
    record = run_spec(spec_of(Ref("Lab/Bandit-v0", ARMS.kwargs), "EpsGreedy"))
    (found,) = verdicts_on(written(tmp_path / "r", [record], lambda record: record), tmp_path / "again")
    assert found.level == "identical"
    assert found.text == (
        "identical; 'Lab/Bandit-v0' is no environment of this project: rewards were not computed without the agent"
    )


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(
    ("env", "agent"), [(ARMS, "Mine#0123456789ab"), (Ref("Own/parabola-0123"), "Uniform"), (ARMS, "object:a:B")]
)
def test_what_no_spec_can_rebuild_is_named_and_the_others_are_played(
    env: Ref, agent: str, isolated: bool, records: list[RunRecord], tmp_path: Path
) -> None:
    by_hand = replace(records[1], spec=spec_of(env, agent))
    store = written(tmp_path / "r", [records[0], by_hand], lambda record: record)
    verdicts = verify(
        store, store.keys(), tmp_path / "again", SerialExecutor(), Sandbox(bubblewrap=False) if isolated else None
    )
    found = {verdict.key: verdict for verdict in verdicts}
    assert found[records[0].spec.key].level == "identical"
    unknown = found[by_hand.spec.key]
    assert (unknown.level, unknown.agrees) == ("cannot be played here", None)
    assert unknown.text == "it was played with an object or a class of a Python session, which no spec can rebuild"


def test_a_run_whose_extra_is_missing_does_not_disagree(
    records: list[RunRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    record = replace(records[0], spec=spec_of(BOX, "Optuna-TPE"))
    (found,) = verdicts_on(written(tmp_path / "r", [record], lambda record: record), tmp_path / "again")
    assert (found.level, found.agrees) == ("cannot be played here", None)
    assert found.text == 'Optuna is not installed: pip install "gpbandit-envs[optuna]"'


def test_arms_of_large_numbers_are_told_apart(records: list[RunRecord]) -> None:
    one = records[0].trace.assign(action=500_000)
    other = one.assign(action=np.where(one["t"] == 2, 500_004, 500_000))
    assert "action differs first at t = 2: 500000 against 500004" in str(compare(one, other, TOLERANCE))
    assert parting(one, other) == 1
    assert compare(one, one.assign(reward=one["reward"] + 1e-9), TOLERANCE) is None


def test_missing_repetitions_are_played(records: list[RunRecord], tmp_path: Path) -> None:
    def changed(record: RunRecord) -> RunRecord:
        return last_otherwise(record) if record.spec.repetition == 0 else record

    store = written(tmp_path / "r", records, changed, "another")
    found = verdicts_on(store, tmp_path / "again", 1)
    assert len(found) == FEWEST
    assert [verdict.parted for verdict in found] == [True] + [False] * (FEWEST - 1)
    # Its last action is a better one than here: regret that is lower on record never agrees.
    assert found[0].level == "undecided"
    assert found[0].text.startswith(f"the same to evaluation {HORIZON - 1}, then apart; over {FEWEST} repetitions ")
    assert found[0].text.endswith("lower on record than it is here, which cannot be told here")


def test_what_cannot_be_judged_is_undecided(records: list[RunRecord], tmp_path: Path) -> None:
    store = written(tmp_path / "r", records[: FEWEST - 1], last_otherwise, "another")
    found = verdicts_on(store, tmp_path / "again")
    assert {(verdict.level, verdict.agrees) for verdict in found} == {("undecided", None)}
    assert found[0].text == (
        f"the same to evaluation {HORIZON - 1}, then apart; that is judged from {FEWEST} or more repetitions, "
        f"and there are {FEWEST - 1}"
    )


def test_what_parts_under_loops_that_are_not_here_cannot_be_told(
    records: list[RunRecord], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is neither agreed to on the record's own word, nor held against its author."""
    imagined = {"loops": ["openblas 9.9 Imaginary", "NumPy X86_V9"]}
    store = written(tmp_path / "r", records[: FEWEST - 1], last_otherwise, "another", **imagined)
    assert [variables for variables, _ in by_loops(store, store.keys())] == [{}]
    assert execute(["verify", str(store.directory), "--workers", "1", "--yes"]) == 3
    said = capsys.readouterr().out
    assert f"0 of {FEWEST - 1} runs agree; {FEWEST - 1} cannot be told here" in said
    assert "then apart, here without its loops (openblas 9.9 Imaginary; NumPy X86_V9); that is judged from" in said
    assert "whether the results hold cannot be told here" in said
    store = written(tmp_path / "s", records[:1], lambda record: with_actions(record, record.trace["action"].to_numpy()))
    assert [verdict.level for verdict in verdicts_on(store, tmp_path / "again")] == ["identical"]


PLAY = """
import sys
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.store.store import Store
env = Ref("GPBandit/RKHS-v0", {"n_arms": 20, "dim": 2})
Store(sys.argv[1]).write(run_spec(RunSpec(env=env, agent=Ref("GP-UCB"), repetition=0, horizon=30)))
"""


@pytest.mark.slow
@pytest.mark.skipif(not fits("Nehalem"), reason="needs an x86-64 processor with SSE 4.2")
def test_runs_under_other_loops_are_played_under_theirs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then every bit is the same, and no tolerance is asked for: a record's own word buys none."""
    env = os.environ | environment("Nehalem+NumPy-baseline")
    subprocess.run([sys.executable, "-c", PLAY, str(tmp_path / "r")], env=env, check=True)
    (entry,) = Store(tmp_path / "r").entries().values()
    stated: Any = entry.origin.machine.loops
    assert any(text.endswith(" Nehalem") for text in stated)
    if environment_with(tuple(stated)) is None:
        pytest.skip("this OpenBLAS has no loops for Nehalem")
    assert execute(["verify", str(tmp_path / "r"), "--workers", "1"]) == 0
    assert ": identical" in capsys.readouterr().out


def test_records_that_do_not_note_their_loops_are_of_another_machine(records: list[RunRecord], tmp_path: Path) -> None:
    ours = origins.origin()
    old = ours.model_copy(update={"machine": ours.machine.model_copy(update={"loops": None})})
    assert ours.rounds_as(ours)
    assert not old.rounds_as(ours)
    assert not ours.rounds_as(old)
    assert not old.rounds_as(old)
    other = ours.model_copy(update={"machine": ours.machine.model_copy(update={"loops": ["openblas 0.3 SkylakeX"]})})
    assert not other.rounds_as(ours)


def test_another_version_of_an_extra_is_another_machine_where_both_note_it() -> None:
    ours = origins.origin()

    def having(**libraries: str) -> origins.Origin:
        return ours.model_copy(update={"libraries": {"numpy": "2", "scipy": "1", **libraries}})

    assert having(botorch="0.18").rounds_as(having(botorch="0.18"))
    assert not having(botorch="0.18").rounds_as(having(botorch="0.19"))
    assert having(botorch="0.18").rounds_as(having(torch="2.13"))
    assert having(pandas="3").rounds_as(having(pandas="2")), "which computes nothing"


def test_equal_bits_are_identical_on_whatever_machine(records: list[RunRecord], tmp_path: Path) -> None:
    store = written(tmp_path / "r", records[:1], lambda record: record, "another")
    (found,) = verdicts_on(store, tmp_path / "again")
    assert (found.level, found.exact, found.text) == ("identical", False, "identical")


def test_numbers_within_the_tolerance_agree_on_another_machine_alone(records: list[RunRecord], tmp_path: Path) -> None:
    def rounded(record: RunRecord) -> RunRecord:
        return replace(record, trace=record.trace.assign(regret=record.trace["regret"] * (1 + 1e-9)))

    (found,) = verdicts_on(written(tmp_path / "r", records[:1], rounded, "another"), tmp_path / "again")
    assert (found.level, found.text) == ("agrees", "equal within 1e-05 on another machine")
    (found,) = verdicts_on(written(tmp_path / "s", records[:1], rounded), tmp_path / "once more")
    assert found.level == "disagrees"
    assert "agree" not in found.text


# ---- which files an agent is made of, whatever stands in them ----


@pytest.mark.parametrize(
    "other",
    [
        b"print 'of Python 2'\n",
        b"# -*- coding: latin-1 -*-\n# Schr\xf6dinger\nimport helper\n",
        b"# Schr\xf6dinger\n",
        b"# -*- coding: none -*-\n",
        b"x = 1\0\n",
        b"\xef\xbb\xbfimport helper\n",
        b"x = " + b"-" * 100_000 + b"1\n",
    ],
    ids=["python-2", "latin-1", "no-utf-8", "no-coding", "nul", "mark", "deep"],
)
@pytest.mark.parametrize("package", [False, True])
def test_a_file_beside_an_agent_may_be_no_source(other: bytes, package: bool, tmp_path: Path) -> None:
    agent, helper = tmp_path / "agent.py", tmp_path / "helper.py"
    agent.write_text("from other import x\n")
    helper.write_text("")
    beside = tmp_path / "other" / "__init__.py" if package else tmp_path / "other.py"
    beside.parent.mkdir(exist_ok=True)
    beside.write_bytes(other)
    assert imported_files(agent, tmp_path) == sorted([agent, beside, *[helper] * (b"import" in other)])


# ---- which runs of a folder are played again: by row, and as a sample that follows from a text ----


@pytest.fixture
def store(tmp_path: Path) -> Store:
    crashed = {("GPSample", "GP-UCB"): ("crashed", "agent: ValueError: x", None)}
    return folder(tmp_path, agents=[Ref("Uniform"), Ref("GP-UCB")], repetitions=3, failures=crashed)  # type: ignore[arg-type]


def test_rows_are_agents_on_environments_or_beginnings_of_keys(store: Store) -> None:
    def named(*rows: str) -> list[tuple[str, str]]:
        return [(store.spec(key).agent.label, store.spec(key).env.label) for key in choose(store, rows)]

    assert len(choose(store)) == 9, "three of the runs crashed"
    assert set(named("GP-UCB")) == {("GP-UCB", "RKHS")}
    assert set(named("Uniform")) == {("Uniform", "RKHS"), ("Uniform", "GPSample")}
    assert named("Uniform@RKHS") == named("Uniform@RKHS", "Uniform@RKHS") == [("Uniform", "RKHS")] * 3
    key = choose(store)[4]
    assert choose(store, [key[:10]]) == [key]
    for nothing in ("Nobody", "GP-UCB@GPSample", "Uniform@Branin"):
        with pytest.raises(ValueError, match=f"row: no run that is done is named '{nothing}'; agents are GP-UCB, Uni"):
            choose(store, [nothing])


def test_a_row_may_have_an_at_sign_in_its_label(tmp_path: Path) -> None:
    labels = ["UCB", "UCB@RKHS", "UCB @ 2"]
    agents = [Ref("GP-UCB", {"width": float(width)}, label) for width, label in enumerate(labels, 1)]
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], agents, repetitions=1)
    named = {row: [store.spec(key).agent.label for key in choose(store, [row])] for row in ("UCB @ 2", "UCB @ 2@RKHS")}
    assert set(map(tuple, named.values())) == {("UCB @ 2",)}
    assert sorted(store.spec(key).agent.label for key in choose(store, ["UCB@RKHS"])) == ["UCB", "UCB@RKHS"]


def test_a_folder_without_a_done_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no run that is done"):
        choose(Store(tmp_path))


def test_a_sample_is_even_or_follows_from_a_text() -> None:
    keys = [f"{i:04x}" for i in range(100)]
    assert drawn(keys, None) == drawn(keys, 100) == drawn(keys, 101, "a") == keys
    assert drawn(keys, 3) == [keys[0], keys[50], keys[99]]
    for n in (1, 7, 99):
        chosen = drawn(keys, n, "a")
        assert len(set(chosen)) == n
        assert chosen == drawn(keys, n, "a") == drawn(keys[::-1], n, "a")
        assert set(chosen) <= set(drawn(keys, n + 1, "a"))
    assert drawn(keys, 7, "a") != drawn(keys, 7, "b")
    assert len(sample(keys, "a")) == 1
    with pytest.raises(ValueError, match="sample: expected at least 1, got 0"):
        drawn(keys, 0)
    with pytest.raises(ValueError, match=r"share: expected a number above 0 and at most 1, got 1\.5"):
        sample(keys, "a", 1.5)


# ---- copies that go their own way are named by their choices; other rules, and other settings, are not ----


ENV = Ref("GPBandit/RKHS-v0", {"n_arms": 60, "dim": 2})
WIDTH_2 = Ref("GP-UCB", {"width": 2.0}, "GP-UCB, width 2")
BOARD = (WIDTH_2, Ref("GP-EI"), Ref("GP-TS"), Ref("EpsGreedy"), Ref("BPE"))


class Shuffled(GPUCB):
    """GP-UCB that begins with five arms that it draws, and draws another arm now and then."""

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        super().reset(problem, rng)
        self.rng, self.chosen = rng, 0

    def observe(self, feedback: Feedback) -> None:
        super().observe(feedback)
        self.chosen += len(feedback)

    def select(self, n: int, pending: Pending) -> Actions:
        if self.chosen < 5 or self.rng.random() < 0.05:
            return self.rng.integers(self.problem.n_arms, size=1)
        return super().select(n, pending)


class Draws(GPTS):
    """A copy of a rule that draws, which nobody can tell from another one by its choices."""


class Own(FiniteArmAgent):
    """An honest rule that no board has: it explores at fixed times."""

    capabilities = Capabilities(frozenset({"finite"}))

    def select(self, n: int, pending: Pending) -> Actions:
        if len(pending):
            return np.zeros(0, np.int64)
        return self.uniform(1) if self.n_pulls % 4 == 0 else np.array([self.recommend()])


def played(folder: Path, *agents: Ref) -> Store:
    store = Store(folder)
    specs = [RunSpec(env=ENV, agent=agent, repetition=r, horizon=60) for agent in agents for r in range(2)]
    run_missing(specs, store, SerialExecutor())
    return store


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return played(tmp_path_factory.mktemp("board"), *BOARD)


def test_a_copy_that_starts_elsewhere_is_named(board: Store, tmp_path: Path) -> None:
    copy = Ref(f"{__name__}:Shuffled", {"width": 2.0}, "Mine")
    mine = played(tmp_path, copy)
    firsts = [
        [store.trace(key)["action"][0] for key in sorted(store.done_keys()) if store.spec(key).agent.key == ref.key]
        for store, ref in ((mine, copy), (board, WIDTH_2))
    ]
    assert set(firsts[0]) != set(firsts[1]), "else its first choices would name it"
    (text,) = likened(mine, board)
    assert text.startswith("Mine chooses as GP-UCB, width 2 of the board does: given its history, ")


@pytest.mark.parametrize(
    "honest",
    [
        Ref(f"{__name__}:Own"),
        Ref("Uniform"),
        Ref("GP-UCB", {"width": 1.0}, "GP-UCB, width 1"),
        Ref("IRGP-UCB"),
        Ref(f"{__name__}:Draws"),
    ],
    ids=lambda ref: ref.label,
)
def test_other_rules_are_not_named(honest: Ref, board: Store, tmp_path: Path) -> None:
    assert likened(played(tmp_path, honest), board) == []
