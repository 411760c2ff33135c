"""NAS-Bench-201: all 15,625 cells of one search space, trained on three image data sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.data_set import Card, DataSet
from gpbandit_envs.datasets.hpo_tables import Factor, grid_features, grid_neighbours, pinned_pickles, read_trainings
from gpbandit_envs.datasets.table import Table

__all__ = ["NASBENCH201"]

OPERATIONS = ("none", "skip", "conv1x1", "conv3x3", "avgpool3x3")
EDGES = ("0-1", "0-2", "1-2", "0-3", "1-3", "2-3")

_FILES = {"cifar10": "cifar10.pkl", "cifar100": "cifar100.pkl", "imagenet16-120": "imagenet.pkl"}
_FACTORS = tuple(Factor(edge, (0.0, 1.0, 2.0, 3.0, 4.0), ordered=False) for edge in EDGES)

CARD = Card(
    name="NASBench201",
    title="Validation accuracy of all 15,625 cells of NAS-Bench-201 on three image data sets, two or three seeds each",
    shape=(15_625, 30),
    columns=tuple(f"edge_{edge}_{operation}" for edge in EDGES for operation in OPERATIONS),
    target="validation accuracy after the full training (%)",
    licence="Apache-2.0 (package); NAS-Bench-201 is MIT",
    citation=(
        "X. Dong and Y. Yang (2020). NAS-Bench-201: extending the scope of reproducible neural architecture search. "
        "ICLR"
    ),
    files=pinned_pickles(
        "nasbench201",
        1_997_563,
        {
            "cifar10": "2f6f8dcb4c6c8d12e33a8202cec38bcef7614ae04bd233c81e3726e4d20eba11",
            "cifar100": "a038736ae0f19bf169df58632f3d2941102270818931a0034f280eb52b8893b2",
            "imagenet": "59ac8d52a62a66d3df0fab19f7569d71fb2a1aa246eac811d56d550143a970b8",
        },
    ),
    options={"dataset": tuple(_FILES)},
    notes=(
        "A cell has six edges between four nodes, each with one of five operations, one-hot. A label is the six "
        "operations as digits (0 none, 1 skip, 2 conv1x1, 3 conv3x3, 4 avgpool3x3) on the edges "
        f"{', '.join(EDGES)}. 8,169 cells have three replicates and 7,456 have two; the optimum is the largest mean "
        "over them. Costs are training times. Neighbours differ in the operation of one edge."
    ),
)


def _read(files: Mapping[str, Path], options: Mapping[str, object]) -> Table:
    dataset = str(options["dataset"])
    digits = grid_features(_FACTORS).astype(np.int64)
    labels = tuple("".join(map(str, row)) for row in digits.tolist())
    values, costs = read_trainings(files[_FILES[dataset]], "val_acc", list(labels))
    return Table(
        name=CARD.name,
        features=np.eye(len(OPERATIONS))[digits].reshape(len(digits), -1),
        feature_names=CARD.columns,
        values=values,
        costs=costs,
        labels=labels,
        neighbours=grid_neighbours(_FACTORS),
        notes={"target": CARD.target, "preprocessing": CARD.notes, "dataset": dataset},
    )


NASBENCH201 = DataSet(card=CARD, read=_read, needs=lambda options: (_FILES[str(options["dataset"])],))
