from __future__ import annotations

import itertools

import numpy as np

from gpbandit_envs.datasets.grid import Factor, grid_features, grid_neighbours

FACTORS = (Factor("a", (0.0, 1.0)), Factor("b", (1.0, 3.0, 9.0)), Factor("c", (0.0, 1.0, 2.0, 3.0), ordered=False))


def test_points_are_all_combinations_with_the_last_factor_fastest() -> None:
    expected = list(itertools.product(*(factor.levels for factor in FACTORS)))
    np.testing.assert_array_equal(grid_features(FACTORS), expected)


def test_neighbours_are_those_of_a_search_over_all_pairs() -> None:
    digits = list(itertools.product(*(range(len(factor.levels)) for factor in FACTORS)))

    def adjacent(p: tuple[int, ...], q: tuple[int, ...]) -> bool:
        moved = [i for i in range(len(FACTORS)) if p[i] != q[i]]
        return len(moved) == 1 and (not FACTORS[moved[0]].ordered or abs(p[moved[0]] - q[moved[0]]) == 1)

    found = grid_neighbours(FACTORS)
    for i, p in enumerate(digits):
        expected = [j for j, q in enumerate(digits) if adjacent(p, q)]
        assert found[i].tolist() == expected + [-1] * (found.shape[1] - len(expected))
