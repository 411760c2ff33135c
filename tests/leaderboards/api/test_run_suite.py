"""Suites from Python: objects go in, frames, charts and a page come out."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.envs.registration import WrapperSpec

import agents
import agents.core.registry
import leaderboards
from agents import Agent, Capabilities, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from gpbandit_envs import from_function, from_table
from gpbandit_envs.gp import Kernel
from gpbandit_envs.problem import Problem
from gpbandit_envs.wrappers import BatchFeedback, DelayedFeedback
from leaderboards.api.results import Results
from leaderboards.api.run_suite import as_suite, run_suite
from leaderboards.audit.report import audit_band
from leaderboards.play.spec import Ref
from leaderboards.play.suite import AgentEntry, Suite, SuiteError
from leaderboards.score.scores import RunScores
from leaderboards.score.statistics import flip_test
from leaderboards.score.summary import summarise
from leaderboards.show.shared import Site
from leaderboards.store.store import Store
from tests.leaderboards import folders
from tests.leaderboards.play import players

FRAME = pd.DataFrame({"x": np.arange(12.0), "y": np.sin(np.arange(12.0))})
RKHS = ("GPBandit/RKHS-v0", {"n_arms": 20})


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is forgotten."""
    known = dict(gym.registry)
    monkeypatch.setattr(agents.core.registry, "_registry", dict(agents.core.registry._registry))
    yield
    gym.registry.clear()
    gym.registry.update(known)


def keys(*environments: Any, **others: Any) -> dict[str, Any]:
    return {
        "name": "nb",
        "horizon": 12,
        "repetitions": 2,
        "environments": list(environments) or [RKHS],
        "agents": ["Uniform", "EpsGreedy"],
        **others,
    }


def first_arm(arm: int) -> Any:
    """A class as a cell of a notebook defines it."""

    class First(FiniteArmAgent):
        """Always the same arm."""

        capabilities = Capabilities(frozenset({"finite"}))
        chosen = arm

        def select(self, n: int, pending: Pending) -> np.ndarray:
            return np.zeros(0, np.int64) if len(pending) else np.array([self.chosen])

    return First


def quiet(suite: Any, further: Any = (), **options: Any) -> Results:
    return run_suite(suite, further, progress=False, **options)


def test_frames_of_results(tmp_path: Path) -> None:
    table = from_table(FRAME, "y", name="waves")
    found = quiet(keys(table, RKHS), [("GP-UCB", {"width": 1.0})], out=tmp_path)
    assert found.report is not None
    assert found.report.ended == {"done": 12}
    assert repr(found) == f"Results({str(tmp_path)!r}: 12 done)"
    runs = found.runs()
    assert set(runs["env"]) == {"waves", "RKHS"}
    ranking = found.ranking()
    by_score, by_rank = ["score", "score_low", "score_high", "wins"], ["mean_rank", "low", "high", "tasks"]
    assert list(ranking.columns) == ["rank", "best", "worst", *by_score, *by_rank, "waves", "RKHS"]
    assert ranking["score"].max() <= 100
    assert ((ranking["score_low"] <= ranking["score"]) & (ranking["score"] <= ranking["score_high"])).all()
    assert ranking["rank"].isna().all(), "of two repetitions there are no places"
    assert ranking["wins"].between(0, 1).all()
    assert set(ranking.index) == {"Uniform", "EpsGreedy", "GP-UCB"}
    assert ranking["score"].is_monotonic_decreasing
    assert ranking.loc["Uniform", "waves"] == pytest.approx(1.0), "its own regret ratio"
    on_task = found.ranking("waves")
    assert list(on_task.columns) == ["rank", "best", "worst", "regret_ratio", "low", "high", "n", "score"]
    assert on_task["n"].tolist() == [2, 2, 2]
    traces = found.traces(["t", "regret"])
    assert list(traces.columns) == ["env", "agent", "seed", "repetition", "t", "regret"]
    assert len(traces) == 12 * 12
    key = runs.index[(runs["env"] == "RKHS") & (runs["agent"] == "EpsGreedy") & (runs["repetition"] == 1)][0]
    mine = traces.query("env == 'RKHS' and agent == 'EpsGreedy' and repetition == 1")
    assert mine["regret"].tolist() == found.store.trace(str(key))["regret"].tolist()
    total = traces.groupby(["env", "agent", "repetition"])["regret"].sum().groupby(["env", "agent"]).mean()
    scores = found.scores().query("metric == 'cumulative_regret'").set_index(["task", "agent"])["mean"]
    assert scores.sort_index().to_dict() == pytest.approx(total.to_dict())
    assert found.curves().query("t == 12 and metric == 'cumulative_regret'").shape[0] == 6
    with pytest.raises(ValueError, match="task: expected one of 'waves', 'RKHS', got 'wave'"):
        found.ranking("wave")
    with pytest.raises(ValueError, match="task: expected one of 'waves', 'RKHS', got None"):
        found.charts()


class Doubled(gym.Wrapper[Any, Any, Any, Any]):
    """Rewards of twice the size."""

    def step(self, action: Any) -> Any:
        observation, reward, *others = self.env.step(action)
        return observation, 2.0 * float(reward), *others


def _doubled_arms(**kwargs: Any) -> Any:
    return Doubled(gym.make(RKHS[0], **kwargs).unwrapped)


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "Doubled": Doubled,
    "TimeLimit": lambda env: gym.wrappers.TimeLimit(env, 5),
    "OrderEnforcing, Doubled": lambda env: Doubled(gym.wrappers.OrderEnforcing(env)),
}


@pytest.mark.parametrize("named", WRAPPERS)
def test_what_is_put_around_an_environment_is_not_dropped(tmp_path: Path, named: str) -> None:
    env = WRAPPERS[named](gym.make(RKHS[0], n_arms=20))
    with pytest.raises(TypeError, match=f"environments: expected .* got one inside {named}:"):
        quiet(keys(env), out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    with pytest.raises(TypeError, match=f"env: expected .* got one inside {named}: "):
        audit_band(env, "GP-UCB", 1, horizon=5)


def test_a_feedback_wrapper_says_when_feedback_arrives(tmp_path: Path) -> None:
    batches, late = (
        BatchFeedback(gym.make(RKHS[0], n_arms=20), 3),
        DelayedFeedback(gym.make("GPBandit/GPSample-v0", n_arms=30), 2),
    )
    suite = as_suite(keys(batches, late))
    assert [task.feedback for task in suite.tasks] == ["batch:3", "delay:2"]
    texts = ((RKHS[0], 20, "batch:3"), ("GPBandit/GPSample-v0", 30, "delay:2"))
    stated = [{"id": id, "kwargs": {"n_arms": n}, "feedback": text} for id, n, text in texts]
    assert [spec.key for spec in suite.specs()] == [spec.key for spec in as_suite(keys(*stated)).specs()]
    with pytest.raises(ValueError, match="feedback: expected 'delay:2', as the DelayedFeedback around env says"):
        quiet(keys(late, feedback="batch:3"), out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_environments_are_taken_as_they_are_made(tmp_path: Path) -> None:
    around = WrapperSpec("Doubled", f"{__name__}:Doubled", {})
    gym.register("Test/Around-v0", f"{players.__name__}:Plain", max_episode_steps=50, additional_wrappers=(around,))
    gym.register("Test/Within-v0", _doubled_arms, max_episode_steps=50)
    gym.register("Test/Bare-v0", f"{players.__name__}:Plain", order_enforce=False, disable_env_checker=True)
    for env in (
        gym.make(RKHS[0], **RKHS[1], max_episode_steps=40, disable_env_checker=True),
        from_table(FRAME, "y", name="waves"),
        *(gym.make(id) for id in ("Test/Around-v0", "Test/Within-v0", "Test/Bare-v0")),
    ):
        as_suite(keys(env))
        with pytest.raises(TypeError, match="got one inside Doubled: "):
            as_suite(keys(Doubled(env)))


def test_each_run_has_a_name_of_its_own_in_the_frames(tmp_path: Path) -> None:
    for width, seed in ((1.0, 0), (3.0, 0), (3.0, 1)):
        Store(tmp_path / "single").write(leaderboards.run(RKHS, ("GP-UCB", {"width": width}), horizon=20, seed=seed))
    found = Results(tmp_path / "single")
    traces = found.traces(["t"])
    assert traces.groupby(["env", "agent", "seed", "repetition"]).size().to_dict() == {
        ("RKHS", "GP-UCB", 0, 0): 20,
        ("RKHS", "GP-UCB (width=3.0)", 0, 0): 20,
        ("RKHS", "GP-UCB (width=3.0)", 1, 0): 20,
    }
    with pytest.raises(TypeError, match=r"columns: expected a list, got 'reward'; for one, write \[...\] around it"):
        found.traces("reward")
    with pytest.raises(ValueError, match="columns: expected columns of traces, got 'agent', which names the run"):
        found.traces(["reward", "agent"])
    quiet(keys(horizon=10), out=tmp_path / "suite")
    found = quiet(keys(horizon=20), out=tmp_path / "suite")
    rows = found.traces(["t"]).groupby(["env", "agent", "seed", "repetition"]).size()
    assert {env: set(found) for env, found in rows.groupby("env")} == {"RKHS": {20}, "RKHS (T = 10)": {10}}
    for frame in (found.runs(), found.traces(), found.scores().rename(columns={"task": "env"})):
        assert set(frame["env"]) == {"RKHS", "RKHS (T = 10)"}
    assert found.runs().groupby(["env", "agent", "seed", "repetition"]).size().eq(1).all()


@pytest.mark.slow
def test_an_object_with_a_set_is_the_same_agent_in_every_session() -> None:
    script = """
import agents
from gpbandit_envs.code_digest import code_digest
agent = agents.make("EpsGreedy")
agent.words = {"one", "two", "three", "four"}
agent.nested = [{"more": frozenset({("a", 1), ("b", 2), None, "c"})}]
print(code_digest(agent))
agent.words.remove("four")
print(code_digest(agent))
"""
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for seed in ("1", "2", "3")
    ]
    assert said[0] == said[1] == said[2]
    assert said[0][0] != said[0][1]


def test_charts_and_page(tmp_path: Path) -> None:
    found = quiet(keys(), out=tmp_path)
    charts = found.charts()
    html = charts["cumulative_regret"]._repr_html_()
    assert html.startswith('<figure style="margin:0" role="img" aria-label="Cumulative regret against')
    assert "EpsGreedy" in html
    assert "<script" not in html
    assert "http" not in html.replace("http://www.w3.org", ""), "nothing but the namespaces of SVG"
    (axes,) = charts["cumulative_regret"].figure().axes
    drawn = axes.lines[0].get_ydata()
    np.testing.assert_array_equal(drawn, charts["cumulative_regret"].chart.lines[0].y)
    assert "nb: 4 done" in found._repr_html_()
    page = found.page()
    assert page == tmp_path / "index.html"
    text = page.read_text(encoding="utf-8")
    assert "gpbandit run" not in text, "no file has the suite"
    assert "The suite was played from Python" in text


def test_agents_of_every_kind(tmp_path: Path) -> None:
    First = first_arm(3)
    agents.register("Mine", first_arm(4))
    given = {
        "id": "Uniform",
        "pair": ("GP-UCB", {"width": 1.0}),
        "imported": agents.spec("EpsGreedy").load(),
        "class": First,
        "object": agents.make("EpsGreedy"),
        "registered": "Mine",
        "entry": {"id": "Random"},
    }
    found = quiet(keys(agents=[]), given, out=tmp_path)
    assert found.report is not None
    assert found.report.ended == {"done": 14}
    traces = found.traces(["action"])
    assert set(traces["agent"]) == set(given)
    assert set(traces.query("agent == 'class'")["action"]) == {3}
    assert set(traces.query("agent == 'registered'")["action"]) == {4}
    same = traces.set_index("agent")["action"]
    assert same["object"].tolist() == same["imported"].tolist(), "a copy of an object plays as its class"
    suite: Any = found.suite
    ids = {entry.label: entry.id for entry in suite.agents}
    assert ids["imported"] == "agents.baselines.eps_greedy:EpsGreedy"
    assert ids["class"].startswith("First#")
    assert ids["object"].startswith("EpsGreedy#")
    assert ids["registered"].startswith("Mine#")
    assert "gpbandit run" not in found.page().read_text(encoding="utf-8")
    assert "no command can rebuild it" in (tmp_path / "site" / "env-rkhs.html").read_text(encoding="utf-8")


@pytest.mark.wrong_arguments  # checks around a class's functions, made for the first few alone, count as its code
def test_an_edited_class_plays_anew_and_one_that_was_only_run_again_does_not(tmp_path: Path) -> None:
    assert quiet(keys(), [first_arm(3)], out=tmp_path).report.ended == {"done": 6}  # type: ignore[union-attr]
    assert not quiet(keys(), [first_arm(3)], out=tmp_path).report.ended  # type: ignore[union-attr]
    edited = quiet(keys(), [first_arm(5)], out=tmp_path)
    assert edited.report is not None
    assert edited.report.ended == {"done": 2}
    assert edited.suite is not None
    id = next(entry.id for entry in edited.suite.agents if entry.ref.label == "First")
    runs = edited.runs()
    runs = runs[runs["agent_id"] == id]
    assert len(runs) == 2
    assert set(edited.store.trace(str(runs.index[0]))["action"]) == {5}


class Furnace:
    def __init__(self, best: float) -> None:
        self.best = best

    def output(self, x: np.ndarray) -> float:
        return float(self.best - (x[0] - self.best) ** 2)


def test_a_function_of_another_object_is_played_anew(tmp_path: Path) -> None:
    best = []
    for at in (1.0, 7.0):
        env = from_function(Furnace(at).output, [(0, 10)], grid=21, name="furnace")
        found = quiet(keys(env, horizon=200, repetitions=1, agents=["Uniform"]), out=tmp_path)  # long enough to try all
        best.append(found.traces(["mean"])["mean"].max())
    assert best[0] <= 1.0 < best[1]


def test_objects_with_other_settings_are_other_agents(tmp_path: Path) -> None:
    First = first_arm(3)
    one, other = First(), First()
    other.chosen = 7
    found = quiet(keys(agents=[]), {"one": one, "other": other}, out=tmp_path)
    traces = found.traces(["action"])
    assert set(traces.query("agent == 'other'")["action"]) == {7}
    assert not hasattr(one, "problem"), "the object itself has not played"
    assert not quiet(keys(agents=[]), {"one": one, "other": other}, out=tmp_path).report.ended  # type: ignore[union-attr]


@dataclass(frozen=True)
class Bumps(Kernel):
    """A kernel that no spec can name."""

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.exp(-np.abs(X[:, None, :] - Y).sum(axis=-1))

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))

    def to_spec(self) -> dict[str, Any]:
        return {"name": "bumps"}


class TakesAny(players.Counter):
    """Takes anything for its kernel."""

    def __init__(self, kernel: Any = None) -> None:
        self.kernel = kernel


def test_a_kernel_of_ones_own_plays_inside_an_agent_and_not_as_a_setting(tmp_path: Path) -> None:
    built = {"Uniform": "Uniform", "mine": agents.make("GP-UCB", kernel=Bumps())}
    results = run_suite(keys(agents=built), out=tmp_path, progress=False)
    assert set(results.runs()["status"]) == {"done"}
    for wrong in (
        keys(agents={"mine": ("GP-UCB", {"kernel": Bumps()})}),
        keys(agents={"mine": (players.path(TakesAny), {"kernel": Bumps()})}),
        keys(agents={"mine": (players.path(TakesAny), {"kernel": [np.exp]})}),
        keys(gym.make(RKHS[0], n_arms=20, kernel=Bumps())),
    ):
        with pytest.raises(SuiteError, match="cannot hand on the object given as 'kernel': in Python, give the built"):
            run_suite(wrong, out=tmp_path / "wrong", progress=False)


def test_numbers_of_numpy_are_settings_as_those_of_python_are(tmp_path: Path) -> None:
    family = {"id": RKHS[0], "members": {"n_arms": (np.int64(10),)}, "kernels": {"10": {"noise_std": np.float64(0.5)}}}
    numpy = keys(family, agents=["Uniform", ("GP-UCB", {"width": np.float32(2.0)})], repetitions=1)
    plain = keys(
        {"id": RKHS[0], "members": {"n_arms": (10,)}, "kernels": {"10": {"noise_std": 0.5}}},
        agents=["Uniform", ("GP-UCB", {"width": 2.0})],
        repetitions=1,
    )
    assert as_suite(numpy) == as_suite(plain)
    assert set(quiet(numpy, out=tmp_path).runs()["status"]) == {"done"}
    assert not quiet(plain, out=tmp_path).report.ended  # type: ignore[union-attr]


def test_two_settings_of_one_agent_need_labels_and_the_error_says_how(tmp_path: Path) -> None:
    twice = [("GP-UCB", {"width": 1.0}), ("GP-UCB", {"width": 2.0})]
    said = r"in a suite's file as label = \"...\", in Python as a mapping, \{'label': \(id, kwargs\), ...\}"
    with pytest.raises(SuiteError, match=said):
        as_suite(keys(agents=twice))
    mapped = as_suite(keys(agents={"wide": ("GP-UCB", {"width": 2.0}), "narrow": ("GP-UCB", {"width": 1.0})}))
    assert [(entry.ref.label, entry.kwargs["width"]) for entry in mapped.agents] == [("wide", 2.0), ("narrow", 1.0)]
    labelled = [{"id": id, "kwargs": kwargs, "label": f"width {kwargs['width']}"} for id, kwargs in twice]
    assert [entry.ref.label for entry in as_suite(keys(agents=labelled)).agents] == ["width 1.0", "width 2.0"]


def test_two_agents_are_compared_within_repetitions(tmp_path: Path) -> None:
    agents = ["Uniform", "EpsGreedy", "GP-UCB"]
    found = quiet(keys(from_table(FRAME, "y", name="waves"), RKHS, agents=agents, repetitions=4), out=tmp_path)
    frame = found.compare("GP-UCB", "EpsGreedy")
    assert list(frame.columns) == ["metric", "difference", "low", "high", "p_single", "p", "n"]
    assert frame["p"].isna().all(), "four repetitions tell nothing"
    assert list(frame.index) == ["waves", "RKHS", "overall"]
    assert set(frame["metric"]) == {"regret_ratio"}
    assert frame["n"].tolist() == [4, 4, 8]
    totals = found.traces(["regret"]).groupby(["env", "agent", "repetition"])["regret"].sum()
    for env in ("waves", "RKHS"):
        ratio = totals[env]["GP-UCB"] / totals[env]["Uniform"] - totals[env]["EpsGreedy"] / totals[env]["Uniform"]
        assert frame.loc[env, "difference"] == pytest.approx(ratio.mean())
        assert (frame.loc[env, "low"], frame.loc[env, "high"]) == (-np.inf, np.inf)
    assert frame.loc["overall", "difference"] == pytest.approx(frame["difference"].iloc[:2].mean())
    low, middle, high = frame.loc["overall", ["low", "difference", "high"]].to_numpy(float)
    assert low < middle < high
    assert (low > 0 or high < 0) == (frame["p_single"].to_numpy(float)[-1] < 0.05)
    several = found.compare("GP-UCB", ["EpsGreedy", "Uniform"])
    np.testing.assert_array_equal(several["low"].to_numpy(float)[:3], frame["low"].to_numpy(float))
    back = found.compare("EpsGreedy", "GP-UCB")
    assert back["difference"].tolist() == pytest.approx((-frame["difference"]).tolist())
    simple = found.compare("GP-UCB", "EpsGreedy", by="simple_regret")
    assert simple["metric"].tolist() == ["simple_regret", "simple_regret", "regret_ratio"]
    assert simple["difference"].isna().tolist() == [False, False, True], "means of units do not add up"
    for pair, said in {
        ("GP-UBC", "Uniform"): "a: no agent 'GP-UBC'; did you mean 'GP-UCB'?",
        ("Uniform", "nobody"): "b: no agent 'nobody'; there are 'Uniform', ",
        ("Uniform", "Uniform"): "b: expected other agents than a, each once, got 'Uniform' twice",
    }.items():
        with pytest.raises(ValueError, match=said.replace("?", r"\?")):
            found.compare(*pair)


def test_an_environment_that_only_one_agent_played_has_no_difference(tmp_path: Path) -> None:
    found = quiet(keys(RKHS, "GPBandit/Branin-v0", agents=["Uniform", "Random", "EpsGreedy"]), out=tmp_path)
    frame = found.compare("EpsGreedy", "Random")
    assert frame["n"].to_dict() == {"RKHS": 2, "Branin": 0, "overall": 2}
    differences = frame["difference"].to_dict()
    assert np.isnan(differences["Branin"])
    assert differences["overall"] == differences["RKHS"]


def test_two_agents_are_compared_by_what_was_asked_for_where_one_is_not_ranked(tmp_path: Path) -> None:
    store = folders.folder(tmp_path, repetitions=1)
    for repetition in (1, 2):
        for agent in folders.AGENTS:
            if agent.id != "GP-UCB":
                store.write(folders.record(Ref("GPBandit/RKHS-v0"), agent, repetition))
    found = Results(tmp_path)
    assert found.ranking("RKHS")["rank"].isna().to_dict()["GP-UCB"]
    scores = summarise(store).scores
    for by, metrics in {
        "simple_regret": ["simple_regret", "simple_regret", "regret_ratio"],
        "cumulative_regret": ["regret_ratio"] * 3,
    }.items():
        frame = found.compare("GP-UCB", "EpsGreedy", by=by)
        assert frame["metric"].tolist() == metrics
        x, y = (scores["RKHS", agent].finals[metrics[0]][:1] for agent in ("GP-UCB", "EpsGreedy"))
        assert frame["difference"]["RKHS"] == pytest.approx(float((x - y)[0]))
        assert frame["n"]["RKHS"] == 1
        assert frame["n"]["overall"] == (0 if by == "simple_regret" else 2)


def test_runs_of_an_agent_whose_file_was_edited_since_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file, helper = tmp_path / "own_edited.py", tmp_path / "own_edited_helper.py"
    helper.write_text("from agents.baselines.eps_greedy import EpsGreedy as Base\n")
    file.write_text("from own_edited_helper import Base\n\n\nclass Mine(Base):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    suite = keys(agents=["Uniform", "own_edited:Mine"])
    with caplog.at_level(logging.WARNING, "gpbandit"):
        run_suite(suite, out=tmp_path / "r", progress=False)
        assert "own_edited" not in caplog.text
        later = time.time() + 5
        os.utime(file, (later, later))
        run_suite(suite, out=tmp_path / "r", progress=False)
        assert "own_edited.py was changed after 2 of these runs were played, which stay as they are" in caplog.text
        later += 5
        os.utime(helper, (later, later))
        run_suite(suite, out=tmp_path / "r", progress=False)
    assert "own_edited_helper.py was changed after 2 of these runs" in caplog.text


def test_an_edited_frame_plays_anew(tmp_path: Path) -> None:
    quiet(keys(from_table(FRAME, "y")), out=tmp_path)
    assert not quiet(keys(from_table(FRAME, "y")), out=tmp_path).report.ended  # type: ignore[union-attr]
    assert quiet(keys(from_table(FRAME.iloc[1:], "y")), out=tmp_path).report.ended == {"done": 4}  # type: ignore[union-attr]


class Slide(Agent):
    """On a box: from one end to the other."""

    capabilities = Capabilities(frozenset({"box"}))

    def reset(self, problem: Problem, rng: np.random.Generator) -> None:
        self.problem, self.t = problem, 0

    def select(self, n: int, pending: Pending) -> np.ndarray:
        if len(pending):
            return np.zeros((0, self.problem.dim))
        self.t += 1
        return np.full((1, self.problem.dim), self.t / 20)

    def observe(self, feedback: Feedback) -> None:
        pass

    def recommend(self) -> np.ndarray:
        return np.full(self.problem.dim, self.t / 20)


BOX = {"agents": ["Random", Slide]}


def test_an_unknown_optimum_is_said_plainly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    env = from_function(lambda x: -(x[0] ** 2), [(-1, 3)], name="hill")
    found = quiet(keys(env, **BOX), out=tmp_path)
    means = found.traces(["mean"])["mean"]
    best = means.max()
    expected = (best - means).groupby(np.arange(len(means)) // 12).sum()
    assert found.traces()["regret"].isna().all(), "what is stored is what was known"
    totals = found.scores().query("metric == 'cumulative_regret'")
    assert totals["mean"].sum() == pytest.approx(expected.sum() / 2)
    assert found.ranking("hill")["regret_ratio"].notna().all()
    page = found.page()
    said = "optimum unknown, regret from the best mean found"
    assert said in page.read_text(encoding="utf-8")
    text = (tmp_path / "site" / "env-hill.html").read_text(encoding="utf-8")
    assert "<b>The optimum is unknown.</b> Regret is measured from the best mean that any run here has found" in text
    assert "hill: the optimum is unknown. Regret is measured" in found._repr_html_()
    with caplog.at_level(logging.WARNING, "gpbandit"):
        leaderboards.run(env, "Random", horizon=3)
    assert "the optimum is unknown: scores measure regret from the best mean" in caplog.text


def test_a_better_find_raises_the_regret_of_all(tmp_path: Path) -> None:
    env = from_function(lambda x: -(x[0] ** 2), [(-1, 3)], name="hill")
    quiet(keys(env, agents=["Random"], repetitions=1), out=tmp_path)
    reduced: dict[str, RunScores] = {}
    before = summarise(Store(tmp_path), reduced=reduced)
    first = before.scores["hill", "Random"].finals["cumulative_regret"][0]
    (found,) = before.best_found["hill"]
    quiet(keys(env, agents=["Random", Slide], repetitions=3), out=tmp_path)
    after = summarise(Store(tmp_path), reduced=reduced)
    (better,) = after.best_found["hill"]
    assert better > found
    assert after.scores["hill", "Random"].finals["cumulative_regret"][0] == pytest.approx(first + 12 * (better - found))
    fresh = summarise(Store(tmp_path))
    for pair, scores in after.scores.items():
        np.testing.assert_allclose(scores.finals["cumulative_regret"], fresh.scores[pair].finals["cumulative_regret"])
    assert (after.scores["hill", "Slide"].finals["simple_regret"] >= 0).all()


def test_a_stated_optimum_is_measured_from(tmp_path: Path) -> None:
    env = from_function(lambda x: -(x[0] ** 2), [(-1, 3)], name="hill", optimum=0.0)
    found = quiet(keys(env, **BOX), out=tmp_path)
    traces = found.traces()
    np.testing.assert_allclose(traces["regret"], -traces["mean"])
    assert found.ranking("hill")["regret_ratio"].notna().all()
    assert "optimum is unknown" not in found._repr_html_()


def test_suites_by_name_path_and_object(tmp_path: Path) -> None:
    assert as_suite("quick").name == "quick"
    path = tmp_path / "own.toml"
    path.write_text(
        'name = "own"\nhorizon = 5\nrepetitions = 1\n'
        '[[environments]]\nid = "GPBandit/RKHS-v0"\n[[agents]]\nid = "Uniform"\n'
    )
    suite = as_suite(path, ["EpsGreedy"])
    assert [entry.id for entry in suite.agents] == ["Uniform", "EpsGreedy"]
    assert isinstance(suite, Suite)
    again = as_suite(suite, {"slow": ("EpsGreedy", {"c": 2.0})})
    assert [entry.ref.label for entry in again.agents] == ["Uniform", "EpsGreedy", "slow"]
    assert as_suite(keys(agents=[AgentEntry(id="Uniform")])).agents == (AgentEntry(id="Uniform"),)


@pytest.mark.parametrize(
    ("suite", "further", "error", "message"),
    [
        (3, (), TypeError, "suite: expected a name, a path, a mapping or a Suite, got 3"),
        ("quik", (), SuiteError, "path of a TOML file, got 'quik'; did you mean 'quick'"),
        ({"horizon": 3}, (), SuiteError, "key 'name' is missing"),
        (keys(agents=[]), (), SuiteError, "key 'agents' is missing"),
        (keys(), "Uniform", TypeError, r"agents: expected a list, got 'Uniform'; for one, write \[...\]"),
        (keys(), first_arm(1), TypeError, "agents: expected a list, got <class"),
        (keys(), [3], TypeError, r"agent: expected an id, an agents.Agent, a class of agents, or a pair of id or"),
        (keys(), [int], TypeError, "agent: expected an id"),
        (keys(), [{"idd": "Uniform"}], SuiteError, "agents: .*idd"),
        (keys(), ["Uniform"], SuiteError, "'Uniform' plays already, as 'Uniform'"),
        (keys(environments="GPBandit/RKHS-v0"), (), TypeError, "environments: expected a list, got 'GPB"),
        (keys(3), (), TypeError, "env: expected an id"),
        (keys("GPBandit/RKSH-v0"), (), SuiteError, "no environment 'GPBandit/RKSH-v0'; did you mean"),
        (
            keys(("GPBandit/Table-v0", {"file": "none.csv", "target": "y"})),
            (),
            SuiteError,
            "there is no file 'none.csv'",
        ),
    ],
)
def test_what_is_no_suite(suite: Any, further: Any, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        quiet(suite, further, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_data_that_cannot_be_had_are_fetched_once_and_cost_their_own_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, tries = tmp_path / "file", []
    build = players.Fetched.__init__

    def counted(self: players.Fetched, file: str) -> None:
        tries.append(file)
        build(self, file)

    monkeypatch.setattr(players.Fetched, "__init__", counted)
    suite = keys(RKHS, ("Test/Fetched-v0", {"file": str(file)}))
    for _ in range(2):
        tries.clear()
        caplog.clear()
        runs = quiet(suite, out=tmp_path / "out").runs()
        assert len(tries) == 1
        assert "skipped: Fetched, without its data: could not get it: everything failed (" in caplog.text
        assert "; the same call tries again" in caplog.text
        assert set(runs.loc[runs["env"] == "Fetched", "status"]) == {"skipped"}
        assert set(runs.loc[runs["env"] == "RKHS", "status"]) == {"done"}
    file.touch()
    assert set(quiet(suite, out=tmp_path / "out").runs()["status"]) == {"done"}


def test_wrong_arguments(tmp_path: Path) -> None:
    for workers in (0, True, 1.5):
        with pytest.raises(ValueError, match="workers: expected an integer >= 1"):
            quiet(keys(), out=tmp_path, workers=workers)
    with pytest.raises(ValueError, match="directory: expected a results folder with runs"):
        Results(tmp_path)
    env = gym.make(RKHS[0], **RKHS[1]).unwrapped  # type: ignore[arg-type]
    env.spec = None
    with pytest.raises(TypeError, match=r"environments: expected one that gymnasium.make has made, .*from_table"):
        as_suite(keys(env))
    quiet(keys(), out=tmp_path)
    with pytest.raises(SuiteError, match="holds results of suite 'nb': give another folder for 'other'"):
        quiet(keys(name="other"), out=tmp_path)


def test_failures_are_told_once_a_pair(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FiniteArmAgent):
        capabilities = Capabilities(frozenset({"finite"}))

        def select(self, n: int, pending: Pending) -> np.ndarray:
            raise RuntimeError("out of order")

    with caplog.at_level(logging.WARNING, "gpbandit"):
        found = quiet(keys(), [Broken], out=tmp_path)
    assert found.report is not None
    assert found.report.ended == {"done": 4, "crashed": 2}
    assert caplog.text.count("crashed: Broken on RKHS, 2 repetitions: agent: RuntimeError: out of order") == 1
    ranking = found.ranking()
    assert ranking["mean_rank"].isna().tolist() == [False, False, True]
    assert ranking["rank"].isna().all(), "two repetitions tell nobody apart"
    assert ranking.index[-1] == "Broken"


def test_rivals_that_are_named_are_a_family_of_their_own(tmp_path: Path) -> None:
    agents = ["Uniform", "EpsGreedy", "GP-UCB", "Random", "GP-AUCB"]
    found = quiet(keys(RKHS, agents=agents, repetitions=7, horizon=40), out=tmp_path)
    frame = found.compare("GP-UCB", ["Uniform", "EpsGreedy"])
    assert frame.index.names == ["other", "environment"]
    single = found.compare("GP-UCB", "Uniform")
    ranking: Any = Site(summarise(found.store)).rankings["RKHS"]
    columns = [ranking.agents.index(name) for name in ("GP-UCB", "Uniform", "EpsGreedy")]
    rng, family = np.random.default_rng(0), np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool)
    expected = flip_test(ranking.Y[:, columns], rng, family)
    for i, other in enumerate(("Uniform", "EpsGreedy"), 1):
        row = frame.to_dict("index")[other, "RKHS"]
        assert [row["p"], row["p_single"]] == [expected.p[0, i], expected.p_single[0, i]]
        assert (row["low"], row["high"]) == pytest.approx((expected.low[0, i], expected.high[0, i]), rel=1e-9)
    alone = single.to_dict("index")["RKHS"]
    assert alone["p"] == flip_test(ranking.Y[:, columns[:2]], rng).p[0, 1] == 2 / 2**7
    assert alone["high"] < 0
    with pytest.raises(ValueError, match="b: expected other agents than a, each once, got 'Uniform' twice"):
        found.compare("GP-UCB", ["Uniform", "Uniform"])
    with pytest.raises(ValueError, match="b: expected at least one agent, got none"):
        found.compare("GP-UCB", [])


SCRIPT = """
import sys
import numpy as np
import gpbandit_envs
import leaderboards
from agents import Capabilities
from agents.core.finite import FiniteArmAgent

OFFSET = 2

class First(FiniteArmAgent):
    capabilities = Capabilities(frozenset({"finite"}))

    def select(self, n, pending):
        return np.zeros(0, np.int64) if len(pending) else np.array([OFFSET])

def hill(x):
    return -float((x[0] - OFFSET) ** 2)

env = gpbandit_envs.from_function(hill, [(0, 4)], grid=9)
suite = {"name": "script", "horizon": 8, "repetitions": 3, "environments": [env], "agents": ["Uniform", First]}
found = leaderboards.run_suite(suite, out=sys.argv[1], workers=int(sys.argv[2]), progress=False)
print(sorted(found.report.ended.items()), found.traces(["mean"])["mean"].sum())
"""


@pytest.mark.slow
def test_a_class_and_a_function_of_a_script_play_in_worker_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    said = []
    for workers in ("1", "2"):
        words = [sys.executable, str(script), str(tmp_path / workers), workers]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        said.append(ended.stdout)
    assert said[0] == said[1]
    assert said[0].startswith("[('done', 6)]")
