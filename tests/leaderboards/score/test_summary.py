from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpbandit_envs.channels import as_channel
from leaderboards.play.measures import COLUMNS, completion_times
from leaderboards.play.spec import Ref
from leaderboards.play.suite import Suite, parse_suite
from leaderboards.score.frames import overall_ranking
from leaderboards.score.metrics import METRICS
from leaderboards.score.rankings import task_ranking
from leaderboards.score.scores import reduce_run, subsample_times
from leaderboards.score.statistics import score_interval
from leaderboards.score.summary import curve_table, score_table, summarise, unfinished_runs
from leaderboards.show.shared import Site
from leaderboards.store.store import Store
from tests.leaderboards.folders import Failure, folder, record, trace


@given(st.integers(1, 5000), st.integers(2, 200), st.sampled_from(["linear", "log", "mixed"]))
def test_thinned_times_are_few_distinct_and_reach_both_ends(T: int, n: int, spacing: str) -> None:
    t = subsample_times(T, n, spacing)
    assert t[0] == 1
    assert t[-1] == T
    assert (np.diff(t) > 0).all()
    assert len(t) <= n or len(t) == T


def test_a_reduced_run_is_its_full_curves_at_the_kept_times() -> None:
    frame = trace(300, 0.5, np.random.default_rng(0), batch=7)
    t = subsample_times(300, 20)
    arrays = {name: frame[name].to_numpy() for name in (*COLUMNS, "reward")}
    scores = reduce_run(arrays, t, as_channel("batch:7"), ["reward"])
    curves, finals = scores.curves, scores.finals
    np.testing.assert_array_equal(scores.diagnostics["reward"], frame["reward"].to_numpy()[t - 1])
    np.testing.assert_allclose(curves["cumulative_regret"], frame["regret"].cumsum().to_numpy()[t - 1])
    np.testing.assert_allclose(curves["average_regret"] * t, curves["cumulative_regret"])
    assert finals["batches"] == 43
    assert finals["simulated_time"] == 43, "batches of seven on ten workers take one unit each"
    with pytest.raises(ValueError, match="trace: expected 300 evaluations, got 299"):
        reduce_run({name: x[:-1] for name, x in arrays.items()}, t, as_channel("batch:7"))


def test_under_workers_there_is_a_clock_and_no_batch() -> None:
    """Whose times are those of the channel: see `completion_times` among the metrics."""
    frame = trace(40, 0.5, np.random.default_rng(0)).assign(cost=1.0 + 3 * np.arange(40) % 7)
    arrays = {name: frame[name].to_numpy() for name in COLUMNS}
    finals = reduce_run(arrays, np.arange(1, 41), as_channel("workers:4")).finals
    assert finals["simulated_time"] == completion_times(arrays["cost"], arrays["batch"], 4).max()
    assert np.isnan(finals["batches"]), "deliveries of single evaluations are no batches"


@pytest.mark.parametrize("feedback", ["delay:3", "geometric:2"])
def test_delays_counted_in_evaluations_have_neither_clock_nor_batches(feedback: str) -> None:
    frame = trace(30, 0.5, np.random.default_rng(0))
    arrays = {name: frame[name].to_numpy() for name in COLUMNS}
    scores = reduce_run(arrays, subsample_times(30), as_channel(feedback))
    curves = scores.curves
    for name in ("simulated_time", "batches"):
        assert np.isnan(curves[name]).all()
    assert np.isfinite(scores.finals["cumulative_regret"])


def test_scores_of_a_folder_are_those_of_its_traces(tmp_path: Path) -> None:
    store = folder(tmp_path)
    summary = summarise(store)
    table = score_table(summary)
    assert set(table["metric"]) == set(METRICS)
    scores = {(str(row["task"]), str(row["agent"]), str(row["metric"])): row for row in table.to_dict("records")}
    runs = store.runs().reset_index()
    total = {
        (run["env"], run["agent"], run["repetition"]): store.trace(run["key"])["regret"].sum()
        for run in runs.to_dict("records")
    }
    ratios = np.array([total["RKHS", "BBKB", r] / total["RKHS", "Uniform", r] for r in range(4)])
    expected = score_interval(ratios)
    found = scores["RKHS", "BBKB", "regret_ratio"]
    assert (found["mean"], found["low"], found["high"]) == pytest.approx(
        (expected.estimate, expected.low, expected.high)
    )
    assert found["median"] == pytest.approx(np.median(ratios))
    assert scores["GPSample", "Uniform", "regret_ratio"]["mean"] == 1
    curves = curve_table(summary)
    assert set(curves["metric"]) == {name for name, metric in METRICS.items() if metric.has_curve}
    last = curves[(curves["task"] == "RKHS") & (curves["agent"] == "BBKB") & (curves["metric"] == "regret_ratio")]
    assert last["mean"].iloc[-1] == pytest.approx(expected.estimate)


def test_without_the_uniform_policy_there_is_no_ratio_but_a_ranking(tmp_path: Path) -> None:
    summary = summarise(folder(tmp_path, agents=[Ref("GP-UCB"), Ref("EpsGreedy")], repetitions=6))
    assert np.isnan(summary.scores["RKHS", "GP-UCB"].finals["regret_ratio"]).all()
    found: Any = task_ranking(summary, "RKHS")
    assert found.metric == "cumulative_regret"
    assert found.ranking.group.tolist() == [2, 1]  # in order of name: EpsGreedy, GP-UCB


def test_pairs_are_the_same_repetition_of_the_same_seed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    env, agents = Ref("GPBandit/RKHS-v0"), (Ref("Uniform"), Ref("GP-UCB"))
    for seed, repetition in ((0, 0), (0, 1), (5, 0)):
        for agent in agents:
            store.write(record(env, agent, repetition, seed=seed))
    store.write(record(env, agents[1], 7))  # no uniform run to compare with
    cell = summarise(store).scores["RKHS", "GP-UCB"]
    assert cell.blocks == ((0, 0), (0, 1), (0, 7), (5, 0))
    np.testing.assert_array_equal(np.isnan(cell.finals["regret_ratio"]), [False, False, True, False])


def test_labels_that_collide_are_told_apart_by_their_settings(tmp_path: Path) -> None:
    agents = [Ref("GP-UCB"), Ref("GP-UCB", {"width": "theory"}), Ref("GP-UCB", {"width": 2.0})]
    envs = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/RKHS-v0", {"dim": 3})]
    summary = summarise(folder(tmp_path, envs, agents, repetitions=2))
    assert len(summary.tasks) == 2
    settings = {"GP-UCB (default settings)", 'GP-UCB (width="theory")', "GP-UCB (width=2.0)"}
    assert len(settings & set(summary.agents)) == 2, "one of them, the first in the folder, has the plain label"
    assert "GP-UCB" in summary.agents
    assert set(summary.tasks) in ({"RKHS", "RKHS (dim=3)"}, {"RKHS", "RKHS (default settings)"})
    assert len(summary.scores) == 6


def test_unknown_regret_is_not_ranked(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for repetition in range(2):
        frame = trace(20, 0.5, np.random.default_rng(repetition)).assign(regret=np.nan, mean=np.nan)
        store.write(record(Ref("GPBandit/RKHS-v0"), Ref("GP-UCB"), repetition, 20, frame=frame))
    summary = summarise(store)
    assert task_ranking(summary, "RKHS") is None
    assert overall_ranking({"RKHS": None}) is None


def test_an_unfinished_agent_is_not_ranked_and_does_not_shrink_the_blocks(tmp_path: Path) -> None:
    store = folder(tmp_path)
    summary = summarise(store)
    victim = summary.runs[(summary.runs["agent"] == "BBKB") & (summary.runs["task"] == "RKHS")].index[0]
    (tmp_path / "runs" / f"{victim}.parquet").unlink()
    summary = summarise(Store(tmp_path))
    found: Any = task_ranking(summary, "RKHS")
    assert "BBKB" not in found.agents
    assert len(found.blocks) == 4
    every: Any = overall_ranking({task: task_ranking(summary, task) for task in summary.tasks})
    assert set(every.agents) == {"Uniform", "EpsGreedy", "GP-UCB", "GP-AUCB"}
    assert every.agents[int(np.argmin(every.ranking.group))] in ("GP-UCB", "GP-AUCB")


def test_gaps_are_named_with_their_reasons(tmp_path: Path) -> None:
    suite = parse_suite(
        {
            "name": "small",
            "horizon": 60,
            "repetitions": 6,
            "environments": [{"id": "GPBandit/RKHS-v0"}],
            "agents": [{"id": "Uniform"}, {"id": "GP-UCB"}, {"id": "BBKB"}],
        }
    )
    failures: dict[tuple[str, str], Failure] = {("RKHS", "GP-UCB"): ("crashed", "ValueError: no", "Traceback ...")}
    store = folder(tmp_path, [Ref("GPBandit/RKHS-v0")], [Ref("Uniform"), Ref("GP-UCB")], 4, failures=failures)
    store.write_suite(suite)
    gaps = unfinished_runs(summarise(Store(tmp_path)))
    found = [tuple(row) for row in gaps[["agent", "status", "n", "repetitions"]].itertuples(index=False)]
    assert found[0] == ("GP-UCB", "crashed", 4, "0–3")
    assert set(found[1:]) == {
        ("Uniform", "missing", 2, "4–5"),
        ("GP-UCB", "missing", 2, "4–5"),
        ("BBKB", "missing", 6, "0–5"),
    }
    assert gaps.loc[0, "error"] == "Traceback ..."


def test_an_empty_folder_is_an_empty_summary(tmp_path: Path) -> None:
    summary = summarise(Store(tmp_path))
    assert summary.runs.empty
    assert score_table(summary).empty
    assert curve_table(summary).empty


def asked(**changes: Any) -> Suite:
    values = {"name": "small", "horizon": 20, "repetitions": 2, "agents": [{"id": "Uniform"}, {"id": "GP-UCB"}]}
    return parse_suite({**values, "environments": [{"id": "GPBandit/RKHS-v0"}], **changes})


def play_suite(store: Store, suite: Suite, horizons: tuple[int, ...]) -> None:
    for spec in suite.specs():
        if spec.horizon in horizons:
            store.write(record(spec.env, spec.agent, spec.repetition, spec.horizon, seed=spec.seed))
    store.write_suite(suite)


def test_one_environment_with_two_horizons_is_two_tasks_with_their_labels(tmp_path: Path) -> None:
    env = {"id": "GPBandit/RKHS-v0"}
    store = Store(tmp_path)
    play_suite(
        store, asked(environments=[{**env, "label": "short"}, {**env, "label": "long", "horizon": 60}]), (20, 60)
    )
    runs = store.runs()
    assert set(zip(runs["env"], runs["horizon"])) == {("short", 20), ("long", 60)}
    summary = summarise(store)
    assert [(name, task.horizon, task.in_suite) for name, task in summary.tasks.items()] == [
        ("short", 20, True),
        ("long", 60, True),
    ]
    assert unfinished_runs(summary).empty


def test_gaps_are_on_the_task_that_the_suite_asks_for_and_what_it_does_not_is_apart(tmp_path: Path) -> None:
    store = Store(tmp_path)
    play_suite(store, asked(), (20,))
    store.write_suite(asked(horizon=60))
    gaps = unfinished_runs(summarise(store))
    assert set(zip(gaps["task"], gaps["agent"])) == {("RKHS", "Uniform"), ("RKHS", "GP-UCB")}
    store.write(record(Ref("GPBandit/RKHS-v0"), Ref("Uniform"), 0, 60))
    summary = summarise(store)
    assert [(name, task.horizon, task.in_suite) for name, task in summary.tasks.items()] == [
        ("RKHS", 60, True),
        ("RKHS (T = 20)", 20, False),
    ]
    gaps = unfinished_runs(summary)
    assert set(zip(gaps["task"], gaps["agent"], gaps["n"])) == {("RKHS", "Uniform", 1), ("RKHS", "GP-UCB", 2)}
    found = Site(summary).overall["all environments"]
    assert (found.tasks, found.agents) == (("RKHS",), ("Uniform",))


def test_runs_of_another_seed_than_the_suites_have_a_cell_of_their_own(tmp_path: Path) -> None:
    store = Store(tmp_path)
    play_suite(store, asked(), (20,))
    play_suite(store, asked(seed=7), (20,))
    summary = summarise(store)
    assert {name: (task.seed, task.in_suite) for name, task in summary.tasks.items()} == {
        "RKHS": (None, True),
        "RKHS (seed 0)": (0, False),
    }
    assert summary.scores["RKHS", "GP-UCB"].blocks == ((7, 0), (7, 1))
    assert summary.scores["RKHS (seed 0)", "GP-UCB"].blocks == ((0, 0), (0, 1))


def test_agents_that_the_suite_does_not_ask_for_are_ranked_with_the_others(tmp_path: Path) -> None:
    store = Store(tmp_path)
    play_suite(store, asked(), (20,))
    for repetition in range(2):
        store.write(record(Ref("GPBandit/RKHS-v0"), Ref("other:GP-UCB"), repetition, 20))
    found = Site(summarise(store)).overall["all environments"]
    assert found.agents == ("Uniform", "GP-UCB", "GP-UCB (other:GP-UCB)")


def test_without_an_optimum_regret_is_measured_from_the_best_mean_on_the_instance(tmp_path: Path) -> None:
    """Functions drawn anew in each repetition: the best of one says nothing of another."""
    store = Store(tmp_path)
    env, rng = Ref("Lab/Drawn-v0"), np.random.default_rng(0)
    means: dict[tuple[str, int], np.ndarray] = {}
    for agent in ("Uniform", "GP-UCB"):
        for repetition in range(2):
            mean = means[agent, repetition] = rng.normal(10 * repetition, 1, 30)
            frame = trace(30, 0.5, rng).assign(mean=mean, regret=np.nan, inference_regret=np.nan)
            store.write(record(env, Ref(agent), repetition, 30, frame=frame))
    summary = summarise(store)
    best = [max(means[agent, r].max() for agent in ("Uniform", "GP-UCB")) for r in range(2)]
    assert summary.best_found == {"Drawn": tuple(best)}
    for agent in ("Uniform", "GP-UCB"):
        expected = [30 * best[r] - means[agent, r].sum() for r in range(2)]
        np.testing.assert_allclose(summary.scores["Drawn", agent].finals["cumulative_regret"], expected)
        assert np.isnan(summary.scores["Drawn", agent].finals["inference_regret"]).all()
    assert task_ranking(summary, "Drawn") is not None


def test_a_run_that_does_not_know_all_means_has_no_regret(tmp_path: Path) -> None:
    frame = trace(30, 0.5, np.random.default_rng(0)).assign(regret=np.nan)
    frame.loc[3, "mean"] = np.nan
    store = Store(tmp_path)
    store.write(record(Ref("Lab/Dark-v0"), Ref("Uniform"), 0, 30, frame=frame))
    summary = summarise(store)
    assert summary.best_found == {}
    assert np.isnan(summary.scores["Dark", "Uniform"].finals["cumulative_regret"]).all()
