"""A few runs of each row of `python -m benchmarks.bands`."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.bands import CONTROLS, ROWS, Row, case, count


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}, {row.pulls} pulls")
def test_what_is_guaranteed_holds(row: Row) -> None:
    """A row whose band fails as often as it may fails here with a probability of 1e-5."""
    found = count(row, 6)
    assert found.counted == 6 or (row.id, row.kwargs["width"]) == ("BKB", "theory")
    if found.counted:
        assert binomtest(found.violated, found.counted, found.delta, alternative="greater").pvalue > 1e-5
    assert found.exceeded == 0


@pytest.mark.parametrize("row", [row for row in CONTROLS if row.id == "GP-UCB" and row.noise == "gaussian"], ids=str)
def test_the_search_finds_bands_that_fail(row: Row) -> None:
    found = count(row, 40, claimed_alone=False)
    assert found.violated > 0
    assert count(row, 3).counted == 0, "none of them is called guaranteed"


def test_a_mean_has_the_norm_that_is_stated() -> None:
    for number in range(30):
        found = case(ROWS[0], np.random.default_rng(number))
        assert found.problem.kernel is not None
        assert found.problem.norm_bound is not None
        K = found.problem.kernel(found.arms, found.arms)
        # f = K w + e with a rounding e of at most 1e-12 of the largest mean, of which the inverse makes norm(e) / 1e-3.
        ridge = 1e-6 * float(K.diagonal().max())
        square = float(found.f @ np.linalg.solve(K + ridge * np.eye(len(K)), found.f))
        assert square <= found.problem.norm_bound**2 * (1 + 1e-6)
