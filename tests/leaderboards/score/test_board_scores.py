"""Scores from 0 to 100, places on these tasks and on tasks like these, wins, aliases and what a set of tasks tells."""

from __future__ import annotations

import html
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import leaderboards
from benchmarks.wide_boards import TASKS, coverage
from leaderboards.play.measures import RANKED_BY
from leaderboards.play.oracle import MEAN_GAP, Oracle
from leaderboards.play.run import instance_env
from leaderboards.play.spec import Ref, RunSpec
from leaderboards.publish.boards import board
from leaderboards.score.board_scores import (
    LEAST_TASKS,
    BoardScores,
    _by_function,
    alike,
    board_scores,
    run_scores,
    wins,
)
from leaderboards.score.frames import overall_ranking
from leaderboards.score.metrics import best_so_far
from leaderboards.score.rankings import task_ranking
from leaderboards.score.summary import Summary, summarise
from leaderboards.show.overview import overview_page
from leaderboards.show.shared import Site
from leaderboards.store.store import Store
from leaderboards.verify.verify import other_instance
from tests.leaderboards.folders import folder, record


@pytest.fixture(scope="module")
def core() -> Summary:
    return summarise(board("core-v2"), n_points=2)


# ---- the scale ----


def test_the_mean_gap_of_a_box_is_that_of_uniform_points() -> None:
    run = leaderboards.run("GPBandit/Hartmann3-v0", "Random", 0, 5)
    with instance_env(run.spec) as (env, problem):
        means = env.mean(np.random.default_rng(0).random((100_000, problem.dim)))
    # 100,000 points leave a standard error; four of them, and the 0.03 % of Sobol's 4,096.
    slack = 4 * means.std() / math.sqrt(len(means)) + 3e-4 * run.facts[MEAN_GAP]
    assert run.facts[MEAN_GAP] == pytest.approx(run.facts["optimum"] - means.mean(), abs=slack)


@pytest.mark.parametrize("id", ["GPBandit/TVGPSample-v0", "GPBandit/RKHSContext-v0", "GPBandit/SleepingArms-v0"])
def test_where_the_best_arm_changes_there_is_no_mean_gap(id: str) -> None:
    with instance_env(RunSpec(env=Ref(id), agent=Ref("Random"), repetition=0, horizon=5)) as (env, problem):
        assert MEAN_GAP not in Oracle(env, problem).facts


def test_a_record_with_another_mean_gap_or_none_has_another_instance(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(leaderboards.run(("GPBandit/RKHS-v0", {"n_arms": 20}), "Uniform", 0, 5))
    (run,) = store.entries().values()
    without = {name: value for name, value in run.facts.items() if name != MEAN_GAP}
    assert other_instance(run, run.facts, run.data, exact=True) is None
    for facts in (without, run.facts | {MEAN_GAP: 1e3}):
        assert MEAN_GAP in str(other_instance(run, facts, run.data, exact=True))


# ---- scores ----


def _family(directory: Path) -> Summary:
    """A task whose instances have mean gaps of 1 and of 10, as the members of a family may."""
    store = Store(directory)
    for repetition in range(6):
        gap = 10.0 ** (repetition % 2)
        for agent, share in (("EpsGreedy", 0.25), ("BBKB", 0.5)):
            one = record(Ref("GPBandit/RKHS-v0"), Ref(agent), repetition, 20)
            frame = one.trace.assign(regret=share * gap, inference_regret=share * gap / 5)
            store.write(replace(one, trace=frame, facts={"optimum": 1.0, MEAN_GAP: gap}))
    return summarise(store)


def test_each_run_is_scored_on_the_scale_of_its_own_instance(tmp_path: Path) -> None:
    scores = _family(tmp_path).on("RKHS")
    for by, expected in (("cumulative_regret", 75), ("simple_regret", 75), ("inference_regret", 95)):
        assert run_scores(scores["EpsGreedy"], by) == pytest.approx(np.full(6, expected))
    assert run_scores(scores["EpsGreedy"], "best_so_far") == pytest.approx(np.full(6, -100 / 3 * math.log10(0.25)))


@pytest.mark.no_cover
def test_uniform_sampling_scores_nothing(core: Summary) -> None:
    """In T evaluations its regret is T mean gaps, up to the noise of its own draws."""
    for task in core.tasks:
        S = run_scores(core.scores[task, "Uniform"], "cumulative_regret")
        assert abs(S.mean()) <= 4 * max(S.std(ddof=1), 0.5) / math.sqrt(len(S)), task


def test_best_so_far_is_the_mean_of_a_step_function() -> None:
    t, regret = np.array([1, 2, 4]), np.array([[1.0, 0.1, 1e-9]])
    # Evaluation s stands for log s to log (s + 1); 1e-9 is below a thousandth.
    steps = np.log([2 / 1, 4 / 2, 5 / 4])
    assert best_so_far(t, regret, np.array([1e-3]))[0, -1] == pytest.approx(np.dot([0, -1, -3], steps) / np.log(5))
    assert best_so_far(t, regret, np.array([1e-3]))[0, 1] == pytest.approx(-np.log(3 / 2) / np.log(3))


def test_a_task_without_a_scale_is_left_out_by_name(tmp_path: Path) -> None:
    store = folder(tmp_path, envs=(Ref("GPBandit/RKHS-v0"), Ref("elsewhere/Env-v0")), repetitions=6)
    found = board_scores(summarise(store))
    assert found is not None
    assert found.tasks == ("RKHS",)
    assert found.left_out == {"Env": "the mean gap of an instance is unknown, or 0 as where all arms are equally good"}


def test_a_folder_without_a_scale_has_empty_columns(tmp_path: Path) -> None:
    folder(tmp_path, envs=(Ref("elsewhere/Env-v0"),), repetitions=6)
    ranking = leaderboards.Results(tmp_path).ranking()
    assert ranking[["score", "score_low", "score_high", "wins"]].isna().all(axis=None)
    assert ranking["rank"].notna().all(), "by the mean rank"
    assert (
        "Env: the mean gap of an instance is unknown, or 0 as where all arms are equally good"
        in leaderboards.Results(tmp_path).page().read_text()
    )


# ---- places ----


def _scored(tmp_path: Path, regrets: dict[str, list[float]]) -> leaderboards.Results:
    """A folder of two environments on which agents have these scores by cumulative regret, in per cent of the gap."""
    store = Store(tmp_path)
    for env in ("GPBandit/RKHS-v0", "GPBandit/GPSample-v0"):
        for agent, shares in regrets.items():
            for repetition, share in enumerate(shares):
                one = record(Ref(env), Ref(agent), repetition, 20)
                frame = one.trace.assign(regret=share / 100, inference_regret=share / 100)
                store.write(replace(one, trace=frame, facts={"optimum": 1.0, MEAN_GAP: 1.0}))
    return leaderboards.Results(tmp_path)


def test_a_page_has_one_ranking_with_places_and_its_sentence(tmp_path: Path) -> None:
    """Uniform is last in mean score, for one bad repetition, and first in mean rank: its places are by the score."""
    often, seldom = [10.0] * 9 + [90.0], [12.0, 11.0] * 5
    results = _scored(tmp_path, {"EpsGreedy": often, "BBKB": seldom})
    ranking = results.ranking()
    assert ranking.index.tolist() == ["BBKB", "EpsGreedy"]
    assert ranking["mean_rank"].tolist() == pytest.approx([1.9, 1.1])
    assert ranking["rank"].tolist() == [1, 1], "one bad repetition of ten tells nobody apart"
    site = Site(summarise(results.store))
    page = overview_page(site)
    assert [row.place.text for row in page["score_tables"][0].tabs[0].rows] == ["1=", "1="]
    assert [row.name for row in page["rankings"][0]["rows"]] == ["BBKB", "EpsGreedy"]
    assert [row.place.text for row in page["rankings"][0]["rows"]] == ["compare", "compare"]
    assert site.best_agents() == ["BBKB", "EpsGreedy"]
    clear = _scored(tmp_path / "clear", {"EpsGreedy": [20.0] * 9 + [21.0], "BBKB": seldom})
    said = clear.sentence("EpsGreedy", "BBKB")
    # Differences are 8 and 9, five times each, and once a tenth is 10; twenty blocks, and all of one sign.
    assert said == clear.sentence("BBKB", "EpsGreedy")
    assert said.startswith("By cumulative regret, BBKB has a higher score than EpsGreedy on 2 of 2 environments; ")
    assert "the difference of the mean scores is 8.6 (95 %: " in said
    assert said.endswith(", on these tasks), p < 0.001 over this pair alone.")
    assert html.escape(said) in clear.page().read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="b: no agent 'BBKP'"):
        clear.sentence("BBKB", "BBKP")


def test_a_sentence_says_which_pairs_its_p_is_adjusted_for(core: Summary) -> None:
    found = board_scores(core)
    assert found is not None
    first, second, *_, last = found.ordered
    k = len(found.agents)
    said = found.sentence(last, first)
    i, j = found.agents.index(first), found.agents.index(last)
    assert f"{first} has a higher score than {last} on " in said
    assert "on tasks like these), p < 0.001 over all " in said
    assert said.endswith(f"over all {k * (k - 1) // 2} pairs of {k} agents.")
    assert f"is {found.S[:, i].mean() - found.S[:, j].mean():.1f} (95 %" in said
    own = board_scores(replace(core, against="it", rivals=frozenset(core.agents) - {second}))
    assert own is not None
    assert own.sentence(first, second).endswith(f"over the {k - 1} pairs of 1 own agent with {k - 1} others.")
    assert own.sentence(first, last) == said
    assert found.sentence(first, first) == ""


def test_intervals_hold_for_tasks_like_these() -> None:
    """Four of the cases of `docs/robustness.md` with fewer boards; the bound is 4 standard errors below it."""
    for i, (name, draw) in enumerate(list(TASKS.items())[:4]):
        wide, narrow = coverage(draw, 28, 10, 400, np.random.default_rng(i))
        least = 0.92 if name != "one in ten of size 4" else 0.918
        assert wide >= least - 4 * math.sqrt(least * (1 - least) / 400), name
        assert narrow < wide


def test_few_tasks_place_agents_on_these_tasks_alone(core: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = list(core.tasks)
    whole, few = board_scores(core), board_scores(core, tasks[: LEAST_TASKS - 1])
    assert whole is not None
    assert few is not None
    assert (whole.is_wide, whole.ranking.n) == (True, 28)
    assert (few.is_wide, few.ranking.n) == (False, 10 * (LEAST_TASKS - 1))
    # More repetitions than tasks tell more agents apart, of these tasks.
    monkeypatch.setattr("leaderboards.score.board_scores.LEAST_TASKS", 100)
    narrow = board_scores(core)
    assert narrow is not None
    assert (narrow.ranking.group == 1).sum() < (whole.ranking.group == 1).sum()
    for mine, wide in zip(whole.narrow, whole.wide):
        assert mine.estimate == pytest.approx(wide.estimate)
        assert mine.high - mine.low < wide.high - wide.low


def test_tasks_of_one_function_count_as_one() -> None:
    Y, Z = np.random.default_rng(0).random((2, 10, 3))
    f, g = ("f", ()), ("g", ())
    np.testing.assert_allclose(_by_function([Y, Y], [f, f])[0], Y)
    joined = _by_function([Y, Z, Y], [f, g, f])
    assert len(joined) == 2
    np.testing.assert_allclose(np.mean(joined, axis=(0, 1)), np.mean([Y, Z, Y], axis=(0, 1)))


def test_rows_that_played_alike_are_one_row(core: Summary) -> None:
    found = alike(core)
    assert found == {"UncertaintySampling": ("MVR",)}
    placed = board_scores(core, aliases=found)
    assert placed is not None
    assert "MVR" not in placed.agents
    assert placed.row("MVR") == placed.row("UncertaintySampling")
    assert len(placed.agents) == len(core.agents) - 1


def test_clones_move_no_score_no_order_and_no_wins(core: Summary) -> None:
    cloned = replace(core, agents=dict(core.agents), scores=dict(core.scores))
    for i in range(10):
        cloned.agents[f"clone {i}"] = Ref(f"clones:Clone{i}")
        for task in core.tasks:
            cloned.scores[task, f"clone {i}"] = core.scores[task, "GP-UCB, width 2"]
    for by in RANKED_BY:
        before, after = (board_scores(one, by=by, aliases=alike(one)) for one in (core, cloned))
        assert before is not None
        assert after is not None
        assert after.ordered == before.ordered
        assert np.array_equal(after.S, before.S)
        assert np.array_equal(after.wins, before.wins)
        assert np.array_equal(after.ranking.group, before.ranking.group)
        assert len(after.aliases["GP-UCB, width 2"]) == 10


def test_ranks_do_not_depend_on_the_order_of_a_sum(core: Summary) -> None:
    rng = np.random.default_rng(0)
    exact = {task: task_ranking(core, task) for task in core.tasks}
    twins = {task: replace(one, Y=one.Y.copy()) for task, one in exact.items() if one is not None}
    for one in twins.values():
        one.Y[:, 1] = one.Y[:, 0]
    dusty = {
        task: replace(one, Y=one.Y * (1 + 1e-14 * rng.standard_normal(one.Y.shape))) for task, one in twins.items()
    }
    plain, moved = overall_ranking(dict(twins)), overall_ranking(dict(dusty))
    assert plain is not None
    assert moved is not None
    assert [x.estimate for x in plain.mean_rank] == [x.estimate for x in moved.mean_rank]
    assert plain.mean_rank[0].estimate == plain.mean_rank[1].estimate
    S = np.array([[1.0, 1.0 + 1e-14], [2.0, 2.0 - 1e-14]])
    assert wins(S, ["A", "B"]).tolist() == [0.5, 0.5]


def test_settings_of_one_policy_share_its_weight() -> None:
    S = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0]])
    assert wins(S, ["A", "B", "C"]).tolist() == [1.0, 0.0, 0.5]
    # Nine further settings of B, which lose as the first does; C neither gains nor loses.
    many = np.concatenate([S, np.tile([[0.5]], (2, 9))], axis=1)
    assert wins(many, ["A", "B", "C", *["B"] * 9])[[0, 2]].tolist() == [1.0, 0.5]
    assert np.isnan(wins(S, ["A", "A", "A"])).all()


# ---- what tasks tell ----


def test_a_folder_of_one_agent_has_scores(tmp_path: Path) -> None:
    store = Store(tmp_path)
    spec = RunSpec(env=Ref("GPBandit/RKHS-v0"), agent=Ref("EpsGreedy"), repetition=0, horizon=20)
    store.write(record(spec.env, spec.agent, 0, 20))
    found = board_scores(summarise(store))
    assert isinstance(found, BoardScores)
    assert found.agents == ("EpsGreedy",)
    assert np.isnan(found.wins).all()
