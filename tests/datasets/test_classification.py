from __future__ import annotations

import numpy as np
import pytest

from tests.datasets.conftest import Load

pytestmark = pytest.mark.network


def test_vehicles(real: Load) -> None:
    table = real("VehicleSilhouettes")
    assert table.notes["classes"] == ["bus", "opel", "saab", "van"]
    assert np.bincount(table.values[:, 0].astype(int)).tolist() == [218, 212, 217, 199]
    assert table.features[0].tolist() == [95, 48, 83, 178, 72, 10, 162, 42, 20, 159, 176, 379, 184, 70, 6, 16, 187, 197]
    assert table.values[0, 0] == 3


@pytest.mark.parametrize(("program", "modules", "defects"), [("kc1", 2_109, 326), ("pc1", 1_109, 77)])
def test_defects(real: Load, program: str, modules: int, defects: int) -> None:
    table = real("SoftwareDefect", program=program)
    assert table.features.shape == (modules, 21)
    assert table.values.sum() == defects
    assert set(np.unique(table.values)) == {0, 1}
    # Halstead's length is the sum of operators and operands, up to the recorder's own slips.
    n, operators, operands = table.features[:, 4], table.features[:, 18], table.features[:, 19]
    assert (n == operators + operands).mean() > 0.95
