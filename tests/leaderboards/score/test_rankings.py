"""Ranks within classes of tasks, ratios on boxes, and the choice of the metric."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from leaderboards.api.results import Results
from leaderboards.cli.ranking import _score_lines, short_ranking
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.play.spec import Ref
from leaderboards.publish.boards import board
from leaderboards.score.answer import standing
from leaderboards.score.board_scores import board_scores
from leaderboards.score.rankings import class_rankings, ranking_over, task_classes, task_ranking
from leaderboards.score.reliability import LEAST_RELIABILITY, Reliability, reliability
from leaderboards.score.statistics import score_interval
from leaderboards.score.summary import Summary, summarise
from leaderboards.show import build_page
from leaderboards.show.environment import task_charts
from leaderboards.show.format import between, number
from leaderboards.show.overview import filtered_rankings, overview_page
from leaderboards.show.paper import latex_table
from leaderboards.show.scores import class_scores
from leaderboards.show.shared import NOT_TOLD, TOLD, Site
from leaderboards.show.table import score_cell
from leaderboards.store.store import Store
from tests.browser import Open
from tests.leaderboards.folders import AGENTS, folder, record, trace

ARMS = (Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0"))
BOXES = (Ref("GPBandit/Branin-v0"), Ref("GPBandit/Hartmann3-v0"), Ref("GPBandit/Hartmann6-v0"))
POWERS = {"Random": 0.0, "EpsGreedy": 0.3, "BBKB": 0.7, "UHE-BO": 0.6, "Portfolio": 0.4}


def mixed(directory: Path, repetitions: int = 6) -> Store:
    """Arms and boxes, where only `Random` plays both: two other agents play arms, two play boxes."""
    store = Store(directory)
    for env in (*ARMS, *BOXES):
        box = env in BOXES
        for agent in ("Random", *(("UHE-BO", "Portfolio") if box else ("EpsGreedy", "BBKB"))):
            for repetition in range(repetitions):
                rng = np.random.default_rng([repetition, *map(ord, env.label + agent)])
                frame = trace(60, POWERS[agent], rng)
                if box:
                    frame = frame.rename(columns={"action": "action_0"}).astype({"action_0": np.float64})
                store.write(record(env, Ref(agent), repetition, 60, frame=frame))
    return store


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return summarise(mixed(tmp_path_factory.mktemp("mixed")))


def test_agents_are_placed_within_the_classes_that_they_play(summary: Summary) -> None:
    classes = task_classes(summary)
    assert {one.name: one.tasks for one in classes} == {
        "arms": ("GPSample", "RKHS"),
        "boxes": ("Branin", "Hartmann3", "Hartmann6"),
    }
    rankings = {task: task_ranking(summary, task) for task in summary.tasks}
    found = class_rankings(summary, classes, rankings)
    assert found["arms"].ordered == ("BBKB", "EpsGreedy", "Random")
    assert found["boxes"].ordered == ("UHE-BO", "Portfolio", "Random")
    assert found["boxes"].tasks == ("Branin", "Hartmann3", "Hartmann6")
    assert ranking_over(summary, summary.tasks, rankings) is None, "Random alone has played all: that is no place"


def test_boxes_have_a_regret_ratio_against_random(summary: Summary) -> None:
    assert summary.reference("Branin") == "Random"
    R = {agent: summary.scores["Branin", agent].finals["cumulative_regret"] for agent in ("UHE-BO", "Random")}
    ratio = summary.scores["Branin", "UHE-BO"].finals["regret_ratio"]
    np.testing.assert_allclose(ratio, R["UHE-BO"] / R["Random"])
    found = task_ranking(summary, "Branin")
    assert found is not None
    assert found.metric == "regret_ratio"


def test_uniform_goes_before_random_where_both_play(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for agent in (Ref("Random"), Ref("Uniform", {"recommend": "last"}, label="other"), Ref("Uniform")):
        store.write(record(ARMS[0], agent, 0, 20))
    assert summarise(store).reference("RKHS") == "Uniform"


def test_classes_that_the_same_agents_play_are_one(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for env, column in ((ARMS[0], "action"), (BOXES[0], "action_0")):
        for agent in ("Random", "GP-UCB"):
            frame = trace(20, 0.5, np.random.default_rng(0)).rename(columns={"action": column})
            store.write(record(env, Ref(agent), 0, 20, frame=frame))
    (only,) = task_classes(summarise(store))
    assert (only.name, only.tasks) == ("all environments", ("Branin", "RKHS"))


@pytest.mark.parametrize("metric", ["simple_regret", "inference_regret"])
def test_agents_are_ranked_by_another_metric(tmp_path: Path, metric: str) -> None:
    """One agent explores at a cost and ends near the optimum; the other is cheap and never gets there."""
    store = Store(tmp_path)
    for repetition in range(8):
        noise = np.random.default_rng(repetition).uniform(0, 0.01, 60)
        for agent, regret in (("Explores", np.append(np.full(59, 1.0), 0.05)), ("Stays", np.full(60, 0.3))):
            frame = trace(60, 0.0, np.random.default_rng(0)).assign(regret=regret + noise)
            frame["inference_regret"] = np.minimum.accumulate(frame["regret"])
            store.write(record(ARMS[0], Ref(f"a:{agent}", label=agent), repetition, 60, frame=frame))
    results = Results(tmp_path)
    assert results.ranking().index.tolist() == ["Stays", "Explores"]
    assert results.ranking(by=metric).index.tolist() == ["Explores", "Stays"]
    assert results.ranking(by=metric).loc["Explores", "rank"] == 1
    assert results.ranking("RKHS", by=metric).columns[3] == metric
    summary = summarise(store)
    with pytest.raises(ValueError, match=r"by: expected one of cumulative_regret, simple_regret.*got 'batches'"):
        task_ranking(summary, "RKHS", "batches")


@pytest.fixture
def half_played(tmp_path: Path) -> Store:
    """All agents have played six repetitions; GP-UCB has played five, and EpsGreedy twelve, of which six went badly."""
    store = folder(tmp_path, ARMS[:1], AGENTS, 5)
    for agent in AGENTS:
        if agent.id != "GP-UCB":
            store.write(record(ARMS[0], agent, 5))
    for repetition in range(6, 12):
        frame = trace(60, 0.0, np.random.default_rng(repetition))
        frame["regret"] *= 10
        store.write(record(ARMS[0], Ref("EpsGreedy"), repetition, frame=frame))
    return store


def test_scores_are_shown_of_the_repetitions_that_were_ranked(half_played: Store) -> None:
    results = Results(half_played)
    site = Site(summarise(half_played), ranked_by="simple_regret")
    ranking = site.rankings["RKHS"]
    assert ranking is not None
    assert len(ranking.blocks) == 6
    frame = results.ranking("RKHS", by="simple_regret")
    assert frame["n"].to_dict() == {"Uniform": 6, "EpsGreedy": 6, "GP-UCB": 5, "BBKB": 6, "GP-AUCB": 6}
    assert frame["rank"].isna().to_dict() == {name: name == "GP-UCB" for name in frame.index}
    text = latex_table(site), Results(half_played).page(by="simple_regret").read_text("utf-8")
    for i, agent in enumerate(ranking.agents):
        mean = score_interval(ranking.Y[:, i])
        assert [frame[name][agent] for name in ("simple_regret", "low", "high")] == [mean.estimate, mean.low, mean.high]
        assert results.ranking(by="simple_regret").loc[agent, "RKHS"] == mean.estimate
        cell = score_cell(site, "RKHS", agent, "simple_regret", ranked=True)
        assert (cell.sort, cell.interval) == (mean.estimate, between(mean))
        low, high = between(mean).split(" – ")
        assert f"{agent} & " in text[0]
        assert f"${number(mean.estimate)}$ (${low}$--${high}$)" in text[0]
        assert between(mean) in text[1]
    # Along the run too, and over all environments: the bad repetitions are on no page.
    shown = site.shown.scores["RKHS", "EpsGreedy"]
    assert shown.blocks == ranking.blocks
    assert (
        shown.curves["cumulative_regret"].max()
        < 60
        < site.summary.scores["RKHS", "EpsGreedy"].finals["cumulative_regret"].max()
    )
    charts = task_charts(site, "RKHS")
    assert len([line for line in charts[0].lines if line.name == "GP-UCB"]) == 1
    unranked = site.summary.scores["RKHS", "GP-UCB"]
    assert site.shown.scores["RKHS", "GP-UCB"] is unranked
    assert score_cell(site, "RKHS", "GP-UCB", "simple_regret").why == "not ranked: finished 5 of 6 repetitions"
    assert results.scores().query("agent == 'EpsGreedy'")["n"].eq(12).all()


@pytest.mark.slow
def test_too_few_repetitions_for_the_test_over_all_are_named(tmp_path: Path) -> None:
    for n in (5, 6):
        found = summarise(mixed(tmp_path / str(n), n))
        (first, *_) = task_classes(found)
        over = ranking_over(found, first.tasks[:1], {task: task_ranking(found, task) for task in found.tasks})
        assert over is not None
        told = f"too few repetitions to tell agents apart: {n} have finished, places begin at 6"
        assert (over.ranking.caveat == told) == (n == 5)
        assert over.ranking.is_told == (n == 6)
        assert (len(set(over.ranking.group)) > 1) == (n == 6), "which is what the caveat is about"
        table = next(each for each in overview_page(Site(found))["rankings"] if each["name"] == first.name)
        assert "too few" not in table["basis"], "which has several environments"
    alone = folder(tmp_path / "one", [ARMS[0]], repetitions=5)
    told = "too few repetitions to tell agents apart: 5 have finished, places begin at 6"
    lines = list(short_ranking(alone))
    assert [line for line in lines if told in line]
    assert [line for line in lines if line.startswith("  –   BBKB  (score ")]
    site = Site(summarise(alone))
    page = overview_page(site)
    assert told in page["rankings"][0]["basis"]
    assert {row.place.text for row in page["score_tables"][0].tabs[0].rows} == {"–"}
    assert Results(alone).ranking()["rank"].isna().all()
    assert site.rank("RKHS", "BBKB") is None
    text = build_page(alone.directory).parent.joinpath("site", "env-rkhs.html").read_text(encoding="utf-8")
    assert "Fewer than 6 repetitions tell nobody apart, so there are no places." in text


def test_frames_have_a_row_in_each_class_that_an_agent_plays(tmp_path: Path) -> None:
    frame = Results(mixed(tmp_path, 3).directory).ranking()
    assert list(frame.columns[:1]) == ["class"]
    random = frame.loc["Random"]
    assert random["class"].tolist() == ["boxes", "arms"]
    assert random["tasks"].tolist() == [3, 2]
    assert frame[frame["class"] == "boxes"].index.tolist() == ["UHE-BO", "Portfolio", "Random"]


def test_the_overview_ranks_each_class_anew_under_every_filter(summary: Summary) -> None:
    site = Site(summary)
    tables = {table["name"]: table for table in overview_page(site)["rankings"]}
    assert [row.name for row in tables["boxes"]["rows"]] == ["UHE-BO", "Portfolio", "Random"]
    assert tables["boxes"]["basis"] == "Mean ranks rest on 3 environments and are of 3 agents"
    assert len(tables["boxes"]["rows"][0].cells) == 4, "the mean rank and a score a task"
    subsets = dict(zip(tables, filtered_rankings(site)))["arms"]
    assert {kept for kept, _, _ in (key.partition("|") for key in subsets)} == {"0,1"}, "both are drawn functions"
    basis, rows = subsets["0,1|"]
    assert basis == tables["arms"]["basis"]
    assert [row.cells[0] for row in rows] == [row.cells[0] for row in tables["arms"]["rows"]]


def test_each_class_of_entrants_is_ranked_by_itself(summary: Summary) -> None:
    site = Site(summary)
    subsets = dict(zip((one.name for one in site.classes), filtered_rankings(site)))["arms"]
    whole = {row.name for row in subsets["0,1|"][1]}
    told, others = ({row.name for row in subsets[f"0,1|{entrants}"][1]} for entrants in (TOLD, NOT_TOLD))
    assert told | others == whole
    assert not told & others
    assert told == {"BBKB"}
    assert "Random" in others
    for entrants, agents in ((TOLD, told), (NOT_TOLD, others)):
        _, rows = subsets[f"0,1|{entrants}"]
        ranks = [float(row.cells[0].sort) for row in rows if row.place.is_known]
        assert sum(ranks) == pytest.approx(len(ranks) * (len(ranks) + 1) / 2), f"{len(agents)} among themselves"


def test_a_filter_that_leaves_some_tasks_of_a_class_ranks_on_those(tmp_path: Path) -> None:
    """On one family one agent is better, on the other the other one."""
    store = Store(tmp_path)
    for env, better in ((Ref("GPBandit/RKHS-v0"), "A"), (Ref("GPBandit/Cosines-v0"), "B")):
        for agent in "AB":
            for repetition in range(8):
                frame = trace(40, 0.7 if agent == better else 0.1, np.random.default_rng(repetition))
                store.write(record(env, Ref(f"a:{agent}", label=agent), repetition, 40, frame=frame))
    site = Site(summarise(store))
    (table,) = overview_page(site)["rankings"]
    (subsets,) = filtered_rankings(site)
    assert [card["about"].name for card in table["tasks"]] == ["Cosines", "RKHS"]
    assert {row.cells[0].text for row in table["rows"]} == {"1.50"}, "level over both"
    order = [row.name for row in table["rows"]]
    ranks = {kept: dict(zip(order, (row.cells[0].text for row in rows))) for kept, (_, rows) in subsets.items()}
    assert ranks == {
        "0,1|": {"A": "1.50", "B": "1.50"},
        "0|": {"A": "2.00", "B": "1.00"},
        "1|": {"A": "1.00", "B": "2.00"},
    }
    assert subsets["0|"][0] == "Mean ranks rest on 1 environment and are of 2 agents"


# ---- whether an order of agents would come again, on made scores whose answer is known, and on the boards ----


def drawn(effects: np.ndarray, noise: float, n: int, seed: int = 0) -> list[np.ndarray]:
    """Scores of agents with these effects on each task, in n repetitions."""
    rng = np.random.default_rng(seed)
    return [effect + noise * rng.standard_normal((n, len(effect))) for effect in effects]


def told(strata: Sequence[np.ndarray], families: Sequence[str] | None = None) -> Reliability:
    found = reliability(strata, families or ["one"] * len(strata))
    assert found is not None
    return found


def of_normal(correlation: float) -> float:
    """Spearman's correlation of normal variables."""
    return 6 / math.pi * math.asin(correlation / 2)


@pytest.mark.parametrize("n", [10, 11])
def test_it_is_the_correlation_with_repetitions_that_were_not_seen(n: int) -> None:
    effects = np.random.default_rng(1).standard_normal((60, 40))
    first, second = drawn(effects, 2.0, n), drawn(effects, 2.0, n, seed=1)
    again = [scipy.stats.spearmanr(a.mean(axis=0), b.mean(axis=0)).statistic for a, b in zip(first, second)]
    found = told(first)
    assert found.full.estimate == pytest.approx(np.mean(again), abs=0.03)
    assert found.full.estimate == pytest.approx(of_normal(1 / (1 + 4 / n)), abs=0.03)
    assert found.full.low < of_normal(1 / (1 + 4 / n)) < found.full.high
    assert found.half == pytest.approx(of_normal(1 / (1 + 4 / (n // 2))), abs=0.03)
    # 0.8 in ranks is a correlation of 0.81, which signal 1 and noise 4 have with 17 repetitions.
    assert found.needed == pytest.approx(4 * 0.8135 / (1 - 0.8135), rel=0.12)


def test_more_repetitions_make_it_what_was_said() -> None:
    effects = np.random.default_rng(2).standard_normal((60, 40))
    needed = math.ceil(told(drawn(effects, 2.0, 8)).needed)
    assert told(drawn(effects, 2.0, needed)).full.estimate == pytest.approx(0.8, abs=0.03)


def test_an_order_of_nothing_needs_no_number_of_repetitions() -> None:
    found = told(drawn(np.zeros((30, 6)), 1.0, 6))
    assert abs(found.full.estimate) < 0.2
    assert (found.by_task >= -1).all()
    assert not found.is_enough
    against = told([np.vstack([np.arange(6.0), -np.arange(6.0)] * 2)])  # two halves that are alike, or opposite
    assert against.half < 0
    assert against.needed == math.inf
    assert "no number would make it 0.8, 4 were played" in against.lines()[0]


def test_an_order_carries_over_within_a_family_or_beyond() -> None:
    rng = np.random.default_rng(3)
    kinds = rng.standard_normal((2, 40))
    strata = drawn(np.repeat(kinds, 10, axis=0), 0.1, 6)
    families = ["a"] * 10 + ["b"] * 10
    apart = told(strata, families)
    between = scipy.stats.spearmanr(*kinds).statistic
    assert apart.transfer.estimate == pytest.approx(between, abs=0.05)
    assert apart.beyond == "environments of other families"
    within = told(strata[:10], families[:10])
    assert within.transfer.estimate > 0.95
    assert within.beyond == "the other environments"
    assert not told(strata[:2]).transfer.is_known  # one number, twice
    alone = told(strata[:1])
    assert np.isnan(alone.transfer.estimate)
    assert len(alone.lines(["x"])) == 2
    assert not alone.full.is_known


def test_few_agents_few_repetitions_and_agents_that_are_alike_have_none() -> None:
    effects = np.random.default_rng(4).standard_normal((3, 6))
    assert reliability(drawn(effects[:, :4], 0.1, 6), ["a"] * 3) is None
    assert reliability(drawn(effects, 0.1, 3), ["a"] * 3) is None
    assert reliability([], []) is None
    flat = np.ones((6, 6))
    assert reliability([flat, flat], ["a", "b"]) is None
    found = told([*drawn(effects, 0.1, 6), flat])
    assert found.full.n == 3
    assert found.lines(["x", "y", "z", "flat"])[-1].endswith("; flat all alike")


@pytest.mark.parametrize(
    ("name", "criterion", "half", "transfer"),
    [
        # What an independent look found, with other halves: .87 to .89 and .42, .47; transfer .82, .68 and .33, .28
        ("core-v2", "cumulative_regret", 0.88, 0.82),
        ("core-v2", "inference_regret", 0.42, 0.33),
        ("boxes-v2", "cumulative_regret", 0.88, 0.68),
        ("boxes-v2", "inference_regret", 0.47, 0.28),
    ],
)
def test_the_boards_rank_learning_and_not_what_is_kept(
    name: str, criterion: str, half: float, transfer: float, summaries: dict[str, Summary]
) -> None:
    if name not in summaries:
        summaries[name] = summarise(board(name), n_points=2)
    found = board_scores(summaries[name], by=criterion)
    assert found is not None
    better, everybody = found.reliability
    assert everybody.half == pytest.approx(half, abs=0.04)
    assert everybody.transfer.estimate == pytest.approx(transfer, abs=0.07)
    assert better.full.estimate < everybody.full.estimate
    assert found.in_groups == (criterion == "inference_regret")
    assert found.in_groups == (better.full.estimate < LEAST_RELIABILITY)


@pytest.fixture(scope="module")
def summaries() -> dict[str, Summary]:
    return {}


@pytest.fixture(scope="module")
def by_chance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven agents of which five are better than Uniform, in an order that is chance."""
    store, rng = Store(tmp_path_factory.mktemp("chance")), np.random.default_rng(5)
    last = {"Uniform": 0.9, "BBKB": 0.95}
    for agent in ("Uniform", "BBKB", "GP-UCB", "EpsGreedy", "GP-AUCB", "GP-EI", "GP-TS"):
        for repetition in range(8):
            one = record(Ref("GPBandit/RKHS-v0"), Ref(agent), repetition)
            regret = np.full(60, last.get(agent, 0.5)) + 0.01 * rng.standard_normal()
            trace = one.trace.assign(regret=regret, inference_regret=regret)
            store.write(replace(one, trace=trace, facts={"optimum": 1.0, MEAN_GAP: 1.0}))
    return store.directory


@pytest.mark.no_cover
def test_a_tab_whose_order_is_chance_has_groups_and_says_why(by_chance: Path) -> None:
    summary = summarise(Store(by_chance))
    site = Site(summary)
    table = class_scores(site, site.classes[0])
    assert table is not None
    tab = table.tabs[0]
    assert tab.in_groups
    assert [row.place.text for row in tab.rows] == ["A"] * 5 + ["B", "C"]
    assert [row.place.sort for row in tab.rows] == [1] * 5 + [6, 7]
    assert tab.notes[0].startswith("groups and no places: of the 5 agents better than Uniform the order on an ")
    assert "places need 0.6, and " in tab.notes[0]
    assert len([line for line in tab.details if line.startswith("all 7 agents: ")]) == 2
    assert {json.loads(row.places)[0] for row in tab.rows} == {"A", "B", "C"}
    found = site.scores(site.classes[0].name, "cumulative_regret")
    assert found is not None
    assert standing(found, "BBKB").startswith("It is in group C among 7 agents")
    lines = list(_score_lines(summary, "cumulative_regret"))
    assert "7 agents; groups on these tasks" in lines[0]
    assert lines[1].split()[:2] == ["group", "score"]
    assert not any("first" in line for line in lines)


def test_groups_stand_on_the_page_and_are_sorted_by(by_chance: Path, open_page: Open) -> None:
    build_page(by_chance, theory=False)
    with open_page(by_chance / "index.html") as page:
        tab = page.locator("#scores-0-cumulative_regret")
        assert tab.locator("thead th").first.inner_text().startswith("Group")
        for told in (TOLD, NOT_TOLD, ""):
            page.locator("#scores-0 select[name=kernel]").select_option(told)
        cells = tab.locator("tbody td:first-child").all()
        assert [cell.inner_text() for cell in cells] == ["A"] * 5 + ["B", "C"]
        assert [cell.get_attribute("data-sort") for cell in cells] == ["65"] * 5 + ["66", "67"]
