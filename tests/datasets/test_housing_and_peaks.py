"""Cadata and HPLC."""

from __future__ import annotations

import numpy as np
import pytest

from tests.datasets.conftest import Load

pytestmark = pytest.mark.network


def test_cadata_gives_back_the_totals_of_the_original(real: Load) -> None:
    table = real("Cadata")
    # First two blocks of the StatLib file.
    np.testing.assert_array_equal(table.features[0], [8.3252, 41, 880, 129, 322, 126, 37.88, -122.23])
    np.testing.assert_array_equal(table.features[1], [8.3014, 21, 7099, 1106, 2401, 1138, 37.86, -122.22])
    assert table.values[:2, 0].tolist() == [452_600, 358_500]
    assert (table.features[:, 2:6] == np.round(table.features[:, 2:6])).all()
    assert (table.values == 500_001).sum() == 965
    assert table.values.max() == 500_001
    averages = real("Cadata", columns="averages")
    np.testing.assert_array_equal(averages.values, table.values)
    np.testing.assert_allclose(averages.features[:, 2] * table.features[:, 5], table.features[:, 2], rtol=1e-12)
    np.testing.assert_allclose(averages.features[:, 5], table.features[:, 4] / table.features[:, 5], rtol=1e-12)


def test_hplc_repeats_are_replicates(real: Load) -> None:
    runs, table = real("HPLC", repeats="separate"), real("HPLC")
    assert runs.features.shape == (1_386, 6)
    assert table.features.shape == (1_007, 6)
    assert np.bincount(table.n_replicates).tolist() == [0, 628, 379]
    assert (runs.values == 0).sum() == 229
    expected: dict[tuple[float, ...], list[float]] = {}
    for setting, area in zip(runs.features.tolist(), runs.values[:, 0].tolist()):
        expected.setdefault(tuple(setting), []).append(area)
    assert [tuple(row) for row in table.features.tolist()] == list(expected)
    for row, areas in zip(table.values, expected.values()):
        assert row[~np.isnan(row)].tolist() == areas
