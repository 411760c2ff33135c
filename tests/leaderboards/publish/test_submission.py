"""Submissions: made, checked, played again; forged ones are found and named."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import secrets
import shutil
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leaderboards
from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.play.isolated import not_isolated
from leaderboards.play.record import RunRecord
from leaderboards.play.spec import Ref
from leaderboards.publish import submission
from leaderboards.publish.boards import Board
from leaderboards.publish.check import check_board
from leaderboards.publish.submission import (
    Submission,
    SubmittedAgent,
    accept,
    faults,
    make_submission,
    not_installed,
    open_submission,
    same_on_board,
)
from leaderboards.store import origin as origins
from leaderboards.store import run_file
from leaderboards.store.intact import StoreError
from leaderboards.store.kept import keep
from leaderboards.store.store import Store
from leaderboards.verify.changed_code import _own_files
from leaderboards.verify.fingerprint import imported_files
from leaderboards.verify.verify import FEWEST, SETTLED, Verdict, compare, parting, settled
from leaderboards.work.executors import SerialExecutor
from tests.leaderboards.publish.boards import REPETITIONS, REPORT, SMALL, small_suite

AGENT = """
import numpy as np

from agents import Capabilities
from agents.core.finite import FiniteArmAgent
from {helper} import EXPLORE


class Mine(FiniteArmAgent):
    capabilities = Capabilities(frozenset({{"finite"}}))

    def select(self, n, pending):
        if len(pending):
            return np.zeros(0, np.int64)
        explore = self.n_pulls % EXPLORE == 0
        return np.array([self.rng.integers(self.problem.n_arms) if explore else self.recommend()])
"""

Here = tuple[Path, str]
confined = pytest.mark.skipif(not_isolated() is not None, reason=str(not_isolated()))


@pytest.fixture
def here(own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Here:
    """A folder with an agent, the results of playing it against the board, and the agent's id."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    # Each test has modules of its own: what was imported stays imported.
    module = f"mine_{abs(hash(request.node.name)) % 10**8}"
    (tmp_path / f"{module}.py").write_text(AGENT.format(helper=f"{module}_helper"))
    (tmp_path / f"{module}_helper.py").write_text("EXPLORE = 7\n")
    (tmp_path / "small.toml").write_text(SMALL)
    assert small_suite().frozen().environments  # the same tasks as those of the board
    id = f"{module}:Mine"
    assert (
        execute(["run", "small.toml", "--agent", id, "--against", "board", "--out", "res", "--executor", "serial"]) == 0
    )
    return tmp_path, id


@confined
@pytest.mark.slow
def test_a_submission_is_made_checked_and_accepted(
    here: Here, own: Board, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        secrets, "randbits", lambda _bits: 987_654_321
    )  # an honest agent is refused for one seed in 100
    folder, id = here
    module = id.partition(":")[0]
    assert execute(["submit", "res"]) == 0
    made = folder / "res-submission"
    assert sorted(path.name for path in (made / "code").iterdir()) == [f"{module}.py", f"{module}_helper.py"]
    text = (made / "PULL_REQUEST.md").read_text()
    assert f"gpbandit run small.toml --agent {id} --against board" in text
    assert re.search(r"\| cumulative regret \| Mine \| .* of 4, ", text)
    assert execute(["verify", "res-submission", "--yes", "--sample", "3", "--seed", "abc", "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("identical") == 3
    assert "3 of 3 runs agree" in said
    give = ["board", "add", "res-submission", "--by", "someone", "--code", "https://example.org", "--yes"]
    assert execute([*give, "--repetitions", "3"]) == 0
    said = capsys.readouterr().out
    now = Board(own.directory)
    runs = now.runs()
    assert set(runs.loc[runs["agent"] == "Mine", "standing"]) == {"verified"}
    assert len(now.done_keys()) == len(own.done_keys()) + 2 * REPETITIONS
    (source,) = (file.source for name, file in now.index.files.items() if name.startswith("mine-"))
    assert (source.by, source.code, source.standing) == ("someone", "https://example.org", "verified")
    assert source.report is not None
    # Played with this processor's own loops, and again with those of boards: last digits may differ.
    assert source.report.figures.keys() <= {"identical", "agrees"}
    assert sum(source.report.figures.values()) == 2 * REPETITIONS
    assert f"hold-out of root seed {source.report.seed}" in said
    assert source.report.holdout[0].startswith("Mine: ")
    asserted = source.model_dump() | {"report": None}
    assert type(source).model_validate(asserted).standing == "submitted", "verified is a fact with a report behind it"
    with pytest.raises(UserError, match="Mine is on the board already"):
        execute(give)


def test_what_a_folder_holds_is_not_lost(here: Here) -> None:
    folder, _ = here
    assert execute(["submit", "res"]) == 0
    text = folder / "res-submission" / "PULL_REQUEST.md"
    text.write_text("It is greedy.\n")
    with pytest.raises(UserError, match=r"res-submission holds files already: give a new folder, or remove it"):
        execute(["submit", "res"])
    assert text.read_text() == "It is greedy.\n"


def test_code_that_was_edited_after_its_runs_is_not_packed(here: Here) -> None:
    folder, id = here
    helper = folder / f"{id.partition(':')[0]}_helper.py"
    later = time.time() + 60
    os.utime(helper, (later, later))
    edited = rf"Mine: {helper.name} was changed after {2 * REPETITIONS} of these runs were played, .*--same-code"
    with pytest.raises(UserError, match=edited):
        execute(["submit", "res"])
    assert not (folder / "res-submission").exists()
    assert execute(["submit", "res", "--same-code"]) == 0
    assert (folder / "res-submission" / "code" / helper.name).is_file()


def test_settings_are_in_the_text(own: Board, tmp_path: Path) -> None:
    mine = {"mine": ("EpsGreedy", {"epsilon": 0.3})}
    leaderboards.run_suite(small_suite(), mine, out=tmp_path / "res", against="board", progress=False)
    make_submission(tmp_path / "res", tmp_path / "sent")
    text = (tmp_path / "sent" / "PULL_REQUEST.md").read_text()
    assert "`mine` is `('EpsGreedy', {'epsilon': 0.3})`, played from Python" in text
    assert "gpbandit run" not in text


def test_done_runs_are_packed_and_others_named(here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second agent crashed in all of its runs, the first in one: what is submitted is what can be verified."""
    folder, _ = here
    store = Store(folder / "res")
    one = next(run.spec for run in store.entries().values() if run.spec.repetition == 0)
    bad = [replace(run.spec, agent=Ref("nowhere:Bad")) for run in store.entries().values()]
    store.path(store.entry(one.key)).unlink()
    others = [run for run in store.entries().values() if run.spec.key != one.key]
    for run in others:  # the runs of the fixture share files
        store.write(RunRecord(run.spec, "done", store.trace(run.key), facts=run.facts, data=run.data))
    store.write(RunRecord(one, "crashed", reason="it broke"))
    store.write(*(RunRecord(spec, "crashed", reason="it broke") for spec in bad))
    done = len(Store(folder / "res").done_keys())
    assert execute(["submit", "res", "--out", "sub", "--same-code"]) == 0
    said = capsys.readouterr().out
    assert f"sub: {done} runs of Mine\n  left out: 12 runs of Bad: crashed\n  left out: 1 runs of Mine: " in said
    opened = open_submission(folder / "sub", tmp_path / "a")
    assert {run.status for run in opened.store.entries().values()} == {"done"}
    assert opened.store.keys() == Store(folder / "res").done_keys()
    assert opened.store.suite() == Store(folder / "res").suite()
    assert faults(opened) == []


def test_this_project_is_no_code_of_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a checkout its packages lie beside the agent, and a pull makes them younger than the runs."""
    monkeypatch.syspath_prepend(tmp_path)
    sources = {
        "beside_a_checkout.py": "import agents.core.finite\nimport gpbandit_envs\nfrom beside_helper import X\n",
        "beside_helper.py": "from leaderboards import run\nX = 1\n",
        "agents/__init__.py": "",
        "agents/core/finite.py": "import beside_helper\n",
        "gpbandit_envs/__init__.py": "",
        "leaderboards/__init__.py": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    file = tmp_path / "beside_a_checkout.py"
    own = [file, tmp_path / "beside_helper.py"]
    assert imported_files(file, tmp_path) == own
    assert _own_files(file, "beside_a_checkout") == own
    files, _ = submission._code_of(Ref("beside_a_checkout:Mine"))
    assert list(files.values()) == own


def forged(store: Store, change: Callable[[RunRecord], None]) -> None:
    """Write the runs of a folder anew, each changed by `change`."""
    records = []
    for key, entry in store.entries().items():
        record = RunRecord(
            entry.spec, entry.status, store.trace(key), seconds=entry.seconds, facts=entry.facts, data=entry.data
        )
        change(record)
        records.append(record)
    shutil.rmtree(store.runs_directory)
    for record in records:
        store.write(record)


@pytest.mark.slow
@pytest.mark.parametrize("elsewhere", [False, True], ids=["this machine", "another"])
def test_one_changed_reward_is_found(
    here: Here, elsewhere: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On another machine too, where rounding may explain another choice, but no other reward of the same choice."""
    folder, _ = here
    store = Store(folder / "res")
    machine = origins.origin().machine.model_copy(update={"cpu": "another"})
    made_there = origins.origin().model_copy(update={"machine": machine})
    target = min(store.done_keys())

    def change(record: RunRecord) -> None:
        if record.spec.key == target:
            rewards = record.trace["reward"].to_numpy().copy()
            rewards[41] += 0.01
            record.trace = record.trace.assign(reward=rewards)

    with monkeypatch.context() as there:
        if elsewhere:
            there.setattr(run_file, "origin", lambda: made_there)
        forged(store, change)
    make_submission(folder / "res", folder / "sub")
    assert execute(["verify", "sub", "--yes", "--row", target[:12], "--workers", "1"]) == 1
    said = capsys.readouterr().out
    assert f"NOT {target[:8]} Mine on " in said
    assert "reward differs first at t = 42" in said


@pytest.mark.slow
def test_the_trace_of_a_better_agent_is_found_and_named(
    here: Here, made: tuple[Store, Board], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = here
    results, _ = made
    better = {
        (run.spec.env.label, run.spec.repetition): results.trace(key)
        for key, run in results.entries().items()
        if run.spec.agent.id == "GP-UCB"
    }

    def change(record: RunRecord) -> None:
        record.trace = better[record.spec.env.label, record.spec.repetition].drop(columns="width")

    forged(Store(folder / "res"), change)
    make_submission(folder / "res", folder / "sub")
    assert execute(["verify", "sub", "--yes", "--sample", "2", "--workers", "1"]) == 1
    said = capsys.readouterr().out
    assert "0 of 2 runs agree" in said
    assert f"NOT {2 * REPETITIONS} runs of Mine are those of GP-UCB, width 2 on the board, bit for bit" in said


def test_a_row_without_code_is_found_at_once(here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, id = here
    make_submission(folder / "res", folder / "sub")
    path, code = folder / "sub" / "submission.json", folder / "sub" / "code"
    listed = json.loads(path.read_text())
    for files, agents, expected in (
        ({}, None, f"Mine: row without code: nothing says where '{id}' comes from"),
        ({f"{id.partition(':')[0]}_helper.py": ...}, None, f"Mine: row without code: no file of '{id}'"),
        (None, [], f"Mine: row without code: submission.json does not list the agent '{id}'"),
    ):
        changed = json.loads(json.dumps(listed))
        if files is not None:
            kept = {name: changed["agents"][0]["files"][name] for name in files}
            changed["agents"][0]["files"] = kept
        else:
            changed["agents"], kept = agents, {}
        shutil.rmtree(code)
        code.mkdir()
        for name in kept:
            shutil.copyfile(folder / name, code / name)
        path.write_text(json.dumps(changed))
        assert execute(["verify", "sub", "--yes"]) == 1
        said = capsys.readouterr().out
        assert expected in said
        assert "runs agree" not in said
        with pytest.raises(UserError, match="is not added: Mine: row without code"):
            execute(["board", "add", "sub", "--by", "someone", "--code", "somewhere"])


def test_code_that_is_not_what_was_listed_is_not_run(here: Here, tmp_path: Path) -> None:
    folder, id = here
    make_submission(folder / "res", folder / "sub")
    code = folder / "sub" / "code" / f"{id.partition(':')[0]}_helper.py"
    code.write_text("EXPLORE = 3\n")
    with pytest.raises(StoreError, match="has not the hash that the submission states"):
        open_submission(folder / "sub", tmp_path / "a")
    code.unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        open_submission(folder / "sub", tmp_path / "b")
    path = folder / "sub" / "submission.json"
    listed = json.loads(path.read_text())
    listed["agents"][0]["files"] = {"../outside.py": "0" * 64}
    path.write_text(json.dumps(listed))
    with pytest.raises(StoreError, match=re.escape("expected Python files below code/, got '../outside.py'")):
        open_submission(folder / "sub", tmp_path / "c")
    path.write_text("{}")
    with pytest.raises(StoreError, match="is no list of a submission"):
        open_submission(folder / "sub", tmp_path / "d")
    with pytest.raises(StoreError, match="holds no submission"):
        open_submission(tmp_path, tmp_path / "e")


def listed_anew(folder: Path, code: dict[str, str]) -> None:
    """Add source files to a submission and to its list."""
    path = folder / "submission.json"
    listed = json.loads(path.read_text())
    for name, text in code.items():
        (folder / "code" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "code" / name).write_text(text)
        listed["agents"][0]["files"][name] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(listed))


@pytest.mark.parametrize(
    "name", ["sitecustomize.py", "extra.py", "inside/extra.py", "__pycache__/x.cpython-311.pyc", "fast.so", ".hidden"]
)
def test_a_file_that_is_not_listed_is_refused_and_named(
    here: Here, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be found by an import of the agent, or by Python's own at its start."""
    folder, _ = here
    make_submission(folder / "res", folder / "sub")
    stray = folder / "sub" / "code" / name
    stray.parent.mkdir(exist_ok=True)
    stray.write_text("raise SystemExit('run')\n")
    with pytest.raises(StoreError, match=re.escape(f"{name}: expected only files that submission.json lists")):
        open_submission(folder / "sub", tmp_path / "a")
    for command in (["verify", "sub", "--yes"], ["board", "add", "sub", "--by", "someone", "--code", "somewhere"]):
        with pytest.raises(UserError, match=r"expected only files that submission\.json lists"):
            execute(command)
    assert "runs agree" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["sitecustomize.py", "usercustomize.py", "json.py", "agents/core/finite.py", "gpbandit_envs/__init__.py"]
)
def test_a_listed_module_may_not_stand_for_another(here: Here, tmp_path: Path, name: str) -> None:
    folder, _ = here
    make_submission(folder / "res", folder / "sub")
    listed_anew(folder / "sub", {name: "x = 1\n"})
    module = name.partition("/")[0].removesuffix(".py")
    with pytest.raises(StoreError, match=rf"code/{name}: expected a module of a name of its own, got '{module}'"):
        open_submission(folder / "sub", tmp_path / "a")
    listed_anew(folder / "sub", {"own/json.py": "x = 1\n"})
    with pytest.raises(StoreError, match=f"got '{module}'"):
        open_submission(folder / "sub", tmp_path / "b")


def test_a_module_of_such_a_name_is_not_submitted(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, id = here
    helper = f"{id.partition(':')[0]}_helper"
    monkeypatch.setattr(submission, "_TAKEN", {helper})  # as if it were one of Python's
    with pytest.raises(StoreError, match=rf"code/{helper}\.py: expected a module of a name of its own"):
        make_submission(folder / "res", folder / "sub")


@pytest.mark.parametrize("whose", ["listed", "current folder"])
def test_the_listed_code_is_played_and_not_what_the_current_folder_has(
    here: Here, whose: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Both hold a module of that name, one of which ends its process; this needs no bubblewrap, and never skips."""
    folder, id = here
    module = f"{id.partition(':')[0]}.py"
    make_submission(folder / "res", folder / "sub")
    monkeypatch.setattr("leaderboards.play.isolated.not_isolated", lambda: "as where there is none")
    if whose == "listed":
        listed_anew(folder / "sub", {module: "raise SystemExit('the listed code')\n"})
    else:
        (folder / module).write_text("raise SystemExit('the code of the current folder')\n")
    code = execute(["verify", "sub", "--yes", "--sample", "1", "--workers", "1"])
    said = capfd.readouterr()
    assert "not isolated: as where there is none" in said.err
    if whose == "listed":
        assert code == 1
        assert "its process ended with code" in said.out
        assert "prints: the listed code" in said.err
        assert "0 of 1 runs agree" in said.out
    else:
        assert code == 3, "it agrees, and nothing confined it"
        assert ": identical" in said.out


@confined
@pytest.mark.slow
def test_code_that_others_may_not_read_is_played(here: Here, capsys: pytest.CaptureFixture[str]) -> None:
    """Where root plays, its agents are nobody, whom a checkout under umask 077 lets read nothing."""
    folder, _ = here
    made = make_submission(folder / "res", folder / "sub")
    for path in (made.code, *made.code.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    before = os.umask(0o077)
    try:
        assert execute(["verify", "sub", "--yes", "--sample", "1", "--workers", "1"]) == 0
    finally:
        os.umask(before)
    assert "1 of 1 runs agree" in capsys.readouterr().out


PATCH = """
from gpbandit_envs.envs.bandit import FiniteArmEnv

before = FiniteArmEnv.step


def step(self, action):
    answer = before(self, action)
    answer[4]["oracle"]["regret"] *= 0.05
    return answer


FiniteArmEnv.step = step
"""


@pytest.mark.slow
def test_changing_the_environment_is_found(here: Here, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the environment the forged regret would come out again; where none of that code is, it does not."""
    folder, id = here
    module = folder / f"{id.partition(':')[0]}.py"
    module.write_text(module.read_text() + PATCH)

    def change(record: RunRecord) -> None:
        record.trace = record.trace.assign(regret=record.trace["regret"] * 0.05)

    forged(Store(folder / "res"), change)
    make_submission(folder / "res", folder / "sub", same_code=True)
    before = list(sys.path), dict(os.environ)
    assert execute(["verify", "sub", "--yes", "--sample", "2", "--workers", "1"]) == 1
    said = capsys.readouterr().out
    assert said.count(": regret differs first at t = ") == 2
    assert "0 of 2 runs agree" in said
    assert before == (list(sys.path), dict(os.environ))
    assert not (folder / "sub" / "code" / "__pycache__").exists(), "which the next check would refuse"


def test_damaged_results_and_other_suites_are_named(here: Here, tmp_path: Path) -> None:
    folder, _ = here
    make_submission(folder / "res", folder / "sub")
    path = folder / "sub" / "submission.json"
    path.write_text(path.read_text().replace('"small"', '"core-v2"'))
    archive = folder / "sub" / "results.zip"
    with zipfile.ZipFile(archive, "a") as packed:
        packed.writestr("stray.parquet", b"x")
    found = faults(open_submission(folder / "sub", tmp_path / "a"))
    assert "results: 'stray.parquet': it is not listed" in found
    assert "the results are not of suite 'core-v2'" in found


def test_what_nobody_else_can_play_is_not_submitted(here: Here, tmp_path: Path) -> None:
    folder, id = here
    (folder / f"{id.partition(':')[0]}.py").unlink()
    sys.modules.pop(id.partition(":")[0], None)
    with pytest.raises(StoreError, match="is not found: give the command in the folder it is in"):
        make_submission(folder / "res", folder / "sub")
    with pytest.raises(StoreError, match="holds no finished run"):
        make_submission(tmp_path / "nothing", folder / "sub")


def test_a_submission_with_other_instances_is_not_accepted(here: Here, own: Board, tmp_path: Path) -> None:
    folder, _ = here

    def change(record: RunRecord) -> None:
        record.data = record.data.model_copy(update={"instance": "0" * 16})

    forged(Store(folder / "res"), change)
    make_submission(folder / "res", folder / "sub")
    opened = open_submission(folder / "sub", tmp_path / "a")
    assert faults(opened) == []
    assert same_on_board(opened) == []
    with pytest.raises(StoreError, match="had another instance than the other agents"):
        accept(opened, own.directory, opened.store, REPORT, by="someone", code="somewhere")


def test_rounded_instances_are_taken(here: Here, own: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another machine the last bits of a drawn function are others, and so is its hash."""
    folder, _ = here

    def change(record: RunRecord) -> None:
        record.data = record.data.model_copy(update={"instance": "0" * 16})
        record.facts = {name: value * (1 + 1e-8) for name, value in record.facts.items()}

    machine = origins.origin().machine.model_copy(update={"cpu": "another"})
    made_there = origins.origin().model_copy(update={"machine": machine})
    with monkeypatch.context() as there:
        there.setattr(run_file, "origin", lambda: made_there)
        forged(Store(folder / "res"), change)
    make_submission(folder / "res", folder / "sub")
    opened = open_submission(folder / "sub", tmp_path / "a")
    now = accept(opened, own.directory, opened.store, REPORT, by="someone", code="somewhere")
    assert len(now.done_keys()) == len(own.done_keys()) + 2 * REPETITIONS
    report = check_board(now, sorted(own.done_keys())[:6], SerialExecutor())
    assert {verdict.level for verdict in report} == {"identical"}


# ---- verdicts on another machine ----


def test_a_difference_is_told_in_plain_numbers() -> None:
    one = trace([1, 2], [0.1, 0.2])
    assert compare(one, trace([1, 5], [0.1, 0.9])) == (
        "action differs first at t = 2: 2 against 5 (does it draw from self.rng alone?)"
    )
    assert compare(one, trace([1, 2], [0.1, 0.25])) == "reward differs first at t = 2: 0.2 against 0.25"
    on_box = pd.DataFrame({"action_0": [0.5], "action_1": [0.25], "reward": [1.0]})
    text = compare(on_box, on_box.assign(action_1=[0.75]))
    assert text == "action_1 differs first at t = 1: 0.25 against 0.75 (does it draw from self.rng alone?)"


def trace(actions: list[int], rewards: list[float]) -> pd.DataFrame:
    t = range(1, len(actions) + 1)
    return pd.DataFrame({"t": t, "action": actions, "reward": rewards, "mean": rewards, "regret": rewards, "cost": 1.0})


def test_traces_may_part_at_a_choice_and_nowhere_else() -> None:
    one = trace([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4])
    assert parting(one, trace([1, 2, 5, 4], [0.1, 0.2, 0.9, 0.4])) == 2
    assert parting(one, trace([1, 2, 5, 4], [0.1, 0.2 + 1e-4, 0.9, 0.4])) is None
    assert parting(one, trace([1, 2, 3, 4], [0.1, 0.2, 0.9, 0.4])) is None
    assert parting(one, one.iloc[:2]) is None


@pytest.mark.parametrize(
    ("n", "factor", "level"),
    [(FEWEST, 0.95, "agrees"), (FEWEST, 1.05, "lower"), (FEWEST, 1.3, "disagrees"), (FEWEST - 1, 1.0, "undecided")],
)
@pytest.mark.parametrize("name", SETTLED)
def test_parted_runs_are_judged_by_the_metrics_at_their_end(name: str, n: int, factor: float, level: str) -> None:
    if level == "lower":  # a regret below what is found here is not believed; batches have no better
        level = "agrees" if name == "batches" else "undecided"
    before = dict.fromkeys(SETTLED, 10.0)
    now = {**before, name: 10.0 * factor}
    verdicts = [Verdict(str(i), "agrees", False, "agrees to evaluation 9", (before, now), True) for i in range(n)]
    verdicts.append(Verdict("other", "identical", True, "identical"))
    found = settled(verdicts, dict.fromkeys([verdict.key for verdict in verdicts], "pair"))
    assert [verdict.level for verdict in found] == [level] * n + ["identical"]
    assert found[0].agrees == {"agrees": True, "undecided": None, "disagrees": False}[level]
    assert found[0].text.startswith("agrees to evaluation 9; ")
    if (level, factor) == ("undecided", 1.05):
        lower = f"{name.replace('_', ' ')} is 4.8% lower on record than it is here, which cannot be told here"
        assert found[0].text.endswith(lower)
    if level == "disagrees":
        assert f"{name.replace('_', ' ')} differs most, by 23.1%" in found[0].text


def test_an_end_without_regret_agrees_only_with_another() -> None:
    zero = dict.fromkeys(SETTLED, 0.0)
    for other, level in ((0.0, "agrees"), (1e-9, "agrees"), (0.01, "disagrees"), (np.nan, "disagrees")):
        finals = (zero, {**zero, "inference_regret": other})
        verdicts = [Verdict(str(i), "agrees", False, "parted", finals, True) for i in range(FEWEST)]
        found = settled(verdicts, dict.fromkeys("01234", "pair"))
        assert {verdict.level for verdict in found} == {level}


def test_what_files_import_is_required(tmp_path: Path) -> None:
    """Read from their source; not what Python, this project or its own dependencies bring along, nor its own files."""
    sources = {
        "mine.py": "import json, numpy, gpbandit_envs\nimport pytest\nfrom own import X\nfrom . import z\n",
        "own.py": "def late():\n    from hypothesis.strategies import integers\n    import nowhere\n",
        "called.py": "import importlib\nx = importlib.import_module('xdist.plugin'), __import__('elsewhere')\n",
        "broken.py": "import ruff(",
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    found = submission._required({name: tmp_path / name for name in sources})
    assert [text.partition("==")[0] for text in found] == ["hypothesis", "pytest", "pytest-xdist"]
    assert importlib.metadata.version("pytest") == found[1].partition("==")[2]
    assert submission._unknown({name: tmp_path / name for name in sources}) == {
        "nowhere": "own.py",
        "elsewhere": "called.py",
    }
    lacking = SubmittedAgent(id="mine:A", kwargs={}, label="A", requires=[*found, "no-such-thing==1.0"])
    made = Submission(tmp_path, "s", (lacking,), Store(tmp_path / "r"), ())
    assert not_installed(made) == {lacking.ref.key: "it requires no-such-thing==1.0, which is not installed here"}


def test_a_near_copy_is_told_from_another_policy(made: tuple[Store, Board]) -> None:
    """A copy that goes its own way after 90 of 100 evaluations."""
    store, board = made
    key = next(key for key in store.done_keys() if store.spec(key).agent.id == "GP-UCB")
    trace, spec = store.trace(key), store.spec(key)
    regret = trace["regret"].to_numpy().copy()
    regret[90:] += 0.1
    kept = board.kept(key)
    assert kept is not None
    ways = {
        "bit for bit": trace,
        "to more than half": trace.assign(regret=regret),
        None: trace.assign(regret=regret + 1),
    }
    for how, other in ways.items():
        near = keep(spec, other)
        assert near is not None
        assert submission._same(near, kept) == how


def test_what_may_be_chance_is_undecided() -> None:
    """A mean that differs by more than the margin, where some repetitions are better and some are worse."""
    before = dict.fromkeys(SETTLED, 1.0)
    verdicts = [
        Verdict(str(i), "agrees", False, "parted", (before, {**before, "simple_regret": other}), True)
        for i, other in enumerate((2.0, 2.0, 2.0, 2.0, 0.9))
    ]
    (verdict, *_) = settled(verdicts, dict.fromkeys("01234", "pair"))
    assert verdict.level == "undecided"
    assert verdict.text == "parted; over 5 repetitions simple regret differs most, by 43.8%, which may be chance"
