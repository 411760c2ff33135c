"""NAS-Bench-101: the cells against the published list and slow searches, values from official and partial files."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest

from gpbandit_envs import datasets
from gpbandit_envs.datasets import DataError, FetchError, IntegrityError
from gpbandit_envs.datasets.nasbench101 import EDGES, Cells, cell_hash, enumerate_cells
from tests.datasets.conftest import beside
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
