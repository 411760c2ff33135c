"""Constraints between parameters: how they are stated, what they leave and list, and that nothing else is proposed."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from itertools import permutations, product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import agents
from agents import Experiment
from agents.core.maximise import search_domain
from agents.core.space import BoxSpace, Search
from agents.experiment.constraints import Linear, as_constraint
from agents.experiment.feasible import FeasibleSpace
from agents.experiment.parameters import Parameters, nine_digits
from agents.experiment.polytope import Polytope
from agents.experiment.region import Region
from gpbandit_envs.problem import Problem

QUICK = ("MAP-BUCB", {"candidates": 64, "starts": 2, "iterations": 10, "n_initial": 4, "fits": 1})
MIXED: dict[str, Any] = {
    "a": (0, 1),
    "b": (0, 1),
    "c": (0, 1),
    "celsius": (20, 120),
    "rate": agents.log(1e-4, 1),
    "n": range(1, 5),
    "solvent": ["DMF", "water", "toluene"],
    "base": ["NaH", "K2CO3"],
}


def no_hydride_in_water(solvent: str, base: str) -> bool:
    return solvent == "water" and base == "NaH"


MIXTURE = [agents.mixture("a", "b", "c"), "a <= 0.3", "c >= 2 * b - 0.5", no_hydride_in_water]


class TestTexts:
    @pytest.mark.parametrize(
        ("text", "coefficients", "low", "high"),
        [
            ("a + b <= 1", {"a": 1, "b": 1}, -np.inf, 1),
            ("a >= 2*b + 1", {"a": 1, "b": -2}, 1, np.inf),
            ("1 >= a", {"a": -1}, -1, np.inf),
            ("0.2 <= a + b < 0.8", {"a": 1, "b": 1}, 0.2, 0.8),
            ("3 > a - 1 >= 1", {"a": 1}, 2, 4),
            ("(a + b) / 2 = 1", {"a": 0.5, "b": 0.5}, 1, 1),
            ("`water (g)` + oil == 1 - oil", {"water (g)": 1, "oil": 2}, 1, 1),
            ("-a * 2 + 2 * (a + b) <= 3", {"b": 2}, -np.inf, 3),
        ],
    )
    def test_are_linear_forms(self, text: str, coefficients: dict[str, float], low: float, high: float) -> None:
        found = agents.constraint(text)
        sign = np.sign(next(iter(coefficients.values()))) * np.sign(next(iter(found.coefficients.values())))
        assert found.coefficients == {name: sign * c for name, c in coefficients.items()}
        assert (found.low, found.high) == ((low, high) if sign > 0 else (-high, -low))

    def test_or_coefficients(self) -> None:
        found = agents.constraint({"a": 1, "b": -2.5}, ">=", 3)
        assert (found.coefficients, found.low, found.high, found.text) == (
            {"a": 1, "b": -2.5},
            3,
            np.inf,
            "a - 2.5 b >= 3",
        )
        mixed = agents.mixture("a", "b", total=100)
        assert (mixed.coefficients, mixed.low, mixed.high) == ({"a": 1, "b": 1}, 100, 100)

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            (("a * b <= 1",), ValueError, "expected a linear one, such as 'a + 2 * b <= 1': it has 'a * b'"),
            (("a + b",), ValueError, "constraint 'a + b': expected a linear one, such as 'a + 2 * b <= 1': expected"),
            (("a <= b <= c",), ValueError, "expected a number, a sum and a number, in one direction"),
            (("0 <= a >= 1",), ValueError, "expected a number, a sum and a number, in one direction"),
            (("water (g) <= 1",), ValueError, "it has 'water(g)'"),
            (("a <=",), ValueError, "it cannot be read; a name that is no word stands between backquotes"),
            (("a <= a + 1",), ValueError, "constraint 'a <= a + 1': expected at least one parameter, got none"),
            (({"a": 1}, "<>", 1), ValueError, "constraint: expected '<=', '>=' or '==', got '<>'"),
            (({"a": "1"}, "<=", 1), ValueError, "constraint: expected finite coefficients, got '1' for 'a'"),
            ((3,), TypeError, "constraint: expected a text such as 'a + b <= 1', or coefficients"),
        ],
    )
    def test_what_is_none_is_refused(self, given: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=re.escape(message)):
            agents.constraint(*given)

    def test_forbidden_combinations_are_a_function_or_a_list(self) -> None:
        assert agents.forbid(no_hydride_in_water).names == ("solvent", "base")
        assert agents.forbid(lambda s, b: s == b, "solvent", "base").names == ("solvent", "base")
        listed = agents.forbid([{"solvent": "water", "base": "NaH"}])
        assert listed.missed_by({"solvent": "water", "base": "NaH", "a": 1}) == "{'solvent': 'water', 'base': 'NaH'}"
        assert listed.missed_by({"solvent": "DMF", "base": "NaH"}) == ""
        turned = agents.forbid([{"solvent": "water", "base": "NaH"}, {"base": "K2CO3", "solvent": "DMF"}])
        assert turned.rows == frozenset({("water", "NaH"), ("DMF", "K2CO3")})
        with pytest.raises(ValueError, match="forbid: expected at least one dict, all with the same names, got"):
            agents.forbid([{"solvent": "water"}, {"base": "NaH"}])
        with pytest.raises(TypeError, match="forbid: expected a function of named arguments"):
            agents.forbid(lambda *_: True)


class TestRefused:
    @pytest.mark.parametrize(
        ("constraints", "message"),
        [
            (["a + b >= 3"], "constraints: expected some points to be left, got none under 'a + b >= 3'"),
            (["a + b >= 1.5", "a <= 0.9", "b + a <= 1"], "got none under 'a + b >= 1.5', 'b + a <= 1'"),
            (["n >= 5"], "got none under 'n >= 5'"),
            ([agents.forbid(bool, "base")], "got none under 'forbid(base)'"),
            (["aa + b <= 1"], "constraint 'aa + b <= 1': no parameter 'aa'; did you mean 'a'?"),
            (["a + rate <= 1"], "expected parameters on a linear scale, got 'rate', which is on a logarithmic one"),
            (["a + base <= 1"], "expected parameters that are numbers, got 'base'"),
            ([lambda a: a > 1], "constraint 'forbid(a)': expected parameters with levels, got 'a'"),
        ],
    )
    def test_early_and_by_name(self, constraints: list[Any], message: str) -> None:
        with pytest.raises(ValueError, match=re.escape(message)):
            Experiment(MIXED, QUICK, constraints=constraints)

    def test_other_than_a_list_and_of_tables_and_outcomes(self) -> None:
        with pytest.raises(TypeError, match=re.escape("constraints: expected a list of them, got 'a <= 1'")):
            Experiment(MIXED, constraints="a <= 1")
        with pytest.raises(ValueError, match=r"constraints: expected only with ranges; .* table.query\('a \+ b <="):
            Experiment([{"a": 1}, {"a": 2}], constraints=["a <= 1"])
        with pytest.raises(ValueError, match="'yield >= 3' is about the outcome 'yield', expected parameters"):
            Experiment(MIXED, outcome="yield", constraints=[agents.constraint({"yield": 1}, ">=", 3)])

    def test_policies_that_search_by_other_libraries(self) -> None:
        pytest.importorskip("optuna")
        with pytest.raises(ValueError, match="agent: 'Optuna-TPE' cannot be held to constraints; 'MAP-BUCB'"):
            Experiment(MIXED, "Optuna-TPE", constraints=["a <= 0.5"])

    def test_points_that_break_one(self) -> None:
        lab = Experiment(MIXED, QUICK, constraints=MIXTURE)
        good = {**lab.ask(), "a": 0.2, "b": 0.3, "c": 0.5, "solvent": "water", "base": "K2CO3"}
        lab.tell(good, 1.0)
        with pytest.raises(ValueError, match=re.escape("point: expected it under 'a + b + c == 1', got 1.1")):
            lab.tell({**good, "c": 0.6}, 1.0)
        with pytest.raises(ValueError, match=r"not forbidden under 'forbid\(solvent, base\)', got .*'NaH'"):
            lab.tell({**good, "base": "NaH"}, 1.0)


class TestPolytope:
    def test_a_simplex_is_drawn_evenly(self) -> None:
        none = np.zeros((0, 3))
        simplex = Polytope(np.zeros(3), np.ones(3), none, np.zeros(0), np.ones((1, 3)), np.ones(1))
        U = simplex.sample(20_000, np.random.default_rng(0))
        np.testing.assert_allclose(U.sum(axis=1), 1, atol=1e-12)
        # P(u_j > 1/2) = 1/4 on the simplex; five standard errors of 20,000 independent draws.
        assert np.abs((U > 0.5).mean(axis=0) - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 20_000)

    @pytest.mark.parametrize("width", [1e-1, 1e-3, 1e-5])
    def test_a_thin_one_is_walked_from_end_to_end(self, width: float) -> None:
        k = 5
        A = np.zeros((2, k))
        A[0, :2], A[1, :2] = (1, -1), (-1, 1)
        none = np.zeros((0, k))
        thin = Polytope(np.zeros(k), np.ones(k), A, np.full(2, width), none, np.zeros(0))
        U = thin.sample(8_000, np.random.default_rng(0))
        assert thin.contains(U).all()
        for spread in (U[:, 0], (U[:, 0] - U[:, 1] + width) / (2 * width), U[:, 3]):
            counts = np.histogram(spread, 5, (0, 1))[0]
            # Nearly uniform but for the corners of the band, which take a share of its width.
            assert np.abs(counts / 1_600 - 1).max() < 5 * np.sqrt(0.8 / 1_600) + 2 * width

    def test_two_inequalities_that_make_an_equality(self) -> None:
        A = np.array([[1.0, 1.0], [-1.0, -1.0]])
        line = Polytope(np.zeros(2), np.ones(2), A, np.array([1.0, -1.0]), np.zeros((0, 2)), np.zeros(0))
        assert line.axes.shape == (2, 1)
        U = line.sample(1_000, np.random.default_rng(0))
        np.testing.assert_allclose(U.sum(axis=1), 1, atol=1e-9)
        assert np.ptp(U[:, 0]) > 0.9

    def test_a_single_point(self) -> None:
        point = Polytope(np.zeros(2), np.ones(2), np.array([[1.0, 1.0]]), np.zeros(1), np.zeros((0, 2)), np.zeros(0))
        np.testing.assert_array_equal(point.sample(3, np.random.default_rng(0)), np.zeros((3, 2)))


def spaces(settings: dict[str, Any], constraints: list[Any]) -> FeasibleSpace:
    region = Region.of(Parameters.of(settings), [as_constraint(each) for each in constraints])
    problem = Problem(name="test", **region.problem_fields())
    assert len(search_domain(problem)) == len(settings)
    return FeasibleSpace(BoxSpace(problem, Search()), region)


class TestRegion:
    def test_points_keep_to_all_constraints_after_rounding(self) -> None:
        space = spaces(MIXED, MIXTURE)
        parameters = space.region.parameters
        rng = np.random.default_rng(0)
        points = [space.region.rounded(row) for row in parameters.domain.values(space.random(500, rng))]
        for point in points:
            space.region.check(point)
            parameters.row(point)
            assert all(len(str(point[name])) <= 7 for name in "abc")
        pairs = {(point["solvent"], point["base"]) for point in points}
        assert len(pairs) == 5
        assert ("water", "NaH") not in pairs

    @pytest.mark.parametrize(
        ("settings", "constraints"),
        [
            (
                {"water": (0, 100), "salt": (0, 10), "polymer": (0, 100)},
                [agents.mixture("water", "salt", "polymer", total=100), "water == 9 * salt"],
            ),
            (dict.fromkeys("abcd", (0, 1)), [agents.mixture(*"abcd"), "a == b", "c == 2 * d", "b == a"]),
            (dict.fromkeys("abcdef", (0, 2)), [agents.mixture(*"abc"), agents.mixture(*"cde"), "e == 0.25 * f"]),
            ({**dict.fromkeys("abc", (0, 1)), "n": [0.1, 0.2]}, [agents.mixture(*"abcn"), "a == 3 * n - b"]),
        ],
    )
    def test_equalities_that_share_parameters_hold_to_the_last_digit_in_any_order(
        self, settings: dict[str, Any], constraints: list[Any]
    ) -> None:
        proposed, orders = [], list(permutations(constraints))
        for order in [*orders[:6], *orders[6::6]]:
            lab = Experiment(settings, "Random", constraints=order)
            proposed.append(lab.ask(10))
            for each in map(as_constraint, order):
                assert isinstance(each, Linear)
                for point in proposed[-1]:
                    terms = [Decimal(repr(point[name])) * Decimal(repr(c)) for name, c in each.coefficients.items()]
                    assert sum(terms) == Decimal(repr(each.high))
        for points in proposed[1:]:
            assert points == proposed[0]

    def test_equalities_without_a_last_digit_hold_to_twelve(self) -> None:
        constraints = [agents.mixture("a", "b", "c"), "3 * a == 7 * b"]
        points = Experiment(dict.fromkeys("abc", (0, 1)), "Random", constraints=constraints).ask(50)
        for point in points:
            assert sum(point.values()) == pytest.approx(1, abs=1e-11)
            assert 3 * point["a"] == pytest.approx(7 * point["b"], rel=1e-11)
            assert max(len(str(value)) for value in point.values()) <= 16

    def test_an_equality_that_follows_from_another_balances_nothing(self) -> None:
        constraints = ["a / 3 + b / 7 + c == 0.3", "7 * a + 3 * b + 21 * c == 6.3"]
        for point in Experiment(dict.fromkeys("abc", (0, 1)), "Random", constraints=constraints).ask(50):
            assert 7 * point["a"] + 3 * point["b"] + 21 * point["c"] == pytest.approx(6.3, abs=1e-10)
            assert sum(len(str(value)) <= 6 for value in point.values()) >= 2

    def test_one_equality_is_balanced_by_its_last_parameter(self) -> None:
        lab = Experiment({"a": (0, 1), "b": (0, 1)}, "Random", constraints=["a == 9 * b"])
        for point in lab.ask(9):
            assert point["b"] == float(f"{point['a'] / 9:.12g}")
            assert point["a"] == round(point["a"], 4)

    def test_levels_that_sum(self) -> None:
        steps = range(0, 101, 5)
        space = spaces({"x": steps, "y": steps, "z": steps, "w": (0, 1)}, [agents.mixture("x", "y", "z", total=100)])
        rows = space.region.parameters.domain.values(space.random(2_000, np.random.default_rng(0)))
        points = [space.region.rounded(row) for row in rows]
        assert {point["x"] + point["y"] + point["z"] for point in points} == {100}
        assert len({(point["x"], point["y"]) for point in points}) == 231  # all of them, each equally likely

    def test_the_best_point_of_a_region_is_found(self) -> None:
        space = spaces({"a": (0, 1), "b": (0, 1), "c": (0, 1), "d": ["x", "y"]}, [agents.mixture(*"abc"), "a <= 0.3"])
        target = np.array([0.9, 0.4, 0.0, 0.0, 1.0])

        class Hill:
            def __call__(self, X: np.ndarray) -> np.ndarray:
                return -((X - target) ** 2).sum(axis=1)

            def with_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                return self(X), -2 * (X - target)

        found = space.maximise(Hill(), np.random.default_rng(0), np.zeros((0, 5)))[0]
        # The projection of (0.4, 0) on b + c = 0.7 is (0.55, 0.15), with a at its bound.
        np.testing.assert_allclose(found, [0.3, 0.55, 0.15, 0, 1], atol=1e-4)


@pytest.mark.filterwarnings("ignore:.* does not use it")
@pytest.mark.parametrize(
    "agent",
    [
        QUICK,
        "Random",
        "GP-TS",
        ("GP-UCB", {"width": 1.0}),
        ("A-GP-UCB", {"n_initial": 3}),
        ("MCMC-UCB", {"n_initial": 3}),
    ],
)
def test_whatever_the_policy_all_that_is_proposed_is_allowed(agent: Any) -> None:
    lab = Experiment(MIXED, agent, constraints=MIXTURE, kernel={"name": "se", "lengthscale": 0.5}, noise_std=0.1)
    for i in range(6):
        point = lab.ask()
        lab._choices.stated(point)  # raises where it is not
        lab.tell(point, point["b"] - point["celsius"] / 100 + 0.1 * i)
    lab.tell(lab.ask(), failed=True)
    lab._choices.stated(lab.ask())
    assert lab.recommend()["a"] <= 0.3


def test_a_function_s_argument_is_a_parameter_though_python_reads_its_name_in_another_form(tmp_path: Path) -> None:
    micro = "\N{MICRO SIGN}mol"  # as an argument it arrives with the Greek letter
    functions: dict[str, Any] = {}
    exec(f"def dear({micro}, base): return {micro} == 3 and base == 'NaH'", functions)
    lab = Experiment({micro: [1, 2, 3], "base": ["NaH", "KOH"]}, QUICK, constraints=[functions["dear"]])
    points = [lab.ask() for _ in range(5)]
    assert {(p[micro], p["base"]) for p in points} == {(1, "NaH"), (2, "NaH")} | {(n, "KOH") for n in (1, 2, 3)}
    assert Experiment.load(lab.save(tmp_path / "lab.json")).results()[micro].tolist() == [p[micro] for p in points]


class TestListedCombinations:
    RANGES: ClassVar = {"a": np.arange(0, 0.41, 0.1), "b": ["u", "v"]}

    def test_rounded_numbers_are_the_levels_they_stand_for(self, tmp_path: Path) -> None:
        forbidden = {"a": 0.3, "b": "u"}  # the level is 0.30000000000000004
        lab = Experiment(self.RANGES, "Random", constraints=[agents.forbid([forbidden])], repeats=True)
        for each in (lab, Experiment.load(lab.save(tmp_path / "lab.json"))):
            assert not any(point["b"] == "u" and 0.25 < point["a"] < 0.35 for point in each.ask(60))
            with pytest.raises(ValueError, match="forbid"):
                each.tell(forbidden, 3.0)

    def test_a_value_that_is_no_level_is_refused(self) -> None:
        forbidden = agents.forbid([{"solvent": "Water", "base": "NaH"}])
        with pytest.raises(ValueError, match=r"constraint 'forbid.*': solvent: expected .* did you mean 'water'"):
            Experiment({"solvent": ["DMF", "water"], "base": ["NaH", "KOAc"]}, constraints=[forbidden])


def test_names_are_compared_as_they_are_written() -> None:
    lab = Experiment({"\u00b5": (0.0, 1.0), "b": (0.0, 1.0)}, "Random", constraints=["\u00b5 + b <= 0.5"])
    assert all(point["\u00b5"] + point["b"] <= 0.5 for point in lab.ask(9))


def test_fixed_values_have_the_types_of_their_parameters() -> None:
    point = Experiment({"n": range(1, 5), "x": (0.0, 1.0)}, "Random").ask(fixed={"n": 2.0, "x": 1 + 1e-10})
    assert (point["n"], type(point["n"]), point["x"]) == (2, int, 1.0)


def test_a_mixture_is_optimised_and_its_file_holds_the_constraints(tmp_path: Path) -> None:
    def outcome(point: dict[str, Any]) -> float:
        return -((point["a"] - 0.5) ** 2) - (point["b"] - 0.35) ** 2 + (point["base"] == "NaH")

    ranges = {name: MIXED[name] for name in ("a", "b", "c", "solvent", "base")}
    lab = Experiment(ranges, QUICK, constraints=MIXTURE)
    for _ in range(6):
        for point in lab.ask(4):
            lab.tell(point, outcome(point))
    best, value = lab.best()
    assert value > outcome({"a": 0.3, "b": 0.35, "base": "NaH"}) - 0.02
    assert best["a"] + best["b"] + best["c"] == pytest.approx(1, abs=1e-12)
    path = lab.save(tmp_path / "lab.json")
    assert json.loads(path.read_text())["schema"] == 3
    again = Experiment.load(path)
    assert isinstance(again._choices, Region)
    assert [each.text for each in again._choices.constraints] == [
        "a + b + c == 1", "a <= 0.3", "c >= 2 * b - 0.5", "forbid(solvent, base)",
    ]  # fmt: skip
    assert isinstance(again._choices.constraints[0], Linear)
    assert again.ask(3) == lab.ask(3)


class TestFixed:
    def test_values_are_held_exactly_and_given_back(self, tmp_path: Path) -> None:
        lab = Experiment(MIXED, QUICK, constraints=MIXTURE)
        for _ in range(3):
            for point in lab.ask(3, fixed={"celsius": 63.123456, "base": "NaH", "a": np.float64(0.123)}):
                assert (point["celsius"], point["base"], point["a"]) == (63.123456, "NaH", 0.123)
                assert point["solvent"] != "water"
                lab.tell(point, point["b"])
        assert {point["base"] for point in lab.ask(12)} == {"NaH", "K2CO3"}
        again = Experiment.load(lab.save(tmp_path / "lab.json"))
        assert again.ask(2, fixed={"n": 2}) == lab.ask(2, fixed={"n": 2})

    @pytest.mark.filterwarnings("ignore:.* does not use it")
    def test_on_a_table(self) -> None:
        table = [{"base": base, "t": t} for base in ("KOAc", "CsOPiv") for t in (60, 80, 100)]
        for agent in (QUICK, "Random", ("GP-BUCB", {"width": 1.0, "batch_size": 2})):
            lab = Experiment(table, agent, kernel={"name": "se", "lengthscale": 0.5}, noise_std=0.1)
            for point in lab.ask(2, fixed={"base": "KOAc"}):
                assert point["base"] == "KOAc"
                lab.tell(point, point["t"] / 100)
            lab.ask(fixed={"base": "KOAc"})
            with pytest.raises(ValueError, match=r"ask: all 6 candidates with \{'base': 'KOAc'\} have been proposed"):
                lab.ask(fixed={"base": "KOAc"})
            assert lab.ask()["base"] == "CsOPiv"

    @pytest.mark.parametrize(
        ("fixed", "error", "message"),
        [
            ({"bse": "NaH"}, ValueError, "fixed: no parameter 'bse'; did you mean 'base'?"),
            ({"base": "NaOH"}, ValueError, "base: expected one of 'NaH', 'K2CO3', got 'NaOH'"),
            ({"a": 0.5}, ValueError, "fixed: expected some points to be left with {'a': 0.5}, got none under 'a <="),
            ({"base": "NaH", "solvent": "water"}, ValueError, "got none under 'forbid(solvent, base)'"),
            (["base"], TypeError, "fixed: expected a dict of values by the names of parameters, got ['base']"),
        ],
    )
    def test_what_cannot_be_held_is_refused(self, fixed: Any, error: type[Exception], message: str) -> None:
        lab = Experiment(MIXED, QUICK, constraints=MIXTURE)
        with pytest.raises(error, match=re.escape(message)):
            lab.ask(fixed=fixed)
        assert lab.open == []

    def test_of_a_table_too(self) -> None:
        lab = Experiment([{"base": "KOAc", "t": 60}, {"base": "CsOPiv", "t": 80}], QUICK)
        with pytest.raises(ValueError, match="base: expected one of 'KOAc', 'CsOPiv', got 'NaH'"):
            lab.ask(fixed={"base": "NaH"})
        with pytest.raises(ValueError, match=r"fixed: no candidate of the table has \{'base': 'KOAc', 't': 80\}"):
            lab.ask(fixed={"base": "KOAc", "t": 80})


# ---- levels under constraints: what is listed is what brute force leaves, and how much can be listed ----


SMALL: dict[str, Any] = {"a": range(-3, 5), "k": [0.1, 0.2, 0.35, 0.9], "s": ["x", "y", "z"], "b": range(7)}
PERCENT = range(101)


def region(settings: dict[str, Any], constraints: list[Any]) -> Region:
    return Region.of(Parameters.of(settings), [as_constraint(each) for each in constraints])


@pytest.mark.parametrize(
    "constraints",
    [
        ["a + b <= 4", "a - 10 * k >= -4"],
        ["2 * a - b == 0"],
        ["-2 <= 10 * k - a - b <= 1", lambda s, b: (s == "x") == (b % 2 == 0)],
        [agents.forbid([{"b": 2}, {"b": 3}, {"b": 6}]), lambda a: a in (-3, 0)],
        [lambda b, a: a * b > 3, lambda k, s: s == "y" and k < 0.3, "a + b >= 0"],
        [agents.forbid([{"s": "x", "b": 3}, {"s": "z", "b": 0}]), agents.forbid([{"b": 1, "a": 1}])],
    ],
)
def test_what_is_listed_is_what_brute_force_leaves(constraints: list[Any]) -> None:
    found = region(SMALL, constraints)
    tied = [found.names[j] for j in found._tied]
    listed = found._listing.take(np.arange(len(found._listing)))[0]
    levels = {each.name: each.values for each in found.parameters.all}
    left = []
    for values in product(*(levels[name] for name in tied)):
        point = {"a": 0, "k": 0.1, "s": "x", "b": 0} | dict(zip(tied, values, strict=True))
        if not any(each.missed_by(point) for each in found.constraints):
            left.append([found.parameters.named(name).number(v) for name, v in zip(tied, values, strict=True)])
    np.testing.assert_array_equal(listed, left)
    every = np.array(list(product(*(map(found.parameters.named(n).number, levels[n]) for n in found.names))))
    inside = {tuple(row) for row in listed.tolist()}
    for row, cell in zip(every, found._cells(every), strict=True):
        assert (cell >= 0) == (tuple(row[found._tied].tolist()) in inside)
    outside = np.tile(every[0], (3, 1))
    outside[:, 3] = (-1, 7, 1e18)
    assert (found._cells(outside) == -1).all()


@pytest.mark.parametrize(
    ("settings", "constraints", "points"),
    [
        (dict.fromkeys("abc", PERCENT), [agents.mixture("a", "b", "c", total=100)], 5_151),
        (dict.fromkeys("abcd", PERCENT), [agents.mixture(*"abcd", total=100)], 176_851),
        (dict.fromkeys("abcde", range(0, 101, 4)), [agents.mixture(*"abcde", total=100)], 23_751),
        ({**dict.fromkeys("abc", PERCENT), "s": ["x", "y"]}, [agents.mixture(*"abc", total=100), "a <= 9"], 965),
        (dict.fromkeys("ab", range(1_001)), ["a + b <= 1000"], 501_501),
        (dict.fromkeys("ab", range(100_001)), ["a <= b"], 100_001 * 100_002 // 2),
        ({"z": range(10**9), "a": range(10)}, ["1000 * a + z <= 100000"], 955_010),
        (dict.fromkeys("ab", range(5_000)), [agents.forbid([{"a": 3, "b": 4}])], 5_000**2 - 1),
        ({"a": range(3), "z": range(10**9)}, ["a >= 1"], 2),
    ],
)
def test_what_is_not_left_does_not_count(settings: dict[str, Any], constraints: list[Any], points: int) -> None:
    lab = Experiment(settings, ("MAP-BUCB", {"candidates": 32, "iterations": 5}), constraints=constraints)
    assert len(lab._choices._listing) == points  # type: ignore[union-attr]
    for point in lab.ask(4):
        lab.tell(point, 1.0)  # raises where it breaks a constraint


def test_an_integer_beside_a_range_has_a_polytope_for_each_value() -> None:
    settings = {"n": range(1, 1001), "x": (0.0, 10.0)}
    constraints = ["n + 100 * x <= 1500", "n - 100 * x >= -200"]
    lab = Experiment(
        settings, ("MAP-BUCB", {"candidates": 32, "iterations": 5, "n_initial": 3}), constraints=constraints
    )
    for i in range(3):
        point = lab.ask()
        lab.tell(point, float(i % 3))
    assert len(lab._choices._polytopes) < 300  # type: ignore[union-attr]
    wide = region({"n": range(1, 1001), "x": (0.0, 1.0)}, ["n + 100 * x <= 1500", "x >= 0.4", "n * 0.001 + x <= 0.5"])
    assert wide.domain.values(wide.sample(50, np.random.default_rng(0)))[:, 0].max() <= 100
    assert wide.domain.values(wide.middle[None])[0, 0] <= 100
    message = "constraints: expected some points to be left, got none under 'n + x <= 2', 'x >= 1.5'"
    with pytest.raises(ValueError, match=re.escape(message)):
        region({"n": range(1, 1001), "x": (0.0, 2.0)}, ["n + x <= 2", "x >= 1.5"])


@pytest.mark.parametrize(
    ("settings", "constraints", "message"),
    [
        (
            dict.fromkeys("abc", range(10**6)),
            ["a + b + c <= 1000000"],
            "constraints: expected of a, b, c at most 1,000,000 combinations of levels that leave a value to c, got "
            "more; give a in fewer steps, such as range(0, 1000000, 19999), or as a range, (0, 999999), and round what "
            "is proposed",
        ),
        (
            dict.fromkeys("abc", np.linspace(0, 3, 3_001)),
            ["a + b + c <= 3"],
            "give a in fewer steps, such as numpy.linspace(0, 3, 21), or as a range, (0, 3), and round",
        ),
        (
            {"n": range(30_000), "x": (0.0, 1.0)},
            ["n + x <= 30000.5"],
            "at most 20,000 different ranges, one for each combination, got more; give n in fewer steps",
        ),
        (
            dict.fromkeys("ab", range(1_000)),
            [lambda a, b: a == b],
            "expected at most 100,000 combinations of a, b, got 1,000,000; give numbers in larger steps, or what is",
        ),
    ],
)
def test_what_is_too_much_says_what_to_do(settings: dict[str, Any], constraints: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Experiment(settings, constraints=constraints)


def test_nine_digits_are_those_of_the_text() -> None:
    """Bit for bit: keys of candidates that were told by hand are made from the text."""
    rng = np.random.default_rng(0)
    steps = np.arange(-2_000, 2_000) * 0.001
    ties = (rng.integers(10**8, 10**9, 2_000) + 0.5) / 10.0 ** rng.integers(0, 12, 2_000)
    wide = rng.standard_normal(4_000) * 10.0 ** rng.integers(-300, 300, 4_000)
    values = np.concatenate([[0.0, -0.0, 5e-324, 1e308, 999999999.5, 0.3], steps, 0.1 + steps, ties, wide])
    found = nine_digits(values.tolist())
    assert found.tolist() == [float(f"{value:.9g}") for value in values.tolist()]
