"""What a suite ranks by: the regret of what is recommended, in units, on pages, in the shell and in Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leaderboards
from agents.learned.batch_ei import BatchEI
from gpbandit_envs.channels import as_channel
from leaderboards.api.results import Results
from leaderboards.cli.ranking import _score_lines
from leaderboards.play.measures import IN_UNITS, at_shares
from leaderboards.play.oracle import MEAN_GAP
from leaderboards.play.run import run
from leaderboards.play.spec import Ref
from leaderboards.play.suite import SuiteError, parse_suite
from leaderboards.score.answer import leader, legend
from leaderboards.score.board_scores import run_scores
from leaderboards.score.factors import factors
from leaderboards.score.frames import pooled_ranking
from leaderboards.score.rankings import CRITERIA, task_ranking
from leaderboards.score.scores import kept_scores, reduce_run
from leaderboards.score.summary import summarise
from leaderboards.show import build_page
from leaderboards.show.overview import overview_page, score_tables
from leaderboards.show.shared import Site
from leaderboards.store.kept import keep
from leaderboards.store.store import Store
from tests.leaderboards.folders import folder, record

# `quick` recommends well after a plate, `late` after seven; `late` has less cumulative regret.
QUICK, LATE = 0.25, 0.5
LAB = {
    "name": "lab",
    "horizon": 96,
    "repetitions": 6,
    "feedback": "batch:8",
    "headline": "recommended",
    "environments": [
        {"id": "GPBandit/RKHS-v0", "label": "a", "kwargs": {"dim": 1}, "half": "tuning"},
        {"id": "GPBandit/RKHS-v0", "label": "b", "kwargs": {"dim": 2}, "half": "held out"},
    ],
    "agents": [{"id": "Random"}, {"id": "GP-UCB", "label": "quick"}, {"id": "GP-EI", "label": "late"}],
}


def _trace(label: str, task: str) -> pd.DataFrame:
    t = np.arange(1, 97)
    level = {"a": 1.0, "b": 2.0}[task]
    good = {"quick": t >= 8, "late": t >= 56, "Random": t >= 96}[label]
    recommended = np.where(good, {"quick": QUICK, "late": QUICK, "Random": LATE}[label], 1.0) * level
    regret = np.full(96, {"quick": 1.5, "late": 1.1, "Random": 2.0}[label])
    regret[3:] = np.where(t[3:] == 4, QUICK, regret[3:])
    columns = {"t": t, "action": t, "reward": -regret, "mean": -regret, "regret": regret, "batch": 1 + (t - 1) // 8}
    return pd.DataFrame({**columns, "policy_seconds": 0.0, "inference_regret": recommended, "cost": 1.0})


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Store:
    suite, store = parse_suite(LAB), Store(tmp_path_factory.mktemp("lab"))
    store.write_suite(suite)
    for spec in suite.specs():
        one = record(spec.env, spec.agent, spec.repetition, 96, frame=_trace(spec.agent.label, spec.env.label))
        store.write(replace(one, spec=spec, facts={"optimum": 0.0, MEAN_GAP: 4.0}))
    return store


def test_scores_are_regrets_in_units_after_a_quarter_a_half_and_all(lab: Store) -> None:
    summary = summarise(lab)
    assert summary.headline == "recommended"
    found = {by: float(run_scores(summary.scores["a", "late"], by).mean()) for by in IN_UNITS}
    halfway = {"recommended_quarter": 0.0, "recommended_half": 0.0, "recommended_end": 75.0, "best_measured": 75.0}
    assert found == pytest.approx({"recommended": 25.0, **halfway})
    assert float(run_scores(summary.scores["b", "late"], "recommended").mean()) == pytest.approx(-50.0)
    assert legend("recommended").startswith("A score of 0 is a regret of one unit")


def test_what_a_board_keeps_says_the_same(lab: Store) -> None:
    spec = next(iter(parse_suite(LAB).specs()))
    trace = _trace("late", "a")
    kept = keep(spec, trace)
    assert kept is not None
    assert {24, 48, 96} <= set(kept.t.tolist())
    columns = {str(name): trace[name].to_numpy() for name in trace}
    whole = reduce_run(columns, kept.t, as_channel(spec.feedback))
    for name in IN_UNITS:
        assert kept_scores(kept).finals[name] == pytest.approx(whole.finals[name], rel=1e-4)
        assert kept_scores(kept).curves[name] == pytest.approx(whole.curves[name], rel=1e-4)
    assert at_shares(np.arange(1.0, 6), np.arange(1, 6), (0.25, 1.0)).tolist() == [1, 1.5, 2, 2.5, 3]


def test_the_factors_worked_by_hand(lab: Store) -> None:
    summary = summarise(lab)
    # Random is at .5 after 96, `quick` after 8; the gains over a draw are the gap of 4 less the mean of three regrets.
    fast, better = factors(summary, "quick", ["a"])
    assert fast == pytest.approx(96 / 8)
    assert better == pytest.approx((4 - 0.25) / (4 - 2.5 / 3))
    assert factors(summary, "Random", ["a", "b"]) == (1.0, 1.0)
    assert factors(summary, "late", ["a", "b"])[0] == pytest.approx(96 / 56)
    alone = replace(summary, agents={name: ref for name, ref in summary.agents.items() if name != "Random"})
    assert np.isnan(factors(alone, "quick", ["a"])).all()


def test_every_page_and_command_ranks_by_it_first(lab: Store, tmp_path: Path) -> None:
    site = Site(summarise(lab))
    (table,) = score_tables(site)
    assert [tab.by for tab in table.tabs] == list(IN_UNITS)
    assert [row.name for row in table.tabs[0].rows] == ["quick", "late", "Random"]
    assert [head for head, _ in table.columns] == ["held out", "tuning", "acceleration", "enhancement"]
    assert "defaults may have been chosen on the half called tuning" in " ".join(table.tabs[0].notes)
    assert [cell.text for cell in table.tabs[0].rows[0].cells[2:]] == ["50.0", "75.0", "12.0", "1.3"]
    assert any(note.startswith("acceleration: how many times as many") for note in table.tabs[0].notes)
    page = overview_page(site)
    assert page["ranked_by"] == "recommendation"
    assert page["answers"][0][1].startswith("quick ")
    assert ("half", "Half", {"tuning": "tuning", "held out": "held out"}) in page["filters"]
    index = build_page(lab, theory=False, out=tmp_path)
    assert "A score of 0 is a regret of one unit" in index.read_text()
    assert "recommendation, 2 environments" in next(_score_lines(summarise(lab), "recommended"))
    results = Results(lab)
    assert results.ranking().index.tolist() == ["quick", "late", "Random"]
    assert results.ranking("a").columns[3] == "recommended"
    assert results.compare("quick", "late").loc["a", "difference"] == pytest.approx(-0.5)
    # Whoever asks for another criterion has that, with its tabs.
    assert results.ranking(by="cumulative_regret").index[0] == "late"
    assert Site(summarise(lab), ranked_by="simple_regret").along == "cumulative_regret"


def test_a_headline_is_one_of_the_criteria_and_no_word_of_it_changes_no_suite() -> None:
    with pytest.raises(SuiteError, match=r"key 'headline': expected one of cumulative_regret, .*, got 'profit'"):
        parse_suite({**LAB, "headline": "profit"})
    plain = parse_suite({name: value for name, value in LAB.items() if name != "headline"})
    assert "headline" not in plain.model_dump()
    assert {*IN_UNITS} < {*CRITERIA}


def test_batches_by_expected_improvement_repeat_no_arm_and_find_a_better_one() -> None:
    env = ("GPBandit/RKHS-v0", {"dim": 1, "n_arms": 60, "untold": True, "noise_std": 0.1})
    found = run(env, BatchEI(repeats=False), horizon=32, feedback="batch:8").trace
    assert found["action"].is_unique
    assert found["inference_regret"].iloc[-1] < found["regret"].iloc[:8].mean()


# ---- what is said on top of a page ----


AGENTS = ("A", "B", "C")


def said(*means: float, n: int = 12, tasks: int = 2) -> str:
    """Of agents with these mean scores, whose repetitions differ by a few points."""
    rng = np.random.default_rng(0)
    strata = [np.array(means) + rng.normal(0, 1, (n, len(means))) for _ in range(tasks)]
    agents = AGENTS[: len(means)]
    return leader(agents, strata, pooled_ranking([-Y for Y in strata], agents, ()))


def test_one_leads_by_so_much_and_that_is_so_sure() -> None:
    text = said(50.0, 90.0, 70.0)
    assert text.startswith("B leads with a score of 90.")
    assert " of 100, 19." in text or " of 100, 20." in text
    assert "more than C." in text
    assert text.endswith(
        "Were all agents alike, so clear a difference would be seen by chance at most once in 1,000 times."
    )


def test_several_lead_and_the_first_behind_is_named() -> None:
    text = said(80.0, 80.0, 20.0)
    assert "but no test tells it from one other, down to " in text
    assert "is C. Were all agents alike" in text


def test_nobody_leads() -> None:
    text = said(80.0, 80.0, 80.0)
    assert text.startswith("No agent leads: ")
    assert text.endswith("no test tells any other from it. More environments or repetitions may.")


@pytest.mark.parametrize("n", [1, 2])
def test_of_too_few_repetitions_nothing_is_said_of_sureness(n: int) -> None:
    text = said(10.0, 90.0, n=n, tasks=1)
    assert text.startswith("B has the highest score, ")
    assert text.endswith("There are too few repetitions to tell how sure that is.")


def test_one_agent_leads_nobody() -> None:
    assert said(10.0) == ""


# ---- the ranking of anybody's frame: as that of a results folder of the same scores, and what it refuses ----


ENVS = [Ref("GPBandit/RKHS-v0"), Ref("GPBandit/GPSample-v0")]


def scores_of(directory: Path) -> pd.DataFrame:
    """The regret ratios that a folder is ranked by, and a column that nobody asked for."""
    summary = summarise(leaderboards.Store(directory))
    rows = []
    for task in summary.tasks:
        found = task_ranking(summary, task)
        assert found is not None
        for (_, repetition), values in zip(found.blocks, found.Y):
            rows += [(task, name, repetition, value, "note") for name, value in zip(found.agents, values)]
    return pd.DataFrame(rows, columns=["env", "agent", "repetition", "value", "note"])


def test_a_frame_is_ranked_as_the_folder_of_the_same_scores(tmp_path: Path) -> None:
    folder(tmp_path, ENVS, repetitions=7)
    frame = scores_of(tmp_path)
    found, theirs = leaderboards.rank(frame), Results(tmp_path).ranking()
    ranked = ["rank", "best", "worst", "mean_rank", "low", "high"]
    pd.testing.assert_frame_equal(found[ranked], theirs[ranked])
    assert list(found.columns) == [*ranked, *dict.fromkeys(frame["env"])]
    shuffled = leaderboards.rank(frame.sample(frac=1, random_state=0))
    pd.testing.assert_frame_equal(shuffled[ranked], found[ranked], check_like=True)
    mirrored = leaderboards.rank(frame.assign(value=-frame["value"]), larger_is_better=True)
    pd.testing.assert_frame_equal(mirrored[ranked], found[ranked])


def test_an_agent_that_lacks_a_repetition_comes_last_without_a_rank() -> None:
    rows = [("a", agent, r, float(i + r % 3)) for i, agent in enumerate("xyz") for r in range(6)]
    frame = pd.DataFrame(rows, columns=["env", "agent", "repetition", "value"])
    found = leaderboards.rank(frame[~((frame["agent"] == "x") & (frame["repetition"] == 5))])
    assert found.index.tolist() == ["y", "z", "x"]
    assert found["rank"].isna().tolist() == [False, False, True]
    assert found.loc["x", "a"] == pytest.approx(np.mean([0, 1, 2, 0, 1]))


def test_few_repetitions_have_means_and_no_ranks() -> None:
    rows = [("a", agent, r, float(i)) for i, agent in enumerate("xy") for r in range(5)]
    found = leaderboards.rank(pd.DataFrame(rows, columns=["env", "agent", "repetition", "value"]))
    assert found["rank"].isna().all()
    assert found["mean_rank"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.drop(columns="env"), "frame: expected the columns .*, got none named 'env'"),
        (lambda frame: frame.assign(value=np.nan), "frame: expected finite values"),
        (lambda frame: pd.concat([frame, frame]), "frame: expected one score .*, got two of 'x' on 'a' in repetition"),
    ],
)
def test_what_is_no_frame_of_scores_is_refused(change: object, said: str) -> None:
    frame = pd.DataFrame({"env": ["a", "a"], "agent": ["x", "y"], "repetition": 0, "value": 1.0})
    with pytest.raises(ValueError, match=said):
        leaderboards.rank(change(frame))  # type: ignore[operator]
