"""Toughness of printed crossed-barrel structures, three prints of each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpbandit_envs.datasets.data_set import Card, DataFile, DataSet, WebAddress
from gpbandit_envs.datasets.errors import IntegrityError
from gpbandit_envs.datasets.readers import read_numbers
from gpbandit_envs.datasets.table import Table

__all__ = ["CROSSED_BARREL"]

_FILE = "Crossed_barrel_dataset.csv"
_REPLICATES = 3

CARD = Card(
    name="CrossedBarrel",
    title="Toughness of 600 designs of a printed crossed-barrel structure, three prints of each",
    shape=(600, 4),
    columns=("n_struts", "theta_degrees", "radius_mm", "thickness_mm"),
    target="toughness (J)",
    licence="MIT",
    citation=(
        "A. E. Gongora et al. (2020). A Bayesian experimental autonomous researcher for mechanical design. "
        "Science Advances 6(15), eaaz1708; Q. Liang et al. (2021). npj Computational Materials 7, 188"
    ),
    files=(
        DataFile(
            name=_FILE,
            sha256="2c01f875f3c210e986ca6142bf20f417884c2ad7d6f008c2fc574b44a3d5f606",
            size=48_339,
            sources=(
                WebAddress(
                    "https://raw.githubusercontent.com/PV-Lab/Benchmarking/"
                    "b653ddabe53f6c95c3fb9eb71f1dbf714f82b47d/datasets/Crossed%20barrel_dataset.csv"
                ),
            ),
        ),
    ),
    notes="Three true replicates of each design; the optimum is the largest mean over them.",
)


def _read(files: Mapping[str, Path], _options: Mapping[str, object]) -> Table:
    rows = read_numbers(files[_FILE], header=("n", "theta", "r", "t", "toughness"))
    order = np.lexsort(rows[:, 3::-1].T)
    designs = rows[order, :4].reshape(-1, _REPLICATES, 4)
    if (designs != designs[:, :1]).any():
        raise IntegrityError(f"{_FILE}: expected {_REPLICATES} prints of each design")
    return Table(
        name=CARD.name,
        features=designs[:, 0],
        feature_names=CARD.columns,
        values=rows[order, 4].reshape(-1, _REPLICATES),
        notes={"target": CARD.target, "preprocessing": CARD.notes},
    )


CROSSED_BARREL = DataSet(card=CARD, read=_read)
