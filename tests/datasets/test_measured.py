"""Tables of one's own: what becomes a feature, what a replicate, and what is refused."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from gpbandit_envs.csv_file import read_csv
from gpbandit_envs.datasets import Table, cards, load, standardise, unit_interval
from gpbandit_envs.datasets.measured import frame_digest, measured
from tests.datasets.conftest import BESIDE, Load

FRAME = pd.DataFrame(
    {
        "temperature": [20, 40, 20, 60, 40],
        "solvent": ["DMF", "water", "DMF ", "None", "water"],
        "yield": [1.0, 2.0, 3.0, 4.0, 6.0],
    }
)


def csv(text: str) -> pd.DataFrame:
    return read_csv(text.encode(), "lab.csv")


def test_numbers_stay_words_are_one_hot_and_equal_settings_are_replicates() -> None:
    found = measured(FRAME, "yield")
    assert found.table.feature_names == ("temperature", "solvent=DMF", "solvent=None", "solvent=water")
    assert found.one_hot.tolist() == [False, True, True, True]
    assert found.table.notes["categories"] == [[1, 2, 3]]
    assert found.n_columns == 2
    assert found.table.features.tolist() == [[20, 1, 0, 0], [40, 0, 0, 1], [60, 0, 1, 0]]
    np.testing.assert_array_equal(found.table.values, [[1.0, 3.0], [2.0, 6.0], [4.0, np.nan]])


def test_minimise_negates() -> None:
    assert measured(FRAME, "yield", minimise=True).table.mean.tolist() == [-2.0, -4.0, -4.0]


def test_numbers_can_be_names_and_columns_be_left_out() -> None:
    found = measured(FRAME, "yield", categorical=["temperature"], ignore=["solvent"])
    assert found.table.feature_names == ("temperature=20", "temperature=40", "temperature=60")
    assert found.one_hot.all()


def test_many_replicates_keep_their_order() -> None:
    rng = np.random.default_rng(0)
    setting, y = rng.integers(0, 7, 200), rng.normal(size=200)
    found = measured(pd.DataFrame({"x": setting, "y": y}), "y").table
    assert found.features[:, 0].tolist() == list(dict.fromkeys(setting.tolist()))
    for arm, x in enumerate(found.features[:, 0]):
        assert found.values[arm][: found.n_replicates[arm]].tolist() == y[setting == x].tolist()


def test_booleans_and_categories() -> None:
    frame = pd.DataFrame({"stirred": [True, False], "size": pd.Categorical([1, 2]), "y": [0.0, 1.0]})
    found = measured(frame, "y")
    assert found.table.feature_names == ("stirred", "size=1", "size=2")
    assert found.table.features.tolist() == [[1, 1, 0], [0, 0, 1]]


def test_a_word_for_nothing_is_a_word_and_an_empty_cell_is_missing() -> None:
    frame = csv("ligand, yield\nNone,1\nNA,2\n")
    assert frame["ligand"].tolist() == ["None", "NA"]
    with pytest.raises(
        ValueError,
        match=r"column 'ligand' has no finite value in row 2 \(counted from 1\); fill these rows or drop them",
    ):
        measured(csv("ligand,yield\nNone,1\n,2\n"), "yield")


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "target misspelt": ("t,Yield\n1,2\n2,3", {}, r"target: there is no column 'yield'; did you mean 'Yield'\?"),
    "target of another name": ("t,y\n1,2\n2,3", {}, r"target: there is no column 'yield'; the columns are t, y"),
    "ignored": ("t,yield\n1,2\n2,3", {"ignore": ["T"]}, r"ignore: there is no column 'T'"),
    "missing values": (
        "t,yield\n1,2\n,3\n3,\n,5",
        {},
        r"column 't' has no finite value in rows 2, 4 \(counted from 1\); fill these rows",
    ),
    "missing targets": ("t,yield\n1,2\n2,nan", {}, r"column 'yield' has no finite value in row 2"),
    "infinite": ("t,yield\n1,2\n2,inf", {}, r"column 'yield' has no finite value in row 2"),
    "no rows": ("t,yield\n", {}, r"table: expected at least one row, got none"),
    "many missing": ("t,yield\n" + "1,\n" * 9, {}, r"in rows 1, 2, 3, 4, 5 and 4 more \(counted from 1\)"),
    "text in the target": ("t,yield\n1,2\n2,n/a", {}, r"the target 'yield' should be numbers, got 'n/a' in row 2"),
    "a slip in a number": ("t,yield\n1,2\n2,3\n1O,3", {}, r"'t' mixes numbers with text, such as '1O' in row 3"),
    "decimal commas in a setting": (
        't,m,yield\n"20,0",1,2\n30,1,3\n"40,0",2,3',
        {},
        r"'t' holds numbers with decimal commas, such as '20,0' in rows 1, 3 \(.*decimal=\",\".*categorical=\['t'\]",
    ),
    "wide digits": ("t,yield\n\uff12,2\n\uff13,3", {}, r"'t' holds numbers as text, such as .* in rows 1, 2 \("),
    "percent in the target": ("t,yield\n1,2 %\n2,3 %", {}, r"the target 'yield' holds percentages, such as '2 %'"),
    "dates in every row": (
        "t,yield\n" + "".join(f"2024-01-{i:02},{i}\n" for i in range(1, 31)),
        {},
        r"'t' holds dates or times, such as '2024-01-01' in rows 1, 2, 3, 4, 5 and 25 more",
    ),
    "names of rows": (
        "s,yield\n" + "".join(f"sample{i},{i}\n" for i in range(30)),
        {},
        r"'s' has another text in each of 30 rows, .* leave it out with ignore=\['s'\]",
    ),
    "the index of a frame": (",t,yield\n0,1,2\n1,2,3", {}, r"a column has no name, .* index=False"),
    "one candidate": ("t,yield\n1,2\n1,3", {}, r"at least two different candidates, got 1 in 2 rows"),
    "the target alone": ("yield\n1\n2", {}, r"at least one column besides 'yield'"),
    "the same name twice": ("t , t,yield\n1,2,3\n2,3,4", {}, r"different names of columns, got 't' twice"),
    "semicolons": ("t;yield\n1;2", {}, r"separated by commas, got 't;yield' as the line of names.* sep=';'"),
    "decimal commas": ("t,yield\n1,5,2\n2,5,3", {}, r"expected lab.csv to be UTF-8 text of columns"),
    "nothing": ("", {}, r"expected lab.csv to be UTF-8 text of columns"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str) -> None:
    text, options, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        measured(csv(text), "yield", **options)


def test_what_is_no_table() -> None:
    with pytest.raises(TypeError, match=r"table: expected the path of a CSV file or a pandas.DataFrame, got \[1\]"):
        measured([1], "y")  # type: ignore[arg-type]
    days = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"]), "y": [1.0, 2.0]})
    with pytest.raises(TypeError, match="column 'day' should be numbers or text, got datetime64"):
        measured(days, "y")
    with pytest.raises(ValueError, match="the target 'day' should be numbers, got"):
        measured(days, "day")
    with pytest.raises(ValueError, match="UTF-8"):
        read_csv(b"t,yield\n\xff\xfe,1\n", "lab.csv")


def test_names_of_rows_may_be_a_setting() -> None:
    assert len(measured(csv("t,yield\n3 A,2\n4 A,3"), "yield", categorical=["t"]).table.feature_names) == 2
    frame = pd.DataFrame({"catalyst": [f"c{i}" for i in range(30)], "y": np.arange(30.0)})
    assert len(measured(frame, "y", categorical=["catalyst"]).table.feature_names) == 30


def test_the_digest_is_of_values_and_names() -> None:
    digest = frame_digest(FRAME)
    assert frame_digest(FRAME.set_axis(range(10, 15))) == digest
    assert frame_digest(FRAME.rename(columns={"yield": "y"})) != digest
    assert frame_digest(FRAME.assign(**{"yield": [1.0, 2.0, 3.0, 4.0, 6.5]})) != digest


# ---- what holds for every table, whatever its source ----


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
