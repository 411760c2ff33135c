"""NAS-Bench-101: accuracy of 12,416 cells, each trained three times on CIFAR-10.

The cells are those with four inner nodes, each a 3x3 convolution or a 3x3 max-pooling. A cell is a directed acyclic
graph on six vertices: input 0, inner nodes 1 to 4, output 5. It is written as 19 bits: the 15 entries of the upper
triangle of its adjacency matrix row by row, then one bit for each inner node, 1 for a convolution and 0 for a pooling.
Several bit strings may describe one cell; the benchmark names a cell by a hash that they share.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from gpbandit_envs.datasets.card import Card
from gpbandit_envs.datasets.errors import DataError, IntegrityError
from gpbandit_envs.datasets.readers import message_fields, read_columns, read_tfrecords
from gpbandit_envs.datasets.table import Table, neighbours_among, padded

EPOCHS = 108
VERTICES = 6
MAX_EDGES = 9
INNER_NODES = (1, 2, 3, 4)
EDGES = tuple((i, j) for i in range(VERTICES) for j in range(i + 1, VERTICES))

_BITS = len(EDGES) + len(INNER_NODES)

# Positions in the benchmark's list of operations, from which its hash is made.
_OPERATIONS = {"input": -1, "conv3x3-bn-relu": 0, "conv1x1-bn-relu": 1, "maxpool3x3": 2, "output": -2}
_EVALUATION, _TRAINING_TIME, _VALIDATION_ACCURACY = 1, 2, 4
_FINAL = 2


@dataclass(frozen=True)
class Cells:
    """Different cells in the order of their hashes.

    Attributes:
        bits: One bit string of each cell, shape `(A, 19)`: the one with the smallest edges read as a binary
            number and, among equals, convolutions first.
        hashes: The benchmark's name of each cell.
        neighbours: Cells with a bit string that differs in one bit, so by one edge or one operation, from a bit string
            of this cell; shape `(A, k)`, padded with -1.
        n_labelled: Number of bit strings of each cell, shape `(A,)`.
    """

    bits: Float[np.ndarray, "A b"]
    hashes: tuple[str, ...]
    neighbours: Int[np.ndarray, "A k"]
    n_labelled: Int[np.ndarray, " A"]

    def __post_init__(self) -> None:
        for array in (self.bits, self.neighbours, self.n_labelled):
            array.flags.writeable = False


def cell_hash(adjacency: list[list[int]], operations: list[int]) -> str:
    """NAS-Bench-101's hash of a labelled graph: the same for all ways to number the vertices of one cell.

    Each vertex starts with the MD5 of (out-degree, in-degree, operation); in as many rounds as there are vertices it
    takes the MD5 of its predecessors' hashes, its successors' and its own; the name is the MD5 of the sorted result.

    Args:
        adjacency: Square upper-triangular matrix of 0 and 1.
        operations: Position of each vertex's operation in the benchmark's list; -1 for the input, -2 for the output.

    Reference:
        C. Ying et al. (2019). NAS-Bench-101: towards reproducible neural architecture search. ICML, section 2.
    """
    n = len(operations)
    before = [[u for u in range(n) if adjacency[u][v]] for v in range(n)]
    after = [[w for w in range(n) if adjacency[v][w]] for v in range(n)]
    names = [_md5(str((len(after[v]), len(before[v]), operations[v]))) for v in range(n)]
    for _ in range(n):
        parts = [(_joined(names, before[v]), _joined(names, after[v]), names[v]) for v in range(n)]
        names = [_md5("|".join(part)) for part in parts]
    return _md5(str(sorted(names)))


@functools.cache
def enumerate_cells() -> Cells:
    """All cells with at most nine edges and every vertex on a path from input to output.

    There are 24,720 such bit strings and 12,416 different cells among them. It takes about three
    seconds, once in a process.
    """
    graphs = _valid_graphs()
    by_hash: dict[str, list[int]] = {}
    for code in graphs:
        bits = [(code >> (_BITS - 1 - b)) & 1 for b in range(_BITS)]
        adjacency = [[0] * VERTICES for _ in range(VERTICES)]
        for bit, (i, j) in zip(bits, EDGES):
            adjacency[i][j] = bit
        inner = [_OPERATIONS["conv3x3-bn-relu" if bit else "maxpool3x3"] for bit in bits[len(EDGES) :]]
        by_hash.setdefault(cell_hash(adjacency, [_OPERATIONS["input"], *inner, _OPERATIONS["output"]]), []).append(code)
    hashes = tuple(sorted(by_hash))
    smallest = np.array([min(by_hash[name], key=_order) for name in hashes])
    return Cells(
        bits=((smallest[:, None] >> np.arange(_BITS - 1, -1, -1)) & 1).astype(np.float64),
        hashes=hashes,
        neighbours=_neighbours([by_hash[name] for name in hashes]),
        n_labelled=np.array([len(by_hash[name]) for name in hashes]),
    )


def _valid_graphs() -> list[int]:
    codes = np.arange(2 ** len(EDGES))
    present = (codes[:, None] >> np.arange(len(EDGES) - 1, -1, -1)) & 1
    valid = present.sum(axis=1) <= MAX_EDGES
    # In a topological order, an edge out of and an edge into every vertex is a path from input to output through it.
    for vertex in range(VERTICES):
        leaving = [e for e, (i, _) in enumerate(EDGES) if i == vertex]
        entering = [e for e, (_, j) in enumerate(EDGES) if j == vertex]
        valid &= present[:, leaving].any(axis=1) | (vertex == VERTICES - 1)
        valid &= present[:, entering].any(axis=1) | (vertex == 0)
    operations = np.arange(2 ** len(INNER_NODES))
    graphs: list[int] = ((codes[valid][:, None] << len(INNER_NODES)) + operations).ravel().tolist()
    return graphs


def _order(code: int) -> int:
    """Smallest edges first, then convolutions before poolings."""
    return code ^ (2 ** len(INNER_NODES) - 1)


def _neighbours(classes: list[list[int]]) -> Int[np.ndarray, "A k"]:
    cell_of = np.full(2**_BITS, -1)
    for cell, codes in enumerate(classes):
        cell_of[codes] = cell
    flips = 1 << np.arange(_BITS)
    near = [np.unique(cell_of[np.array(codes)[:, None] ^ flips]) for codes in classes]
    near = [cells[(cells >= 0) & (cells != cell)] for cell, cells in enumerate(near)]
    neighbours: np.ndarray = padded(near, -1)
    return neighbours


def _joined(names: list[str], vertices: list[int]) -> str:
    return "".join(sorted(names[v] for v in vertices))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


Runs = dict[str, list[tuple[float, float]]]
"""Accuracy and seconds of each run, by the hash of the cell."""


def read(card: Card, paths: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    """The cells that the file has values for."""
    (path,), cells = paths.values(), enumerate_cells()
    wanted = frozenset(cells.hashes)
    runs = _runs_of_csv(path, wanted) if path.suffix == ".csv" else _runs_of_tfrecord(path, wanted)
    if not runs:
        raise IntegrityError(f"{path.name}: it has values for none of the {len(wanted)} cells")
    if len(runs) < len(wanted) and not options["partial"]:
        raise DataError(
            f"{path.name}: it has values for {len(runs)} of the {len(wanted)} cells. "
            "Give the official file, or partial=True for a table of only these arms."
        )
    kept = np.array([name in runs for name in cells.hashes])
    labels = tuple(name for name in cells.hashes if name in runs)
    return card.table(
        cells.bits[kept],
        padded([[accuracy for accuracy, _ in runs[name]] for name in labels], np.nan),
        costs=np.array([np.mean([seconds for _, seconds in runs[name]]) for name in labels]),
        labels=labels,
        neighbours=neighbours_among(cells.neighbours, kept),
        notes={"n_candidates": len(cells.hashes), "n_with_values": len(labels)},
    )


def _runs_of_tfrecord(path: Path, wanted: frozenset[str]) -> Runs:
    runs: Runs = {}
    for record in read_tfrecords(path):
        try:
            name, epochs, adjacency, operations, metrics = json.loads(record)
            if epochs != EPOCHS or name not in wanted:
                continue
            if name not in runs:
                _check_name(name, adjacency, operations)
            accuracy, seconds = _final(base64.b64decode(metrics, validate=True))
        except (ValueError, TypeError, KeyError, IndexError, binascii.Error) as fault:
            raise IntegrityError(f"{path.name}: not a record of NAS-Bench-101 ({fault}): {record[:60]!r}") from fault
        runs.setdefault(name, []).append((accuracy, seconds))
    return runs


def _check_name(name: str, adjacency: str, operations: str) -> None:
    codes = [_OPERATIONS[operation] for operation in operations.split(",")]
    n = len(codes)
    matrix = [[int(bit) for bit in adjacency[i * n : (i + 1) * n]] for i in range(n)]
    if len(adjacency) != n * n or cell_hash(matrix, codes) != name:
        raise ValueError(f"the graph of {name} has another hash")


def _final(metrics: bytes) -> tuple[float, float]:
    """Validation accuracy and training time in seconds at the end of training.

    Evaluations are recorded at the start, half-way and at the end.
    """
    evaluations = [value for number, value in message_fields(metrics) if number == _EVALUATION]
    final = evaluations[_FINAL]
    if not isinstance(final, bytes):
        raise TypeError("an evaluation is no message")
    numbers = dict(message_fields(final))
    return float(numbers[_VALIDATION_ACCURACY]), float(numbers[_TRAINING_TIME])


def _runs_of_csv(path: Path, wanted: frozenset[str]) -> Runs:
    """Runs from a file with the columns `nb101_hash, val108, train_time_s`; lines without values are left out."""
    columns = read_columns(path, ("nb101_hash", "val108", "train_time_s"))
    runs: Runs = {}
    for name, accuracy, seconds in zip(columns["nb101_hash"], columns["val108"], columns["train_time_s"]):
        if name in wanted and accuracy and seconds:
            runs.setdefault(name, []).append((float(accuracy), float(seconds)))
    return runs
