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
