"""Whether an order of agents would come again, on made scores whose answer is known, and on the boards."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from leaderboards.cli.ranking import _score_lines
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.play.spec import Ref
from leaderboards.publish.boards import board
from leaderboards.score.answer import standing
from leaderboards.score.board_scores import board_scores
from leaderboards.score.reliability import LEAST_RELIABILITY, Reliability, reliability
from leaderboards.score.summary import Summary, summarise
from leaderboards.show import build_page
from leaderboards.show.scores import class_scores
from leaderboards.show.shared import NOT_TOLD, TOLD, Site
from leaderboards.store.store import Store
from tests.browser import Open
from tests.leaderboards.folders import record


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
