from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import leaderboards
from gpbandit_envs.problem import Problem
from leaderboards.play.spec import Ref
from leaderboards.score import profile
from leaderboards.score.board_scores import run_scores
from leaderboards.score.profile import GROUPS, group_scores, grouped
from leaderboards.score.summary import Summary, summarise
from leaderboards.show.rebuilt import first_instance
from leaderboards.store.store import Store
from tests.leaderboards.folders import folder, record

SMALL = {"n_arms": 20, "dim": 1}
TASKS: dict[str, tuple[str, dict[str, object], str]] = {
    "plain": ("GPBandit/GPSample-v0", {"noise_std": 0.01}, "on_request"),
    "needle": ("GPBandit/Needle-v0", {}, "on_request"),
    "batches": ("GPBandit/GPSample-v0", {"noise_std": 0.01}, "batch:4"),
    "batch of one": ("GPBandit/GPSample-v0", {"noise_std": 0.01}, "batch:1"),
    "delay": ("GPBandit/GPSample-v0", {"noise_std": 0.01}, "delay:3"),
    "misspecified": (
        "GPBandit/GPSample-v0",
        {"noise_std": 0.01, "misspecification": {"lengthscale": 2.0}},
        "on_request",
    ),
    "many arms": ("GPBandit/GPSample-v0", {"noise_std": 0.01, "n_arms": 1000}, "on_request"),
    "high": ("GPBandit/GPSample-v0", {"noise_std": 0.01, "dim": 5, "lengthscale": 2.0}, "on_request"),
    "noisy": ("GPBandit/GPSample-v0", {"noise_std": 3.0}, "on_request"),
    "box": ("GPBandit/Branin-v0", {}, "on_request"),
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Summary, dict[str, Problem]]:
    store = Store(tmp_path_factory.mktemp("profile"))
    for label, (id, kwargs, feedback) in TASKS.items():
        settings = kwargs if id != "GPBandit/GPSample-v0" else {**SMALL, **kwargs}
        for agent in ("Random", "EpsGreedy") if label != "box" else ("Random",):
            one = leaderboards.run((id, settings), agent, 0, 12, feedback=feedback)
            store.write(replace(one, spec=replace(one.spec, env=replace(one.spec.env, label=label))))
    summary = summarise(store)
    return summary, {
        task: first.problem for task in summary.tasks if (first := first_instance(summary, task)) is not None
    }


def test_tasks_are_grouped_by_what_they_are(
    played: tuple[Summary, dict[str, Problem]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert grouped(*played) == {}, "groups of fewer than three tasks"
    monkeypatch.setattr(profile, "LEAST_IN_GROUP", 1)
    found = grouped(*played)
    assert {group: set(tasks) for group, tasks in found.items()} == {
        "batches": {"batches"},
        "delay": {"delay"},
        "misspecification": {"misspecified"},
        "many_arms": {"many arms", "needle"},
        "many_dimensions": {"high"},
        "noise": {"noisy", "needle"},
        "unknown_kernel": {"box"},
    }
    assert [*found, "real_data"] == [group.name for group in GROUPS]


def test_without_instances_the_settings_tell_what_they_can(
    played: tuple[Summary, dict[str, Problem]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile, "LEAST_IN_GROUP", 1)
    found = grouped(played[0], {})
    assert found["many_arms"] == ("many arms",)
    assert found["many_dimensions"] == ("high",)
    assert "noise" not in found


def test_the_score_of_a_group_is_the_mean_over_its_tasks(tmp_path: Path) -> None:
    summary = summarise(folder(tmp_path, repetitions=3))
    groups = {"all": ("RKHS", "GPSample"), "one": ("RKHS",)}
    scores = group_scores(summary, groups)
    means = {task: run_scores(summary.scores[task, "GP-UCB"], "cumulative_regret").mean() for task in summary.tasks}
    assert scores["GP-UCB"]["all"].score == pytest.approx(np.mean(list(means.values())))
    assert scores["GP-UCB"]["one"].score == pytest.approx(means["RKHS"])
    assert scores["GP-UCB"]["all"].score > scores["Uniform"]["all"].score
    assert all(score.score <= 100 for found in scores.values() for score in found.values())


def test_a_policy_worse_than_chance_scores_below_0_and_one_that_lacks_a_task_says_so(tmp_path: Path) -> None:
    envs = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")]
    store = folder(tmp_path, envs, [Ref("Uniform")], repetitions=2)
    for repetition in range(2):
        worse = record(envs[0], Ref("x:Worse"), repetition)
        worse.trace["regret"] *= 100
        store.write(worse)
    found = group_scores(summarise(store), {"all": ("RKHS", "GPSample"), "other": ("GPSample",)})["Worse"]
    assert found.keys() == {"all"}
    assert found["all"].score < -100
    assert (found["all"].tasks, found["all"].of) == (("RKHS",), 2)
