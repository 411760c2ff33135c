"""The command line: what works says where its result is, what does not says so in one line."""

from __future__ import annotations

import html
import importlib.metadata
import io
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import typer

import agents
import leaderboards
from gpbandit_envs import datasets, problem_of
from gpbandit_envs.registry import ENVIRONMENTS, registered
from leaderboards.cli import main
from leaderboards.play.suite import AgentEntry, parse_suite, suite_names
from leaderboards.publish.boards import board_folder
from leaderboards.store.store import Store
from leaderboards.verify.agent_check import protocol_breach
from tests.leaderboards.play import players

SUITE = """
name = "tiny"
description = "For tests."
horizon = 20
repetitions = 2
[[environments]]
id = "GPBandit/RKHS-v0"
kwargs = { n_arms = 15 }
[[agents]]
id = "Uniform"
[[agents]]
id = "GP-UCB"
"""


class Call:
    """One call of the command line."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        return int(ended.value.code or 0), out, err


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return Call(capsys)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE)
    return path


def test_a_run_ends_with_the_ranking_and_the_next_command(call: Call, suite: Path, tmp_path: Path) -> None:
    text = suite.read_text().replace("horizon = 20", "horizon = 60")
    suite.write_text(text + '[[agents]]\nid = "tests.leaderboards.play.players:Worst"\nlabel = "Worst"\n')
    _, out, _ = call("run", suite, "--out", tmp_path / "r", "--executor", "serial")
    lines = out.splitlines()
    assert lines[1] == "ranking by cumulative regret: 1 environment, 3 agents that played all of it"
    assert "GP-UCB  (score " in lines[2]
    assert [line.split()[1] for line in lines[2:5]] == ["GP-UCB", "Uniform", "Worst"]
    (warned,) = [line for line in lines if "no better" in line]
    assert warned.startswith("Worst ended no better than uniform sampling, by its regret ratio, on RKHS (")
    assert lines[-1] == f"next: gpbandit page {tmp_path / 'r'} --import-agents"
    alone = tmp_path / "alone.toml"
    alone.write_text(SUITE.replace('[[agents]]\nid = "GP-UCB"\n', ""))
    _, out, _ = call("run", alone, "--out", tmp_path / "alone", "--executor", "serial")
    assert "ranking" not in out, "there is nobody to be compared with"
    _, out, _ = call("run", suite, "--out", tmp_path / "part", "--executor", "serial", "--shard", "1/2")
    assert out.splitlines()[-1].startswith(f"next: gpbandit merge {tmp_path / 'part'} OTHER")
    assert "ranking" not in out


def test_what_agents_are_ranked_by(call: Call, suite: Path, tmp_path: Path) -> None:
    call("run", suite, "--out", tmp_path / "r", "--executor", "serial")
    code, said, _ = call("page", tmp_path / "r", "--rank-by", "inference_regret")
    assert (code, said) == (0, f"The leaderboard is at {tmp_path / 'r' / 'index.html'}\n")
    page = (tmp_path / "r" / "index.html").read_text()
    assert 'Ranked by the regret "inference regret": smaller is better' in page
    assert "inference regret at t = 20" in page
    known = "cumulative_regret, simple_regret, inference_regret, best_so_far, recommended, "
    check_error(call("page", tmp_path / "r", "--rank-by", "fame"), f"--rank-by: expected one of {known}", "got 'fame'")


def test_a_ranking_says_who_has_no_place_and_why(call: Call, suite: Path, tmp_path: Path) -> None:
    text = suite.read_text() + '[[agents]]\nid = "tests.leaderboards.play.players:Raises"\nlabel = "Raises"\n'
    suite.write_text(text)
    call("run", suite, "--out", tmp_path / "r", "--executor", "serial")
    _, out, _ = call("ranking", tmp_path / "r")
    assert out.splitlines()[-1] == "  without a place, no finished run on all environments: Raises"
    alone = tmp_path / "alone.toml"
    alone.write_text(SUITE.replace('[[agents]]\nid = "GP-UCB"\n', ""))
    call("run", alone, "--out", tmp_path / "alone", "--executor", "serial")
    _, out, _ = call("ranking", tmp_path / "alone")
    assert "1 environment, 1 agent; a place needs a rival" in out
    assert "one first" not in out


def test_where_an_extra_of_a_board_s_own_agent_is_missing_the_way_around_is_said(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    run = ("run", "boxes-v2-lite", "--out", tmp_path / "r")
    check_error(call(*run, "--agent", "GP-UCB"), "Optuna is not installed", "with --against board", "your agents play")
    code, _, errors = call(*run)
    assert code == 2
    assert "--against" not in errors, "there is no agent of one's own"


def test_a_ranking_names_a_board_that_there_is_not(call: Call, suite: Path, tmp_path: Path) -> None:
    call("run", suite, "--out", tmp_path / "r", "--executor", "serial")
    code, _, err = call("ranking", tmp_path / "r", "--against", "nosuch")
    assert code == 2
    assert "--against" in err
    assert "nosuch" in err
    code, _, err = call("ranking", "core-v2", "--against", "core-v2")
    assert code == 2
    assert "--against: expected a results folder" in err


def test_run_and_run_again(call: Call, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    code, text, _ = call("run", suite, "--out", out, "--workers", 2)
    assert code == 0
    assert f"{out}: 4 runs in " in text
    assert "(4 done), 0 were there before" in text
    kept: Any = Store(out).suite()
    assert kept.name == "tiny"
    code, text, _ = call("run", suite, "--out", out, "--executor", "serial")
    assert code == 0
    assert "0 runs" in text
    assert "(nothing was missing), 4 were there before" in text


def test_a_suite_that_was_cut_short_is_named_and_written_anew(call: Call, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    run = ("run", suite, "--out", out, "--executor", "serial")
    call(*run)
    path = out / "suite.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    code, _, err = call("page", out)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert f"error: {out / 'suite.json'} is damaged (" in err
    assert f"run the suite again with --out {out}, which writes it anew" in err
    code, text, err = call(*run)
    assert code == 0
    assert err == f"warning: the suite of {out} was damaged and is written anew\n"
    assert "(nothing was missing), 4 were there before" in text
    assert path.read_bytes() == whole
    assert call("page", out)[0] == 0


@pytest.mark.slow
def test_audit_looks_inside_and_the_page_shows_it(call: Call, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    call("run", suite, "--out", out, "--executor", "serial")
    code, text, err = call("audit", out, "--checkpoints", 4, "--workers", 2, "--row", "GP-UCB")
    assert code == 0
    assert f"{out}: 2 runs audited, 2 with a confidence band; 0 were before" in text
    assert len(list((out / "audit").glob("*.parquet"))) == 2
    code, text, _ = call("audit", out, "--checkpoints", 4, "--workers", 1)
    assert "2 runs audited, 0 with a confidence band; 2 were before" in text
    code, text, _ = call("audit", out, "--repetitions", 1, "--again", "--workers", 1)
    assert "2 runs audited, 1 with a confidence band; 0 were before" in text
    assert call("page", out)[0] == 0
    page = (out / "site" / "env-rkhs.html").read_text()
    assert "Confidence bands" in page
    assert "2 of 2" in page
    code, _, err = call("audit", out, "--row", "Nobody")
    assert code == 2
    assert "no run that is done is named 'Nobody'" in err


def test_a_run_that_cannot_be_audited_is_named_and_the_others_are(call: Call, tmp_path: Path) -> None:
    store = Store(tmp_path)
    env = ("GPBandit/RKHS-v0", {"n_arms": 15})
    store.write(leaderboards.run(env, agents.make("GP-UCB"), 0, 10))
    good = leaderboards.run(env, "GP-UCB", 1, 10)
    other = leaderboards.run(env, "GP-UCB", 2, 10)
    other.trace["reward"] += 1
    store.write(good)
    store.write(other)
    code, text, err = call("audit", tmp_path, "--workers", 1)
    assert code == 1
    assert "2 runs audited" in text
    assert "could not be audited: 1 of GPUCB on RKHS: ReplayError: the run was played with an object" in err
    assert "did not repeat the stored trace: 1 of GP-UCB on RKHS: reward differs first at t = 1" in err


@pytest.mark.chaos
def test_a_worker_that_dies_costs_its_audit_and_says_what_to_do(call: Call, tmp_path: Path) -> None:
    store = Store(tmp_path)
    env = ("GPBandit/RKHS-v0", {"n_arms": 15})
    store.write(leaderboards.run(env, players.path(players.DiesWhenLookedAt), 0, 10))
    store.write(leaderboards.run(env, "GP-UCB", 0, 10))
    code, _, err = call("audit", tmp_path, "--yes", "--workers", 2)
    assert code == 2
    assert "a worker died while it audited a run" in err
    code, text, _ = call("audit", tmp_path, "--workers", 2, "--row", "GP-UCB", "--again")
    assert code == 0
    assert "1 run audited" in text


@pytest.mark.slow
def test_a_further_agent_is_checked_before_its_first_run(
    call: Call, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
import numpy as np
from agents.baselines.uniform import Uniform as Fine


class Forgetful(Fine):
    def reset(self, problem, rng):
        print("I talk")
        super().reset(problem, np.random.default_rng())


class Leaves(Fine):
    def reset(self, problem, rng):
        import os
        os._exit(3)


class Sleeps(Fine):
    def reset(self, problem, rng):
        import time
        time.sleep(60)
"""
    (tmp_path / "own_checked.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    # The command gives up after seconds that a busy machine may need for the imports alone.
    monkeypatch.setattr("leaderboards.verify.agent_check.protocol_breach", partial(protocol_breach, seconds=120.0))
    arguments = ("run", suite, "--out", tmp_path / "r", "--executor", "serial", "--agent")
    code, _, errors = call(*arguments, "own_checked:Forgetful")
    assert code == 0
    assert "warning: own_checked:Forgetful breaks the protocol of agents: determinism: two plays with equal" in errors
    assert "breaks the protocol" not in call(*arguments, "own_checked:Forgetful")[2], "nothing is left to play"
    assert "breaks the protocol" not in call(*arguments, "own_checked:Fine")[2]
    assert "the process that checks it ended with code 3" in str(protocol_breach("own_checked:Leaves", seconds=120.0))
    hangs = protocol_breach("own_checked:Sleeps", seconds=2.0)
    assert hangs == "was not checked within 2 s; agents.check_agent shows where it is when stopped (Ctrl-C)"
    said: Any = protocol_breach("nowhere_at_all:Mine", seconds=120.0)
    assert "ValueError: agent: 'nowhere_at_all:Mine' names a" in said


def test_the_label_of_a_further_agent_has_a_number_where_its_id_is_taken_too() -> None:
    values = {"name": "s", "horizon": 5, "repetitions": 1, "environments": [{"id": "GPBandit/RKHS-v0"}]}
    suite = parse_suite({**values, "agents": [{"id": "a", "label": "X"}, {"id": "b", "label": "m:X"}]})
    found = suite.with_agents([AgentEntry(id="m:X"), AgentEntry(id="n:X")])
    assert [entry.ref.label for entry in found.agents] == ["X", "m:X", "m:X 2", "n:X"]
    assert parse_suite(found.frozen().model_dump()) == found.frozen()


def test_what_an_edited_suite_does_not_ask_for_is_named_and_apart(call: Call, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    arguments = ("run", suite, "--out", out, "--executor", "serial")
    assert "warning" not in call(*arguments)[2]
    assert "warning" not in call(*arguments)[2]
    suite.write_text(SUITE.replace("horizon = 20", "horizon = 30"))
    code, _, err = call(*arguments)
    assert code == 0
    assert (
        f"warning: {out} holds 4 runs of another environment, horizon, feedback or seed than suite 'tiny' asks" in err
    )
    assert "on RKHS (horizon 20, on_request, seed 0)" in err
    assert call("page", out)[0] == 0
    page = (out / "index.html").read_text()
    assert "RKHS (T = 20)" in page
    assert page.count("not in the suite as it is now") == 1
    suite.write_text(SUITE.replace("horizon = 20", "horizon = 30\nseed = 4"))
    assert "holds 8 runs of another" in call(*arguments)[2]


@pytest.mark.slow
def test_failures_are_named_and_retried_on_request(call: Call, suite: Path, tmp_path: Path) -> None:
    arguments = ("run", suite, "--out", tmp_path / "r", "--executor", "serial", "--agent", players.path(players.Raises))
    code, text, errors = call(*arguments)
    assert code == 1
    assert "(2 crashed, 4 done)" in text
    assert "crashed: Raises on RKHS, 2 repetitions: agent: RuntimeError: no idea what to pull (players.py, li" in errors
    assert "--retry-failed" in errors
    assert f"gpbandit page {tmp_path / 'r'} shows the tracebacks" in errors
    code, text, errors = call(*arguments)
    assert (code, "nothing was missing" in text) == (1, True)
    assert "2 runs crashed or timed out before: --retry-failed plays them again" in errors
    assert "(2 crashed), 4 were there before" in call(*arguments, "--retry-failed")[1]
    assert call("run", suite, "--out", tmp_path / "r", "--executor", "serial")[0] == 0, "it is not asked for now"


LAB = """
import gymnasium as gym
import numpy as np
from gpbandit_envs.problem import Problem

class Lab(gym.Env):
    action_space = gym.spaces.Discrete(5)
    observation_space = gym.spaces.Discrete(1)
    problem = Problem(name="lab", dim=1, arms=np.linspace(0, 1, 5)[:, None])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, float(action), False, False, {}

gym.register("Lab-v0", entry_point=Lab, max_episode_steps=20)
"""


def test_what_is_skipped_and_what_has_no_regret(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_lab.py").write_text(LAB)
    monkeypatch.syspath_prepend(tmp_path)
    suite = tmp_path / "lab.toml"
    suite.write_text(
        'name = "lab"\nhorizon = 5\nrepetitions = 3\n[[environments]]\nid = "a_lab:Lab-v0"\n'
        '[[agents]]\nid = "Uniform"\n[[agents]]\nid = "BKB"\n'
    )
    code, _, err = call("run", suite, "--out", tmp_path / "r", "--executor", "serial")
    assert code == 0
    assert "skipped: BKB on Lab, 3 repetitions: the agent needs kernel and noise" in err
    assert err.count("Lab: no regret can be computed") == 1
    assert call("page", tmp_path / "r")[0] == 0
    page = (tmp_path / "r" / "index.html").read_text()
    assert "the regret is unknown" in page
    assert "Mean cumulative regret on Lab" not in page  # no axes without a curve


def test_lists(call: Call) -> None:
    everything = call("list")[1]
    for kind, names in (("envs", registered()), ("agents", agents.registered()), ("suites", suite_names())):
        code, text, _ = call("list", kind)
        assert code == 0
        for name in names:
            assert re.search(rf"^  {re.escape(name)}(  |$)", text, re.MULTILINE)
        assert text in everything


def check_error(result: tuple[int, str, str], *parts: str) -> None:
    code, _, errors = result
    assert code == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    for part in parts:
        assert part in errors


def test_errors_of_the_user(call: Call, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r"
    check_error(call("run", "quik", "--out", out), "did you mean 'quick'?", "TOML")
    check_error(call("run", tmp_path / "none.toml", "--out", out), "cannot be read")
    check_error(call("run", suite, "--out", out, "--executor", "cloud"), "expected one of serial, local", "'cloud'")
    check_error(call("run", suite, "--out", out, "--workers", 0), "--workers: expected an integer >= 1, got 0")
    serial = ("run", suite, "--out", out, "--executor", "serial")
    check_error(call(*serial, "--memory", 64), "--memory: expected another executor than serial")
    check_error(call("run", suite, "--nope"), "--nope", "gpbandit --help")
    check_error(call("run"), "Missing argument", "gpbandit --help")
    check_error(call("run", suite, "--out", out, "--agent", "Unifrom"), "did you mean 'Uniform' or ")
    check_error(call("run", suite, "--out", out, "--agent", "nomodule:X"), "No module named 'nomodule'")
    check_error(call("run", suite, "--out", out, "--agent", "my_agent.py:Greedy"), "write 'my_agent:Greedy'")
    check_error(call("nope"), "No such command 'nope' (see gpbandit --help)")
    check_error(call("rum"), "No such command 'rum'. Did you mean 'run'?")
    check_error(call("list", "environments"), "No such command 'environments' (see gpbandit --help)")
    check_error(call("data", "get"), "No such command 'get' (see gpbandit --help)")
    check_error(call("page", tmp_path / "none"), "no folder", "gpbandit run SUITE")
    check_error(call("page", board_folder("lab-v1")), "is a board", "gpbandit board site")
    check_error(call("page", tmp_path), "holds no results")
    assert not out.exists()


def test_folders_of_results_are_found_nearby(call: Call, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.parent)
    call("run", suite, "--executor", "serial")
    check_error(call("page", "results"), "results holds no results", "there are results in results/tiny")
    check_error(call("page", "tiny"), "no folder tiny", "there are results in results/tiny")
    assert call("page", "results/tiny")[0] == 0


def test_a_file_that_is_not_called_as_its_suite(call: Call, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.parent)
    Path("own suite.toml").write_text(SUITE)
    for words, folder in (((), "results/tiny"), (("--out", "results/other"), "results/other")):
        _, out, _ = call("run", "own suite.toml", "--executor", "serial", *words)
        assert out.startswith(f"{folder}: 4 runs")
        assert call("page", folder)[0] == 0
        page = html.unescape(Path(folder, "index.html").read_text())
        assert f"gpbandit run 'own suite.toml' --out {folder}<" in page
    again = leaderboards.run_suite("own suite.toml", progress=False)
    assert again.report is not None
    assert not again.report.ended, "the same folder"


def test_a_wrong_suite_file_names_the_key(call: Call, suite: Path, tmp_path: Path) -> None:
    suite.write_text(SUITE.replace("n_arms", "arms"))
    check_error(call("run", suite, "--out", tmp_path / "r"), "unknown argument 'arms'", "n_arms")
    suite.write_text(SUITE.replace("horizon", "horizn"))
    check_error(call("run", suite, "--out", tmp_path / "r"), "tiny.toml", "horizn")


@pytest.mark.slow
def test_shards_merge_verify_and_travel(call: Call, suite: Path, tmp_path: Path) -> None:
    parts = [tmp_path / "part1", tmp_path / "part2"]
    for number, part in enumerate(parts, start=1):
        call("run", suite, "--out", part, "--executor", "serial", "--shard", f"{number}/2")
    out, away = tmp_path / "whole", tmp_path / "away"
    assert "4 runs are new, 0 were there before" in call("merge", *parts, "--out", out)[1]
    code, text, _ = call("verify", out, "--row", "GP-UCB@RKHS", "--workers", 1)
    assert code == 0
    assert text.count("identical") == 2
    assert text.endswith("2 of 2 runs agree\n")
    assert f"4 runs are in {tmp_path / 'whole.zip'}" in call("submit", out)[1]
    assert "4 runs are new" in call("add", tmp_path / "whole.zip", away)[1]
    assert set(Store(away).runs()["standing"]) == {"submitted"}
    assert "1 of 1 runs agree" in call("verify", away, "--sample", 1, "--workers", 1)[1]
    check_error(call("verify", out, "--row", "Nobody"), "named 'Nobody'", "GP-UCB, Uniform")
    check_error(call("run", suite, "--out", out, "--shard", "3/2"), "--shard: expected i/N", "'3/2'")
    check_error(call("merge", tmp_path / "none", "--out", out), "no folder")
    check_error(call("add", tmp_path / "none.zip", away), "no archive")


def test_show(call: Call, suite: Path) -> None:
    def shown(id: object) -> dict[str, str]:
        code, out, _ = call("show", id)
        assert code == 0
        return {name: value.strip() for name, _, value in (line.partition(":") for line in out.splitlines())}

    assert shown("GPBandit/RKHS-v0")["actions"] == "1000 arms, dimension 1"
    assert shown("GPBandit/Branin-v0")["actions"] == "a box, dimension 2"
    assert shown("GPBandit/RKHS-v0")["arguments"].startswith("n_arms, dim, lengthscale")
    abalone = shown("GPBandit/Abalone-v0")
    assert abalone["actions"] == "4177 arms, dimension 8", "known without the data"
    assert "gpbandit data fetch Abalone" in abalone["data"]
    assert shown("GPBandit/XGBoost-v0")["needs"] == "pip install 'gpbandit-envs[hpo]'"
    bbkb = shown("BBKB")
    assert (bbkb["plays"], bbkb["batches"], bbkb["must know"]) == ("arms", "adaptive", "kernel, noise")
    assert "qbar=2.0" in bbkb["arguments"]
    assert "ICML" in bbkb["reference"] or "Calandriello" in bbkb["reference"]
    assert shown("Optuna-TPE")["needs"] == "pip install 'gpbandit-envs[optuna]'"
    assert shown(suite) == {
        "suite": "tiny",
        "what": "For tests.",
        "environment": "RKHS, horizon 20, feedback on request",
        "agent": "GP-UCB",
        "runs": "4",
    }
    for wrong, meant in (
        ("GP-UBC", "GP-UCB"),
        ("RKSH", "GPBandit/RKHS-v0"),
        ("rkhs", "GPBandit/RKHS-v0"),
        ("quik", "quick"),
    ):
        code, _, err = call("show", wrong)
        assert (code, err) == (2, f"error: no environment, agent or suite {wrong!r}; did you mean {meant!r}?\n")


@pytest.mark.parametrize("row", [row for row in ENVIRONMENTS if row.data is None and row.extra is None], ids=str)
def test_the_registry_says_whether_a_kernel_is_stated(row: Any) -> None:
    problem = problem_of(gym.make(row.id))
    stated = "none" if problem.kernel is None else {"oracle": "true", "misspecified": "wrong"}[problem.knowledge]
    assert row.kernel == stated


def test_what_plays_a_table_of_data_is_told_a_kernel_that_was_chosen() -> None:
    for row in ENVIRONMENTS:
        if row.data is not None:
            assert row.kernel == ("chosen" if row.dim is None else "none")
    assert problem_of(gym.make("GPBandit/DrawnPlate-v0")).kernel is not None


def test_every_entry_can_be_shown(call: Call) -> None:
    for id in (*registered(), *agents.registered(), *suite_names()):
        if id.startswith(("GPBandit/", "Own/")) or "/" not in id:
            assert call("show", id)[0] == 0, id


def test_version(call: Call) -> None:
    assert call("--version") == (0, f"gpbandit-envs {importlib.metadata.version('gpbandit-envs')}\n", "")


@pytest.mark.slow
def test_a_shell_completes() -> None:
    """As bash asks: the words so far and the number of the one to complete."""
    asked = {"_GPBANDIT_COMPLETE": "complete_bash", "COMP_WORDS": "gpbandit ver", "COMP_CWORD": "1"}
    command = [sys.executable, "-m", "leaderboards.cli"]
    ended = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True)
    assert ended.stdout.split() == ["verify"], ended.stderr


def test_an_error_in_place_of_a_signal_is_that_signal(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        raise ImportError("cannot import name 'x' from partially initialized module")

    monkeypatch.setattr("leaderboards.cli.app.execute", interrupted)
    assert call("list") == (128 + signal.SIGTERM, "", "stopped by SIGTERM\n")


def test_the_script_that_turns_completion_on(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # there may be no shell around a test
    code, script, _ = call("--show-completion", "bash")
    assert code == 0
    assert "_GPBANDIT_COMPLETE=complete_bash" in script


@pytest.mark.slow
def test_away_from_the_modules_of_a_run_the_commands_say_so(
    call: Call, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r"
    (tmp_path / "an_agent_of_mine.py").write_text("from agents.baselines.uniform import Uniform as Mine\n")
    monkeypatch.syspath_prepend(tmp_path)
    run = ("run", suite, "--out", out, "--executor", "serial", "--agent", "an_agent_of_mine:Mine")
    assert call(*run)[0] == 0
    assert "not importable" not in call("page", out)[2]
    monkeypatch.undo()
    monkeypatch.delitem(sys.modules, "an_agent_of_mine", raising=False)
    said_so = "module 'an_agent_of_mine' that defines agent 'an_agent_of_mine:Mine' is not importable here"
    code, text, _ = call("verify", out, "--workers", 1, "--yes")
    assert code == 0
    assert text.count(f"Mine on RKHS, repetition 0: {said_so}") == 1
    assert text.endswith("4 of 6 runs agree; 2 cannot be played here\n")
    code, _, err = call("audit", out, "--workers", 1, "--yes")
    assert code == 1
    assert f"could not be audited: 2 of Mine on RKHS: {said_so}" in err
    code, _, err = call("page", out)
    assert code == 0
    assert err.count(said_so) == 1
    assert "Mine" in (out / "index.html").read_text(encoding="utf-8")


def test_data(call: Call) -> None:
    code, text, _ = call("data", "list")
    assert code == 0
    for name in datasets.cards():
        assert f"  {name}  (" in text
    check_error(call("data", "fetch", "abalona"), "'abalona'", "Abalone")
    check_error(call("data", "fetch", "abalone", "--file", "/no/such/file"), "/no/such/file")
    check_error(call("data", "fetch"), "expected the name of a data set, or --suite NAME")
    check_error(call("data", "fetch", "--suite", "quick", "--file", "/no/such/file"), "--file is for one data set")
    check_error(call("data", "fetch", "--suite", "no-suite"), "no-suite")


def test_the_data_of_a_suite_are_fetched_together(call: Call, suite: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    fetched = f'[[environments]]\nid = "Test/Fetched-v0"\nkwargs = {{ file = "{file}" }}\n[[agents]]'
    suite.write_text(SUITE.replace("[[agents]]", fetched, 1))
    code, text, _ = call("data", "fetch", "--suite", suite)
    assert code == 1
    assert text.startswith("without its data: could not get it: everything failed (")
    file.touch()
    code, text, _ = call("data", "fetch", "--suite", suite)
    assert code == 0
    assert text.rstrip().endswith("the data of its 2 tasks are here")


def test_data_that_cannot_be_had_cost_their_own_runs(call: Call, suite: Path, tmp_path: Path) -> None:
    """As from Python; the command ends with 1, and in a worker process the reason is the same."""
    out, file = tmp_path / "r", tmp_path / "file"
    fetched = f'[[environments]]\nid = "Test/Fetched-v0"\nkwargs = {{ file = "{file}" }}\n[[agents]]'
    suite.write_text(SUITE.replace('id = "GP-UCB"', 'id = "EpsGreedy"').replace("[[agents]]", fetched, 1))
    arguments = ("run", suite, "--out", out, "--executor", "local", "--workers", 1)
    code, _, errors = call(*arguments)
    assert code == 1
    assert "skipped: Fetched, without its data: could not get it: everything failed (" in errors
    assert errors.rstrip().endswith("the same command tries again")
    file.touch()
    assert "(4 done), 4 were there before" in call(*arguments)[1]


def test_a_question_that_nobody_answers(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> None:
        typer.confirm("go on?")

    monkeypatch.setattr("leaderboards.cli.listing.environments", ask)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    check_error(call("list"), "a question was not answered, since the input has ended")


def test_without_a_command_it_shows_its_help(call: Call) -> None:
    code, out, err = call()
    assert code == 0
    assert "reproduce" in out
    assert not err


def test_a_suite_names_a_csv_file_and_an_edited_one_plays_anew(call: Call, tmp_path: Path) -> None:
    """The path is enough: worker processes build the table, and the page and `verify` build it again."""
    table, suite, out = tmp_path / "lab.csv", tmp_path / "lab.toml", tmp_path / "out"
    table.write_text("dose,solvent,yield\n" + "".join(f"{i},{'ab'[i % 2]},{i * (7 - i)}\n" for i in range(8)))
    entry = f'[[environments]]\nid = "GPBandit/Table-v0"\nkwargs = {{ file = "{table}", target = "yield" }}\n'
    agents_of = '[[agents]]\nid = "Uniform"\n[[agents]]\nid = "GP-UCB"\n'
    suite.write_text(f'name = "lab"\nhorizon = 8\nrepetitions = 1\n{entry}{agents_of}')
    words = ("run", suite, "--out", out, "--executor", "serial")
    code, said, err = call(*words)
    assert code == 0, err
    assert "2 runs" in said
    assert set(Store(out).runs()["env"]) == {"lab"}, "by the name of the file"
    assert "2 were there before" in call(*words)[1]
    table.write_text(table.read_text().replace("7,b,0", "7,b,99"))
    code, said, err = call(*words)
    assert "2 runs" in said
    assert "warning" in err
    assert "holds 2 runs of another environment" in err
    code, said, _ = call("verify", out, "--workers", 1)
    assert code == 1, "the runs on what the file held before cannot be repeated"
    assert said.count("lab.csv holds other data than it did: it was edited") == 2
    assert "2 of 4 runs agree" in said
    assert call("page", out)[0] == 0
    assert "Theory" in (out / "site" / "env-lab.html").read_text(encoding="utf-8")
    table.unlink()
    code, _, err = call("run", suite, "--out", out)
    assert code == 2
    assert err.startswith("error: suite 'lab', environments, 'Table': file: there is no file")


@pytest.mark.slow
def test_a_page_imports_an_agent_of_ones_own_where_that_is_asked_for(
    call: Call, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'from agents.exact.gp_ucb import GPUCB\n\n\nclass Told(GPUCB):\n    """Is told everything."""\n'
    (tmp_path / "own_told.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    code, text, _ = call("run", suite, "--agent", "own_told:Told", "--executor", "serial")
    assert code == 0
    assert text.splitlines()[-1] == "next: gpbandit page results/tiny --import-agents"
    page = tmp_path / "results" / "tiny" / "site" / "agent-told.html"
    sys.modules.pop("own_told")  # as in a process of its own
    code, _, told = call("page", "results/tiny")
    assert code == 0
    assert "note: own_told:Told: shown without description" in told
    assert "--import-agents" in told
    assert "Is told everything" not in page.read_text()
    assert "own_told" not in sys.modules
    code, _, told = call("page", "results/tiny", "--import-agents")
    assert code == 0
    assert not told
    assert "Is told everything" in page.read_text()
    assert "told the kernel" in page.read_text()
    sys.modules.pop("own_told")
    (tmp_path / "own_told.py").write_text("1 / 0\n")
    code, _, told = call("page", "results/tiny", "--import-agents")
    assert code == 0
    assert "note: own_told:Told could not be imported (ZeroDivisionError: division by zero)" in told
    (tmp_path / "own_told.py").unlink()
    code, _, told = call("page", "results/tiny", "--import-agents")
    assert code == 0
    assert told.count("note:") == 1
    assert "is not importable here" in told


def test_figures_of_a_board_go_where_asked(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_error(call("figures", "lab-v1"), "--out: expected a folder, since lab-v1 is a board, whose folder nothing")
    asked = []

    def draw(store: Store, out: Path, **_: Any) -> list[Path]:
        asked.append((store.directory, out))
        return []

    monkeypatch.setattr("leaderboards.show.make_figures", draw)
    assert call("figures", "lab-v1", "--out", tmp_path)[0] == 0
    assert asked == [(board_folder("lab-v1"), tmp_path)]


@pytest.mark.slow
def test_figures_of_some_agents(call: Call, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    assert call("run", suite, "--out", out, "--executor", "serial", "--agent", "EpsGreedy")[0] == 0
    code, _, told = call("figures", out, "--agent", "EpsGredy")
    assert code == 2
    assert told.strip().startswith("error: --agent: no finished run of 'EpsGredy'; did you mean 'EpsGreedy'?")
    assert "did you mean 'EpsGreedy'?" in call("figures", out, "--agent", "epsgp")[2]
    figures = tmp_path / "figures"
    code, text, _ = call("figures", out, "--agent", "GP-UCB", "--agent", "EpsGreedy", "--out", figures)
    assert code == 0
    assert all(Path(line).stat().st_size > 0 for line in text.split())
    assert figures / "cumulative_regret.pdf" in map(Path, text.split())
    table = (figures / "scores.tex").read_text()
    assert "GP-UCB" in table
    assert "EpsGreedy" in table
    assert "Uniform" not in table
