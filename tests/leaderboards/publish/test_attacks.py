"""What else may happen to results, by accident or on purpose: copies, clocks, kills, exchanged files, false claims."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from agents import Actions, Capabilities, Experiment, Pending
from agents.core.finite import FiniteArmAgent
from leaderboards.cli.app import execute
from leaderboards.cli.errors import UserError
from leaderboards.play.build import build_agent
from leaderboards.play.isolated import Sandbox
from leaderboards.play.run import run_spec
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.play.suite import SuiteError, parse_suite
from leaderboards.publish.boards import Board
from leaderboards.publish.submission import LIST, Submission, SubmittedAgent, faults, open_submission, refuse_unfit
from leaderboards.store import origin as origins
from leaderboards.store import run_file
from leaderboards.store.exchange import pack
from leaderboards.store.intact import StoreError
from leaderboards.store.store import Store
from leaderboards.verify.recompute import RECOMPUTED
from leaderboards.verify.verify import FEWEST, verify
from leaderboards.work.checkpoint import Checkpoint
from leaderboards.work.executors import SerialExecutor
from leaderboards.work.schedule import run_missing
from tests.leaderboards.folders import record
from tests.leaderboards.publish.boards import small_suite
from tests.leaderboards.work.test_schedule import rows

ARMS = Ref("GPBandit/RKHS-v0", {"n_arms": 20})
YEAR = 365 * 86_400.0


def specs(agents: tuple[str, ...] = ("GP-UCB", "Uniform"), n: int = 3, horizon: int = 12) -> list[RunSpec]:
    refs = [Ref(agent) for agent in agents]
    return [RunSpec(env=ARMS, agent=ref, repetition=r, horizon=horizon) for r in range(n) for ref in refs]


def begun(directory: Path, among: list[RunSpec]) -> Store:
    store = Store(directory)
    run_missing(among, store, SerialExecutor())
    return Store(directory)


@contextlib.contextmanager
def elsewhere(patch: pytest.MonkeyPatch, state: Path) -> Any:
    """Another host and another user: another processor in provenance, another key of checkpoints."""
    ours = origins.origin()
    machine = ours.machine.model_copy(update={"cpu": "another", "loops": ["other"]})
    there = ours.model_copy(update={"machine": machine})
    with patch.context() as other:
        other.setattr(run_file, "origin", lambda: there)
        other.setattr("leaderboards.work.checkpoint.origin", lambda: there)
        other.setattr("platformdirs.user_state_path", lambda _: state)
        yield


def saved(store: Store, spec: RunSpec) -> Path:
    """A run that was stopped in its midst, with its checkpoint."""
    path = store.checkpoint(spec.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    saving = Checkpoint(path, every=0.0)
    saving._pause = 0.0
    count = [0]
    due = saving.due

    def stops() -> bool:
        count[0] += 1
        if count[0] == 6:
            raise KeyboardInterrupt
        return due()

    saving.due = stops  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run_spec(spec, saving)
    assert path.is_file()
    return path


# ---- copies ----


@pytest.mark.parametrize("keeps_times", [False, True], ids=["cp", "cp -a"])
def test_a_folder_goes_on_in_another_place_and_on_another_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, keeps_times: bool
) -> None:
    todo = specs()
    store = begun(tmp_path / "first", todo[:2])
    saved(store, todo[2])
    shutil.copytree(
        store.directory, tmp_path / "host" / "copy", copy_function=shutil.copy2 if keeps_times else shutil.copy
    )
    shutil.rmtree(store.directory)
    with elsewhere(monkeypatch, tmp_path / "state"), caplog.at_level(logging.WARNING, "gpbandit"):
        assert run_missing(todo, Store(tmp_path / "host" / "copy"), SerialExecutor()).ended == {"done": 4}
    assert "this user has not written it" in caplog.text, "a checkpoint of another host is not used"
    copy = Store(tmp_path / "host" / "copy")
    assert sorted(copy.done_keys()) == sorted(spec.key for spec in todo)
    assert {run.resumed for run in copy.entries().values()} == {0}
    assert len({run.origin.machine.cpu for run in copy.entries().values()}) == 2
    assert not list(copy.root.rglob("*.damaged"))
    pd.testing.assert_frame_equal(rows(copy), rows(begun(tmp_path / "alone", todo)), check_exact=True)


# ---- clocks ----


@pytest.mark.parametrize("by", [-YEAR, YEAR], ids=["back", "forth"])
def test_the_clock_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: float) -> None:
    """In the midst of a suite, and of its files: what is done stays, a failure is played again."""
    todo = specs()
    store = begun(tmp_path / "r", todo[:3])
    failed = RunSpec(env=ARMS, agent=Ref("GP-UCB"), repetition=1, horizon=12)
    store.write(record(ARMS, failed.agent, 2, 12, "crashed", reason="it broke"))
    before = {run.key: run.finished for run in Store(store.directory).entries().values() if run.status == "done"}
    now = time.time
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: now() + by)
        for path in (store.directory / "runs").iterdir():
            os.utime(path, (now() + by, now() + by))
        again = Store(store.directory)
        assert run_missing(todo, again, SerialExecutor(), retry_failed=True).ended == {"done": 3}
    store = Store(store.directory)
    assert sorted(store.done_keys()) == sorted(spec.key for spec in todo)
    assert before.items() <= {key: run.finished for key, run in store.entries().items()}.items()
    assert not list(store.root.rglob("*.damaged"))
    pd.testing.assert_frame_equal(rows(store), rows(begun(tmp_path / "alone", todo)), check_exact=True)


# ---- exchanged files ----


def test_the_checkpoint_of_another_run_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its mark is good, and its sources are the same: the numbers would be those of another instance."""
    one, other = specs(("GP-UCB",), 2)
    store = Store(tmp_path / "r")
    saved(store, one).rename(store.checkpoint(other.key))
    with caplog.at_level(logging.WARNING, "gpbandit"):
        run_missing([other], store, SerialExecutor())
    assert f"it is that of run {one.key}" in caplog.text
    pd.testing.assert_frame_equal(rows(store), rows(begun(tmp_path / "alone", [other])), check_exact=True)


# ---- submissions ----


def submission(directory: Path) -> Path:
    """A submission of one of this project's agents, whose code is nowhere but here."""
    suite = small_suite().model_copy(update={"agents": small_suite().agents[:1]}).frozen()
    store = Store(directory / "r")
    store.write_suite(suite)
    store.write(*(run_spec(spec) for spec in list(suite.specs())[:2]))
    made = directory / "sub"
    (made / "code").mkdir(parents=True)
    pack(store.directory, made / "results.zip")
    (made / LIST).write_text(json.dumps({"schema": 1, "suite": suite.name, "version": "0", "agents": []}))
    return made


def listing(made: Path, **files: str) -> None:
    agent = {"id": "x:Y", "kwargs": {}, "label": "Y", "files": {f"{name}.py": sha for name, sha in files.items()}}
    values = json.loads((made / LIST).read_text())
    (made / LIST).write_text(json.dumps({**values, "agents": [agent]}))


@pytest.mark.parametrize(
    "name", ["threadpoolctl", "base64", "agents", "sitecustomize", "sklearn_like/numpy", "numpy/x"]
)
def test_a_listed_module_with_the_name_of_another_is_refused(tmp_path: Path, name: str) -> None:
    """It would run in place of the one that this project or Python imports, before anything confines it."""
    made = submission(tmp_path)
    listing(made, **{name: hashlib.sha256(b"").hexdigest()})
    (made / "code" / name).parent.mkdir(exist_ok=True)
    (made / "code" / f"{name}.py").write_text("")
    refused = name.partition("/")[0] != "sklearn_like"
    with pytest.raises(StoreError, match="of a name of its own, got") if refused else contextlib.nullcontext():
        open_submission(made, tmp_path / "opened")


@pytest.mark.parametrize("name", [LIST, "results.zip", "code", "code/x.py"])
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_what_is_no_file_of_a_submission_is_refused_in_one_line(tmp_path: Path, name: str, kind: str) -> None:
    """None is opened: a pipe would never end, and what a link leads to would be quoted."""
    made, secret = submission(tmp_path), tmp_path / "secret.json"
    secret.write_text(json.dumps({"schema": 1, "suite": 3, "version": "token", "agents": "token"}))
    if name == "code/x.py":
        listing(made, x=hashlib.sha256(b"").hexdigest())
    path = made / name
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(secret if kind == "link" else "/dev/zero")
    with pytest.raises(StoreError) as refused:
        open_submission(made, tmp_path / "scratch")
    assert "token" not in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert Path(name).name in str(refused.value) or "code" in str(refused.value)


FORGED = "3 of 3 runs agree"


def uniform(**changed: Any) -> dict[str, Any]:
    return {"id": "Uniform", "kwargs": {}, "label": "Uniform", "files": {}, "requires": [], **changed}


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        ([uniform(label=f"x\n{FORGED}")], "expected a label in one line that can be seen"),
        ([uniform(label="\x1b[2K\x1b[1Aok  screen")], "expected a label in one line that can be seen"),
        ([uniform(label="GP-UCB, width 2")], "GP-UCB, width 2: the results call it 'Uniform'"),
        ([uniform(), uniform(id="GP-UCB", label="GP-UCB, width 3")], "GP-UCB, width 3: submission.json lists it, and"),
        ([uniform(), uniform(label="Uniform too")], "expected every agent once"),
        ([uniform(kwargs={"a": float("nan")})], "kwargs: expected finite numbers"),
        ([uniform(kwargs={"a": "\ud800"})], "kwargs: expected text without lone surrogates"),
        ([uniform(requires=["--index-url=https://example.org x"])], "agents.0.requires.0: String should match pattern"),
        ([uniform(requires=["x @ https://example.org/x.whl"])], "agents.0.requires.0: String should match pattern"),
        ([uniform(requires=["git+https://example.org/x"])], "agents.0.requires.0: String should match pattern"),
        ([uniform(requires=[f"x==1\n{FORGED}"])], "agents.0.requires.0: String should match pattern"),
        ([uniform(**{f"x\n{FORGED}\n": 1})], "Extra inputs are not permitted"),
        ("[" * 100_000 + "]" * 100_000, "RecursionError"),
    ],
    ids=lambda value: None if isinstance(value, list) else value[:20],
)
def test_a_lying_list_is_refused(tmp_path: Path, agents: Any, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is played, no line is forged, and nothing that it holds can be taken for an option of pip."""
    made = submission(tmp_path)
    text = json.loads((made / LIST).read_text())
    text = json.dumps({**text, "agents": "AGENTS"}).replace(
        '"AGENTS"', agents if isinstance(agents, str) else json.dumps(agents)
    )
    (made / LIST).write_text(text)
    try:
        assert execute(["verify", str(made), "--yes"]) == 1
        said = capsys.readouterr().out
    except UserError as error:
        said = str(error)
        assert len(said.splitlines()) == 1
    assert message in said
    assert FORGED not in said.splitlines()
    assert "screen" not in said.partition("ok  screen")[0]


def test_the_name_of_a_file_forges_no_line(tmp_path: Path) -> None:
    made = submission(tmp_path)
    (made / "code" / f"x\n{FORGED}\ny.txt").write_text("")
    with pytest.raises(UserError, match=r"y\.txt: expected only files that submission\.json lists") as refused:
        execute(["verify", str(made), "--yes"])
    assert len(str(refused.value).splitlines()) == 1


def resent(made: Path, directory: Path, suite: dict[str, Any], *records: Any) -> Path:
    """A submission of other results, its list that of an agent of this project."""
    store = Store(directory)
    store.write_suite(small_suite().model_copy(update=suite))
    store.write(*records)
    pack(directory, made / "results.zip")
    listed = {"schema": 1, "suite": store.suite().name, "version": "0", "agents": [uniform()]}  # type: ignore[union-attr]
    (made / LIST).write_text(json.dumps(listed))
    return made


def test_a_table_in_a_file_of_whoever_plays_it_is_refused(tmp_path: Path) -> None:
    """Its columns would be read, quoted, and given to the agent."""
    (tmp_path / "salaries.csv").write_text("x,y\n1,2\n")
    env = Ref("GPBandit/Table-v0", {"file": str(tmp_path / "salaries.csv"), "target": "y"})
    made = resent(submission(tmp_path), tmp_path / "other", {}, record(env, Ref("Uniform"), 0, 3))
    (*_, found) = faults(open_submission(made, tmp_path / "opened"))
    assert found == "an environment is a table in a file, which would be one of whoever plays it"


def test_a_suite_is_no_path_to_a_board_of_its_own(tmp_path: Path) -> None:
    """`board add` would open that, and write there."""
    values = small_suite().model_dump(mode="json") | {"part_of": str(tmp_path / "boards" / "mine")}
    with pytest.raises(SuiteError, match=r"part_of.*expected at most 100 letters"):
        parse_suite(values)


def test_a_part_of_a_board_is_held_to_its_tasks_and_labels(own: Board, tmp_path: Path) -> None:
    """By the name of a suite that the package does not have neither was looked at."""
    agent = Ref("EpsGreedy", {"epsilon": 0.3}, "GP UCB width 2")
    made = submission(tmp_path)
    resent(made, tmp_path / "other", {"name": "easy", "part_of": "small"}, record(ARMS, agent, 0, 3))
    listed = json.loads((made / LIST).read_text())
    values = uniform(id="EpsGreedy", kwargs={"epsilon": 0.3}, label="GP UCB width 2")
    (made / LIST).write_text(json.dumps({**listed, "agents": [values]}))
    assert faults(open_submission(made, tmp_path / "opened")) == [
        "GP UCB width 2: expected a label that cannot be taken for 'GP-UCB, width 2' on the board",
        "1 runs are of no task of suite 'small'",
    ]


def test_the_luckiest_repetitions_are_no_row(own: Board, tmp_path: Path) -> None:
    """Each would be played again and agree, and the hold-out would have as few."""
    agent = SubmittedAgent(id="EpsGreedy", kwargs={"epsilon": 0.3}, label="lucky")
    (spec, *_) = small_suite().specs()
    lucky = Store(tmp_path / "r")
    lucky.write(*(record(spec.env, agent.ref, r, spec.horizon) for r in (1, 3, 4)))
    made = Submission(tmp_path, "small", (agent,), lucky, ())
    lacking = "lucky lacks 3 of 6 repetitions on d = 1, which its author could choose"
    with pytest.raises(StoreError, match=lacking):
        refuse_unfit(made, own.directory)


def test_nothing_is_renamed_through_a_link(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A stranger's `runs` may be a link to tables of whoever opens the folder, which are no results."""
    tables = tmp_path / "tables"
    tables.mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tables / "mine.parquet")
    (tmp_path / "stranger").mkdir()
    (tmp_path / "stranger" / "runs").symlink_to(tables)
    with caplog.at_level(logging.WARNING, "gpbandit"):
        assert not Store(tmp_path / "stranger").entries()
    assert [path.name for path in tables.iterdir()] == ["mine.parquet"]
    assert "nothing is renamed through the link" in caplog.text


def test_an_experiment_that_is_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lab.json")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    for name in ("lab.json", "zero.json"):
        with pytest.raises(ValueError, match=rf"{name}: expected a file written by Experiment\.save, got a device or"):
            Experiment.load(tmp_path / name)


def test_code_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = submission(tmp_path)
    listing(made, x=hashlib.sha256(bytes(5000)).hexdigest())
    (made / "code" / "x.py").write_bytes(bytes(5000))
    monkeypatch.setattr("leaderboards.store.intact.MOST_JSON", 4000)
    with pytest.raises(StoreError, match=r"x\.py: expected at most 4,000 bytes, got more"):
        open_submission(made, tmp_path / "scratch")


# ---- forged records ----


def _stated_as(run: RunSpec, played: RunSpec) -> Any:
    """The record of one run under the name of another."""
    return replace(run_spec(played), spec=run, agent=None)


@pytest.mark.parametrize("cpu", [None, "another"])
@pytest.mark.parametrize("kind", ["repetition", "seed", "environment"])
def test_a_run_on_chosen_seeds_is_found_under_the_name_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, cpu: str | None
) -> None:
    """The luckiest of many instances, played honestly and stated as the one that is asked for."""
    named = [replace(spec, repetition=r) for r, spec in enumerate(specs(("EpsGreedy",), FEWEST))]
    env = Ref("GPBandit/RKHS-v0", {"n_arms": 20, "dim": 2})
    change: dict[str, Callable[[RunSpec], RunSpec]] = {
        "repetition": lambda spec: replace(spec, repetition=spec.repetition + 100),
        "seed": lambda spec: replace(spec, seed=7),
        "environment": lambda spec: replace(spec, env=env),
    }
    ours = origins.origin()
    machine = ours.machine.model_copy(update={"cpu": cpu or ours.machine.cpu})
    with monkeypatch.context() as there:
        there.setattr(run_file, "origin", lambda: ours.model_copy(update={"machine": machine}))
        store = Store(tmp_path / "r")
        for spec in named:
            store.write(_stated_as(spec, change[kind](spec)))
    found = list(verify(store, sorted(store.keys()), tmp_path / "again", SerialExecutor()))
    assert {verdict.level for verdict in found} == {"disagrees"}, [verdict.text for verdict in found]


def test_numbers_of_one_instance_with_the_facts_of_another_are_found(tmp_path: Path) -> None:
    """Facts and hash are those of the instance that is asked for, the trace is that of a lucky one."""
    asked, lucky = specs(("EpsGreedy",), 2)
    honest = run_spec(asked)
    forged = replace(_stated_as(asked, lucky), facts=honest.facts, data=honest.data)
    store = Store(tmp_path / "r")
    store.write(forged)
    assert set(RECOMPUTED) <= set(forged.trace.columns)
    (found,) = verify(store, [asked.key], tmp_path / "again", SerialExecutor())
    assert found.level == "disagrees"


def test_repetitions_that_nobody_asked_for_are_not_ranked(tmp_path: Path, own: Board) -> None:
    """Thousands could be played, and the luckiest be sent: only those count that the rivals have played."""
    import leaderboards

    suite = small_suite()
    lucky = Store(tmp_path / "r")
    lucky.write_suite(suite)
    agent = Ref("EpsGreedy", {"epsilon": 0.3}, "lucky")
    tasks = [spec for spec in suite.specs() if spec.agent.id == "Uniform" and spec.repetition == 0]
    lucky.write(*(run_spec(replace(spec, agent=agent, repetition=100 + r)) for spec in tasks for r in range(6)))
    ranked = leaderboards.Results(lucky.directory, against=own.directory).ranking()
    assert ranked.loc["lucky", ["rank", "mean_rank", "d = 1", "d = 2"]].isna().all()
    assert ranked.loc["Uniform", "rank"] == 2


# ---- false claims ----


class Claims(FiniteArmAgent):
    """Says on its class that it is told no kernel, and asks for it where it is built."""

    capabilities = Capabilities(frozenset({"finite"}))

    def __init__(self, where: str = "object") -> None:
        told = Capabilities(frozenset({"finite"}), needs=frozenset({"kernel"}))
        if where == "object":
            self.capabilities = told  # type: ignore[misc]
        elif where == "class":
            type(self).capabilities = told

    def select(self, n: int, pending: Pending) -> Actions:
        raise AssertionError(f"it knows {self.problem.kernel}")


class Reads(Claims):
    """Reads the kernel from its card, saying that it needs none."""

    def __init__(self) -> None:
        pass


@pytest.mark.parametrize("where", ["object", "class"])
@pytest.mark.parametrize("isolated", [False, True])
def test_who_is_to_be_told_no_kernel_is_told_none(where: str, isolated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Claims, "capabilities", Claims.capabilities)  # as it was, after this test
    ref = Ref(f"{__name__}:Claims", {"where": where})
    with pytest.raises(ValueError, match=r"expected an agent of the needs \[\] that its class Claims states, got one"):
        build_agent(ref)
    Claims.capabilities = Reads.capabilities = Capabilities(frozenset({"finite"}))
    spec = RunSpec(env=ARMS, agent=ref, repetition=0, horizon=5)
    sandbox = Sandbox(bubblewrap=False) if isolated else None
    found = run_spec(spec, sandbox=sandbox)
    assert found.status == "crashed"
    assert "capabilities: expected an agent of the needs [] that its class Claims states" in str(found.reason)
    found = run_spec(replace(spec, agent=Ref(f"{__name__}:Reads")), sandbox=sandbox)
    assert "it knows None" in str(found.reason)
