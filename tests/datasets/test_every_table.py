"""What holds for every table, whatever its source."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from gpbandit_envs.datasets import Table, cards, load, standardise, unit_interval
from tests.datasets.conftest import BESIDE, Load

MEMORY_LIMIT = 3.0
SMALL = 200_000
MEASURING = 10_000  # what checks of annotations and coverage, which tests alone have, keep meanwhile


def variants() -> list[object]:
    """Every data set with every value of its options, but the one that no machine can fetch by itself."""
    found: list[object] = []
    for name, card in cards().items():
        if name == "NASBench101":
            continue
        marks = [] if name in BESIDE or card.here else [pytest.mark.network]
        for option, values in card.options.items() or [("", ("",))]:
            chosen = values if name != "Neurostimulation" else values[:3]
            for value in chosen:
                options = {option: value} if option else {}
                found.append(pytest.param(name, options, marks=marks, id=f"{name}-{value}".strip("-")))
    return found


# NASBench101 has its own test, and modules of a program may measure the same.
UNIQUE = [
    pytest.param(name, marks=[] if name in BESIDE or card.here else [pytest.mark.network])
    for name, card in cards().items()
    if name not in ("NASBench101", "SoftwareDefect")
]


def nbytes(table: Table) -> int:
    arrays = (table.features, table.values, table.costs, table.neighbours)
    return sum(array.nbytes for array in arrays if array is not None)


@pytest.mark.parametrize(("name", "options"), variants())
def test_a_table_is_sound_and_loads_in_little_memory(real: Load, name: str, options: dict[str, Any]) -> None:
    table = real(name, **options)
    card = cards()[name]
    if all(value == card.options[option][0] for option, value in options.items()):
        assert table.features.shape == card.shape
        assert table.feature_names == card.columns
    assert table.name == name
    assert table.features.shape[1] == card.shape[1]
    assert table.notes["preprocessing"] == card.notes
    assert np.isfinite(table.mean).all()
    assert np.ptp(table.mean) > 0
    check_neighbours(table)
    if card.here:
        return  # small, and parsed at each load

    tracemalloc.start()
    again = load(name, **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(again.values, table.values)
    # Below some size the interpreter's own bookkeeping outweighs any table.
    assert peak < max(MEMORY_LIMIT * nbytes(table), SMALL) + MEASURING


def check_neighbours(table: Table) -> None:
    """No arm is its own neighbour or listed twice, padding comes last, and being neighbours is mutual."""
    if table.neighbours is None:
        return
    A, k = table.neighbours.shape
    arm = np.repeat(np.arange(A), k)
    other = table.neighbours.ravel()
    pairs = np.stack([arm, other], axis=1)[other >= 0]
    assert (pairs[:, 0] != pairs[:, 1]).all()
    codes = pairs[:, 0] * A + pairs[:, 1]
    assert np.unique(codes).size == codes.size
    assert np.array_equal(np.sort(codes), np.sort(pairs[:, 1] * A + pairs[:, 0]))
    padding = table.neighbours < 0
    assert not (padding[:, :-1] & ~padding[:, 1:]).any()


@pytest.mark.parametrize("name", UNIQUE)
def test_arms_differ(real: Load, name: str) -> None:
    table = real(name)
    assert np.unique(table.features, axis=0).shape[0] == table.n_arms


# ---- table ----


def test_standardise_agrees_with_scikit_learn_and_sets_constant_columns_to_zero() -> None:
    X = np.random.default_rng(0).lognormal(size=(50, 4)) * [1e-6, 1.0, 1e6, 1.0] + [0, 5, 0, 0]
    X[:, 3] = 0.1
    np.testing.assert_allclose(standardise(X)[:, :3], StandardScaler().fit_transform(X)[:, :3], atol=1e-12)
    assert (standardise(X)[:, 3] == 0).all()


def test_unit_interval_is_increasing_and_fills_the_interval() -> None:
    y = np.array([[3.0, np.nan], [-1.0, 7.0]])
    np.testing.assert_allclose(unit_interval(y), [[0.5, np.nan], [0.0, 1.0]])


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match=r"^X: expected a matrix"):
        standardise(np.zeros(3))
    with pytest.raises(ValueError, match=r"^X: expected a matrix"):
        standardise(np.array([[np.nan]]))
    with pytest.raises(ValueError, match=r"^y: expected at least two different values"):
        unit_interval(np.ones(3))
    with pytest.raises(ValueError, match=r"^y: expected finite"):
        unit_interval(np.array([np.inf, 1.0]))
