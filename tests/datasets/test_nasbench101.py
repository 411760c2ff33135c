"""NAS-Bench-101: the cells against the published list and slow searches, values from official and partial files."""

from __future__ import annotations

import csv
import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets import DataError, FetchError, IntegrityError
from gpbandit_envs.datasets.nasbench101 import EDGES, Cells, cell_hash, enumerate_cells
from gpbandit_envs.datasets.readers import read_plain_pickle
from gpbandit_envs.datasets.trainings import Factor, grid_features, grid_neighbours, read_trainings
from tests.datasets.conftest import Load, beside
from tests.datasets.records import run_record, write_records

CANDIDATES = "nasbench101/candidates_6v_conv3_pool3_12416.csv"
CONV, POOL, CONV1 = "conv3x3-bn-relu", "maxpool3x3", "conv1x1-bn-relu"


@pytest.fixture(scope="module")
def cells() -> Cells:
    return enumerate_cells()


def graph(bits: np.ndarray) -> tuple[list[list[int]], list[int]]:
    adjacency = [[0] * 6 for _ in range(6)]
    for bit, (i, j) in zip(bits, EDGES):
        adjacency[i][j] = int(bit)
    return adjacency, [-1, *(0 if bit else 2 for bit in bits[15:]), -2]


@pytest.mark.slow
def test_counts(cells: Cells) -> None:
    assert len(cells.hashes) == len(set(cells.hashes)) == 12_416
    assert cells.n_labelled.sum() == 24_720
    assert np.unique(cells.bits, axis=0).shape == (12_416, 19)


@pytest.mark.no_cover
def test_bits_hashes_and_counts_are_those_of_the_published_list(cells: Cells) -> None:
    with beside(CANDIDATES).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["nb101_hash"] for row in rows] == list(cells.hashes)
    assert [int(row["n_labelled"]) for row in rows] == cells.n_labelled.tolist()
    edges = [[int(row[f"a{i}{j}"]) for i, j in EDGES] for row in rows]
    # The list marks poolings with 1, the paper and this package convolutions.
    operations = [[1 - int(row[f"op{v}"]) for v in range(1, 5)] for row in rows]
    np.testing.assert_array_equal(cells.bits, np.hstack([edges, operations]))


def test_every_cell_has_its_hash_and_is_in_the_search_space(cells: Cells) -> None:
    for i in np.random.default_rng(0).choice(12_416, 300, replace=False):
        adjacency, operations = graph(cells.bits[i])
        assert cell_hash(adjacency, operations) == cells.hashes[i]
        assert sum(map(sum, adjacency)) <= 9
        assert reachable(adjacency, 0) == set(range(6))
        assert reachable([list(column) for column in zip(*adjacency)], 5) == set(range(6))


def reachable(adjacency: list[list[int]], start: int) -> set[int]:
    seen, front = {start}, [start]
    while front:
        v = front.pop()
        new = {w for w in range(6) if adjacency[v][w]} - seen
        seen |= new
        front.extend(new)
    return seen


def test_the_hash_does_not_depend_on_the_numbering(cells: Cells) -> None:
    rng = np.random.default_rng(1)
    for i in rng.choice(12_416, 100, replace=False):
        adjacency, operations = graph(cells.bits[i])
        order = [0, *(1 + rng.permutation(4)).tolist(), 5]
        renumbered = [[adjacency[a][b] for b in order] for a in order]
        assert cell_hash(renumbered, [operations[a] for a in order]) == cells.hashes[i]


def test_neighbours_are_those_of_a_search_over_all_numberings(cells: Cells) -> None:
    position = {name: i for i, name in enumerate(cells.hashes)}
    for i in np.random.default_rng(2).choice(12_416, 12, replace=False):
        adjacency, operations = graph(cells.bits[i])
        expected: set[int] = set()
        for inner in itertools.permutations(range(1, 5)):
            order = [0, *inner, 5]
            renumbered = [[adjacency[a][b] for b in order] for a in order]
            if any(renumbered[a][b] for a in range(6) for b in range(a)):
                continue
            labels = [operations[a] for a in order]
            for a, b in EDGES:
                flipped = [row.copy() for row in renumbered]
                flipped[a][b] ^= 1
                leaving = all(any(row) for row in flipped[:5])
                entering = all(any(row[c] for row in flipped) for c in range(1, 6))
                if leaving and entering and sum(map(sum, flipped)) <= 9:
                    expected.add(position[cell_hash(flipped, labels)])
            for v in range(1, 5):
                changed = [2 - label if w == v else label for w, label in enumerate(labels)]
                expected.add(position[cell_hash(renumbered, changed)])
        expected.discard(int(i))
        assert {int(j) for j in cells.neighbours[i] if j >= 0} == expected


def written(bits: np.ndarray) -> tuple[str, str]:
    """A cell as the official file writes it."""
    matrix = np.zeros((6, 6), dtype=int)
    for bit, (i, j) in zip(bits, EDGES):
        matrix[i, j] = int(bit)
    operations = ["input", *(CONV if bit else POOL for bit in bits[15:]), "output"]
    return "".join(map(str, matrix.ravel())), ",".join(operations)


def official(arms: range, runs: int = 3) -> tuple[list[bytes], np.ndarray, np.ndarray]:
    """Records of some cells with made-up accuracies and times, among others that do not belong to the table."""
    cells, rng = enumerate_cells(), np.random.default_rng(0)
    accuracies, seconds = rng.uniform(0.8, 0.95, (len(arms), runs)), rng.uniform(500, 4_000, (len(arms), runs))
    records: list[bytes] = []
    for run in range(runs):
        for row, arm in enumerate(arms):
            adjacency, operations = written(cells.bits[arm])
            found = (accuracies[row, run], seconds[row, run])
            records.append(run_record(cells.hashes[arm], adjacency, operations, *found))
            if row % 50 == 0:
                records.append(run_record(cells.hashes[arm], adjacency, operations, 0.5, 9.0, epochs=36))
                records.append(run_record("0" * 32, adjacency, operations.replace(POOL, CONV1), 0.99, 1.0))
    return records, accuracies, seconds


@pytest.mark.slow
def test_a_complete_file_becomes_the_table_and_is_not_needed_again(tmp_path: Path, fresh_cache: Path) -> None:
    records, accuracies, seconds = official(range(12_416))
    path = write_records(tmp_path / "nasbench_only108.tfrecord", records)
    table = datasets.load("NASBench101", file=path)
    np.testing.assert_array_equal(table.values, accuracies)
    assert table.costs is not None
    np.testing.assert_allclose(table.costs, seconds.mean(axis=1), rtol=1e-14)
    np.testing.assert_array_equal(table.features, enumerate_cells().bits)
    np.testing.assert_array_equal(table.neighbours, enumerate_cells().neighbours)
    assert table.labels == enumerate_cells().hashes
    path.unlink()
    again = datasets.load("NASBench101")
    np.testing.assert_array_equal(again.values, accuracies)
    assert datasets.fetch("NASBench101").is_dir()


def test_a_partial_file_must_be_asked_for(tmp_path: Path, fresh_cache: Path) -> None:
    records, accuracies, _ = official(range(100, 180), runs=2)
    path = write_records(tmp_path / "part.tfrecord", records)
    with pytest.raises(DataError, match=r"values for 80 of the 12416 cells.*partial=True"):
        datasets.load("NASBench101", file=path)
    table = datasets.load("NASBench101", file=path, partial=True)
    np.testing.assert_array_equal(table.values, accuracies)
    assert table.notes["n_with_values"] == 80
    assert table.notes["n_candidates"] == 12_416
    # A partial table never stands in for the whole one.
    with pytest.raises(FetchError, match=r"storage\.googleapis\.com"):
        datasets.load("NASBench101")


def test_the_real_rows_of_the_partial_table(fresh_cache: Path) -> None:
    source = beside(CANDIDATES)
    table = datasets.load("NASBench101", file=source, partial=True)
    with source.open(encoding="utf-8", newline="") as lines:
        rows = {row["nb101_hash"]: row for row in csv.DictReader(lines) if row["val108"]}
    assert table.features.shape == (914, 19)
    assert table.labels == tuple(rows)
    assert table.values[:, 0].tolist() == [float(row["val108"]) for row in rows.values()]
    assert table.costs is not None
    assert table.costs.tolist() == [float(row["train_time_s"]) for row in rows.values()]
    assert table.neighbours is not None
    whole, kept = enumerate_cells(), {name: i for i, name in enumerate(table.labels)}
    for i in range(0, 914, 40):
        j = whole.hashes.index(table.labels[i])
        near = [whole.hashes[n] for n in whole.neighbours[j] if n >= 0]
        expected = sorted(kept[name] for name in near if name in kept)
        assert [n for n in table.neighbours[i].tolist() if n >= 0] == expected


def test_wrong_files_are_refused(tmp_path: Path, fresh_cache: Path) -> None:
    records, _, _ = official(range(3), runs=1)
    cells = enumerate_cells()
    adjacency, operations = written(cells.bits[0])
    wrong = {
        "another hash": [run_record(cells.hashes[1], adjacency, operations, 0.9, 1.0)],
        "not a record": [b'["x", 108]'],
        "not a record of": [records[0][:-9] + b'?"]'],
        "values for none": [run_record("0" * 32, adjacency, operations, 0.9, 1.0)],
    }
    for i, (message, content) in enumerate(wrong.items()):
        path = write_records(tmp_path / f"{i}.tfrecord", content)
        with pytest.raises(IntegrityError, match=message):
            datasets.load("NASBench101", file=path, partial=True)
    with pytest.raises(FileNotFoundError, match="existing file"):
        datasets.load("NASBench101", file=tmp_path)
    with pytest.raises(TypeError, match=r"^partial: expected a value of type bool"):
        datasets.load("NASBench101", partial=1)


def test_without_a_file_the_error_says_where_to_get_it(fresh_cache: Path) -> None:
    for attempt in (datasets.load, datasets.fetch):
        with pytest.raises(FetchError, match=r"never fetched by itself[\s\S]*load\(\"NASBench101\", file=PATH\)"):
            attempt("NASBench101")


# ---- tables of trainings: NAS-Bench-201, FC-Net, HPOBench, and the full grids that they are recorded on ----


# Largest means over seeds on the three data sets.
BEST = {"cifar10": 91.607, "cifar100": 73.493, "imagenet16-120": 46.733}


FACTORS = (Factor("a", (0.0, 1.0)), Factor("b", (1.0, 3.0, 9.0)), Factor("c", (0.0, 1.0, 2.0, 3.0), ordered=False))


@pytest.mark.network
@pytest.mark.parametrize("dataset", BEST)
def test_best_cells_of_nasbench201(real: Load, dataset: str) -> None:
    table = real("NASBench201", dataset=dataset)
    assert table.mean.max() == pytest.approx(BEST[dataset], abs=5e-4)
    assert np.bincount(table.n_replicates).tolist() == [0, 0, 7_456, 8_169]
    assert table.costs is not None
    assert (table.costs > 0).all()


@pytest.mark.network
def test_the_edges_of_nasbench201_are_in_the_stated_order(real: Load) -> None:
    table = real("NASBench201")
    assert table.labels is not None
    none = np.array([[digit == "0" for digit in label] for label in table.labels])
    edge = {name: none[:, i] for i, name in enumerate(("0-1", "0-2", "1-2", "0-3", "1-3", "2-3"))}
    to_1 = ~edge["0-1"]
    to_2 = ~edge["0-2"] | (to_1 & ~edge["1-2"])
    to_3 = ~edge["0-3"] | (to_1 & ~edge["1-3"]) | (to_2 & ~edge["2-3"])
    # A cell whose output is cut off from its input cannot do better than chance, one in ten.
    assert table.mean[~to_3].max() < 10
    assert (table.mean[to_3] > 20).mean() > 0.9
    np.testing.assert_array_equal(table.features.reshape(-1, 6, 5)[:, :, 0], none)


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "dataset", "file"),
    [("FCNet", "protein-structure", "protein_structure.pkl"), ("HPOBenchMLP", "credit-g", "credit_g.pkl")],
)
def test_rows_stand_for_their_records(real: Load, name: str, dataset: str, file: str) -> None:
    table = real(name, dataset=dataset)
    records = read_plain_pickle(datasets.fetch(name) / file)
    keys = sorted(records)
    assert len(keys) == table.n_arms
    levels = [np.unique(column) for column in table.features.T]
    assert table.costs is not None
    for i in np.random.default_rng(0).choice(table.n_arms, 200, replace=False):
        digits = [int(np.searchsorted(level, x)) for level, x in zip(levels, table.features[i])]
        record = records["".join(map(str, digits))]
        if name == "FCNet":
            np.testing.assert_allclose(np.exp(-table.values[i]), record["val_loss"], rtol=1e-12)
        else:
            np.testing.assert_array_equal(table.values[i], record["val_acc"])
        assert table.costs[i] == pytest.approx(np.mean(record["train_time"]), rel=1e-12)


@pytest.mark.network
def test_hyperparameters_are_those_of_the_benchmarks(real: Load) -> None:
    net, perceptron = real("FCNet"), real("HPOBenchMLP")
    rates = 10 ** np.unique(net.features[:, 5])
    np.testing.assert_allclose(rates, [5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1], rtol=1e-12)
    np.testing.assert_array_equal(2 ** np.unique(net.features[:, 7]), [16, 32, 64, 128, 256, 512])
    np.testing.assert_allclose(10 ** np.unique(perceptron.features[:, 0])[1], 7.742637e-8, rtol=1e-6)
    np.testing.assert_allclose(2 ** np.unique(perceptron.features[:, 4])[-2], 645, rtol=1e-12)
    # Larger networks take longer to train; a mix-up of columns would break this.
    for table, column in ((net, 7), (perceptron, 2)):
        assert table.costs is not None
        small, large = (table.features[:, column] == edge(table.features[:, column]) for edge in (np.min, np.max))
        assert table.costs[large].mean() > table.costs[small].mean()


def test_records_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pkl"
    good = {"0": {"loss": [1.0, 2.0], "train_time": [3.0, 5.0]}, "1": {"loss": [4.0], "train_time": [6.0]}}
    path.write_bytes(pickle.dumps(good))
    values, costs = read_trainings(path, "loss", ["0", "1"])
    np.testing.assert_array_equal(values, [[1, 2], [4, np.nan]])
    assert costs.tolist() == [4, 6]
    with pytest.raises(IntegrityError, match="a record for each of 3 configurations"):
        read_trainings(path, "loss", ["0", "1", "2"])
    with pytest.raises(IntegrityError, match="lacks accuracy"):
        read_trainings(path, "accuracy", ["0", "1"])


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
