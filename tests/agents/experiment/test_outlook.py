"""What an experiment says of its best point, of what else there may be, and whether to stop."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import agents
from agents import Experiment

QUICK = ("MAP-BUCB", {"candidates": 64, "starts": 2, "iterations": 10, "n_initial": 4, "fits": 1})
MIXED = ("agents.learned.gp_bucb:MixtureBUCB", {"draws": 4, "burn_in": 20, "n_initial": 4})
RANGES: dict[str, Any] = {"a": (0, 1), "b": (0, 1), "s": ["u", "v"]}
TABLE = pd.DataFrame([{"a": a, "b": b, "s": s} for a in range(6) for b in range(5) for s in "uv"])


def truth(point: dict[str, Any]) -> float:
    return float(70 - (point["a"] - 3) ** 2 - 2 * (point["b"] - 2) ** 2 + 3 * (point["s"] == "v"))


def played(choices: Any = TABLE, n: int = 20, **settings: Any) -> Experiment:
    sign = settings.pop("sign", 1)
    lab, rng = Experiment(choices, **({"agent": QUICK} | settings)), np.random.default_rng(0)
    for i in rng.permutation(60)[:n]:
        point = TABLE.iloc[i].to_dict()
        lab.tell(point, sign * (truth(point) + 0.2 * rng.standard_normal()))
    return lab


@pytest.fixture(scope="module")
def lab() -> Experiment:
    return played(outcome="yield")


@pytest.mark.parametrize("agent", [QUICK, MIXED])
def test_the_interval_and_the_gap_are_those_of_the_mixture(agent: Any) -> None:
    lab = played(agent=agent, n=12)
    found = lab.outlook(level=0.8)
    parts = lab._beliefs().models[0].posterior.parts  # type: ignore[union-attr]
    assert len(parts) == (4 if agent is MIXED else 24)
    assert lab.candidates is not None
    arms = lab.candidates.arms
    means, sds = np.array([part.at(arms)[0] for part in parts]), np.array([part.at(arms)[1] ** 0.5 for part in parts])

    def quantile(i: int, share: float) -> float:
        mean = means[:, i].mean()
        end = float(brentq(lambda f: norm.cdf(f, means[:, i], sds[:, i]).mean() - share, -500, 500))
        return float(mean + 1.75 * (end - mean))

    i = lab.candidates.stated(found.recommended)[1]
    assert found.mean == pytest.approx(means[:, i].mean())
    assert (found.low, found.high) == pytest.approx((quantile(i, 0.1), quantile(i, 0.9)))
    assert found.gap == pytest.approx(max(quantile(i, 0.9) for i in range(60)) - found.mean)
    assert (found.level, found.n, found.note) == (0.8, 12, "")
    assert found.recommended == lab.recommend()
    with pytest.raises(AttributeError):
        found.gap = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("n", "rates"), [(9, None), (10, (0.83, 0.86, 24)), (35, (0.83, 0.86, 24)), (36, (0.87, 0.87, 48))]
)
def test_how_often_such_statements_were_true_is_what_the_guide_measured(
    lab: Experiment, n: int, rates: tuple[float, float, int] | None
) -> None:
    said = str(replace(lab.outlook(), n=n))
    if rates is None:
        assert "campaigns" not in said
        return
    S1, S2, after = rates
    assert (
        f"After {after} experiments at 90% the first kind of statement was true in {S1:.0%}, the second in {S2:.0%}"
        in said
    )
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "experiment.md").read_text(encoding="utf-8")
    assert re.search(rf"\| held out \| all \| {after} \| 240 \| {S1} \(.*?\) \| {S2} \(", guide)
    families = re.findall(rf"\| held out \| [^|]* \| {after} \| 40 \| (.*?) \(.*?\) \| (.*?) \(", guide)
    worst = [min(float(share) for share in shares) for shares in zip(*families, strict=True)]
    assert f"each on its worst kind in {worst[0]:.0%} and {worst[1]:.0%}." in said


def test_what_is_said(lab: Experiment) -> None:
    found = lab.outlook()
    assert str(found).splitlines() == [
        f"Best so far by the model: a {found.recommended['a']}, b 2, s v: yield {found.mean:.1f}, between "
        f"{found.low:.1f} and {found.high:.1f} (90%).",
        f"Nothing among the candidates is better by more than {found.gap:.1f} (90%).",
        "After 24 experiments at 90% the first kind of statement was true in 83%, the second in 86% of 240 campaigns "
        "on six kinds of tables, each on its worst kind in 65% and 57%.",
    ]
    assert found.low < truth(found.recommended) < found.high
    assert max(map(truth, TABLE.to_dict("records"))) <= found.mean + found.gap  # type: ignore[arg-type]
    yes, no = lab.stop(within=found.gap + 0.1), lab.stop(within=0.01)
    assert yes
    assert not no
    assert (yes.gap, yes.within, no.stop) == (found.gap, found.gap + 0.1, False)
    assert str(yes).startswith("Yes: nothing among the candidates is better than a ")
    assert str(yes).endswith(
        "Asked for a fifth of the range at 90%, such statements stopped 203 campaigns on tables, 16 of them too early."
    )
    assert str(no).startswith("Not yet: something better by up to ")
    assert str(no).split("near ")[1].startswith(", ".join(f"{name} {value}" for name, value in no.likely.items()))
    assert f"the next plate of 1 is expected to bring the {found.gap:.3f} to " in str(no)
    assert list(no.likely) == ["a", "b", "s"]


def test_small_outcomes_are_good_where_that_is_said(lab: Experiment) -> None:
    low = played(outcome="yield", minimise=True, sign=-1)
    one, other = lab.outlook(), low.outlook()
    assert other.recommended == one.recommended
    assert other.gap == pytest.approx(one.gap, rel=0.2)
    assert other.low < other.mean < other.high < -60


def test_below_ten_outcomes_nobody_stops() -> None:
    few = played(n=9)
    assert few.outlook().note == "There are 9 outcomes, and nobody has checked statements like these below 10."
    found = few.stop(within=1e6)
    assert not found
    assert str(found) == "Not yet: there are 9 outcomes, and nobody has checked such statements below 10."


def test_what_failed_is_no_candidate_and_is_named() -> None:
    lab = played(n=20)
    best = lab.outlook().recommended
    lab.tell(best, failed=True, correct=True)
    found = lab.outlook()
    assert found.recommended != best
    assert found.note == "1 evaluation failed; how likely another one fails is not covered."


def test_a_policy_with_another_model_or_none() -> None:
    lab = played(agent="Random")
    assert lab.outlook().note == "The point is that of 'Random'; the model is another, which learns kernel and noise."
    assert lab.outlook().recommended == lab.recommend()


class TestRangesAndLimits:
    def told(self, goals: Any, least: float = 0.0) -> Experiment:
        lab, rng = Experiment(RANGES, QUICK, outcome=goals), np.random.default_rng(1)
        for a, b in rng.uniform(least, 1, (24, 2)).tolist():
            y = {"y": 10 * a + b, "c": a * 10, "z": -a}
            lab.tell({"a": a, "b": b, "s": "u" if b > 0.5 else "v"}, {name: y[name] for name in lab.outcomes})
        return lab

    def test_nothing_counts_as_better_that_breaks_a_limit(self) -> None:
        free, limited = self.told({"y": "max"}), self.told({"y": "max", "c": "<= 5"})
        assert free.outlook().mean > 8
        found = limited.outlook()
        assert found.recommended["a"] <= 0.55
        assert found.mean + found.gap < 7.5
        assert found.note.startswith("The point keeps to c <= 5 with a probability of ")
        assert "Nothing in the ranges that may keep to the limits is better" in str(found)
        assert limited.stop(within=0.01).likely["a"] <= 0.6

    def test_none_that_keeps_to_the_limits_yet(self) -> None:
        with pytest.raises(ValueError, match=r"recommend: expected a point whose means keep to c <= 5, got none yet"):
            self.told({"y": "max", "c": "<= 5"}, least=0.7).outlook()
        with pytest.raises(ValueError, match=r"outlook: expected a point whose means keep to c <= 5, got none yet"):
            self.told({"y": "max", "z": "max", "c": "<= 5"}, least=0.7).outlook()

    def test_of_two_outcomes_each_is_looked_at_alone(self) -> None:
        lab = self.told({"y": "max", "z": "max", "c": "<= 5"})
        one, other = lab.outlook(), lab.outlook(outcome="z")
        assert one.note.startswith("This is of y alone; what it costs in z is in pareto(). The point keeps to c <= 5")
        assert one.recommended["a"] > other.recommended["a"]
        assert other.mean == pytest.approx(-other.recommended["a"], abs=0.1)
        with pytest.raises(ValueError, match="outcome: expected 'y' or 'z', got 'c'"):
            lab.outlook(outcome="c")

    def test_a_mixture_of_components_and_a_target(self) -> None:
        blend = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}
        lab = Experiment(blend, QUICK, outcome={"pH": "target 5"}, constraints=[agents.mixture("a", "b", "c")])
        for _ in range(3):
            for point in lab.ask(5):
                lab.tell(point, 4 + 2 * point["a"])
        found = lab.outlook()
        assert str(found).startswith("Best so far by the model: a ")
        assert ": distance of pH from 5 " in str(found)
        assert found.low >= 0 <= found.mean - found.gap  # no distance is below 0
        assert sum(lab.stop(0.01).likely.values()) == pytest.approx(1)
        assert len(found.plot().data) == 2


def test_what_is_refused() -> None:
    lab = Experiment(RANGES, QUICK)
    with pytest.raises(ValueError, match="outcome: expected at least two outcomes that differ, got 0"):
        lab.outlook()
    lab.tell({"a": 0.5, "b": 0.5, "s": "u"}, 1.0)
    with pytest.raises(ValueError, match="outcome: expected at least two outcomes that differ, got 1"):
        lab.stop(1.0)
    lab.tell({"a": 0.5, "b": 0.25, "s": "u"}, 1.0)
    with pytest.raises(ValueError, match="outcome: expected at least two outcomes that differ, got 2, all 1"):
        lab.stop(1.0)
    with pytest.raises(ValueError, match="outcome: expected 'outcome', got 'yield'"):
        lab.outlook(outcome="yield")
    with pytest.raises(ValueError, match="level: expected a number between 0 and 1, got 90"):
        lab.outlook(level=90)
    with pytest.raises(ValueError, match="within: expected a finite number > 0, got 0"):
        lab.stop(within=0)


def test_the_picture_by_plate(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = played(n=4, outcome="yield")
    for _ in range(2):
        for point in lab.ask(4):
            lab.tell(point, truth(point))
    found = lab.outlook()
    best, recommended, bound = found.plot().data
    np.testing.assert_array_equal(best.y, lab.results()["yield"].cummax())
    assert recommended.x.tolist() == [8, 12]
    assert (recommended.y[-1], bound.y[-1]) == (found.mean, found.mean + found.gap)
    lab.ask(3)
    assert lab.outlook().gap == found.gap  # of outcomes alone
    monkeypatch.setattr("plotly.graph_objects.Figure._repr_mimebundle_", lambda figure: {"image": len(figure.data)})
    assert found._repr_mimebundle_() == {"image": 3, "text/plain": str(found)}
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    assert list(found._repr_mimebundle_()) == ["text/plain"]


class TestWhatMatters:
    def test_the_second_most_important_parameter_is_second(self) -> None:
        rng = np.random.default_rng(0)
        lab = Experiment(dict.fromkeys(["line", "wave", "ripple", "none"], (0, 1)), QUICK)
        for line, wave, ripple, none in rng.random((60, 4)).tolist():
            y = 2 * np.sin(6 * wave) + 3 * line + 0.4 * np.sin(12 * ripple) + 0.05 * rng.standard_normal()
            lab.tell({"line": line, "wave": wave, "ripple": ripple, "none": none}, float(y))
        beliefs, x = lab._beliefs(), rng.random(100_000)
        effects = beliefs.effects(0, 0.9)
        assert sorted(effects, key=lambda name: -effects[name][0]) == ["wave", "line", "ripple", "none"]
        parts = {"wave": np.var(2 * np.sin(6 * x)), "line": 9 / 12, "ripple": np.var(0.4 * np.sin(12 * x)), "none": 0.0}
        for name, (middle, low, high) in effects.items():
            assert low <= middle <= high
            assert middle == pytest.approx(parts[name] / sum(parts.values()), abs=0.1)

    def test_under_constraints_and_on_tables(self) -> None:
        blend = {"a": (0, 1), "b": (0, 1), "c": (0, 1)}
        lab = Experiment(blend, QUICK, constraints=[agents.mixture("a", "b", "c")])
        table = Experiment(TABLE, QUICK)
        for point in lab.ask(14):
            lab.tell(point, point["a"] + 0.1 * point["b"])
        for point in table.ask(14):
            table.tell(point, point["a"] + 0.1 * point["b"])
        for each in (lab, table):
            effects = each._beliefs().effects(0, 0.9)
            assert max(effects, key=lambda name: effects[name][0]) == "a"
            assert effects["a"][0] > 0.5
