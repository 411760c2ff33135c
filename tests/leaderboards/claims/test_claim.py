from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leaderboards.claims.claim import MORE, Checked, Claim, Figure, Range, at_least, at_most
from leaderboards.claims.experiments import EXPERIMENTS, PAPERS, TRIED
from leaderboards.claims.measures import (
    at_best,
    bandwidths,
    batches,
    bounce,
    faster,
    found_in_all,
    found_more,
    gap,
    growth,
    halves,
    minimum_so_far,
    more_regret,
    more_regret_in,
    more_regret_where,
    near_optimal,
    order_kept,
    over_environments,
)
from leaderboards.claims.reproduce import suite_of
from leaderboards.claims.runs import NotPlayedError, Runs, rows_of
from leaderboards.score.statistics import Interval, ratio_interval


def runs(**regrets: np.ndarray) -> Runs:
    """Each agent's regrets, shape (n, T); an agent takes 1 s an evaluation and closes a batch after every second."""
    return Runs(
        {
            agent: {
                r: pd.DataFrame(
                    {
                        "t": np.arange(1, len(row) + 1),
                        "regret": row,
                        "batch": 1 + np.arange(len(row)) // 2,
                        "policy_seconds": np.full(len(row), 1.0),
                        "action": np.arange(len(row)) % 7,
                        "cost": np.full(len(row), 2.0),
                        "dictionary_size": np.full(len(row), 5.0),
                        "reward": 1.0 - row,
                    }
                )
                for r, row in enumerate(rows)
            }
            for agent, rows in regrets.items()
        }
    )


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.1, 0.3, "agrees"),
        (0.6, 0.9, "disagrees"),
        (-0.3, -0.1, "disagrees"),
        (0.4, 0.6, "cannot be told"),
        (-0.1, 0.6, "cannot be told"),
        (math.nan, math.nan, "cannot be told"),
    ],
)
def test_a_verdict_is_where_the_interval_lies(low: float, high: float, verdict: str) -> None:
    assert Range(0.0, 0.5).judge(Interval((low + high) / 2, low, high, 5)) == verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.05, 0.2, "agrees"),
        (-0.2, -0.05, "disagrees"),
        (0.0, 0.03, "no difference"),  # on whichever side
        (-0.03, -0.01, "no difference"),
        (-0.1, 0.1, "no difference"),
        (-0.03, 0.01, "no difference"),
        (-0.11, 0.01, "cannot be told"),
        (-0.01, 0.11, "cannot be told"),
        (math.nan, math.nan, "cannot be told"),
    ],
)
def test_an_order_of_two_that_are_alike_is_none(low: float, high: float, verdict: str) -> None:
    found = Interval((low + high) / 2, low, high, 5)
    assert Range(low=0.0, alike=0.1).judge(found) == verdict
    below = Interval((0.5 - low + 0.5 - high) / 2, 0.5 - high, 0.5 - low, 5)
    assert Range(high=0.5, alike=0.1).judge(below) == verdict


def test_likeness_is_of_one_bound() -> None:
    for low, high, alike in ((0.0, math.inf, -0.1), (-math.inf, math.inf, 0.1), (0.0, 1.0, 0.1)):
        with pytest.raises(ValueError, match="alike: expected"):
            Range(low, high, alike)


def test_more_regret_is_paired_and_relative() -> None:
    base = RNG.random((6, 20)) + 0.5
    found_ = more_regret("a", "b")(runs(a=1.5 * base, b=base))
    assert found_.estimate == pytest.approx(0.5)
    assert found_.low > 0.4
    late = more_regret("a", "b", 11)(runs(a=np.hstack([base[:, :10], 2 * base[:, 10:]]), b=base))
    assert late.estimate == pytest.approx(1.0)
    early = more_regret("a", "b", 1, 10)(runs(a=np.hstack([base[:, :10], 2 * base[:, 10:]]), b=base))
    assert early.estimate == pytest.approx(0.0)


def test_only_repetitions_that_both_played_count() -> None:
    base = RNG.random((6, 20)) + 0.5
    both = runs(a=base[:4] * 2, b=base)
    assert more_regret("a", "b")(both).n == 4
    with pytest.raises(NotPlayedError, match="a, c"):
        more_regret("a", "c")(both)


def test_simple_and_found() -> None:
    a, b = np.full((4, 5), 0.3), np.full((4, 5), 0.5)
    a[:, 2], b[0, 3] = 0.0, 0.0
    made = runs(a=a, b=b)
    assert found_more("", "a", ["b"], 1e-9)(made).estimate == pytest.approx(0.75)


def test_an_optimum_is_counted_in_every_environment() -> None:
    """a finds it in both environments in repetition 0 and in one of them in 1; b in one and in none."""
    hit, miss = np.array([0.5, 0.0]), np.array([0.5, 0.25])
    played = runs(
        **{
            "a@x": np.stack([hit, hit]),
            "a@y": np.stack([hit, miss]),
            "b@x": np.stack([hit, miss]),
            "b@y": np.stack([miss, miss]),
        }
    )
    assert found_in_all("", "a", "b", ("x", "y"))(played).estimate == pytest.approx(0.5)
    assert found_in_all("", "b", "a", ("y",))(played).estimate == pytest.approx(-0.5)


def test_regrets_are_summed_over_environments_by_repetition() -> None:
    ones = np.ones((3, 4))
    played = runs(**{"a@x": 3 * ones, "a@y": ones, "b@x": ones, "b@y": ones, "c@x": ones})
    assert over_environments(more_regret("a", "b"), ("x", "y"))(played).estimate == pytest.approx(1.0)
    assert over_environments(faster("a", "b"), ("x", "y"))(played).estimate == pytest.approx(0.0)
    assert played.summed(("x", "y")).column("a", "policy_seconds", [0]).sum() == pytest.approx(8.0)
    with pytest.raises(NotPlayedError):
        over_environments(more_regret("c", "b"), ("x", "y"))(played)


def test_gap() -> None:
    one = np.linspace(1, 2, 8)[:, None] * np.ones((8, 4))
    made = runs(a=5 * one, b=2 * one, c=3 * one, d=one)
    assert gap("", "a", "b", "c", "d")(made).estimate == pytest.approx((3 - 2) / 2)


def test_policies_in_their_best_rows() -> None:
    made = runs(a=np.full((4, 4), 0.3), b=np.full((4, 4), 0.2), c=np.full((4, 4), 0.1))
    assert at_best("", ("a", "b"), ("c",))(made).estimate == pytest.approx(1.0)
    assert at_best("", ("b", "a"), ("c",))(made).estimate == pytest.approx(1.0)
    with pytest.raises(NotPlayedError):
        at_best("", ("a", "d"), ("c",))(made)


def test_what_is_looked_for_in_one_half_is_measured_in_the_other() -> None:
    assert [[np.arange(5)[part].tolist() for part in both] for both in halves(5)] == [
        [[0, 2, 4], [1, 3]],
        [[1, 3], [0, 2, 4]],
    ]
    assert [np.arange(1)[part].tolist() for both in halves(1) for part in both] == [[0]] * 4
    # In each repetition another row is the best: by the same runs, "a" would always be taken where it is 1.
    own = np.repeat([[1.0], [3.0]] * 4, 4, axis=1)
    other = np.repeat([[3.0], [1.0]] * 4, 4, axis=1)
    assert at_best("", ("a", "b"), ("u",))(runs(a=own, b=other, u=np.ones((8, 4)))).estimate == pytest.approx(2.0)


def test_a_flat_curve_does_not_bounce() -> None:
    rng, wrong = np.random.default_rng(0), 0
    for _ in range(200):
        wrong += bounce("", "a", 10, 50)(runs(a=rng.exponential(1.0, (30, 50)))).low > 0
    assert wrong <= 13, "of 200, one in 40 is to be wrong: more than 13 are so in one of 1,000 tests"


def test_shares_that_are_equal_in_all_runs_are_not_certain() -> None:
    hit, miss = np.zeros((20, 4)), np.ones((20, 4))
    one = found_more("", "a", ["b"], 1e-9)(runs(a=hit, b=miss))
    assert one.estimate == 1
    assert 0.5 < one.low < 0.8
    level = bandwidths("", ("a",), ("b",), 0.5, "u")(runs(a=miss, b=miss, u=miss))
    assert level.estimate == 0
    assert level.low < -0.1
    assert level.high > 0.1


def test_figures_that_are_equal_in_all_runs_have_no_interval_unless_they_are_bound_to() -> None:
    made = runs(a=np.ones((5, 4)))
    claim = Claim("x", "Fig. 0", "a has two batches.", batches("batches", "a"), at_most(3.0))
    assert claim.check(made).verdict == "cannot be told"
    assert replace(claim, exact=True).check(made).verdict == "agrees"


def test_every_look_has_its_share_of_the_errors() -> None:
    rng = np.random.default_rng(0)
    made = runs(a=rng.normal(10, 3, (30, 1)), b=rng.normal(9, 3, (30, 1)))
    claim = Claim("x", "Fig. 0", "a is worse.", more_regret("a", "b"), at_least(0.0))
    once, again, thrice = claim.check(made), claim.check(made, [10, 30]), claim.check(made, [10, 20])
    assert [one.interval.level for one in (once, again, thrice)] == [0.95, 0.975, pytest.approx(1 - 0.05 / 3)]
    assert [one.looked for one in (once, again, thrice)] == [(), (10,), (10, 20)]
    assert once.interval.low > again.interval.low > thrice.interval.low
    x, y = (made.column(name, "regret", list(range(30)))[:, 0] for name in ("a", "b"))
    expected = ratio_interval(x - y, y, 0.975)
    assert again.interval == expected
    assert claim.check(made, [30]).looked == (), "judging the same runs again is no look"


def test_more_regret_where_the_rival_is_at_the_optimum() -> None:
    b = np.ones((4, 4))
    b[:2, 1] = 0.05
    made = runs(a=np.repeat([[3.0], [3.0], [9.0], [9.0]], 4, axis=1), b=b)
    found_ = more_regret_where("", "a", "b", 0.1)(made)
    assert found_.n == 2
    assert found_.estimate == pytest.approx((12 - 3.05) / 3.05)
    assert not more_regret_where("", "a", "b", 0.01)(made).is_known


def test_minimum_so_far_is_that_of_the_whole_curve() -> None:
    a, b = np.full((4, 4), 0.4), np.full((4, 4), 0.4)
    a[:, 2] = 0.0  # minima of a: .4 .4 0 0
    assert minimum_so_far("", "a", "b")(runs(a=a, b=b)).estimate == pytest.approx((0.2 - 0.4) / 0.4)


def test_more_regret_in_the_unit_of_a_third() -> None:
    made = runs(a=np.full((3, 6), 0.5), b=np.full((3, 6), 0.3), u=np.full((3, 6), 2.0))
    assert more_regret_in("", "a", "b", "u", 3, 4)(made).estimate == pytest.approx(0.1)
    assert near_optimal("", "b", 4, "u")(made).estimate == pytest.approx(0.15)


def test_a_bounce_is_the_rise_after_the_dip() -> None:
    rises = np.tile([1.0, 0.2, 0.9, 1.5, 0.1, 0.1], (5, 1))  # averages: 1, .6, .7, .9, .74, .63
    assert bounce("", "a", 4, 6)(runs(a=rises)).estimate == pytest.approx(0.5)
    assert bounce("", "a", 4, 6)(runs(a=np.tile([1.0, 0.5, 0.4, 0.3], (5, 1)))).estimate == 0


def test_the_order_of_rows_is_compared_by_repetition() -> None:
    base = np.array([1.0, 2.0, 3.0])
    rows = {f"{name}{i}": np.full((4, 3), base[j]) for name, order in (("x", (0, 1, 2)), ("y", (2, 1, 0)))
            for i, j in enumerate(order)}  # fmt: skip
    x, y = ["x0", "x1", "x2"], ["y0", "y1", "y2"]
    assert order_kept("", x, x)(runs(**rows)).estimate == 1
    assert order_kept("", x, y)(runs(**rows)).estimate == -1


def test_an_open_verdict_says_how_many_repetitions_would_tell() -> None:
    claim = Claim("x", "Fig. 0", "a is worse.", more_regret("a", "b"), at_least(0.0))

    def checked(low: float, high: float, n: int = 10) -> Checked:
        found = Interval((low + high) / 2, low, high, n)
        return Checked(claim, found, claim.expected.judge(found))

    assert checked(-0.25, 0.75).needs == 53  # twice as short an interval ends at 0, and one more look takes 1.3078
    assert checked(0.1, 0.3).needs is None
    assert checked(-0.1, 0.1).needs is None
    assert checked(math.nan, math.nan).needs is None
    # An interval that leaves out 0 needs 121 repetitions, one within 0.1 of it 8; and a second look 1.3078 times that.
    either = replace(claim, figure=Figure("", lambda _: Interval(0.02, -0.09, 0.13, 4)))
    assert [one.check(runs()).needs for one in (either, replace(either, expected=MORE))] == [159, 10]


def test_seconds_growth_and_batches() -> None:
    made = runs(a=np.ones((3, 40)), b=np.ones((3, 40)))
    assert faster("a", "b")(made).estimate == pytest.approx(0.0)
    assert growth("a")(made).estimate == pytest.approx(1.0, abs=1e-6)
    assert batches("", "a")(made).estimate == 20


def test_a_claim_whose_runs_are_not_there_stays_open() -> None:
    claim = Claim("x", "Fig. 0", "a is worse", more_regret("a", "b"), at_least(0.0))
    assert claim.check(runs(a=np.ones((2, 3)))).verdict == "cannot be told"
    with pytest.raises(ValueError, match="note"):
        Claim("x", "Fig. 0", "?", Figure("not measured"))
    with pytest.raises(ValueError, match="low < high"):
        Range(1.0, 0.0)


_MARKS = {
    "heteroscedastic": pytest.mark.network,  # one of its claims is measured on CrossedBarrel
    "uhe-synthetic": pytest.mark.slow,
    "gpbucb-neuro": pytest.mark.slow,
}


def _marked(name: str) -> Any:
    return pytest.param(name, marks=_MARKS.get(name, ()))


@pytest.mark.parametrize("name", [_marked(name) for name in EXPERIMENTS])
def test_experiments_are_whole(name: str) -> None:
    one = EXPERIMENTS[name]
    assert set(one.papers) <= set(PAPERS)
    assert {claim.paper or one.paper for claim in one.claims} == set(one.papers)
    names = [claim.name for claim in one.claims]
    assert len(names) == len(set(names))
    assert all(claim.source and claim.statement.endswith(".") for claim in one.claims)
    # A pipe would end a cell of the Markdown page.
    assert not any("|" in text for claim in one.claims for text in (claim.statement, claim.figure.text, claim.source))
    if one.study is not None:
        return
    suite = suite_of(one)
    suite.check()
    assert suite.name == name
    assert set(one.quick.environments) <= {entry.ref.label for entry in suite.environments}
    labels = {entry.ref.label for entry in suite.agents}
    assert set(one.quick.agents) <= labels
    assert {entry.ref.label for entry in suite_of(one, quick=True).agents} == set(one.quick.agents or labels)
    # Every measured claim asks only for rows that the suite has.
    rows = {
        label: 0.5 + RNG.random((4, 220))
        for label in rows_of(list(suite.specs()), len(suite.environments) > 1).values()
    }
    for regret in rows.values():
        regret[:2, 0] = 0.05  # half of the runs come near an optimum
    made = runs(**rows)
    for claim in one.claims:
        if claim.figure.measure is not None:
            assert np.isfinite(claim.figure(made).estimate), claim.name


def test_every_note_of_what_was_tried_is_of_claims_that_there_are_and_in_their_notes() -> None:
    assert set(TRIED) <= set(EXPERIMENTS), "experiments"
    for name, tables in TRIED.items():
        notes = {claim.name: claim.note for claim in EXPERIMENTS[name].claims}
        for table in tables:
            assert set(table) == {"claims", "text"}, name
            assert table["claims"], name
            for claim in table["claims"]:
                assert claim in notes, f"{name}: no claim {claim!r}"
                assert table["text"] in notes[claim]
