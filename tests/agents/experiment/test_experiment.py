"""Experiments by asking and telling: units, names, failures, batches, files, and what is refused."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import agents
from agents import Actions, Capabilities, Experiment, Feedback, Pending
from agents.core.finite import FiniteArmAgent
from agents.core.widths import Logarithmic
from gpbandit_envs.problem import Problem

QUICK = ("MAP-BUCB", {"candidates": 64, "starts": 2, "iterations": 10, "n_initial": 4, "fits": 1})
RANGES: dict[str, Any] = {
    "temperature": (20, 120),
    "rate": agents.log(1e-4, 1),
    "equivalents": range(1, 9),
    "molarity": [0.2, 0.05, 0.1],
    "base": ["KOAc", "CsOPiv", "K3PO4"],
}
TABLE = pd.DataFrame(
    [{"ligand": ligand, "celsius": c, "scale": 1} for ligand in ("XPhos", "SPhos", "PPh3") for c in (90, 105, 120)]
)


def formula(point: dict[str, Any]) -> float:
    base = {"KOAc": 1.0, "CsOPiv": 0.0, "K3PO4": 0.5}[point["base"]]
    return float(base - ((point["temperature"] - 70) / 30) ** 2 - (np.log10(point["rate"]) + 2) ** 2)


def measured(point: dict[str, Any]) -> float:
    return float({"XPhos": 60, "SPhos": 50, "PPh3": 20}[point["ligand"]] + point["celsius"] / 10)


def played(lab: Experiment, batches: int, size: int = 3, outcome: Any = formula, fails: tuple[int, ...] = ()) -> None:
    for _ in range(batches):
        for point in lab.ask(size):
            if len(lab.results()) - len(lab.open) in fails:
                lab.tell(point, failed=True)
            else:
                lab.tell(point, outcome(point))


class TestUnits:
    def test_points_are_in_true_units_and_of_plain_types(self) -> None:
        lab = Experiment(RANGES, QUICK)
        played(lab, 3)
        for point in lab.ask(4):
            assert list(point) == list(RANGES)
            assert 20 <= point["temperature"] <= 120
            assert 1e-4 <= point["rate"] <= 1
            assert point["equivalents"] in RANGES["equivalents"]
            assert point["molarity"] in RANGES["molarity"]
            assert point["base"] in RANGES["base"]
            assert [type(value) for value in point.values()] == [float, float, int, float, str]
            assert len(repr(point["temperature"])) <= 6

    def test_a_logarithmic_scale_is_explored_evenly(self) -> None:
        lab = Experiment({"rate": agents.log(1e-4, 1)}, "Random")
        rates = np.array([point["rate"] for point in lab.ask(400)])
        assert np.mean(rates < 1e-2) == pytest.approx(0.5, abs=0.1)

    @pytest.mark.parametrize(("low", "high"), [(1000, 1001), (99.9, 100.1), (500_000, 500_100), (1e-7, 1.0001e-7)])
    def test_a_narrow_logarithmic_scale_has_as_many_values_as_a_linear_one(self, low: float, high: float) -> None:
        values = [point["x"] for point in Experiment({"x": agents.log(low, high)}, "Random").ask(200)]
        assert len(set(values)) > 190
        digits = [len(f"{(x - low) / (high - low):.5g}") for x in values]
        assert min(digits) >= 4
        wide = Experiment({"x": agents.log(1, 2), "y": agents.log(1e-4, 1)}, "Random").ask(100)
        assert all(value == float(f"{value:.4g}") for point in wide for value in point.values())

    def test_categories_are_equally_far_from_each_other(self) -> None:
        lab = Experiment({"base": ["KOAc", "CsOPiv", "K3PO4"], "t": (0, 1)}, "Random")
        actions = {point["base"]: lab._history.stated({**point, "t": 0.5}).action for point in lab.ask(40)}
        a, b, c = (np.asarray(actions[name]) for name in RANGES["base"])
        assert np.linalg.norm(a - b) == np.linalg.norm(b - c) == np.linalg.norm(a - c) > 0

    @pytest.mark.parametrize(
        ("setting", "levels"),
        [
            (range(20, 121, 50), [20, 70, 120]),
            (np.array([0.5, 0.1, 0.2]), [0.1, 0.2, 0.5]),
            (np.array(["b", "a"]), ["b", "a"]),
            (np.array([20, 120]), [20, 120]),
            ((5, 20, 120), [5, 20, 120]),
        ],
    )
    def test_levels_from_ranges_in_steps_and_from_arrays(self, setting: Any, levels: list[Any], tmp_path: Path) -> None:
        lab = Experiment({"x": setting}, "Random", repeats=True)
        assert lab.parameters is not None
        assert lab.parameters.all[0].labels == tuple(levels)
        values = [point["x"] for point in lab.ask(60)]
        assert set(values) == set(levels)
        assert {type(value) for value in values} == {type(levels[0])}
        assert Experiment.load(lab.save(tmp_path / "lab.json")).ask() == lab.ask()

    def test_many_levels_are_told_apart_quickly(self) -> None:
        lab = Experiment({"x": np.linspace(0, 1, 20_001)}, "Random")
        assert 0 <= lab.ask()["x"] <= 1


def test_it_finds_the_maximum_and_the_minimum() -> None:
    highs, lows = Experiment(RANGES, QUICK), Experiment(RANGES, QUICK, minimise=True)
    played(highs, 8, 4)
    played(lows, 8, 4, lambda point: -formula(point))
    assert [each.point for each in highs._history.own] == [each.point for each in lows._history.own]
    (point, value), (_, low) = highs.best(), lows.best()
    assert value == formula(point) == -low > 0.7
    expected = highs.predict([point])["mean"][0]
    assert lows.predict([point])["mean"][0] == pytest.approx(-expected)
    assert highs.predict(point).equals(highs.predict([point]))
    nothing = highs.predict([])
    assert nothing.shape == (0, 2)
    assert nothing.dtypes.equals(highs.predict([point]).dtypes)
    assert expected == pytest.approx(value, abs=0.3)
    results = highs.results()
    frame = highs.predict(results.tail(5)[["status", *reversed(RANGES)]])
    assert frame.index.tolist() == results.index[-5:].tolist()
    one_by_one = highs.predict(results.tail(5)[list(RANGES)].to_dict("records"))  # type: ignore[arg-type]
    np.testing.assert_array_equal(frame, one_by_one)
    assert highs.predict(results.iloc[:0]).shape == (0, 2)
    with pytest.raises(ValueError, match=r"points: expected the columns temperature, .*, base, got none named base"):
        highs.predict(results.drop(columns="base"))
    assert list(highs.recommend()) == list(RANGES)


class TestTables:
    def test_every_candidate_is_proposed_once_and_then_none_is_left(self) -> None:
        lab = Experiment(TABLE, QUICK, outcome="yield")
        played(lab, 3, 4, measured)  # 4, 4 and the last one
        assert lab.results().drop_duplicates(["ligand", "celsius"]).shape[0] == 9
        assert lab.best()[0] == {"ligand": "XPhos", "celsius": 120, "scale": 1}
        with pytest.raises(ValueError, match="told; none is left; to go beyond them give ranges of parameters, and"):
            lab.ask()

    @pytest.mark.filterwarnings("ignore:.* does not use it")
    @pytest.mark.parametrize("agent", [QUICK, "Random", "EpsGreedy", ("GP-BUCB", {"width": 1.0, "batch_size": 3})])
    def test_a_candidate_that_failed_is_never_proposed_again(self, agent: Any) -> None:
        lab = Experiment(TABLE, agent, repeats=True, kernel={"name": "se", "lengthscale": 0.5}, noise_std=1.0)
        lab.tell({"ligand": "XPhos", "celsius": 120, "scale": 1}, failed=True)
        for _ in range(10):
            for point in lab.ask(3):
                assert (point["ligand"], point["celsius"]) != ("XPhos", 120)
                lab.tell(point, measured(point))
        assert lab.results()["outcome"].isna().sum() == 1

    def test_what_is_known_in_the_table_is_data_from_before(self) -> None:
        table = TABLE.assign(
            result=[measured(row) if i % 2 else np.nan for i, row in enumerate(TABLE.to_dict("records"))]  # type: ignore[arg-type]
        )
        lab = Experiment(table, QUICK, outcome="result")
        assert repr(lab).startswith("Experiment(9 candidates, 5 untried, of ")
        assert list(lab.results()["status"]) == ["before"] * 4
        assert len(lab.ask(9)) == 5
        assert lab.best()[1] == table["result"].max()

    def test_a_word_for_nothing_in_a_csv_file_is_a_category(self, tmp_path: Path) -> None:
        (tmp_path / "table.csv").write_text("t, ligand, yield\n20,None,\n40,None,3\n20,XPhos,\n40,NA,\n")
        lab = Experiment(tmp_path / "table.csv", "Random", outcome="yield")
        assert lab.best() == ({"t": 40, "ligand": "None"}, 3)
        assert {point["ligand"] for point in lab.ask(3)} == {"None", "XPhos", "NA"}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("t,conc\n20,1,5\n30,2,5\n40,3,5\n", "parameters: expected .*table.csv to be UTF-8 text of columns"),
            ("t;conc\n20;1,5\n30;2,5\n", "parameters: expected .*separated by commas"),
            ("t\tconc\n20\t1\n30\t2\n", "parameters: expected columns separated by commas, got "),
            ('t,c\n"20,5",1\n"30,5",2\n40,3\n', r"parameters: column 't' holds numbers with decimal commas"),
            ("t,c\n20,1\n3O,2\n40,3\n", r"parameters: column 't' mixes numbers with text, such as '3O' in row 1 \("),
            ("t,yield\n,\n30,n/a\n40,3\n", "parameters: column 'yield' mixes numbers with text, such as 'n/a' in row"),
        ],
    )
    def test_a_csv_file_that_would_be_misread_is_refused(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "table.csv").write_text(text)
        with pytest.raises(ValueError, match=message):
            Experiment(tmp_path / "table.csv", "Random", outcome="yield")

    def test_long_texts_that_begin_alike_are_different(self) -> None:
        assert Experiment([{"s": end.rjust(200, "C"), "t": t} for end in "NO" for t in (1, 2)], "Random").ask()["t"]

    def test_wide_ranges_in_steps_are_not_listed(self, tmp_path: Path) -> None:
        lab = Experiment({"n": range(0, 10**8, 7), "m": range(10**7, 0, -5)}, "Random")
        assert len(f"{lab.save(tmp_path / 'lab.json').read_text()}") < 2_000
        for point in lab.ask(5):
            assert point["n"] % 7 == 0 == point["m"] % 5
            assert 0 < point["m"] <= 10**7
        again = Experiment.load(tmp_path / "lab.json")
        again.tell({"n": 7 * 10**6, "m": 5}, 1.0)
        assert again.best()[0] == {"n": 7 * 10**6, "m": 5}
        with pytest.raises(ValueError, match=r"n: expected one of 0, 7, 14, .* \(14285715 in all\), got 8"):
            again.tell({"n": 8, "m": 5}, 1.0)

    def test_words_that_look_like_numbers_are_names_where_that_is_said(self, tmp_path: Path) -> None:
        table = TABLE.assign(sieve=pd.Categorical(["3 A", "4 A", "5 A"] * 3))
        lab = Experiment(table, QUICK)
        assert lab.parameters is None
        assert Experiment.load(lab.save(tmp_path / "lab.json")).ask() == lab.ask()
        with pytest.warns(UserWarning, match="sieve: numbers with a unit, such as '3 A', are categories"):
            listed = Experiment({"sieve": ["3 A", "4 A"]}, "Random")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Experiment.load(listed.save(tmp_path / "listed.json"))

    def test_a_csv_file_and_columns_on_a_logarithmic_scale(self, tmp_path: Path) -> None:
        pd.DataFrame({"rate": [1e-4, 1e-2, 1.0], "t": [1, 1, 2]}).to_csv(tmp_path / "table.csv", index=False)
        lab = Experiment(tmp_path / "table.csv", QUICK, log=["rate"])
        assert lab.candidates is not None
        np.testing.assert_allclose(lab.candidates.arms[:, 0], [0, 0.5, 1])
        assert lab.ask() in [{"rate": 1e-4, "t": 1}, {"rate": 1e-2, "t": 1}, {"rate": 1.0, "t": 2}]

    def test_the_largest_bound_among_those_left_takes_the_place_of_what_is_not(self) -> None:
        class Stubborn(FiniteArmAgent):
            capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)

            def select(self, n: int, pending: Pending) -> Actions:
                return np.zeros(n, np.int64)

            def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                return X[:, -1], np.where(X[:, 0] == 1, 0.5, 0.0)  # XPhos by half, then by temperature

        agents.register("Stubborn", Stubborn)
        lab = Experiment(TABLE, "Stubborn")
        found = [(point["ligand"], point["celsius"]) for point in lab.ask(4)]
        assert found == [("XPhos", 90), ("XPhos", 120), ("XPhos", 105), ("SPhos", 120)]


class TestFailures:
    def test_no_number_is_invented_on_ranges_and_nothing_close_is_proposed(self) -> None:
        lab = Experiment(
            {"x": (0, 1)}, ("GP-UCB", {"width": 1.0}), kernel={"name": "se", "lengthscale": 0.3}, noise_std=0.1
        )
        lab.tell({"x": 0.2}, 0.0)
        peak = lab.ask()["x"]
        lab.tell({"x": peak}, failed=True)
        near = [lab.ask()["x"]]
        for x in near:
            assert abs(x - peak) > 0.01
        agent = lab._informed()
        assert agent.beliefs.y.tolist() == [0.0]  # type: ignore[union-attr]

    def test_the_default_policy_leaves_the_place_where_an_evaluation_failed(self) -> None:
        def ask_after(failed: bool) -> float:
            lab = Experiment({"x": (0, 1)}, ("MAP-BUCB", {"n_initial": 3, "width": 3.0}))
            for x in (0.0, 0.1, 0.3, 0.45):
                lab.tell({"x": x}, float(np.sin(3 * x)))
            point = lab.ask()
            if failed:
                lab.tell(point, failed=True)
                return abs(lab.ask()["x"] - point["x"])
            lab.withdraw(point)
            return abs(lab.ask()["x"] - point["x"])

        assert ask_after(failed=False) < 0.01
        assert ask_after(failed=True) > 0.05

    def test_a_withdrawn_point_may_be_proposed_again(self) -> None:
        lab = Experiment(TABLE, "Random")
        for point in lab.ask(9):
            lab.withdraw(point)
        assert len(lab.ask(9)) == 9
        lab.withdraw({"ligand": "XPhos", "celsius": 90, "scale": 1})
        with pytest.raises(ValueError, match="point: expected one of the 8 open points"):
            lab.withdraw({"ligand": "XPhos", "celsius": 90, "scale": 1})

    @pytest.mark.parametrize("parameters", [{"x": (0, 1)}, pd.DataFrame({"x": np.linspace(0, 1, 21)})])
    def test_rows_of_data_without_an_outcome_are_told_as_failed(self, parameters: Any, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [{"x": 0.05 * i, "outcome": 1.0 * i} for i in range(0, 9, 2)]
        told = Experiment(parameters, QUICK, data=rows)
        told.tell({"x": 0.35}, failed=True)
        told.tell({"x": 0.45}, failed=True)
        failed: list[dict[str, Any]] = [{"x": 0.35, "outcome": np.nan}, {"x": 0.45, "outcome": None}]
        lab = Experiment(parameters, QUICK, data=[failed[0], *rows, failed[1]], failures=True)
        assert lab.results().equals(told.results())
        assert list(lab.results()["status"]) == ["before"] * 5 + ["failed"] * 2
        again = Experiment.load(lab.save(tmp_path / "lab.json"))
        assert lab.ask(3) == told.ask(3) == again.ask(3)
        with pytest.raises(ValueError, match=r"has been told already \(failed\)"):
            lab.tell({"x": 0.35}, 1.0)

    @pytest.mark.parametrize(("minimise", "worst"), [(False, 1.0), (True, 7.0)])
    def test_failures_count_as_the_worst_outcome(self, minimise: bool, worst: float, tmp_path: Path) -> None:
        def rewards(lab: Experiment) -> list[float]:
            sign = -1.0 if minimise else 1.0
            return [sign * y + 2.0 for y in lab._informed().y]  # type: ignore[union-attr]

        settings: dict[str, Any] = {"minimise": minimise, "prior_mean": 2.0}
        lab = Experiment({"x": (0, 1)}, QUICK, on_failure="worst", **settings)
        lab.tell({"x": 0.1}, failed=True)
        assert rewards(lab) == []  # there is no worst outcome yet
        lab.tell({"x": 0.2}, 3.0)
        lab.tell({"x": 0.3}, failed=True)
        lab.tell({"x": 0.4}, worst)
        assert rewards(lab) == [worst, 3.0, worst, worst]
        lab.ask()
        beyond = worst + (4.0 if minimise else -4.0)
        lab.tell({"x": 0.5}, beyond)
        lab.tell({"x": 0.6}, failed=True)
        assert rewards(lab) == [beyond, 3.0, beyond, worst, beyond, beyond]  # earlier failures too
        assert lab.best()[1] == (3.0 if (worst > 3.0) == minimise else worst)
        assert (lab.results()["outcome"].isna() == (lab.results()["status"] != "done")).all()

        again = Experiment.load(lab.save(tmp_path / "lab.json"))
        assert rewards(again) == rewards(lab)
        assert again.ask(2) == lab.ask(2)
        plain = Experiment({"x": (0, 1)}, QUICK, **settings)
        plain.tell({"x": 0.2}, 3.0)
        plain.tell({"x": 0.3}, failed=True)
        assert rewards(plain) == [3.0]

    def test_regions_of_failures_are_left(self) -> None:
        def failures(on_failure: Any) -> int:
            lab = Experiment({"x": (0, 1), "y": (0, 1)}, on_failure=on_failure)
            for _ in range(6):
                for point in lab.ask(4):
                    if point["x"] > 0.65:  # where the maximum would be
                        lab.tell(point, failed=True)
                    else:
                        lab.tell(point, -((point["x"] - 0.8) ** 2) - (point["y"] - 0.5) ** 2)
            return int((lab.results()["status"] == "failed").sum())

        assert failures("worst") < failures("avoid") / 2


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e-12, 1e12])
def test_sums_of_levels_hold_in_every_unit(unit: float) -> None:
    levels = [unit * x for x in (1, 2, 3, 5)]
    lab = Experiment({"a": levels, "b": levels}, QUICK, constraints=[({"a": 1, "b": 1}, "<=", 4 * unit)])
    for point in lab.ask(5):
        assert point["a"] + point["b"] <= 4.000001 * unit
        lab.tell(point, 1.0)
    with pytest.raises(ValueError, match="constraints: expected some points to be left, got none under"):
        Experiment({"a": levels, "b": levels}, constraints=[({"a": 1, "b": 1}, "<=", 1.5 * unit)])


def test_a_band_needs_outcomes_that_differ() -> None:
    lab = Experiment({"x": (0, 1)})
    points = [{"x": 0.2}, {"x": 0.9}]
    for outcome in (7000.0, 7000.0):
        lab.tell(points[len(lab.results())], outcome)
        found = lab.predict(points)
        np.testing.assert_allclose(found["mean"], 7000.0)
        assert found["half_width"].isna().all()
    lab.tell({"x": 0.5}, 7100.0)
    assert (lab.predict(points)["half_width"] > 1).all()


def test_results_are_data_for_other_ranges() -> None:
    lab = Experiment({"x": (0, 1)}, QUICK)
    first, second, third, _ = lab.ask(4)
    lab.tell(first, 1.0)
    lab.tell(second, failed=True)
    lab.withdraw(third)
    wider = Experiment({"x": (0, 2)}, QUICK, data=lab.results())
    assert wider.results()["status"].tolist() == ["before", "failed"]
    assert wider.results()["x"].tolist() == [first["x"], second["x"]]
    again = Experiment({"x": (0, 3)}, QUICK, data=wider.results())
    assert again.results()["status"].tolist() == ["before", "failed"]


def test_outcomes_filled_in_by_hand_count_whatever_was_open_or_withdrawn(tmp_path: Path) -> None:
    lab = Experiment({"x": (0, 1)}, QUICK)
    points = lab.ask(5)
    lab.tell(points[0], 1.0)
    lab.tell(points[1], failed=True)
    lab.withdraw(points[2])
    lab.results().to_csv(tmp_path / "results.csv", index=False)
    results = pd.read_csv(tmp_path / "results.csv")
    results.loc[[2, 3], "outcome"] = [2.0, 3.0]  # the withdrawn one, and an open one of two
    again = Experiment({"x": (0, 1)}, QUICK, data=results).results()
    assert again["status"].tolist() == ["before"] * 3 + ["failed"]
    assert again["outcome"].tolist()[:3] == [1.0, 2.0, 3.0]
    results.loc[1, "outcome"] = 4.0
    with pytest.raises(ValueError, match=r"data, row 1 .*: status: expected 'done' beside outcomes, got 'failed'"):
        Experiment({"x": (0, 1)}, QUICK, data=results)


class TestOpenPoints:
    def test_points_that_differ_by_rounding_are_one_wherever_they_lie(self) -> None:
        lab = Experiment({"a": (0, 1), "b": (0, 1)}, "Random")
        rng = np.random.default_rng(0)
        for a, b in rng.random((200, 2)).tolist():
            lab.tell({"a": a, "b": b}, a)
            with pytest.raises(ValueError, match="has been told already"):
                lab.tell({"a": a + rng.choice([-5e-10, 5e-10]), "b": b}, a)
        assert len(lab.results()) == 200
        assert lab.best()[1] == lab.results()["outcome"].max()

    def test_the_default_policy_spreads_what_is_asked_before_it_is_told(self) -> None:
        lab = Experiment({"x": (0, 1)}, ("MAP-BUCB", {"n_initial": 3}))
        for x in (0.0, 0.1, 0.3, 0.45):
            lab.tell({"x": x}, float(np.sin(3 * x)))
        one, two, three = (lab.ask()["x"] for _ in range(3))
        assert min(abs(one - two), abs(two - three), abs(one - three)) > 0.02
        twin = Experiment({"x": (0, 1)}, ("MAP-BUCB", {"n_initial": 3}))
        for x in (0.0, 0.1, 0.3, 0.45):
            twin.tell({"x": x}, float(np.sin(3 * x)))
        assert [point["x"] for point in twin.ask(3)] == pytest.approx([one, two, three], abs=0.02)

    def test_a_policy_that_waits_says_so(self) -> None:
        lab = Experiment({"x": (0, 1)}, "A-GP-UCB")
        with pytest.raises(ValueError, match=r"n: 'A-GP-UCB' proposes one point at a time, expected ask\(\)"):
            lab.ask(8)
        point = lab.ask()
        with pytest.raises(ValueError, match=r"ask: 'A-GP-UCB' waits for 1 open points, the first \{'x'"):
            lab.ask()
        lab.tell(point, 1.0)
        assert lab.ask() != point

    def test_a_policy_that_ends_its_own_batches_gives_fewer_and_then_waits(self) -> None:
        lab = Experiment(TABLE, "GP-AUCB", kernel={"name": "se", "lengthscale": 5.0}, noise_std=1e-3)
        batch = lab.ask(8)
        assert 1 <= len(batch) < 8
        for point in batch[1:]:
            lab.tell(point, 1.0)
        with pytest.raises(ValueError, match="'GP-AUCB' waits for 1 open points"):
            lab.ask(8)
        lab.tell(batch[0], 1.0)
        lab.ask(8)


class TestBefore:
    @pytest.mark.parametrize(
        "agent", [QUICK, "A-GP-UCB", "Random", ("GP-UCB", {"kernel": {"name": "se"}, "lam": 0.01})]
    )
    def test_data_on_ranges_are_known_to_the_policy(self, agent: Any) -> None:
        x = np.linspace(0, 100, 9)
        data = pd.DataFrame({"power": x, "yield": -(((x - 62.5) / 50) ** 2)})
        lab = Experiment({"power": (0, 100)}, agent, outcome="yield", data=data)
        assert lab.recommend() == {"power": 62.5}
        assert lab.best() == ({"power": 62.5}, 0.0)
        assert lab.ask() not in data["power"].tolist()

    def test_what_was_never_asked_is_taken(self) -> None:
        lab = Experiment(RANGES, QUICK)
        point = {"temperature": 61.23456, "rate": 0.5, "equivalents": 2, "molarity": 0.1, "base": "KOAc"}
        lab.tell(point, 3.0)
        assert lab.best() == (point, 3.0)
        assert lab.recommend() == point


class TestFiles:
    @pytest.mark.parametrize(
        ("parameters", "agent", "outcome"),
        [
            (RANGES, QUICK, formula),
            (TABLE, QUICK, measured),
            (RANGES, "Random", formula),
            (TABLE, ("ASYNC-TS", {"kernel": {"name": "se", "lengthscale": 0.5}, "lam": 1.0}), measured),
            (TABLE, ("GP-AUCB", {"kernel": {"name": "se", "lengthscale": 0.5}, "lam": 1.0}), measured),
        ],
        ids=["ranges", "table", "random", "async", "adaptive"],
    )
    def test_an_interruption_changes_no_point(self, parameters: Any, agent: Any, outcome: Any, tmp_path: Path) -> None:
        def play(interrupted: bool) -> tuple[list[dict[str, Any]], str]:
            lab = Experiment(parameters, agent, seed=3)
            history: list[dict[str, Any]] = []
            path = tmp_path / f"{interrupted}.json"
            for turn in range(3):
                batch = lab.ask(2)
                history += batch
                for i, point in enumerate(batch):
                    if interrupted:
                        lab = Experiment.load(lab.save(path))
                    if turn == 1 and i == 0:
                        lab.tell(point, failed=True)
                    else:
                        lab.tell(point, outcome(point))
                    lab.recommend()  # looking changes nothing
            lab.save(path)
            return history, path.read_text()

        assert play(False) == play(True)

    def test_a_learner_with_a_state_of_its_own(self, tmp_path: Path) -> None:
        lab = Experiment({"x": (0, 1)}, ("UHE-BO", {"n_initial": 2, "candidates": 16, "starts": 1, "iterations": 5}))
        for _ in range(5):
            point = lab.ask()
            lab.tell(point, np.sin(5 * point["x"]))
        assert Experiment.load(lab.save(tmp_path / "lab.json")).ask() == lab.ask()

    def test_all_settings_are_kept(self, tmp_path: Path) -> None:
        lab = Experiment(
            TABLE.assign(rate=np.geomspace(1e-3, 1, 9)),
            ("GP-BUCB", {"batch_size": 2, "width": 1.0}),
            outcome="loss",
            minimise=True,
            data=[{"ligand": "XPhos", "celsius": 90, "scale": 1, "rate": 1e-3, "loss": 2.0}],
            seed=5,
            repeats=True,
            horizon=20,
            kernel={"name": "matern", "nu": 2.5, "lengthscale": 0.4},
            noise_std=0.3,
            prior_mean=1.5,
            log="rate",
        )
        lab.tell(lab.ask(2)[0], 1.0)
        first, second = tmp_path / "first.json", tmp_path / "second.json"
        again = Experiment.load(lab.save(first))
        again.save(second)
        assert first.read_text() == second.read_text()
        assert again.open == lab.open
        pd.testing.assert_frame_equal(again.results(), lab.results())
        assert again.ask() == lab.ask()

    def test_a_set_of_categories_has_one_order_in_every_process(self) -> None:
        found: Any = Experiment({"base": {"KOAc", "CsOPiv", "K3PO4"}}, "Random").parameters
        assert found.all[0].labels == ("CsOPiv", "K3PO4", "KOAc")

    def test_a_setting_may_be_a_little_like_an_outcome(self, tmp_path: Path) -> None:
        known = TABLE.assign(field=range(9), result=[1.0, 2.0] + [np.nan] * 7).rename(columns={"result": "yield"})
        of_two = {"yield": "max", "cost": "min"}
        one = Experiment(known, QUICK, outcome="yield")
        two = Experiment(known.assign(cost=known["yield"]), QUICK, outcome=of_two)
        one.tell(one.ask(), 3.0)
        two.tell(two.ask(), {"yield": 3.0, "cost": 4.0})
        for lab in (one, two):
            again = Experiment.load(lab.save(tmp_path / f"{len(lab.outcomes)}.json"))
            pd.testing.assert_frame_equal(again.results(), lab.results())
            assert again.ask() == lab.ask()

    def test_points_of_the_file_hold_where_the_policy_would_now_choose_others(self, tmp_path: Path) -> None:
        lab = Experiment(TABLE, "Random")
        lab.tell(lab.ask(), 5.0)
        path = lab.save(tmp_path / "lab.json")
        content = json.loads(path.read_text())
        other = next(row for row in TABLE.to_dict("records") if [row] != content["events"][0]["ask"])
        content["events"][0]["ask"] = [other]
        path.write_text(json.dumps(content))
        with pytest.warns(UserWarning, match="its policy would now have proposed other points"):
            again = Experiment.load(path)
        assert again.best() == (other, 5.0)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "expected a file written by Experiment.save"),
            ('{"format": "another"}', "expected a file written by Experiment.save"),
            ('{"format": "gpbandit-envs experiment", "schema": 4}', "expected schema 1 or 2 or 3, got 4; .* is too"),
            ('{"format": "gpbandit-envs experiment"}', "expected schema 1 or 2 or 3, got None$"),
        ],
    )
    def test_other_files_are_refused(self, text: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "lab.json").write_text(text)
        with pytest.raises(ValueError, match=f"lab.json: {message}"):
            Experiment.load(tmp_path / "lab.json")

    def test_a_folder_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError, match=r"expected a file written by Experiment.save, got a folder"):
            Experiment.load(tmp_path)
        with pytest.raises(ValueError, match=re.escape(f"path: expected a file, got the folder {str(tmp_path)!r}")):
            Experiment(RANGES).save(tmp_path)

    def test_settings_without_a_json_form_are_named(self, tmp_path: Path) -> None:
        lab = Experiment(TABLE, ("EpsGreedy", {"c": np.float64(3)}))
        lab.save(tmp_path / "lab.json")  # a number is one
        lab = Experiment(TABLE, ("GP-UCB", {"width": Logarithmic(), "kernel": {"name": "se"}, "lam": 1}))
        with pytest.raises(TypeError, match="agent: expected settings with a JSON form"):
            lab.save(tmp_path / "other.json")
        assert not (tmp_path / "other.json").exists()


POINT = {"temperature": 50, "rate": 0.1, "equivalents": 2, "molarity": 0.1, "base": "KOAc"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"temperature": 323}, "temperature: expected a number from 20.0 to 120.0, got 323"),
        ({"temperature": "50"}, "temperature: expected a number from 20.0 to 120.0, got '50'"),
        ({"rate": 0}, "rate: expected a number from 0.0001 to 1.0, got 0"),
        ({"equivalents": 2.5}, "equivalents: expected an integer from 1 to 8, got 2.5"),
        ({"molarity": 0.15}, "molarity: expected one of 0.05, 0.1, 0.2, got 0.15"),
        ({"base": "KOac"}, "base: expected one of 'KOAc', 'CsOPiv', 'K3PO4', got 'KOac'; did you mean 'KOAc'?"),
        ({"temp": 3}, "point: no parameter 'temp'; did you mean 'temperature'?"),
        ({"base": None}, "base: expected one of 'KOAc', 'CsOPiv', 'K3PO4', got None"),
    ],
)
def test_points_that_are_refused(change: dict[str, Any], message: str) -> None:
    lab = Experiment(RANGES, QUICK)
    with pytest.raises(ValueError, match=re.escape(message)):
        lab.tell({**POINT, **change}, 1.0)
    assert len(lab.results()) == 0


def test_tellings_that_are_refused() -> None:
    lab = Experiment(RANGES, QUICK, outcome="yield")
    for outcome in (None, "high", np.nan, np.inf, True):
        with pytest.raises(ValueError, match=r"yield: expected a finite number, got .* is told with failed=True"):
            lab.tell(POINT, outcome)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="outcome: expected none with failed=True, got 3"):
        lab.tell(POINT, 3.0, failed=True)
    with pytest.raises(TypeError, match="failed: expected True or False, got 'no'"):
        lab.tell(POINT, failed="no")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"missing base"):
        lab.tell({name: value for name, value in POINT.items() if name != "base"}, 3.0)
    with pytest.raises(TypeError, match=r"point: expected a dict with temperature, rate, .*, got \[50"):
        lab.tell(list(POINT.values()), 3.0)  # type: ignore[arg-type]
    lab.tell(POINT, 3.0)
    with pytest.raises(ValueError, match=r"point: .* has been told already \(yield 3\); correct=True replaces it"):
        lab.tell(POINT, 3.0)
    with pytest.raises(ValueError, match="n: expected an integer >= 1, got 0"):
        lab.ask(0)
    twice = Experiment(RANGES, QUICK, repeats=True)
    twice.tell(POINT, 3.0)
    twice.tell(POINT, 5.0)
    assert twice.best() == (POINT, 4.0)


@pytest.mark.parametrize("agent", [QUICK, "Random"])
def test_on_ranges_a_point_is_proposed_once(agent: Any) -> None:
    lab = Experiment({"x": range(1, 5), "y": [0.5, 1.0, 2.0]}, agent)
    seen = []
    for _ in range(3):
        for point in lab.ask(4):
            seen.append(tuple(point.values()))
            lab.tell(point, -abs(point["x"] - 2) - point["y"])
    assert len(set(seen)) == len(seen) == 12
    with pytest.raises(ValueError, match=r"ask: no point was found that is new, .*; repeats=True allows a point twice"):
        lab.ask()
    assert len(Experiment({"a": [1, 2], "b": ["x", "y"]}, agent).ask(10)) == 4
    assert len(Experiment({"a": [1, 2], "b": ["x", "y"]}, agent, repeats=True).ask(10)) == 10


def test_what_has_failed_is_not_recommended() -> None:
    for agent in (QUICK, "EpsGreedy"):
        lab = Experiment(pd.DataFrame({"x": range(1, 21)}), agent)
        for x in range(1, 17):
            lab.tell({"x": x}, float(x))
        for x in (19, 20):
            lab.tell({"x": x}, failed=True)
        assert 16 <= lab.recommend()["x"] <= 18
    lab = Experiment(pd.DataFrame({"x": [1, 2]}), QUICK)
    for x in (1, 2):
        lab.tell({"x": x}, failed=True)
    with pytest.raises(ValueError, match="recommend: all candidates have failed"):
        lab.recommend()


@pytest.mark.parametrize("agent", [QUICK, "Random"])
@pytest.mark.parametrize("parameters", [{"t": (20, 120)}, pd.DataFrame({"t": [60.0, 90.0, 110.0]})])
def test_what_counts_as_the_worst_is_not_recommended_in_whatever_order_it_was_told(parameters: Any, agent: Any) -> None:
    for times in ((60.0, 110.0), (110.0, 60.0)):
        lab = Experiment(parameters, agent, on_failure="worst")
        for t in times:
            lab.tell({"t": t}, None if t > 100 else 71.0, failed=t > 100)
        assert lab.recommend()["t"] != 110.0
        if isinstance(parameters, dict):
            assert lab.recommend() == {"t": 60.0}
    lab = Experiment({"t": (20, 120)}, agent, on_failure="worst")
    lab.tell({"t": 70.0}, failed=True)  # the middle, which is recommended before any outcome
    with pytest.raises(ValueError, match="recommend: expected a point with an outcome that has not failed, got none"):
        lab.recommend()


@pytest.mark.parametrize(
    "stated",
    [{"kernel": {"name": "se", "lengthscale": 0.5}}, {"noise_std": 0.1}, {"horizon": 9}],
    ids=lambda s: next(iter(s)),
)
def test_what_the_default_learns_need_not_be_stated(stated: dict[str, Any]) -> None:
    with pytest.warns(UserWarning, match=f"{next(iter(stated))}: 'MAP-BUCB' learns from the outcomes alone"):
        Experiment(RANGES, QUICK, **stated)


def test_the_band_of_the_default_is_twice_that_of_the_policy_by_itself() -> None:
    default, plain = (Experiment({"x": (0, 1)}, **agent) for agent in ({}, {"agent": "MAP-BUCB"}))  # type: ignore[arg-type]
    for x in (0.1, 0.4, 0.6, 0.95):
        for lab in (default, plain):
            lab.tell({"x": x}, np.sin(6 * x))
    wide, narrow = (lab.predict({"x": 0.25}) for lab in (default, plain))
    assert wide["half_width"].item() == pytest.approx(2 * narrow["half_width"].item())
    assert wide["mean"].item() == pytest.approx(narrow["mean"].item())


def test_what_is_not_used_is_said_once_however_many_outcomes_there_are() -> None:
    with pytest.warns(UserWarning, match="noise_std: 'MAP-BUCB' learns from the outcomes alone") as said:
        Experiment(RANGES, outcome={"yield": "max", "cost": "min"}, noise_std=0.1)
    assert len(said) == 1


class TestFilesOfOthers:
    @pytest.mark.wrong_arguments  # checks are made for the first calls, whichever thread they are of
    def test_no_save_that_returned_is_lost_to_another(self, tmp_path: Path) -> None:
        path = Experiment({"x": (0, 1)}, "Random").save(tmp_path / "lab.json")

        def told(i: int) -> None:
            while True:
                lab = Experiment.load(path)
                lab.tell({"x": i / 40}, float(i))
                with suppress(ValueError):  # another was first
                    lab.save(path)
                    return

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(told, range(40)))
        assert set(Experiment.load(path).results()["outcome"]) == set(range(40))

    def test_what_another_notebook_saved_is_not_lost(self, tmp_path: Path) -> None:
        path, lab = tmp_path / "lab.json", Experiment({"t": (20, 120)}, QUICK)
        one, other, *_ = lab.ask(4)
        lab.save(path)
        first, second = Experiment.load(path), Experiment.load(path)
        first.tell(one, 61.0)
        first.save(path)
        second.tell(other, 64.0)
        for late in (second, lab):  # the one has another event, the other has fewer
            with pytest.raises(ValueError, match=r"path: .*'.*lab.json' with 2 events \(1 told\), which differ from"):
                late.save(path)
        assert Experiment.load(path).best() == (one, 61.0)
        first.tell(other, 65.0)
        first.save(path)
        lab.save(path, overwrite=True)
        assert len(Experiment.load(path).open) == 4

    def test_a_notebook_run_again_from_its_top_replaces_no_campaign(self, tmp_path: Path) -> None:
        path = tmp_path / "lab.json"
        lab = Experiment(TABLE, QUICK)
        for point in lab.ask(2):
            lab.tell(point, measured(point))
            lab.save(path)
        for again in (Experiment(TABLE, QUICK), Experiment(TABLE, QUICK, seed=1)):
            with pytest.raises(ValueError, match=r"Experiment.load\('.*'\) goes on from there, overwrite=True"):
                again.save(path)
        for point in again.ask(2):
            again.tell(point, 0.0)
        with pytest.raises(ValueError, match=r"3 events \(2 told\), which differ from event 0 on \(counted from 0\)"):
            again.save(path)
        with pytest.raises(TypeError, match="overwrite: expected True or False, got 'yes'"):
            again.save(path, overwrite="yes")  # type: ignore[arg-type]

    def test_other_files_are_not_replaced_either(self, tmp_path: Path) -> None:
        path, lab = tmp_path / "measured.csv", Experiment(TABLE, QUICK)
        path.write_text("")
        lab.save(path)
        for text in ("x,yield\n1,2\n", "[]", '{"format": "gpbandit-envs experiment"}', '{"events": []}'):
            path.write_text(text)
            with pytest.raises(ValueError, match=r"path: expected a new file, or one written by Experiment.save, got"):
                lab.save(path)
            assert path.read_text() == text
        lab.save(path, overwrite=True)
        assert Experiment.load(path).open == []


def test_single_precision_is_what_it_looks_like() -> None:
    lab = Experiment(pd.DataFrame({"x": np.array([0.1, 0.2, 0.3], np.float32)}), QUICK)
    lab.tell({"x": 0.1}, 1.0)
    assert lab.ask()["x"] in (0.2, 0.3)
    before = pd.DataFrame({"x": np.array([0.1, 0.3], np.float32), "outcome": np.array([0.7, 1.5], np.float32)})
    assert Experiment({"x": np.array([0.1, 0.2, 0.3], np.float32)}, QUICK, data=before).best() == ({"x": 0.3}, 1.5)


class TestZero:
    STEPS = np.arange(-1, 1.01, 0.1)  # -2.2e-16 in the middle

    @pytest.mark.parametrize(
        "parameters",
        [
            {"x": STEPS, "y": [1, 2]},
            pd.DataFrame([{"x": x, "y": y} for x in STEPS for y in (1, 2)]),
            pd.DataFrame([{"x": x, "y": y} for x in STEPS.round(1) for y in (1, 2)]),
        ],
        ids=["levels", "table", "table with -0.0"],
    )
    def test_is_a_level_whatever_rounding_made_of_it(self, parameters: Any) -> None:
        lab = Experiment(parameters, QUICK, repeats=True)
        for zero in (0.0, -0.0, 0, 0.1 + 0.2 - 0.3, np.float32(0)):
            lab.tell({"x": zero, "y": 1}, 1.0)
        assert len(lab.best()[0]) == 2
        assert lab.results()["x"].nunique() == 1
        assert abs(lab.ask(fixed={"x": 0})["x"]) < 1e-15
        with pytest.raises(ValueError, match=r"x: expected one of -1\.0, .* \(21 in all\), got 1e-05"):
            lab.tell({"x": 1e-5, "y": 1}, 1.0)

    def test_has_no_sign(self) -> None:
        assert repr(Experiment(pd.DataFrame({"x": [-0.0, 1.0]}), QUICK).ask(2)).count("-") == 0
        with pytest.raises(ValueError, match="table: expected different candidates, got rows 0 and 1 equal"):
            Experiment(pd.DataFrame({"x": [0.0, -0.0, 1.0]}))


def test_a_table_of_nothing_has_its_columns() -> None:
    assert list(Experiment(RANGES, QUICK, outcome="yield").results()) == [*RANGES, "yield", "status"]


class TestFilesThatWereEdited:
    def saved(self, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
        lab = Experiment({"x": (0.0, 1.0), "base": ["a", "b"]}, QUICK, outcome="yield")
        for point in lab.ask(2):
            lab.tell(point, point["x"])
        lab.ask()
        path = lab.save(folder / "lab.json")
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))
        return path

    @pytest.mark.parametrize("id", ["os:system", "subprocess:Popen"])
    def test_no_file_says_what_is_called(self, id: str, tmp_path: Path) -> None:
        made = tmp_path / "made"
        path = self.saved(tmp_path, lambda c: c["setup"].update(agent=[id, {"command": f"touch {made}"}]))
        with pytest.raises(ValueError, match=f"lab.json: its policy is '{id}', a class outside this package, which"):
            Experiment.load(path)
        with pytest.raises(ValueError, match="a class outside this package"):
            Experiment.load(path, agent="agents.basic.random:Random")
        assert not made.exists()

    @pytest.mark.parametrize("name", ["data", "candidates"])
    def test_no_file_says_what_is_read(self, name: str, tmp_path: Path) -> None:
        path = self.saved(tmp_path, lambda c: c["setup"].update({name: "/dev/zero"}))
        with pytest.raises(ValueError, match=f"lab.json: expected a (list|dict) as its {name}, got '/dev/zero'"):
            Experiment.load(path)

    def test_a_class_of_ones_own_is_named_again(self, tmp_path: Path) -> None:
        id = "tests.agents.experiment.test_experiment:Own"
        lab = Experiment(TABLE, id)
        path = lab.save(tmp_path / "lab.json")
        assert Experiment.load(path, agent=id).ask() == lab.ask()
        with pytest.raises(ValueError, match=r"agent: expected 'builtins:dict' to be a subclass of agents.Agent, got"):
            Experiment({"x": (0.0, 1.0)}, "builtins:dict")
        made = tmp_path / "made"
        with pytest.raises(ValueError, match="expected 'os:system' to be a subclass"):
            Experiment({"x": (0.0, 1.0)}, ("os:system", {"command": f"touch {made}"}))
        assert not made.exists()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda c: c["setup"].pop("minimise"), "expected a setup with agent, candidates, "),
            (lambda c: c.pop("setup"), "expected a setup with agent, candidates, "),
            (lambda c: c.update(events=None), "expected a list of events, got None"),
            (lambda c: c["setup"].update(parameters=None), "its setup cannot be read"),
            (lambda c: c["setup"].update(minimise="false"), "minimise: expected True or False, got 'false'"),
            (lambda c: c["setup"].update(seed="x"), "seed: expected an integer >= 0, got 'x'"),
            (lambda c: c["setup"].update(agent="MAP-UBC"), "no agent 'MAP-UBC'; did you mean 'MAP-UCB'"),
            (lambda c: c["setup"].update(agent=["MAP-UCB"]), "agent: expected an id such as 'MAP-BUCB', or a pair"),
            (lambda c: c["events"][1].update(tell=-1), "event 1 (counted from 0): expected the number of a point"),
            (lambda c: c["events"][2].update(tell=0), "event 2 (counted from 0): expected the number of a point"),
            (lambda c: c["events"].append({"withdraw": 0}), "event 4 (counted from 0): expected the number of a point"),
            (lambda c: c["events"][1].update(failed=True), "event 1 (counted from 0): expected an outcome or"),
            (lambda c: c["events"][2].update(ask=[]), "expected exactly one of 'ask', 'tell' and 'withdraw', got"),
            (lambda c: c["events"].append({"withdraw": 2, "outcome": 6.0}), "expected no keys but 'withdraw', got"),
            (lambda c: c["events"][0].update(fixed={"y": 1}), "event 0 (counted from 0): fixed: no parameter 'y'"),
            (
                lambda c: c["events"].append({"tell": 3, "outcome": 1.0, "point": c["events"][0]["ask"][0]}),
                "event 4 (counted from 0): point: ",
            ),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, change: Any, message: str, tmp_path: Path) -> None:
        path = self.saved(tmp_path, change)
        with pytest.raises(ValueError, match=re.escape(f"{path}: ")) as refused:
            Experiment.load(path)
        assert message in str(refused.value)

    def test_everything_is_there_once(self, tmp_path: Path) -> None:
        parameters = {"s": ["u", "v"], "n": [0.1, 0.2], "x": (0, 1)}
        constraints = ["n + x <= 0.9", "0.1 <= x - 2 * n", ({"n": 3, "x": 1}, ">=", -1.5)]
        lab = Experiment(parameters, constraints=constraints)
        path = lab.save(tmp_path / "lab.json")
        again, setup = Experiment.load(path), json.loads(path.read_text())["setup"]
        assert setup["parameters"][:2] == [{"name": "s", "labels": ["u", "v"]}, {"name": "n", "labels": [0.1, 0.2]}]
        assert setup["constraints"] == [
            {"text": "n + x <= 0.9"},
            {"text": "0.1 <= x - 2 * n"},
            {"linear": {"n": 3.0, "x": 1.0}, "low": -1.5},
        ]
        for one in (lab, again):
            with pytest.raises(ValueError, match=r"expected it under 'n \+ x <= 0.9', got 1.2"):
                one.tell({"s": "u", "n": 0.2, "x": 1.0}, 0.0)
        assert again.ask() == lab.ask()

    def test_what_was_mended_by_hand_is_loaded_and_saved_again(self, tmp_path: Path) -> None:
        def mend(content: dict[str, Any]) -> None:
            content["events"][1].update(outcome=7.0, failed=False)
            content["events"][0]["ask"][0]["x"] += 1e-12
            content["events"][0]["fixed"] = None

        with pytest.warns(UserWarning, match="would now have proposed other points"):
            lab = Experiment.load(self.saved(tmp_path, mend))
        lab.tell(lab.open[0], 1.0)
        lab.save(tmp_path / "lab.json")
        assert lab.best()[1] == 7.0

    def test_what_editors_add_is_no_damage(self, tmp_path: Path) -> None:
        path = self.saved(tmp_path, lambda content: content)
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert len(Experiment.load(path).open) == 1
        path.write_text("[" * 100_000)
        with pytest.raises(ValueError, match=r"expected a file written by Experiment\.save"):
            Experiment.load(path)


def test_points_of_a_table_that_are_refused() -> None:
    lab = Experiment(TABLE.drop(index=0), QUICK)
    for change, message in (
        ({"celsius": 95}, "celsius: expected one of 90, 105, 120, got 95"),
        ({"ligand": "Xphos"}, "ligand: expected one of 'XPhos', 'SPhos', 'PPh3', got 'Xphos'; did you mean 'XPhos'?"),
        ({"ligand": "XPhos", "celsius": 90}, "point: no candidate of the table has"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            lab.tell({"ligand": "SPhos", "celsius": 90, "scale": 1, **change}, 1.0)
    values: list[tuple[str, Any]] = [("ligand", ["SPhos"]), ("celsius", np.array([90])), ("scale", {})]
    for name, value in values:
        with pytest.raises(ValueError, match=f"{name}: expected one of .*, got {re.escape(repr(value))}"):
            lab.tell({"ligand": "SPhos", "celsius": 90, "scale": 1, name: value}, 1.0)


ONE: dict[str, Any] = {"x": (0, 1)}
ROW = "data, row 0 (counted from 0): "


@pytest.mark.parametrize(
    ("parameters", "settings", "message"),
    [
        ({}, {}, "parameters: expected at least one, got none"),
        ({"x": (3, 1)}, {}, "x: low, high: expected finite numbers low < high, got 3.0 and 1.0"),
        ({"x": ("20", "120")}, {}, "x: expected (low, high) as numbers, got text, ('20', '120'); a list"),
        ({"x": ["one"]}, {}, "x: expected at least two values, got ['one']"),
        ({"x": ["a", "a"]}, {}, "x: expected different values, got ['a', 'a']"),
        ({"x": ["a", 1]}, {}, "x: expected numbers alone or text alone, got ['a', 1]"),
        ({"x": (0, 1e300)}, {}, "x: expected numbers up to 1e+50 in size, got (0, 1e+300)"),
        ({"x": range(0, 1)}, {}, "x: expected a range of at least two integers, got range(0, 1)"),
        ({"x": range(0, 5, 7)}, {}, "x: expected at least two values, got [0]"),
        ({"x": (20, 120, 5)}, {}, "x: expected (low, high), got (20, 120, 5); give (20, 120) for any number between, "),
        ({"x": (20, 120, 5)}, {}, "range(20, 121, 5) for steps of 5, or the list [20, 120, 5] for these three levels"),
        ({"x": (0, np.float64(1), 0.1)}, {}, "between, numpy.arange(0, 1.0, 0.1) for steps of 0.1, or"),
        ({"x": np.eye(2)}, {}, "x: expected an array of shape (n,) with the levels, got shape (2, 2)"),
        ({"x": [1, np.nan]}, {}, "x: expected finite numbers, got [1, nan]"),
        ({"x": np.array([3, 1, 2, 1])}, {}, "x: expected different values, got [1, 1, 2, 3]"),
        ({**ONE, "status": ["a", "b"]}, {}, "parameters: expected names other than 'outcome' and"),
        ({**ONE, "yield": (0, 1)}, {"outcome": "yield"}, "columns of results(), got 'yield'"),
        (ONE, {"failures": True}, "failures: expected only with data=; in a table of"),
        (ONE, {"on_failure": "lowest"}, "on_failure: expected 'avoid' or 'worst', got 'lowest'"),
        (ONE, {"log": "x"}, "log: expected only for a table of candidates"),
        (ONE, {"agent": "GP-BUCB"}, "agent: 'GP-BUCB' does not play on ranges of parameters"),
        (ONE, {"agent": "GP-UCB"}, "kernel: 'GP-UCB' needs it; 'MAP-BUCB', the default, learns"),
        (ONE, {"agent": "GPUCB"}, "id: no agent 'GPUCB'; did you mean 'GP-UCB'"),
        (ONE, {"seed": -1}, "seed: expected an integer >= 0, got -1"),
        (ONE, {"data": [{"x": 1}]}, "data: expected a column 'outcome' with the outcomes, got x"),
        (ONE, {"data": 2 * [{"x": 0.5, "outcome": 1.0}]}, "data, row 1 (counted from 0): point: {'x': 0.5} has"),
        (ONE, {"data": [{"x": 0.5, "outcome": None}]}, f"{ROW}outcome: expected a number, got none; leave out"),
        (ONE, {"data": [{"x": 0.5, "outcome": None}]}, "or give failures=True if each row without one failed"),
        (ONE, {"data": [{"x": 2, "outcome": None}], "failures": True}, f"{ROW}x: expected a number from 0.0 to 1.0"),
        (ONE, {"data": [{"x": 0.5, "outcome": "high"}]}, f"{ROW}outcome: expected a finite number, got 'high'"),
        (ONE, {"data": [{"x": 0.5, "Yield ": 1.0}], "outcome": "yield"}, "got 'yield'; did you mean 'Yield '?"),
        (ONE, {"data": [{"x": "0,5", "outcome": 1}]}, "got '0,5' (numbers with decimal commas"),
        (ONE, {"data": [{"x": 0.5, "outcome": "5 %"}]}, "got '5 %' (percentages: write numbers"),
        (TABLE.assign(**{"yield": 1.0}), {"outcome": "yeild"}, "got 'yeild'; did you mean 'yield'? A setting"),
        (TABLE.iloc[:0], {}, "parameters: expected at least one row, got none"),
        (TABLE.iloc[[0, 1, 0]], {}, "table: expected different candidates, got rows 0 and 2 equal"),
        (TABLE.iloc[:1], {}, "table: expected a column that varies, got 1 equal rows"),
        (TABLE.assign(x=pd.Series([1, None] * 4 + [2])), {}, "got none in 4 of 9 rows (1, 3, 5, 7, counted from 0)"),
        (TABLE.assign(id=list("abcdefghi")), {}, "table: column 'id' has another text in every row"),
        (TABLE.assign(t=["20,0", "30,5", "40"] * 3), {}, "table: column 't' holds numbers with decimal commas, such"),
        (TABLE.assign(t=["20,0", "30,5", "40"] * 3), {}, "'20,0' in rows 0, 1, 3, 4, 6 and 1 more (counted from"),
        (TABLE.assign(t=[f"{t} mg" for t in range(9)]), {}, "table: column 't' holds numbers with a unit"),
        (TABLE.assign(t=list("123456789")), {}, "table: column 't' holds numbers as text, such as '1' in"),
        (TABLE, {"log": ["rate"]}, "log: expected columns among ligand, celsius, scale, got 'rate'"),
        (TABLE.assign(x=[*range(8), np.inf]), {}, "up to 1e+50 in size, got inf in column 'x', row 8 (counted from 0)"),
        (TABLE.assign(x=range(9)), {"log": ["x"]}, "log: expected numbers > 0 in column 'x', got 0.0"),
        (TABLE, {"agent": "Optuna-TPE"}, "agent: 'Optuna-TPE' does not play on tables of candidates"),
    ],
)
def test_experiments_that_are_refused(parameters: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Experiment(parameters, **settings)


@pytest.mark.parametrize(
    ("parameters", "settings", "message"),
    [
        ({"x": 3}, {}, "x: expected (low, high), log(low, high), range(low, high + 1) or a list, got 3"),
        (ONE, {"agent": 3}, "agent: expected an id such as 'MAP-BUCB', or a pair"),
        (TABLE.assign(x=pd.Series([1, "a"] * 4 + [2])), {}, "table: expected numbers alone or text alone in"),
        (TABLE, {"log": None}, "log: expected a list of columns, got None"),
        (TABLE, {"constraints": None}, "constraints: expected a list of them, got None"),
        (7, {}, "parameters: expected a DataFrame, the path of a CSV file or a list of dicts"),
    ],
)
def test_what_is_of_another_type_is_refused(parameters: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        Experiment(parameters, **settings)


def test_settings_may_be_a_little_like_the_outcome() -> None:
    told = TABLE.assign(yields=range(9)).assign(**{"yield": 1.0})
    assert "yields" in str(Experiment(told, outcome="yield")), "the outcome is there"
    assert "rate" in str(Experiment(TABLE.assign(rate=range(9)), outcome="ratio"))


def test_the_best_is_of_what_counts_as_one_point() -> None:
    lab = Experiment({"x": (0.0, 1.0)}, "Random", repeats=True)
    for x, outcome in ((0.1 + 0.2, 10.0), (0.3, 0.0), (0.5, 6.0)):
        lab.tell({"x": x}, outcome)
    assert lab.best() == ({"x": 0.5}, 6.0)


def test_settings_are_those_at_the_start(tmp_path: Path) -> None:
    width = {"name": "bayes", "scale": 0.5}
    lab = Experiment(
        {"x": (0.0, 1.0)}, ("GP-UCB", {"width": width}), kernel={"name": "se", "lengthscale": 0.2}, noise_std=0.1
    )
    width["scale"] = 0.1
    lab.save(tmp_path / "lab.json")
    assert '"scale": 0.5' in (tmp_path / "lab.json").read_text()


def test_nothing_told_has_no_best() -> None:
    lab = Experiment(RANGES, "Random")
    with pytest.raises(ValueError, match="best: expected at least one outcome, got none yet"):
        lab.best()
    with pytest.raises(ValueError, match="agent: 'Random' has no model to predict with"):
        lab.predict([POINT])
    assert repr(lab) == "Experiment(temperature, rate, equivalents, molarity, base; Random; nothing told)"


def test_it_says_briefly_where_it_stands() -> None:
    lab = Experiment(TABLE, "Random", data=[{"ligand": "XPhos", "celsius": 90, "scale": 1, "outcome": 1.0}])
    lab.tell(lab.ask(3)[0], failed=True)
    stands = "Experiment(9 candidates, {} untried, of ligand, celsius, scale; Random; 1 before, 1 failed, {})"
    assert repr(lab) == stands.format(5, "2 open")
    lab.withdraw(lab.open[0])
    assert repr(lab) == stands.format(6, "1 withdrawn, 1 open")
    again = Experiment(TABLE, "Random", repeats=True)
    for _ in range(2):
        again.tell({"ligand": "XPhos", "celsius": 90, "scale": 1}, 1.0)
    assert "9 candidates, 8 untried, of" in repr(again)


class TestPlot:
    def test_outcomes_best_so_far_failures_and_every_parameter(self) -> None:
        lab = Experiment(RANGES, "Random", outcome="yield", minimise=True)
        played(lab, 3, fails=(4,))
        traces = {trace.name: trace for trace in lab.plot().data if trace.name}
        values = lab.results()["yield"]
        np.testing.assert_array_equal(traces["yield"].y, values.dropna())
        np.testing.assert_array_equal(traces["best so far"].y, values.dropna().cummin())
        assert traces["failed"].x.tolist() == values.index[values.isna()].tolist()
        assert len(lab.plot().data) == 3 + len(RANGES)

    def test_the_best_so_far_is_what_best_says(self) -> None:
        goals = {"y": "max", "c": "<= 0.5"}
        lab = Experiment({"a": (0, 1), "b": ["u", "v"]}, "MAP-BUCB", outcome=goals, repeats=True)
        rows = [(0.1, 5.0, 0.9), (0.2, 1.0, 0.1), (0.3, 4.0, 0.4), (0.2, 3.0, 0.2), (0.3, 0.0, 0.4), (0.1, 3.0, 0.0)]
        expected = [np.nan, 1.0, 4.0, 4.0, 2.0, 4.0]
        for i, (a, y, c) in enumerate(rows):
            lab.tell({"a": a, "b": "u"}, {"y": y, "c": c})
            drawn = next(trace for trace in lab.plot().data if trace.name == "best so far").y
            np.testing.assert_array_equal(drawn, expected[: i + 1])
            if i:
                assert lab.best()[1]["y"] == expected[i]

    def test_before_anything_is_told(self) -> None:
        assert len(Experiment(RANGES, "Random").plot().data) == 1 + len(RANGES)

    def test_without_plotly_it_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
        with pytest.raises(ImportError, match=r'needs Plotly: pip install "gpbandit-envs\[plot\]"'):
            Experiment(RANGES, "Random").plot()


class Own(FiniteArmAgent):
    """A policy in a module of one's own."""

    capabilities = Capabilities(frozenset({"finite"}), batch="fixed", delayed=True)

    def select(self, n: int, pending: Pending) -> Actions:
        return np.full(n, len(pending) % self.problem.n_arms)


def test_the_policy_gets_what_was_told_in_its_own_units() -> None:
    seen: list[Feedback] = []

    class Watched(Own):
        def observe(self, feedback: Feedback) -> None:
            seen.append(feedback)
            super().observe(feedback)

        def reset(self, problem: Problem, rng: np.random.Generator) -> None:
            super().reset(problem, rng)
            assert problem.horizon == 7

    agents.register("Watched", Watched)
    lab = Experiment(TABLE, "Watched", minimise=True, prior_mean=10.0, horizon=7)
    one, two = lab.ask(2)
    lab.tell(two, 4.0)
    lab.tell(one, failed=True)
    lab.ask()
    assert seen[-1].tickets.tolist() == [1, 0]
    assert seen[-1].actions.tolist() == [1, 0]
    np.testing.assert_array_equal(seen[-1].rewards, [6.0, np.nan])
    assert seen[-1].failed.tolist() == [False, True]
