"""Boxes with units: levels, logarithms and the way back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from gpbandit_envs.domain import Dimension, Domain

DOMAIN = Domain(
    (
        Dimension(-5.0, 10.0, name="shift"),
        Dimension(1e-5, 1.0, log=True, name="rate"),
        Dimension(1, 4, integer=True),
        Dimension(1, 50, integer=True, log=True),
    )
)
U = np.random.default_rng(0).random((500, 4))


def test_ends_and_middles() -> None:
    np.testing.assert_allclose(DOMAIN.values(np.zeros((1, 4)))[0], [-5, 1e-5, 1, 1])
    np.testing.assert_allclose(DOMAIN.values(np.ones((1, 4)))[0], [10, 1, 4, 50])
    assert DOMAIN.values(np.full((1, 4), 0.5))[0, 1] == pytest.approx(10**-2.5)


def test_values_and_back() -> None:
    V = DOMAIN.values(U)
    np.testing.assert_allclose(DOMAIN.unit(V)[:, :2], U[:, :2], atol=1e-12)
    np.testing.assert_array_equal(DOMAIN.values(DOMAIN.unit(V))[:, 2:], V[:, 2:])
    S = DOMAIN.snap(U)
    np.testing.assert_array_equal(S[:, :2], U[:, :2])
    np.testing.assert_array_equal(DOMAIN.snap(S), S)
    np.testing.assert_allclose(DOMAIN.values(S), V)


def test_levels_are_equally_likely_on_a_linear_scale() -> None:
    grid = (np.arange(4_000) + 0.5) / 4_000
    np.testing.assert_array_equal(np.bincount(Dimension(1, 4, integer=True).value(grid).astype(int))[1:], [1_000] * 4)
    assert set(Dimension(1, 50, integer=True, log=True).value(np.linspace(0, 1, 20_000))) == set(range(1, 51))


def test_neighbours_are_one_level_away_in_one_or_two_integers() -> None:
    u = DOMAIN.unit([[0.0, 0.1, 1, 7]])[0]
    expected = [[2, 7], [1, 6], [1, 8], [2, 6], [2, 8]]
    np.testing.assert_allclose(DOMAIN.values(DOMAIN.neighbours(u))[:, 2:], expected)
    assert Domain.cube(3).neighbours(np.zeros(3)).shape == (0, 3)


def test_json_round_trip() -> None:
    spec = json.loads(json.dumps(DOMAIN.to_spec()))
    assert Domain.from_spec(spec) == DOMAIN
    assert spec[2] == {"low": 1, "high": 4, "integer": True}
    assert Domain.cube(2).to_spec() == [{}, {}]


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"low": 1.0, "high": 1.0}, "low < high"),
        ({"low": 0.0, "high": float("inf")}, "finite"),
        ({"low": 0.5, "high": 2.0, "integer": True}, "integers"),
        ({"low": 0.0, "high": 2.0, "log": True}, "logarithmic"),
    ],
)
def test_bad_bounds(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Dimension(**kwargs)
    with pytest.raises(ValueError, match="at least one"):
        Domain(())


class TestChoices:
    DOMAIN = Domain(
        (Dimension(choices=("a", "b", "c"), name="base"), Dimension(20, 120), Dimension(1, 4, integer=True))
    )

    def test_one_coordinate_each(self) -> None:
        assert self.DOMAIN.dim == 5
        assert len(self.DOMAIN) == 3
        assert self.DOMAIN.discrete.tolist() == [True, True, True, False, True]
        np.testing.assert_array_equal(self.DOMAIN.unit([[1, 70, 2]]), [[0, 1, 0, 0.5, 0.375]])
        np.testing.assert_array_equal(self.DOMAIN.values(np.array([[0.2, 0.1, 0.3, 0.5, 0.4]])), [[2, 70, 2]])

    def test_snapped_points_keep_their_values(self) -> None:
        points = np.random.default_rng(1).random((200, 5))
        snapped = self.DOMAIN.snap(points)
        np.testing.assert_array_equal(self.DOMAIN.values(snapped), self.DOMAIN.values(points))
        np.testing.assert_array_equal(self.DOMAIN.snap(snapped), snapped)
        assert set(snapped[:, :3].sum(axis=1)) == {1.0}
        assert np.bincount(self.DOMAIN.values(points)[:, 0].astype(int)).min() > 40  # all three are as likely

    def test_neighbours_have_another_choice_or_level_or_both(self) -> None:
        around = self.DOMAIN.values(self.DOMAIN.neighbours(self.DOMAIN.unit([[1, 70, 4]])[0]))
        assert sorted(around.tolist()) == [[0, 70, 3], [0, 70, 4], [1, 70, 3], [2, 70, 3], [2, 70, 4]]

    def test_json_round_trip(self) -> None:
        spec = json.loads(json.dumps(self.DOMAIN.to_spec()))
        assert spec[0] == {"name": "base", "choices": ["a", "b", "c"]}
        assert Domain.from_spec(spec) == self.DOMAIN

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"choices": ("a",)}, "choices: expected at least two different ones"),
            ({"choices": ("a", "a")}, "choices: expected at least two different ones"),
            ({"choices": ("a", "b"), "high": 3.0}, "choices: expected neither low, high, integer nor log beside them"),
        ],
    )
    def test_what_does_not_fit_is_named(self, settings: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            Dimension(**settings)
