"""Several outcomes: goals, the volume that is to be gained, and experiments that play for it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import agents
from agents import Experiment, Pending
from agents.experiment.goals import Goal, as_goals
from agents.experiment.hypervolume import LogHypervolumeImprovement, boxes_above, is_dominated, reference_of
from agents.experiment.several import SeveralOutcomes
from benchmarks.mixtures import hypervolume

QUICK = ("MAP-BUCB", {"candidates": 128, "starts": 3, "iterations": 20, "n_initial": 5, "fits": 1})
RANGES: dict[str, Any] = {"a": (0, 1), "b": (0, 1), "base": ["KOAc", "CsOPiv"]}
GOALS = {"yield": "max", "cost": "min"}


def outcomes(point: dict[Any, Any]) -> dict[str, float]:
    good = 60 if point["base"] == "KOAc" else 80
    return {
        "yield": good - 80 * (point["a"] - 0.7) ** 2 - 40 * (point["b"] - 0.4) ** 2,
        "cost": 10 + 40 * point["a"] + (20 if point["base"] == "CsOPiv" else 0),
    }


def played(lab: Experiment, batches: int, size: int = 4, **told: float) -> Experiment:
    for _ in range(batches):
        for point in lab.ask(size):
            found = outcomes(point) | {name: point["b"] for name in told}
            lab.tell(point, {name: found[name] for name in lab.outcomes})
    return lab


class TestGoals:
    def test_directions_limits_and_both(self) -> None:
        found = as_goals({"y": "max", "c": ("min", "<= 40"), "p": ">= 95", "q": "Minimise"}, minimise=False)
        assert found == (Goal("y"), Goal("c", "min", ("<=", 40.0)), Goal("p", None, (">=", 95.0)), Goal("q", "min"))
        assert [goal.sign for goal in found] == [1, -1, 1, -1]
        assert [goal.least for goal in found] == [-np.inf, -40, 95, -np.inf]
        assert [str(goal) for goal in found] == ["maximise y", "minimise c <= 40", "p >= 95", "minimise q"]
        assert as_goals({goal.name: goal.to_spec() for goal in found}, minimise=False) == found
        assert as_goals("y", minimise=True) == (Goal("y", "min"),)

    @pytest.mark.parametrize(
        ("outcome", "error", "message"),
        [
            (["yield", "cost"], TypeError, "several outcomes need a goal each, as in {'yield': 'max', 'cost': 'max'}"),
            (None, TypeError, "outcome: expected the name of an outcome, or a dict of goals by name, got None"),
            ({"y": "maxx"}, ValueError, "outcome: 'y': expected 'max', 'min', a limit such as '<= 40', or both"),
            ({"y": "max", "c": "< 40"}, ValueError, "got '< 40'"),
            ({"y": "max", "c": "<= forty"}, ValueError, "got '<= forty'"),
            ({"y": "max", "c": 40}, ValueError, "outcome: 'c': expected 'max', 'min', a limit"),
            ({"y": ("max", "<= 40")}, ValueError, "expected a limit on the side of bad outcomes, >= with 'max'"),
            ({"y": ("target 3", "<= 5")}, ValueError, "or 'target 7.2', got ('target 3', '<= 5')"),
            ({"y": "max", "c": (">= 5", "<= 5")}, ValueError, "'c': expected the lower limit below the upper one"),
            ({"y": "max", "c": ("min", "<= 5", ">= 3")}, ValueError, "outcome: 'c': expected 'max', 'min', a limit"),
            ({"c": "<= 40"}, ValueError, "outcome: expected at least one outcome with 'max' or 'min'"),
            ({}, ValueError, "outcome: expected at least one outcome with 'max' or 'min'"),
        ],
    )
    def test_what_is_none_is_refused_at_once(self, outcome: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=re.escape(message)):
            Experiment(RANGES, outcome=outcome)

    def test_minimise_is_of_one_outcome(self) -> None:
        with pytest.raises(ValueError, match="minimise: expected with a single outcome only"):
            Experiment(RANGES, outcome=GOALS, minimise=True)

    def test_only_policies_that_learn_the_kernel(self) -> None:
        with pytest.raises(ValueError, match="agent: 'Random' plays for a single outcome without limit; 'MAP-BUCB'"):
            Experiment(RANGES, "Random", outcome=GOALS)


class TestTargetsAndTwoLimits:
    def test_a_target_is_a_distance_to_make_small(self, tmp_path: Path) -> None:
        lab = Experiment({"a": (0, 1)}, QUICK, outcome={"pH": "target 7"}, prior_mean=5.0)
        for a, pH in ((0.1, 4.0), (0.4, 6.5), (0.5, 7.25), (0.9, 9.0), (0.7, 8.0)):
            lab.tell({"a": a}, pH)
        assert str(lab.goals[0]) == "pH close to 7"
        assert lab.best() == ({"a": 0.5}, 7.25)
        assert lab.recommend()["a"] == 0.5
        assert lab.pareto()["pH"].tolist() == [7.25]
        assert lab.predict({"a": 0.1})["mean"][0] == pytest.approx(3.0, abs=0.3)
        assert lab.check().predictions["outcome"].tolist() == [3.0, 0.5, 0.25, 2.0, 1.0]
        drawn = next(trace for trace in lab.plot().data if trace.name == "best so far").y
        assert drawn.tolist() == [4.0, 6.5, 7.25, 7.25, 7.25]
        again = Experiment.load(lab.save(tmp_path / "lab.json"))
        assert again.goals == lab.goals
        assert again.ask() == lab.ask()
        assert 0.4 < lab.open[0]["a"] < 0.6

    def test_two_limits_are_kept_and_neither_side_is_preferred(self, tmp_path: Path) -> None:
        goals = {"y": "max", "c": (">= 4", "<= 5")}
        lab = Experiment({"a": (0, 1)}, QUICK, outcome=goals)
        for a in np.linspace(0, 1, 9).tolist():
            lab.tell({"a": a}, {"y": a, "c": 10 * a})
        assert str(lab.goals[1]) == "4 <= c <= 5"
        assert lab.best()[0] == {"a": 0.5}
        assert all(0.35 < point["a"] < 0.55 for point in lab.ask(3))
        assert Experiment.load(lab.save(tmp_path / "lab.json")).goals == lab.goals
        assert json.loads((tmp_path / "lab.json").read_text())["schema"] == 3

    @pytest.mark.parametrize("most", [0.9, 0.5, 1e5])
    def test_the_probability_is_that_of_both_and_has_its_slope(self, most: float) -> None:
        high = np.array([[np.inf]])
        X = np.random.default_rng(0).random((6, 2)) * 2
        edges = [np.array([0.3]), np.array([most])]
        lower = LogHypervolumeImprovement([_Known(0), _Known(1)], np.array([[0.5]]), high, *edges)
        without = LogHypervolumeImprovement([_Known(0)], np.array([[0.5]]), high, np.zeros(0))
        mean, sd = X[:, 1] ** 2, 0.1 + 0.2 * X[:, 1]
        kept = norm.cdf((most - mean) / sd) - norm.cdf((0.3 - mean) / sd)
        np.testing.assert_allclose(np.exp(lower(X) - without(X)), kept, rtol=1e-6)
        value, gradient = lower.with_gradient(X)
        for j in range(2):
            step = 1e-6 * np.eye(2)[j]
            np.testing.assert_allclose(gradient[:, j], (lower(X + step) - lower(X - step)) / 2e-6, rtol=1e-4, atol=1e-6)
        far, slope = lower.with_gradient(np.array([[1.0, 1e6], [1.0, 0.0]]))
        assert np.isfinite(far).all()
        assert np.isfinite(slope).all()
        assert value.shape == (6,)


class _Known:
    """A posterior with mean `x_j ** 2` and standard deviation `0.1 + 0.2 x_j`."""

    def __init__(self, j: int) -> None:
        self.j = j

    def at(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return Z[:, self.j] ** 2, (0.1 + 0.2 * Z[:, self.j]) ** 2

    mean_and_bound = at

    def at_with_gradient(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        mean, variance = self.at(Z)
        by_mean, by_sd = np.zeros_like(Z), np.zeros_like(Z)
        by_mean[:, self.j], by_sd[:, self.j] = 2 * Z[:, self.j], 0.2
        return mean, np.sqrt(variance), by_mean, by_sd


class TestHypervolume:
    @pytest.mark.parametrize("m", [1, 2, 3, 4])
    def test_it_is_the_share_of_random_points_that_are_dominated(self, m: int) -> None:
        rng, n = np.random.default_rng(m), 100_000
        Y = rng.random((9, m))
        share = float(np.any(np.all(rng.random((n, m))[:, None] <= Y, axis=2), axis=1).mean())
        # Five standard errors of a share.
        assert hypervolume(Y, np.zeros(m)) == pytest.approx(share, abs=5 * np.sqrt(share * (1 - share) / n))
        assert hypervolume(Y, np.ones(m)) == 0.0

    def test_of_two_points_by_hand(self) -> None:
        Y = np.array([[3.0, 1.0], [1.0, 2.0], [1.0, 1.0], [5.0, -1.0]])
        assert hypervolume(Y, np.zeros(2)) == 3 * 1 + 1 * 2 - 1 * 1
        assert is_dominated(Y).tolist() == [False, False, True, False]

    def test_equal_points_dominate_neither(self) -> None:
        assert is_dominated(np.array([[1.0, 2.0], [1.0, 2.0]])).tolist() == [False, False]

    @pytest.mark.parametrize("m", [1, 2, 3])
    def test_the_expected_gain_is_the_mean_of_gains(self, m: int) -> None:
        rng, n = np.random.default_rng(m), 3_000
        Y, x = rng.random((6, m)), np.full((1, m), 0.8)
        reference = np.zeros(m)
        lower, upper = boxes_above(Y, reference)
        value = np.exp(LogHypervolumeImprovement([_Known(j) for j in range(m)], lower, upper, np.zeros(0))(x))[0]
        before = hypervolume(Y, reference)
        drawn = 0.64 + (0.1 + 0.2 * 0.8) * rng.standard_normal((n, m))
        gains = [hypervolume(np.vstack([Y, row]), reference) - before for row in drawn]
        assert value == pytest.approx(np.mean(gains), abs=5 * np.std(gains) / np.sqrt(n))

    def test_gradients_and_the_probability_of_limits(self) -> None:
        rng = np.random.default_rng(0)
        lower, upper = boxes_above(rng.random((5, 2)), np.zeros(2))
        gain = LogHypervolumeImprovement([_Known(j) for j in range(3)], lower, upper, np.array([0.5]))
        X, h = rng.random((4, 3)), 1e-6
        value, gradient = gain.with_gradient(X)
        np.testing.assert_array_equal(value, gain(X))
        by_differences = np.array([(gain(X + h * e) - gain(X - h * e)) / (2 * h) for e in np.eye(3)]).T
        np.testing.assert_allclose(gradient, by_differences, rtol=1e-6, atol=1e-6)
        free = LogHypervolumeImprovement([_Known(j) for j in range(2)], lower, upper, np.zeros(0))
        z = (X[:, 2] ** 2 - 0.5) / (0.1 + 0.2 * X[:, 2])
        np.testing.assert_allclose(value - free(X), norm.logcdf(z))

    @pytest.mark.parametrize("least", [0.0, 30.0, 300.0])
    def test_what_is_out_of_reach_still_has_a_slope(self, least: float) -> None:
        """At 300 it is 1,000 deviations away: the volume itself would be 0 in double precision."""
        lower, upper = boxes_above(np.array([[least + 1, least + 2], [least + 2, least + 1]]), np.full(2, least))
        gain = LogHypervolumeImprovement([_Known(j) for j in range(2)], lower, upper, np.zeros(0))
        X, h = np.array([[0.3, 0.6], [0.9, 0.2], [0.9, 0.6]]), 1e-6
        value, gradient = gain.with_gradient(X)
        assert np.isfinite(value).all()
        assert len(set(value)) == 3
        by_differences = np.array([(gain(X + h * e) - gain(X - h * e)) / (2 * h) for e in np.eye(2)]).T
        np.testing.assert_allclose(gradient, by_differences, rtol=1e-5, atol=1e-5)

    def test_the_reference_is_a_tenth_below_the_worst_or_the_limit(self) -> None:
        Y = np.array([[0.0, 10.0], [5.0, 0.0], [-5.0, -5.0]])
        np.testing.assert_allclose(reference_of(Y, np.array([-np.inf, -np.inf])), [-6.0, -6.5])
        np.testing.assert_allclose(reference_of(Y, np.array([-np.inf, 3.0])), [-6.0, 3.0])
        np.testing.assert_allclose(reference_of(np.array([[2.0, 0.0]]), np.full(2, -np.inf)), [1.8, -0.1])


class TestPlay:
    def test_it_finds_more_of_the_front_than_chance(self, tmp_path: Path) -> None:
        lab = played(Experiment(RANGES, QUICK, outcome=GOALS), 6)
        rng = np.random.default_rng(0)
        drawn = [{"a": a, "b": b, "base": str(rng.choice(RANGES["base"]))} for a, b in rng.random((24, 2))]
        along = [{"a": a, "b": 0.4, "base": base} for a in np.linspace(0, 1, 99) for base in RANGES["base"]]

        def volume(frame: pd.DataFrame) -> float:
            return hypervolume(np.column_stack([frame["yield"], 80 - frame["cost"]]), np.zeros(2))

        ideal = volume(pd.DataFrame(list(map(outcomes, along))))
        assert volume(lab.results()) > 0.97 * ideal > volume(pd.DataFrame(list(map(outcomes, drawn))))
        front = lab.pareto()
        assert front["yield"].is_monotonic_decreasing
        assert front["cost"].is_monotonic_decreasing
        results = lab.results()
        pd.testing.assert_frame_equal(front, results.loc[front.index, front.columns], check_dtype=False)
        predicted = lab.predict(front)
        columns: list[Any] = list(predicted.columns)
        assert columns == [(name, what) for name in GOALS for what in ("mean", "half_width")]
        assert predicted.index.equals(front.index)
        np.testing.assert_allclose(predicted["cost"]["mean"], front["cost"], atol=1)
        for name in lab.outcomes:
            assert repr(lab.check(name)).startswith(f"{name}: 24 outcomes, each predicted from the others")
        with pytest.raises(ValueError, match="outcome: expected 'yield' or 'cost', got None"):
            lab.check()
        path = lab.save(tmp_path / "lab.json")
        assert json.loads(path.read_text())["setup"]["outcome"] == GOALS
        again = Experiment.load(path)
        assert again.ask(3) == lab.ask(3)
        for refused in (lab.best, lab.recommend):
            with pytest.raises(ValueError, match=r"expected a single outcome with a direction.*pareto\(\) has all"):
                refused()

    def test_one_direction_and_limits(self) -> None:
        lab = Experiment(RANGES, QUICK, outcome={"cost": "<= 35", "yield": "max", "share": "<= 0.3"})
        played(lab, 6, share=0.0)
        point, found = lab.best()
        assert found["cost"] <= 35
        assert found["share"] <= 0.3
        # The best that is allowed: a = 0.625, b = 0.3, KOAc.
        assert found["yield"] > 60 - 80 * 0.075**2 - 40 * 0.1**2 - 0.5
        assert point["base"] == "KOAc"
        assert lab.recommend()["base"] == "KOAc"
        assert len(lab.pareto()) == 1

    def test_a_limit_of_an_objective_is_where_it_begins_to_count(self) -> None:
        lab = Experiment(RANGES, QUICK, outcome={"yield": "max", "cost": ("min", "<= 30")})
        agent = played(lab, 4)._informed()
        assert isinstance(agent, SeveralOutcomes)
        lower = agent.gain(Pending.empty(agent.parts[0].problem)).lower
        assert lower[:, 1].min() == -30
        assert (lab.pareto()["cost"] <= 30).all()

    def test_a_limit_out_of_reach_is_approached(self) -> None:
        lab = played(Experiment(RANGES, QUICK, outcome={"yield": ("max", ">= 90")}), 6)
        assert lab.results()["yield"].max() > 79  # of 80
        assert lab.pareto().empty
        for refused in (lab.recommend, lab.best):
            with pytest.raises(ValueError, match=r"keeps? to .*yield >= 90, got none"):
                refused()
        with pytest.raises(ValueError, match="point: expected one to draw through, since none that was told keeps to"):
            lab.plot_model()

    def test_a_prior_mean_moves_no_limit(self) -> None:
        goals = {"yield": "max", "cost": "<= 35"}
        one, other = (played(Experiment(RANGES, QUICK, outcome=goals, prior_mean=c), 4) for c in (0.0, 30.0))
        assert one.recommend() == other.recommend() == one.best()[0]

    @pytest.mark.parametrize("parameters", [{"t": (5, 45), "s": ["x", "y"]}, None])
    def test_what_failed_and_counts_as_the_worst_is_not_recommended(self, parameters: Any) -> None:
        table = [{"t": t, "s": s} for t in (10, 20, 30, 40) for s in "xy"]
        lab = Experiment(parameters or table, QUICK, outcome={"y": "max", "c": "<= 40"}, on_failure="worst")
        lab.tell({"t": 10, "s": "x"}, failed=True)
        with pytest.raises(ValueError, match="recommend: expected a point whose means keep to c <= 40, got none yet"):
            lab.recommend()
        lab.tell({"t": 20, "s": "x"}, {"y": 50.0, "c": 30.0})
        assert lab.recommend() == {"t": 20, "s": "x"}
        lab.tell({"t": 30, "s": "y"}, {"y": 40.0, "c": 30.0})
        lab.tell({"t": 40, "s": "y"}, failed=True)
        assert lab.recommend() == {"t": 20, "s": "x"}
        with pytest.raises(
            ValueError, match=r"row 0 .* has been told already \(failed\)"
        ):  # what it counts as is no news
            lab.tell(pd.DataFrame([{"t": 40, "s": "y", "y": 40.0, "c": 30.0}]))

    def test_on_a_table_with_what_is_known(self) -> None:
        table = pd.DataFrame([{"a": a, "b": b, "base": "KOAc"} for a in (0, 0.25, 0.5, 1) for b in (0, 0.4, 1)])
        known = pd.DataFrame(list(map(outcomes, table.to_dict("records"))))
        known[4:] = None
        lab = Experiment(pd.concat([table, known], axis="columns"), QUICK, outcome=GOALS)
        assert repr(lab) == "Experiment(12 candidates, 8 untried, of a, b, base; MAP-BUCB; 4 before)"
        played(lab, 2)
        with pytest.raises(ValueError, match="none is left"):
            lab.ask()
        known.loc[6, "yield"] = 3.0
        with pytest.raises(ValueError, match=r"table, row 6 \(counted from 0\): cost: expected a number beside those"):
            Experiment(pd.concat([table, known], axis="columns"), QUICK, outcome=GOALS)
        with pytest.raises(ValueError, match="table: expected columns for all of yield, cost or for none, got yield"):
            Experiment(pd.concat([table, known["yield"]], axis="columns"), QUICK, outcome=GOALS)

    @pytest.mark.parametrize("on_failure", ["avoid", "worst"])
    def test_failures_and_data(self, on_failure: Any, tmp_path: Path) -> None:
        data = pd.DataFrame([{"a": a, "b": 0.5, "base": "KOAc"} for a in (0.1, 0.5, 0.9)])
        data = pd.concat([data, pd.DataFrame(list(map(outcomes, data.to_dict("records"))))], axis="columns")
        data.loc[2, ["yield", "cost"]] = None
        lab = Experiment(RANGES, QUICK, outcome=GOALS, data=data, failures=True, on_failure=on_failure)
        assert repr(lab).endswith("2 before, 1 failed)")
        played(lab, 1, 3)
        point = lab.ask()
        lab.tell(point, failed=True)
        lab.ask()
        counted = lab._history.own[-2].counts_as
        worst = {"yield": lab.results()["yield"].min(), "cost": lab.results()["cost"].max()}
        assert counted == (worst if on_failure == "worst" else None)
        assert Experiment.load(lab.save(tmp_path / "lab.json")).ask(2) == lab.ask(2)

    def test_outcomes_filled_in_by_hand_are_all_or_none(self) -> None:
        lab = Experiment(RANGES, QUICK, outcome=GOALS)
        lab.tell(lab.ask(3)[0], failed=True)
        results = lab.results()
        results.loc[1, ["yield", "cost"]] = [50.0, 20.0]
        again = Experiment(RANGES, QUICK, outcome=GOALS, data=results)
        assert again.results()["status"].tolist() == ["before", "failed"]
        for row, message in (
            (0, "status: expected 'done' beside outcomes, got 'failed' beside cost 30.0"),
            (2, "yield: expected a number beside those of the other outcomes, got none"),
        ):
            data = results.copy()
            data.loc[row, "cost"] = 30.0
            with pytest.raises(ValueError, match=rf"data, row {row} \(counted from 0\): {message}"):
                Experiment(RANGES, QUICK, outcome=GOALS, data=data)

    def test_an_outcome_is_learnt_before_the_others_are_there(self) -> None:
        lab, whole = (Experiment(RANGES, QUICK, outcome=GOALS) for _ in range(2))
        plate = lab.ask(12)
        for i, point in enumerate(whole.ask(12)):
            lab.tell(point, {"yield": 50.0 + i % 5})
            whole.tell(point, {"yield": 50.0 + i % 5, "cost": 20.0 + i % 3})
        agent = lab._informed()
        assert isinstance(agent, SeveralOutcomes)
        assert [len(agent._open(j, lab._pending([]))) for j in (0, 1)] == [0, 12]
        assert lab.predict(plate)["yield"].equals(whole.predict(plate)["yield"])
        assert str(lab.check("yield")) == str(whole.check("yield"))
        assert "12 outcomes in their order" in lab.plot().layout.title.text
        with pytest.raises(ValueError, match="expected a single outcome with a direction"):
            lab.recommend()
        lab.tell(plate[3], {"yield": 53.5}, correct=True)
        assert lab.predict(plate)["yield"]["mean"][3] > whole.predict(plate)["yield"]["mean"][3]
        lab.tell(plate[3], {"yield": 53.0}, correct=True)
        for i, point in enumerate(plate):
            lab.tell(point, {"cost": 20.0 + i % 3})
        assert lab.results().equals(whole.results())
        assert lab.predict(plate)["cost"].equals(whole.predict(plate)["cost"])
        lab.tell(point := lab.ask(), {"yield": 1.0})
        with pytest.raises(ValueError, match=r"told already \(yield 1\); correct=True replaces it"):
            lab.tell(point, failed=True)

    def test_what_is_told_is_checked(self) -> None:
        lab = Experiment(RANGES, QUICK, outcome=GOALS)
        point = lab.ask()
        wrong: dict[str, Any] = {
            "outcome: expected a dict with a number for each of yield, cost, got 3.0": 3.0,
            "outcome: expected a number for each of yield, cost, missing yield, cost": {},
            "outcome: no outcome 'cots'; did you mean 'cost'?": {"yield": 3.0, "cots": 1.0},
            "cost: expected a finite number, got nan": {"yield": 3.0, "cost": np.nan},
        }
        for message, told in wrong.items():
            with pytest.raises((TypeError, ValueError), match=re.escape(message)):
                lab.tell(point, told)
        assert len(lab.open) == 1

    def test_repeats_are_averaged(self) -> None:
        lab = Experiment(RANGES, QUICK, outcome=GOALS, repeats=True)
        point = {"a": 0.5, "b": 0.5, "base": "KOAc"}
        lab.tell(point, {"yield": 10, "cost": 30})
        lab.tell({**point, "a": 0.6}, {"yield": 12, "cost": 35})
        lab.tell(point, {"yield": 20, "cost": 20})
        assert lab.pareto().to_dict("records") == [{**point, "yield": 15.0, "cost": 25.0}]
        assert lab.pareto().index.tolist() == [0]


class TestPictures:
    def test_the_front_and_its_limits(self) -> None:
        pytest.importorskip("plotly")
        lab = played(Experiment(RANGES, QUICK, outcome={"yield": "max", "cost": ("min", "<= 45")}), 3)
        traces = {trace.name: trace for trace in lab.plot_pareto().data}
        front = lab.pareto().sort_values("yield")
        np.testing.assert_array_equal(traces["best"].x, front["yield"])
        np.testing.assert_array_equal(traces["best"].y, front["cost"])
        broken = lab.results()["cost"] > 45
        assert len(traces["breaks a limit"].x) == broken.sum() > 0
        assert len(lab.plot().data) == 2 * (3 + len(RANGES))
        with pytest.raises(ValueError, match=r"plot_pareto: expected several outcomes, got yield alone; plot\(\)"):
            Experiment(RANGES, QUICK, outcome="yield").plot_pareto()

    def test_the_model_through_a_point_of_a_mixture(self) -> None:
        pytest.importorskip("plotly")
        ranges = {**RANGES, "c": (0, 1), "rate": agents.log(1e-3, 1)}
        constraints = [agents.mixture("a", "b", "c"), "a <= 0.5"]
        lab = played(Experiment(ranges, QUICK, outcome=GOALS, constraints=constraints), 3)
        point = {"a": 0.2, "b": 0.2, "c": 0.6, "base": "KOAc", "rate": 0.1}
        figure = lab.plot_model("cost", point=point)
        lines = [trace for trace in figure.data if trace.name == "mean" and trace.mode == "lines"]
        assert len(lines) == 4  # a, b, c and the rate
        a = np.array(lines[0].y)
        assert np.isnan(a[np.array(lines[0].x) > 0.5]).all()
        assert np.isfinite(a[np.array(lines[0].x) < 0.5]).all()
        # Where a slice goes through the point, it has the mean of the point; b and c keep their ratio beside it.
        beliefs = lab._beliefs()
        for x, beside in ((0.2, point), (0.4, {**point, "a": 0.4, "b": 0.15, "c": 0.45})):
            mean, low, high = beliefs.band(1, 0.9, np.asarray(lab._history.stated(beside).action)[None])[:, 0]
            assert np.interp(x, lines[0].x, a) == pytest.approx(mean, rel=0.02)
            assert low < mean < high
        assert (
            "through the marked point; all else is held at a 0.2, b 0.2, base KOAc, c 0.6,<br>rate"
            in figure.layout.title.text
        )
        matters = next(trace for trace in figure.data if trace.type == "bar")
        assert matters.y[0] == "rate"
        assert set(matters.y) == set(ranges)
        assert next(trace for trace in figure.data if trace.type == "contour").z.shape == (33, 33)
        assert lab.plot_model(pair=("a", "rate")).data
        for refused in (("a", "base"), ("a", "a"), ("a",), "ab", 3, (["a"], "b")):
            with pytest.raises(ValueError, match="pair: expected two of a, b, c, rate, got"):
                lab.plot_model(pair=refused)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="outcome: expected 'yield' or 'cost', got 'price'"):
            lab.plot_model("price")

    def test_equal_outcomes_have_no_band_after_the_first_points_either(self) -> None:
        lab = Experiment(RANGES, QUICK, outcome="yield")
        for _ in range(3):
            for point in lab.ask(4):
                lab.tell(point, 5.0)
        np.testing.assert_array_equal(lab.predict(point), [[5.0, np.nan]])
        lab.tell(lab.ask(), 6.0)
        assert lab.predict(point)["half_width"][0] > 0

    def test_the_model_on_a_table_and_before_anything_is_told(self) -> None:
        pytest.importorskip("plotly")
        table = pd.DataFrame([{"a": a, "base": base, "x": 1} for a in (0, 0.25, 0.5, 1) for base in ("KOAc", "CsOPiv")])
        lab = Experiment(table, QUICK, outcome="yield")
        with pytest.raises(ValueError, match="plot_model: expected at least one outcome, got none yet"):
            lab.plot_model()
        points = lab.ask(8)
        for point in points[:2]:
            lab.tell(point, 3.0)
        with pytest.raises(ValueError, match="yield: expected at least two outcomes that differ, got 2"):
            lab.plot_model()
        for point in points[2:]:
            lab.tell(point, point["a"])
        lab.plot_model(level=0.5)
        kinds = [trace.type for trace in lab.plot_model().data]
        assert kinds.count("bar") == 1
        assert "contour" not in kinds  # a single number
