"""The candidates against the published list and slow searches."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import pytest

from gpbandit_envs.datasets.nas_cells import EDGES, Cells, cell_hash, enumerate_cells
from tests.datasets.conftest import beside

CANDIDATES = "nasbench101/candidates_6v_conv3_pool3_12416.csv"


@pytest.fixture(scope="module")
def cells() -> Cells:
    return enumerate_cells()


def graph(bits: np.ndarray) -> tuple[list[list[int]], list[int]]:
    adjacency = [[0] * 6 for _ in range(6)]
    for bit, (i, j) in zip(bits, EDGES):
        adjacency[i][j] = int(bit)
    return adjacency, [-1, *(0 if bit else 2 for bit in bits[15:]), -2]


def test_counts(cells: Cells) -> None:
    assert len(cells.hashes) == len(set(cells.hashes)) == 12_416
    assert cells.n_labelled.sum() == 24_720
    assert np.unique(cells.bits, axis=0).shape == (12_416, 19)


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
