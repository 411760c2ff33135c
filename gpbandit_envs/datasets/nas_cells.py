"""The 12,416 cells of NAS-Bench-101 with four inner nodes, each a 3x3 convolution or a 3x3 max-pooling.

A cell is a directed acyclic graph on six vertices: input 0, inner nodes 1 to 4, output 5. It is written as 19 bits:
the 15 entries of the upper triangle of its adjacency matrix row by row, then one bit for each inner node, 1 for a
convolution and 0 for a pooling. Several bit strings may describe one cell; the benchmark names a cell by a hash that
they share.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

__all__ = ["EDGES", "INNER_NODES", "Cells", "cell_hash", "enumerate_cells"]

VERTICES = 6
MAX_EDGES = 9
INNER_NODES = (1, 2, 3, 4)
EDGES = tuple((i, j) for i in range(VERTICES) for j in range(i + 1, VERTICES))

# Positions in the benchmark's list of operations (conv3x3, conv1x1, maxpool3x3), which its hash is made from.
_CONVOLUTION, _POOLING = 0, 2
_INPUT, _OUTPUT = -1, -2
_BITS = len(EDGES) + len(INNER_NODES)


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
        inner = [_CONVOLUTION if bit else _POOLING for bit in bits[len(EDGES) :]]
        by_hash.setdefault(cell_hash(adjacency, [_INPUT, *inner, _OUTPUT]), []).append(code)
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
    padded = np.full((len(near), max(cells.size for cells in near)), -1)
    for row, cells in zip(padded, near):
        row[: cells.size] = cells
    return padded


def _joined(names: list[str], vertices: list[int]) -> str:
    return "".join(sorted(names[v] for v in vertices))


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
