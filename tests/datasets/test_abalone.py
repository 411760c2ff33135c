from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs import datasets

pytestmark = pytest.mark.network


def test_the_counts_of_the_source(shared_cache: Path) -> None:
    table = datasets.load("Abalone")
    card = datasets.cards()["Abalone"]
    assert table.features.shape == card.shape == (4177, 8)
    assert table.feature_names == card.columns
    assert np.bincount(table.features[:, 0].astype(int)).tolist() == [1528, 1307, 1342]
    assert table.values.shape == (4177, 1)
    assert (table.values.min(), table.values.max()) == (1.0, 29.0)
    np.testing.assert_array_equal(table.features[0], [0, 0.455, 0.365, 0.095, 0.514, 0.2245, 0.101, 0.15])
    assert table.values[0, 0] == 15
    height = np.sort(table.features[:, 3])
    assert height[:2].tolist() == [0.0, 0.0]
    assert height[-2:].tolist() == [0.515, 1.13]
    assert table.costs is None
    assert table.labels is None
