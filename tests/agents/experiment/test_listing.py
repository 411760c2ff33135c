"""Levels under constraints: what is listed is what brute force leaves, and how much can be listed."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest

import agents
from agents import Experiment
from agents.experiment.constraints import as_constraint
from agents.experiment.parameters import Parameters, nine_digits
from agents.experiment.region import Region

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
