"""NAS-Bench-101: accuracy of 12,416 cells, each trained three times on CIFAR-10."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.card import Card, DataFile
from gpbandit_envs.datasets.data_set import DataSet
from gpbandit_envs.datasets.delimited import read_columns
from gpbandit_envs.datasets.errors import DataError, IntegrityError
from gpbandit_envs.datasets.nas_cells import EDGES, INNER_NODES, Cells, cell_hash, enumerate_cells
from gpbandit_envs.datasets.table import Table
from gpbandit_envs.datasets.tfrecord import message_fields, read_records

__all__ = ["NASBENCH101"]

EPOCHS = 108

_FILE = "nasbench_only108.tfrecord"
_OPERATIONS = {"input": -1, "conv3x3-bn-relu": 0, "conv1x1-bn-relu": 1, "maxpool3x3": 2, "output": -2}
_EVALUATION, _TRAINING_TIME, _VALIDATION_ACCURACY = 1, 2, 4
_FINAL = 2

CARD = Card(
    name="NASBench101",
    title="Validation accuracy of 12,416 cells of NAS-Bench-101 with four convolutions or poolings, three runs each",
    shape=(12_416, 19),
    columns=(*(f"edge_{i}_{j}" for i, j in EDGES), *(f"node_{v}_is_conv3x3" for v in INNER_NODES)),
    target=f"validation accuracy on CIFAR-10 after {EPOCHS} epochs (0 to 1)",
    licence="Apache-2.0",
    citation="C. Ying et al. (2019). NAS-Bench-101: towards reproducible neural architecture search. ICML",
    files=(
        DataFile(
            name=_FILE,
            sha256=None,
            size=None,
            by_hand=f"https://storage.googleapis.com/nasbench/{_FILE} (about 500 MB)",
        ),
    ),
    options={"partial": (False, True)},
    notes=(
        "The subset of the BBKB paper (Calandriello et al. 2020, appendix D.2): six vertices, at most nine edges, "
        "every vertex on a path from input to output, inner nodes conv3x3 (bit 1) or maxpool3x3 (bit 0). Labels are "
        "the benchmark's hashes. Edges 0-1 and 4-5 are in every cell. The optimum is the largest mean over the three "
        "runs. Costs are mean training times. Neighbours differ by one edge or one operation. partial=True keeps only "
        "the cells that the given file has values for."
    ),
)


@dataclass
class _Runs:
    accuracies: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def _read(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    path, cells = files[_FILE], enumerate_cells()
    wanted = frozenset(cells.hashes)
    runs = _runs_of_csv(path, wanted) if path.suffix == ".csv" else _runs_of_tfrecord(path, wanted)
    if not runs:
        raise IntegrityError(f"{path.name}: it has values for none of the {len(wanted)} cells")
    if len(runs) < len(wanted) and not options["partial"]:
        raise DataError(
            f"{path.name}: it has values for {len(runs)} of the {len(wanted)} cells. "
            "Give the official file, or partial=True for a table of only these arms."
        )
    return _table(cells, runs)


def _table(cells: Cells, runs: Mapping[str, _Runs]) -> Table:
    kept = np.array([name in runs for name in cells.hashes])
    labels = tuple(name for name in cells.hashes if name in runs)
    values = np.full((len(labels), max(len(runs[name].accuracies) for name in labels)), np.nan)
    for row, name in zip(values, labels):
        row[: len(runs[name].accuracies)] = runs[name].accuracies
    return Table(
        name=CARD.name,
        features=cells.bits[kept],
        feature_names=CARD.columns,
        values=values,
        costs=np.array([np.mean(runs[name].seconds) for name in labels]),
        labels=labels,
        neighbours=_among(cells.neighbours, kept),
        notes={
            "target": CARD.target,
            "preprocessing": CARD.notes,
            "n_candidates": len(cells.hashes),
            "n_with_values": len(labels),
        },
    )


def _among(neighbours: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Neighbours among the arms that are kept, renumbered, with the padding last."""
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    renumbered = number[neighbours[kept]]
    last = len(kept)
    ordered = np.sort(np.where(renumbered < 0, last, renumbered), axis=1)
    return np.where(ordered == last, -1, ordered)


def _runs_of_tfrecord(path: Path, wanted: frozenset[str]) -> dict[str, _Runs]:
    runs: dict[str, _Runs] = {}
    for record in read_records(path):
        try:
            name, epochs, adjacency, operations, metrics = json.loads(record)
            if epochs != EPOCHS or name not in wanted:
                continue
            if name not in runs:
                _check_name(name, adjacency, operations)
            accuracy, seconds = _final(base64.b64decode(metrics, validate=True))
        except (ValueError, TypeError, KeyError, IndexError, binascii.Error) as fault:
            raise IntegrityError(f"{path.name}: not a record of NAS-Bench-101 ({fault}): {record[:60]!r}") from fault
        found = runs.setdefault(name, _Runs())
        found.accuracies.append(accuracy)
        found.seconds.append(seconds)
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


def _runs_of_csv(path: Path, wanted: frozenset[str]) -> dict[str, _Runs]:
    """Runs from a file with the columns `nb101_hash, val108, train_time_s`; lines without values are left out."""
    columns = read_columns(path, ("nb101_hash", "val108", "train_time_s"))
    runs: dict[str, _Runs] = {}
    for name, accuracy, seconds in zip(columns["nb101_hash"], columns["val108"], columns["train_time_s"]):
        if name in wanted and accuracy and seconds:
            found = runs.setdefault(name, _Runs())
            found.accuracies.append(float(accuracy))
            found.seconds.append(float(seconds))
    return runs


NASBENCH101 = DataSet(card=CARD, read=_read)
